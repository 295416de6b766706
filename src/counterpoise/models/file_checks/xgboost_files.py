"""XGBoost's files, JSON or UBJSON: sizes and nodes are checked before XGBoost follows them without a question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.file_checks.trial import DEFAULT_LIMITS, FileLimits

SCALARS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
WORDS: dict[bytes, Any] = {b"Z": None, b"T": True, b"F": False}


def read_ubjson(data: bytes, limits: FileLimits = DEFAULT_LIMITS) -> Any:
    """The value that some bytes hold; arrays of numbers as NumPy arrays. What cannot be read is a ValueError.

    >>> read_ubjson(b"{L" + bytes(7) + b"\\x01aU\\x05}")
    {'a': 5}
    """
    return _Reader(data, limits.levels).read(0)


class _Reader:
    def __init__(self, data: bytes, max_levels: int) -> None:
        self.data, self.place, self.max_levels = data, 0, max_levels

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.place:
            raise ValueError(f"the data ends before what begins at byte {self.place}")
        self.place += count
        return self.data[self.place - count : self.place]

    def length(self) -> int:
        kind = self.take(1)
        if kind not in SCALARS or kind in b"dD":
            raise ValueError(f"there is no length at byte {self.place}")
        return int(self.scalar(kind))

    def scalar(self, kind: bytes) -> Any:
        dtype = np.dtype(SCALARS[kind])
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8")

    def read(self, level: int) -> Any:
        kind = self.take(1)
        if level > self.max_levels:
            raise ValueError(f"it is nested more than {self.max_levels} levels deep")
        if kind == b"{":
            return self.mapping(level)
        if kind == b"[":
            return self.sequence(level)
        if kind == b"S":
            return self.text()
        if kind in WORDS:
            return WORDS[kind]
        if kind in SCALARS:
            return self.scalar(kind)
        raise ValueError(f"there is no value at byte {self.place}")

    def mapping(self, level: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.data[self.place : self.place + 1] != b"}":
            name = self.text()
            if name in found:
                raise ValueError(f"{name!r} is there twice")
            found[name] = self.read(level + 1)
        self.take(1)
        return found

    def sequence(self, level: int) -> Any:
        typed = self.data[self.place : self.place + 1] == b"$"
        kind = self.take(2)[1:] if typed else b""
        if self.data[self.place : self.place + 1] == b"#":
            self.take(1)
            count = self.length()
            if kind in SCALARS:
                dtype = np.dtype(SCALARS[kind])
                return np.frombuffer(self.take(count * dtype.itemsize), dtype)
            if typed or not 0 <= count <= len(self.data) - self.place:
                raise ValueError(f"the data ends before what begins at byte {self.place}")
            return [self.read(level + 1) for _ in range(count)]
        if typed:
            raise ValueError(f"there is no length at byte {self.place}")
        found = []
        while self.data[self.place : self.place + 1] != b"]":
            found.append(self.read(level + 1))
        self.take(1)
        return found


IntArray = NDArray[np.int64]


def read_xgboost(path: Path, limits: FileLimits = DEFAULT_LIMITS) -> bytearray:
    """The contents of a file of XGBoost, if its parts fit together; a ValueError or KeyError if they do not."""
    data = path.read_bytes()
    learner = (_read_json(data, limits) if data[:2] != b"{L" else read_ubjson(data, limits))["learner"]
    size = learner["learner_model_param"]
    features, classes, targets = (int(size.get(name, 1)) for name in ("num_feature", "num_class", "num_target"))
    groups = max(1, classes, targets)
    if min(features, classes, targets) < 0 or features > limits.features or groups > limits.classes:
        raise ValueError(f"it says that it has {features} features, {classes} classes and {targets} targets")
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        if len(booster["model"]["weights"]) != (features + 1) * groups:
            raise ValueError("it has not a weight for each feature")
    else:
        _check_trees((booster["gbtree"] if booster["name"] == "dart" else booster)["model"], features, groups, limits)
    return bytearray(data)


def _read_json(data: bytes, limits: FileLimits) -> Any:
    if data.count(b"[") + data.count(b"{") > max(limits.parts, len(data) // 25):
        raise ValueError("it has far more lists and objects than a model of its length")
    document = json.loads(data.decode("utf-8"), object_pairs_hook=_single)
    level = [document]
    for _ in range(limits.levels):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return document
    raise ValueError(f"it is nested more than {limits.levels} levels deep")


def _single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; refused if a name comes twice, because XGBoost might read the other value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a name twice")
    return found


def _parts(value: Any) -> list[Any]:
    """The lists and objects directly inside of a value."""
    if isinstance(value, dict):
        return [part for part in value.values() if isinstance(part, (dict, list))]
    return [part for part in value if isinstance(part, (dict, list))] if isinstance(value, list) else []


def _check_trees(model: Any, features: int, groups: int, limits: FileLimits) -> None:
    trees, sizes = model["trees"], model["gbtree_model_param"]
    count, together = int(sizes["num_trees"]), int(sizes["num_parallel_tree"])
    info = np.asarray(model["tree_info"], dtype=np.int64)
    if not count == len(trees) == len(info) or not 0 <= together <= max(1, count):
        raise ValueError("it has other trees than it says")
    if ((info < 0) | (info >= groups)).any():
        raise ValueError("it has a tree for a class that it does not have")
    for tree in trees:
        _check_tree(tree, features, limits)


def _check_tree(tree: Any, features: int, limits: FileLimits) -> None:
    size = tree["tree_param"]
    count, width = int(size["num_nodes"]), max(1, int(size["size_leaf_vector"]))
    names = ("left_children", "right_children", "split_indices", "parents", "split_conditions", "default_left")
    arrays = [np.asarray(tree[name]) for name in names]
    if count < 1 or any(each.shape != (count,) for each in arrays):
        raise ValueError("a tree has other nodes than it says")
    if len(tree["base_weights"]) != count * width or int(size["num_feature"]) > max(features, 1):
        raise ValueError("a tree has other weights or features than it says")
    left, right, split, parents = (each.astype(np.int64) for each in arrays[:4])
    _check_nodes(left, right, split, parents, features, limits)
    if "leaf_weights" in tree and ((left == -1) & (right * width >= len(tree["leaf_weights"]))).any():
        raise ValueError("a tree has a leaf without weights")
    _check_sets(tree, count)


def _check_nodes(
    left: IntArray, right: IntArray, split: IntArray, parents: IntArray, features: int, limits: FileLimits
) -> None:
    """Check the nodes of a tree: each inner one has two children that name it as their parent."""
    count, pruned = len(left), np.iinfo(np.int32).max  # the feature of a node that was pruned, and a root's parent
    inner = np.flatnonzero((left != -1) & (split != pruned))
    children, above = np.concatenate([left[inner], right[inner]]), np.tile(inner, 2)
    if ((children < 1) | (children >= count)).any() or ((split[inner] < 0) | (split[inner] >= features)).any():
        raise ValueError("a tree has a node that leads nowhere, or splits a feature that it does not have")
    if (split[children] == pruned).any():
        raise ValueError("a tree has a node that leads to one that was pruned")
    known = (parents >= 0) & (parents < count)
    if (parents[children] != above).any() or not (known | np.isin(parents, (-1, pruned))).all():
        raise ValueError("a tree has a node with another parent")
    if not (children > above).all():
        _check_ways(left, right, limits)


def _check_ways(left: IntArray, right: IntArray, limits: FileLimits) -> None:
    """Every way from the root ends: XGBoost may number a child before its parent, where it uses a number again."""
    level, seen = np.zeros(1, dtype=np.int64), 0
    for _ in range(limits.tree_depth):
        level = level[left[level] != -1]
        if not len(level):
            return
        level = np.concatenate([left[level], right[level]])
        seen += len(level)
        if seen >= len(left):
            break
    raise ValueError("a tree leads back to where it came from")


def _check_sets(tree: Any, count: int) -> None:
    """The sets of categories that nodes send to one side are inside the list of all."""
    nodes, starts, sizes = (
        np.asarray(tree[f"categories_{name}"], dtype=np.int64) for name in ("nodes", "segments", "sizes")
    )
    values = np.asarray(tree["categories"], dtype=np.int64)
    if not len(nodes) == len(starts) == len(sizes) or ((nodes < 0) | (nodes >= count)).any():
        raise ValueError("a tree has categories for nodes that it does not have")
    if (starts < 0).any() or (sizes < 0).any() or (starts + sizes > len(values)).any() or (values < 0).any():
        raise ValueError("a tree has sets of categories that it does not have")
