"""Skops files written by hand, node by node."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

Node = dict[str, Any]


def node(loader: str, name: str, **rest: Any) -> Node:
    """A node that builds what has this name."""
    module, _, said = name.rpartition(".")
    return {"__class__": said, "__module__": module, "__loader__": loader, **rest}


def plain(value: Any) -> Node:
    """A number, a text, a list, a tuple or a dict of them; nodes stay as they are."""
    if isinstance(value, dict) and "__loader__" in value:
        return value
    if isinstance(value, dict):
        keys = node("ListNode", "builtins.list", content=[node("TypeNode", "builtins.str") for _ in value])
        content = {key: plain(each) for key, each in value.items()}
        return node("DictNode", "builtins.dict", content=content, key_types=keys)
    if isinstance(value, (list, tuple)):
        kind = "List" if isinstance(value, list) else "Tuple"
        return node(f"{kind}Node", f"builtins.{kind.lower()}", content=[plain(each) for each in value])
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def called(name: str, *arguments: Any) -> Node:
    """A node that calls something with these arguments as soon as it is built."""
    return node("ConstructorFromReduceNode", name, content=plain(arguments))


def made(name: str, **attributes: Any) -> Node:
    """An object of a class, with these attributes."""
    return node("ObjectNode", name, content=plain(attributes))


def array(file: str, name: str = "numpy.ndarray") -> Node:
    """An array in a file of the archive."""
    return node("NdArrayNode", name, type="numpy", file=file)


def npy(values: Any) -> bytes:
    """An array in NumPy's format."""
    stream = io.BytesIO()
    np.save(stream, np.asarray(values), allow_pickle=False)
    return stream.getvalue()


def write(
    path: Path, root: Node, files: Mapping[str, bytes] | None = None, protocol: Any = 2, packing: int = ZIP_STORED
) -> Path:
    """A skops file with this root and these arrays."""
    with ZipFile(path, "w", packing) as archive:
        archive.writestr("schema.json", json.dumps({**root, "protocol": protocol, "_skops_version": "0.16.0"}))
        for file, data in (files or {}).items():
            archive.writestr(file, data)
    return path
