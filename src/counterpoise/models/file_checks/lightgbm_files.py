"""LightGBM's files, checked before LightGBM opens them: a damaged file would end the whole process."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.file_checks.trial import DEFAULT_LIMITS, FileLimits

END = b"end of trees"
SETTING = re.compile(rb"\[\w+: .*\]")
Lines = dict[str, str]


def read_lightgbm(path: Path, limits: FileLimits = DEFAULT_LIMITS) -> str:
    """The text of a file of LightGBM, if its parts fit together; a ValueError or KeyError if they do not."""
    data = path.read_bytes()
    start = data.find(b"\nTree=") + 1
    if not data.startswith(b"tree\n"):
        raise ValueError("it does not begin with the word tree")
    head = _lines(data[: start or None])
    features = _check_head(head, limits)
    sizes = [int(size) for size in head["tree_sizes"].split()]
    if not start and sizes:
        raise ValueError("it has no trees")
    place = start
    for number, size in enumerate(sizes):
        block = data[place : place + size] if size > 0 else b""
        if not block.startswith(b"Tree=%d\n" % number) or len(block) != size:
            raise ValueError(f"tree {number} is not where it should be")
        _check_tree(_lines(block), features)
        place += size
    if not data[place:].lstrip(b"\n").startswith(END) and sizes:
        raise ValueError("its trees have no end")
    _check_settings(data[place:])
    return data.decode("utf-8")


def _check_head(head: Lines, limits: FileLimits) -> int:
    """The highest number of a feature, if the head allots no more than a model can have and names every feature."""
    classes, together, features = (
        int(head[name]) for name in ("num_class", "num_tree_per_iteration", "max_feature_idx")
    )
    if not 1 <= classes <= limits.classes or not 1 <= together <= limits.classes:
        raise ValueError(f"it says that it has {classes} classes, and {together} trees in a round")
    if len(head["feature_names"].split(" ")) != features + 1:
        raise ValueError("it has other features than it says")
    return features


def _check_settings(rest: bytes) -> None:
    """What the model was fitted with: a line in brackets for each setting, and an end."""
    _, begins, settings = rest.partition(b"\nparameters:")
    lines, ends, _ = settings.partition(b"\nend of parameters")
    if (begins and not ends) or any(line and SETTING.fullmatch(line) is None for line in lines.splitlines()):
        raise ValueError("its settings are cut off")


def _lines(data: bytes) -> Lines:
    """The values of lines that are written name=value; a name that is there twice is refused."""
    found: Lines = {}
    for line in data.decode("utf-8").split("\n"):
        name, equals, value = line.partition("=")
        if equals and name in found:
            raise ValueError(f"{name!r:.40} is there twice")
        found |= {name: value} if equals else {}
    return found


def _cells(tree: Lines, name: str, count: int) -> list[str]:
    values = tree[name].split()
    if len(values) != count:
        raise ValueError(f"a tree has {len(values)} values for {name!r} where it should have {count}")
    return values


def _whole(tree: Lines, name: str, count: int) -> NDArray[np.int64]:
    return np.array(_cells(tree, name, count), dtype=np.int64)


def _real(tree: Lines, name: str, count: int) -> NDArray[np.float64]:
    values = np.array(_cells(tree, name, count), dtype=np.float64)
    if not np.isfinite(values).all() and name != "split_gain":
        raise ValueError(f"a tree has a value for {name!r} that is no number")
    return values


def _check_tree(tree: Lines, features: int) -> None:
    leaves, sets = int(tree["num_leaves"]), int(tree["num_cat"])
    if not leaves >= 1 or not 0 <= sets < max(leaves, 1):
        raise ValueError(f"a tree says that it has {leaves} leaves and {sets} sets of categories")
    _real(tree, "leaf_value", leaves)
    for name in ("leaf_weight", "leaf_count"):
        if tree.get(name, "").strip():
            _real(tree, name, leaves)
    for name in ("split_gain", "internal_value", "internal_weight", "internal_count"):
        if tree.get(name, "").strip():
            _real(tree, name, leaves - 1)
    if leaves == 1:
        return
    inner = np.arange(leaves - 1)
    split, kinds = _whole(tree, "split_feature", leaves - 1), _whole(tree, "decision_type", leaves - 1)
    if ((split < 0) | (split > features)).any():
        raise ValueError("a tree splits a feature that it does not have")
    for side in ("left_child", "right_child"):
        child = _whole(tree, side, leaves - 1)
        if (np.where(child >= 0, child <= inner, ~child >= leaves) | (child >= leaves - 1)).any():
            raise ValueError("a tree has a node that leads back or nowhere")
    limits = _real(tree, "threshold", leaves - 1)
    _check_sets(tree, sets, limits[(kinds & 1) != 0])
    _check_linear(tree, leaves, features)


def _check_sets(tree: Lines, sets: int, chosen: NDArray[np.float64]) -> None:
    """Splits by category name one of the sets, and these are inside the list of all."""
    if ((chosen < 0) | (chosen >= sets)).any():
        raise ValueError("a tree asks for categories that it does not have")
    if sets:
        ends = _whole(tree, "cat_boundaries", sets + 1)
        words = tree["cat_threshold"].split()
        if ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(words):
            raise ValueError("a tree has sets of categories that it does not have")


def _check_linear(tree: Lines, leaves: int, features: int) -> None:
    """The leaves of a linear tree have as many features as coefficients, and only those that there are."""
    if int(tree.get("is_linear", "0")) == 0:
        return
    _real(tree, "leaf_const", leaves)
    count = int(_whole(tree, "num_features", leaves).sum())
    used = _whole(tree, "leaf_features", count)
    _real(tree, "leaf_coeff", count)
    if ((used < 0) | (used > features)).any():
        raise ValueError("a leaf has a feature that its model does not have")
