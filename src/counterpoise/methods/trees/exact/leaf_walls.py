"""The leaves of a model as walls: the ranges of cells, or sets of levels, that a row has to be inside of."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.leaf_boxes import LeafBoxes
from counterpoise.models.trees.leaf_ranges import LeafRanges
from counterpoise.models.trees.leaves import Leaves
from counterpoise.types import Array, Index

MOST_LEAF_COLUMNS = 40_000_000  # leaves times columns: beyond it walls take more memory than a proof is worth


@dataclass(frozen=True, eq=False)
class LeafWalls:
    """All walls of a model's leaves, tree after tree; cells are numbered through, as `Leaves` does."""

    walls: LeafBoxes
    tree: Index  # (leaves,)
    begin: Index  # (trees,) the first leaf of each
    value: Array  # (leaves, s) what each leaf adds to every sum
    low: Array  # (trees, s) the least that each tree adds,
    high: Array  # (trees, s) and the greatest


_KNOWN: WeakKeyDictionary[Leaves, LeafWalls] = WeakKeyDictionary()


def walls_of(leaves: Leaves, trees: TreeEnsemble | None) -> LeafWalls | None:
    """The walls of leaves, made once; None where there are too many."""
    if leaves not in _KNOWN:
        paths = leaves.leaf_ranges
        if paths is None and (trees is None or len(leaves.value) * len(leaves.columns) > MOST_LEAF_COLUMNS):
            return None
        if paths is None:
            assert trees is not None
            paths = LeafRanges.of(trees, leaves.columns, leaves.edges, leaves.first_cells)
            value = leaves.value[np.searchsorted(np.flatnonzero(trees.feature < 0), paths.node)]
            _KNOWN[leaves] = _made(leaves, paths, LeafBoxes.of(paths, leaves.first_cells), value)
        else:
            walls = leaves.leaf_boxes
            assert walls is not None
            _KNOWN[leaves] = _made(leaves, paths, walls, leaves.value)
    return _KNOWN[leaves]


def _made(leaves: Leaves, paths: LeafRanges, walls: LeafBoxes, leaf_values: Array) -> LeafWalls:
    value = np.zeros((len(leaf_values), len(leaves.base)))
    first = leaves.first_sum[paths.tree]
    for k in range(leaf_values.shape[1]):
        rows = np.flatnonzero(first + k < value.shape[1])  # beyond the last sum there are zeros that fill up lines
        value[rows, first[rows] + k] = leaf_values[rows, k]
    begin = np.searchsorted(paths.tree, np.arange(leaves.tree_count))
    low, high = np.minimum.reduceat(value, begin, axis=0), np.maximum.reduceat(value, begin, axis=0)
    return LeafWalls(walls, paths.tree, begin, value, low, high)
