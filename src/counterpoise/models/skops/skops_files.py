"""Opening a skops file that nobody vouches for: it is read and checked here, and skops gets a copy of what was checked.

skops builds whatever the nodes of a file name. So each node is compared with the list of `skops_types` first. Nodes can
also point to one another by number, which would let a file show one thing here and build another there: the copy has
no such pointers. What arrays and trees hold is checked by `skops_contents`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NoReturn
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from counterpoise.errors import InputError
from counterpoise.models.skops.allowed_types import allowed_names
from counterpoise.models.skops.contents import check_array, check_generator, check_model, check_sparse, check_tree

Node = dict[str, Any]

SCHEMA = "schema.json"
PROTOCOLS = (1, 2)  # of the skops format; protocol 0 names functions elsewhere, later ones are not known here
SHARED = ("JsonNode", "TypeNode", "FunctionNode", "NdArrayNode")  # nodes that are built once and used in many places
ARRAY_CHECK = "sklearn.utils.validation.check_array"
TRUST = "if you know where the file is from, open it with trust=True (--trust)"


@dataclass(frozen=True)
class SkopsLimits:
    """How much a skops file may ask for without being trusted."""

    schema_bytes: int = 80 * 2**20
    """The description of the model, unpacked; a forest of 1000 trees has 15 MiB."""
    values: int = 1_500_000
    """Numbers, texts, lists and objects in the description; a forest of 1000 trees has 350,000."""
    nodes: int = 60_000
    """Nodes that are built one by one; a forest of 1000 trees has 13,000."""
    unpacked_bytes: int = 256 * 2**20
    """All arrays, unpacked, whatever the size of the file."""
    unpacked_ratio: int = 4
    """A larger file may hold arrays of this many times its own size."""
    memory_bytes: int = 64 * 2**20
    """The copy for skops is kept in memory up to this size, and in a temporary file beyond it."""


def load_skops(path: Path, limits: SkopsLimits | None = None) -> Any:
    """The model in a skops file, if everything in it is known and fits together; otherwise an InputError."""
    from skops.io import load

    limits = limits or SkopsLimits()
    try:
        with ZipFile(path) as source, SpooledTemporaryFile(limits.memory_bytes) as copy:
            trusted = _copy(source, path, copy, limits)
            copy.seek(0)
            model = load(copy, trusted=trusted)
        check_model(model)
    except (InputError, Warning):  # a warning where warnings are errors, such as that of another scikit-learn
        raise
    except Exception as error:  # a damaged or hostile file fails in zipfile, json, NumPy, scikit-learn or skops
        raise InputError(
            "a skops file must be whole, as skops.io.dump wrote it",
            f"{path.name!r} cannot be read ({type(error).__name__}: {str(error)[:200]})",
            "save the model again",
        ) from error
    return model


def _copy(source: ZipFile, path: Path, copy: IO[bytes], limits: SkopsLimits) -> list[str]:
    """Write what was checked to ``copy``; returns the names that it builds."""
    packing = {each.compress_type for each in source.infolist()}
    if not packing <= {ZIP_STORED, ZIP_DEFLATED}:
        _refuse(path, "must be stored or deflated", "is packed in another way")
    schema = _read_schema(source, path, limits)
    nodes = list(_nodes(schema))
    names = _check_names(path, nodes)
    files = {node["file"]: node["__loader__"] for node in nodes if "file" in node}
    size = sum(source.getinfo(file).file_size for file in files)
    if size > max(limits.unpacked_bytes, limits.unpacked_ratio * path.stat().st_size):
        _refuse(path, "must not unpack to many times its size", f"has arrays of {size:,} bytes in total")
    for node in nodes:
        if node["__loader__"] == "TreeNode":
            check_tree(node, source)
        if node["__loader__"] == "RandomGeneratorNode":
            check_generator(node)
    if _share(nodes) > limits.nodes:
        _refuse(path, f"must have at most {limits.nodes:,} nodes", "has more")
    with ZipFile(copy, "w") as target:
        target.writestr(SCHEMA, json.dumps(schema))
        for file, loader in files.items():
            data = source.read(file)
            (check_sparse if loader == "SparseMatrixNode" else check_array)(data, limits.unpacked_bytes)
            target.writestr(file, data)
    return names


def _read_schema(source: ZipFile, path: Path, limits: SkopsLimits) -> Node:
    size = source.getinfo(SCHEMA).file_size
    if size > limits.schema_bytes:
        _refuse(path, f"must have a description of at most {limits.schema_bytes:,} bytes", f"has one of {size:,}")
    text = source.read(SCHEMA)
    if sum(map(text.count, (b",", b"[", b"{"))) > limits.values:
        _refuse(path, f"must describe at most {limits.values:,} values", "has more")
    schema = json.loads(text.decode("ascii"))
    if not isinstance(schema, dict) or schema.get("protocol") not in PROTOCOLS:
        _refuse(path, f"must be in protocol {' or '.join(map(str, PROTOCOLS))} of skops", "is not")
    return schema


def _nodes(schema: Node) -> Iterator[Node]:
    """Every node of a description: every object that says how something is to be built."""
    todo: list[Any] = [schema]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            if any(key in value for key in ("__loader__", "__class__", "__module__")):
                yield value
            todo.extend(value.values())
        elif isinstance(value, list):
            todo.extend(value)


def _check_names(path: Path, nodes: list[Node]) -> list[str]:
    """The names that nodes build, if all are on the list, and what they are built from is plain."""
    allowed = allowed_names()
    partials = [node for node in nodes if node.get("__loader__") == "PartialNode" and _is_array_check(node)]
    exempt = {id(node) for node in partials} | {id(node["content"]["func"]) for node in partials}
    names: set[str] = set()
    foreign: set[str] = set()
    for node in nodes:
        name = _name(node)
        is_known = name in allowed.get(str(node.get("__loader__")), ()) or id(node) in exempt
        (names if is_known else foreign).add(name)
    if foreign:
        listed = sorted(foreign)
        raise InputError(
            "a model from a file must be made of known types of scikit-learn, NumPy and SciPy",
            f"{path.name!r} also names {', '.join(listed[:8])}{' …' if len(listed) > 8 else ''}",
            TRUST,
            names=listed,
        )
    for node in nodes:
        if node["__loader__"] == "JsonNode" and str(node["content"]).lstrip()[:1] in ("[", "{"):
            _refuse(path, "must describe lists and objects by nodes", "hides some in a text")
        if node["__loader__"] == "DictNode":
            _check_keys(path, node)
    return sorted(names)


def _name(node: Node) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _check_keys(path: Path, node: Node) -> None:
    """Keys are texts and numbers, which skops makes by calling what ``key_types`` lists."""
    types = node["key_types"]
    if types["__loader__"] != "ListNode" or any(
        each["__loader__"] != "TypeNode" or each["__module__"] not in ("builtins", "numpy") for each in types["content"]
    ):
        _refuse(path, "must have texts and numbers for keys", "makes them otherwise")
    if any(key.startswith("__") for key in node["content"]):
        _refuse(path, "must not set attributes that Python itself reads", "has one that begins with __")


def _is_array_check(node: Node) -> bool:
    """Whether a partial function is the column check that histogram gradient boosting stores."""
    try:
        function, dtypes = node["content"]["func"], node["content"]["kwds"]["content"]["dtype"]
        return (
            (function["__loader__"], _name(function)) == ("FunctionNode", ARRAY_CHECK)
            and node["content"]["args"]["content"] == []
            and node["content"]["kwds"]["content"].keys() <= {"dtype", "ensure_all_finite", "force_all_finite"}
            and dtypes["__loader__"] == "ListNode"
            and all(each["__loader__"] == "TypeNode" for each in dtypes["content"])
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _share(nodes: list[Node]) -> int:
    """Number equal simple nodes alike, which skops then builds once, and no others; how many will be built."""
    numbers: dict[str, int] = {}
    single = 0
    for node in nodes:
        node.pop("__id__", None)
        if node["__loader__"] in SHARED and not any(isinstance(value, (dict, list)) for value in node.values()):
            node["__id__"] = numbers.setdefault(json.dumps(node, sort_keys=True), len(numbers) + 1)
        else:
            single += 1
    return single + len(numbers)


def _refuse(path: Path, must: str, given: str) -> NoReturn:
    raise InputError(f"a skops file that is not trusted {must}", f"{path.name!r} {given}", TRUST)
