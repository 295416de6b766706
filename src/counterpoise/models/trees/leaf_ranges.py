"""LeafRanges: the cells of each column that each leaf is open to, found level by level from the roots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.trees.nodes import TreeNodes
from counterpoise.types import Array, Index, Mask

Int32Array = NDArray[np.int32]


class NeighbourLeaves(NamedTuple):
    """Leaves that points miss by a single cell, and the values of that cell that reach them; each is ``(e,)``."""

    point: Index
    tree: Index
    leaf: Index
    begin: Int32Array  # the first of these cells,
    end: Int32Array  # and one past the last


class CellWindow(NamedTuple):
    """The cells of each column that are tried, from the first to one past the last; each is ``(n, f)``."""

    first: Int32Array
    end: Int32Array

    def take_rows(self, rows: slice) -> CellWindow:
        """The window of some of the rows."""
        return CellWindow(self.first[rows], self.end[rows])

    def repeat_for_points(self, points: int) -> CellWindow:
        """The window of each of so many points, the same number for each row, ``(points, f)``."""
        times = points // len(self.first)
        return self if times == 1 else CellWindow(self.first.repeat(times, axis=0), self.end.repeat(times, axis=0))

    def clip_ranges(self, at: Index, begin: Int32Array, end: Int32Array) -> tuple[Int32Array, Int32Array]:
        """Ranges of cells ``(e,)`` cut to the window; ``at`` is row x f + column."""
        return np.maximum(begin, self.first.take(at)), np.minimum(end, self.end.take(at))


@dataclass(frozen=True, eq=False)
class LeafRanges:
    """The leaves of an ensemble, tree after tree, and the cells that are open to each; cells are numbered through."""

    node: Index  # (leaves,) the number of each in the ensemble
    tree: Index  # (leaves,)
    low: NDArray[np.int32]  # (leaves, f) the first open cell of a column of numbers; of a category, some open level
    high: NDArray[np.int32]  # (leaves, f) the last one, missing values aside; of a category, the same level
    allows_missing: Mask  # (leaves, f) whether a missing number may be in the leaf
    levels: dict[int, Mask]  # by place of a category, (leaves, levels + 1), the missing cell last

    @classmethod
    def of(cls, trees: TreeNodes, columns: Index, edges: tuple[Array | None, ...], first: Index) -> LeafRanges:
        """All paths down an ensemble over ``columns`` with these split points; ``first`` ``(f + 1,)`` cell of each."""
        place = np.searchsorted(columns, np.maximum(trees.feature, columns[0]))
        bound = last_left_cells(trees, place, edges)
        sizes = np.diff(first)
        roots, f = trees.roots.astype(np.intp), len(columns)
        low, high = (np.tile(ends.astype(np.int32), (len(roots), 1)) for ends in (first[:-1], first[1:] - 2))
        levels = {j: np.ones((len(roots), sizes[j]), dtype=bool) for j, edge in enumerate(edges) if edge is None}
        open_ranges = cls(roots, np.arange(len(roots)), low, high, np.ones((len(roots), f), dtype=bool), levels)
        found: list[LeafRanges] = []
        while len(open_ranges.node):
            leaf = trees.feature[open_ranges.node] < 0
            found.append(open_ranges.take(np.flatnonzero(leaf)))
            inner = open_ranges.take(np.flatnonzero(~leaf))
            open_ranges = concatenate_ranges(
                [inner.descend(trees, place, bound, first, left=left) for left in (True, False)]
            )
        every = concatenate_ranges(found)
        return every.take(np.argsort(every.tree, kind="stable")).with_category_ranges()

    def take(self, rows: Index) -> LeafRanges:
        """Some of the paths."""
        levels = {j: mask[rows] for j, mask in self.levels.items()}
        return LeafRanges(
            self.node[rows], self.tree[rows], self.low[rows], self.high[rows], self.allows_missing[rows], levels
        )

    def with_category_ranges(self) -> LeafRanges:
        """The same paths, in which any open level of a category stands for low and high."""
        low, high = self.low.copy(), self.high.copy()
        for j, mask in self.levels.items():
            low[:, j] = high[:, j] = low[:, j] + mask.argmax(axis=1)
        return replace(self, low=low, high=high)

    def descend(self, trees: TreeNodes, place: Index, bound: Index, first: Index, *, left: bool) -> LeafRanges:
        """The paths one node further, all to the left or all to the right."""
        rows, at = np.arange(len(self.node)), place[self.node]
        low, high, missing = self.low.copy(), self.high.copy(), self.allows_missing.copy()
        levels = {j: mask.copy() for j, mask in self.levels.items()}
        number = trees.category[self.node] < 0
        mine, column = rows[number], at[number]
        edge = (first[:-1][column] + bound[self.node[number]]).astype(np.int32)
        if left:
            high[mine, column] = np.minimum(high[mine, column], edge)
        else:
            low[mine, column] = np.maximum(low[mine, column], edge + 1)
        missing[mine, column] &= trees.missing_left[self.node[number]] == left
        for row in rows[~number].tolist():
            levels[int(at[row])][row] &= trees.category_sets[trees.category[self.node[row]]] == left
        return LeafRanges((trees.left if left else trees.right)[self.node], self.tree, low, high, missing, levels)

    def distinct_cells(self, place: int, start: int, stop: int, part: slice) -> Index:
        """The cells ``start`` to ``stop`` of a column that differ from the one before for some of the leaves."""
        if place in self.levels:
            return np.arange(start, stop)
        cuts = np.concatenate([self.low[part, place], self.high[part, place] + 1, [start, stop - 1]])
        return np.unique(cuts[(cuts >= start) & (cuts < stop)]).astype(np.intp)


def last_left_cells(trees: TreeNodes, place: Index, edges: tuple[Array | None, ...]) -> Index:
    """For each node that splits a number, the last cell of its column that goes left, counted from 0."""
    bound = np.zeros(len(trees.feature), dtype=np.intp)
    for j, edge in enumerate(edges):
        if edge is not None:
            mine = np.flatnonzero((trees.feature >= 0) & (place == j))
            bound[mine] = np.searchsorted(edge, trees.threshold[mine])
    bound[trees.threshold == -np.inf] = -1  # nothing but a missing value goes left
    return bound


def concatenate_ranges(parts: list[LeafRanges]) -> LeafRanges:
    """Several lists of paths as one."""
    levels = {j: np.concatenate([part.levels[j] for part in parts]) for j in parts[0].levels}
    return LeafRanges(
        np.concatenate([part.node for part in parts]),
        np.concatenate([part.tree for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.allows_missing for part in parts]),
        levels,
    )
