"""LeafWalk: walks down all trees at once, along the cells of points and along each single change of one cell.

A changed point parts from the point's own path at a node where it goes to the other side. From there on the column of
that node is free within a range: the walk takes both sides of later splits of that column, as far as the range reaches,
and the point's own side of all other splits. It ends in the leaves that a single cell excludes the point from. The walk
needs a list of nodes and no table, so it works for trees of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.trees.leaf_bits import WORD_BITS, find_set_bits, pack_bits
from counterpoise.models.trees.leaf_ranges import CellWindow, Int32Array, NeighbourLeaves, last_left_cells
from counterpoise.models.trees.nodes import TreeNodes
from counterpoise.models.trees.settings import DEFAULT_LEAF_SETTINGS, LeafSettings
from counterpoise.types import Array, Index, Mask

BitWords = NDArray[np.uint64]


class FreedPaths(NamedTuple):
    """Partial root-to-leaf paths with one column freed; each array is ``(e,)``."""

    point: Int32Array
    own_path: Index  # the point's own path that each parted from
    node: Int32Array
    place: Int32Array  # of the column that is free, among those that are split
    low: Int32Array  # the first and the last of the cells that it may be in, if it is a number
    high: Int32Array
    levels: BitWords  # (e, words) the levels that it may have, if it is a category

    def take(self, at: Index) -> FreedPaths:
        """Some of the paths."""
        point, way, node, place, low, high, levels = self
        return FreedPaths(point[at], way[at], node[at], place[at], low[at], high[at], levels[at])


@dataclass(frozen=True, eq=False)
class LeafWalk:
    """The nodes of all trees, as splits between cells that are numbered through."""

    # (nodes, 5): place of the column, -1 in a leaf; last cell to the left, or number of a category set; left child;
    # right child; whether a missing number goes left
    nodes: Int32Array
    leaf_of_node: Index  # (nodes,) the number of each leaf among the leaves; -1 where it is none
    roots: Int32Array
    first_cells: Int32Array  # (f + 1,) the first cell of each column
    is_categorical: Mask  # (f,) columns that are categories
    category_sets: BitWords  # (sets, words) a bit for each level, the missing one last: 1 where it goes left
    settings: LeafSettings = DEFAULT_LEAF_SETTINGS

    @classmethod
    def of(
        cls,
        trees: TreeNodes,
        columns: Index,
        edges: tuple[Array | None, ...],
        first: Index,
        node: Index,
        settings: LeafSettings = DEFAULT_LEAF_SETTINGS,
    ) -> LeafWalk:
        """All nodes of an ensemble over ``columns`` with these split points; ``first`` ``(f + 1,)`` cell of each.

        ``node`` ``(leaves,)`` are the leaves among them, in the order in which they are numbered.
        """
        place = np.searchsorted(columns, np.maximum(trees.feature, columns[0]))
        cut = np.where(trees.category >= 0, trees.category, first[place] + last_left_cells(trees, place, edges))
        inner = trees.feature >= 0
        nodes = np.stack([np.where(inner, place, -1), cut, trees.left, trees.right, trees.missing_left], axis=1)
        sets = np.zeros(
            (len(trees.category_sets), max((len(levels) for levels in trees.category_sets), default=0)), dtype=bool
        )
        for number, levels in enumerate(trees.category_sets):
            sets[number, : len(levels)] = levels
        coded = np.array([edge is None for edge in edges])
        leaf = np.full(len(inner), -1, dtype=np.intp)
        leaf[node] = np.arange(len(node))
        small = nodes.astype(np.int32), trees.roots.astype(np.int32), first.astype(np.int32)
        return cls(small[0], leaf, small[1], small[2], coded, pack_bits(sets, rest=False), settings)

    @property
    def max_points_together(self) -> int:
        """How many points are asked about together."""
        each = len(self.is_categorical) + np.count_nonzero(self.is_categorical) * 2 * self.category_sets.shape[1]
        return int(self.settings.max_path_columns_together // (len(self.roots) * each))

    def find_leaves(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        flat, f = cells.reshape(-1).astype(np.int32), cells.shape[1]
        point, node = self._start_at_roots(len(cells))
        going = np.arange(len(node))
        while len(going):
            place, cut, left, right, missing = self.nodes.take(node[going], axis=0).T
            cell = flat.take(point[going] * f + place)
            node[going] = np.where(
                place < 0, node[going], np.where(self._goes_left(place, cut, missing, cell), left, right)
            )
            going = going[self.nodes[node[going], 0] >= 0]
        return self.leaf_of_node.take(node).reshape(len(cells), -1)

    def find_leaves_and_neighbours(self, cells: Index, window: CellWindow) -> tuple[Index, NeighbourLeaves]:
        """`find_leaves`, and the leaves that a single cell of the row's window ``(n, f)`` excludes its points from."""
        window = window.repeat_for_points(len(cells))
        flat, f = cells.reshape(-1).astype(np.int32), cells.shape[1]
        point, node = self._start_at_roots(len(cells))
        point_leaves, ranges, going = (
            np.empty(len(node), dtype=np.intp),
            self._open_ranges(len(node)),
            np.arange(len(node)),
        )
        none = np.empty(0, dtype=np.int32)
        ways, found = FreedPaths(none, going[:0], none, none, none, none, self.category_sets[:0]), []
        while len(going) or len(ways.node):
            place, cut, left, right, missing = self.nodes.take(node, axis=0).T
            point_leaves[going] = node  # the last one is the leaf
            inner = np.flatnonzero(place >= 0)
            place, cut, left, right, missing, point = (
                array.take(inner) for array in (place, cut, left, right, missing, point)
            )
            going = going.take(inner)
            goes = self._goes_left(place, cut, missing, flat.take(point * f + place))
            node, other = np.where(goes, left, right), np.where(goes, right, left)
            ended, ways = self._follow(ways, flat.reshape(-1, f))
            found.append(ended)
            ways = concatenate_paths([ranges.leave_paths(going, point, other, place, cut, goes, window), ways])
        every = concatenate_paths(found)
        begin, end = every.low, every.high + np.int32(1)
        if self.is_categorical.any():  # level by level
            mine = np.flatnonzero(self.is_categorical.take(every.place))
            entry, level = find_set_bits(every.levels[mine])
            cell = self.first_cells.take(every.place[mine[entry]]) + level
            of_numbers = np.flatnonzero(~self.is_categorical.take(every.place))
            begin, end = np.concatenate([begin[of_numbers], cell]), np.concatenate([end[of_numbers], cell + 1])
            every = concatenate_paths([every.take(of_numbers), every.take(mine[entry])])
            begin, end = begin.astype(np.int32), end.astype(np.int32)
        owner = every.point.astype(np.intp)
        begin, end = window.clip_ranges(owner * f + every.place, begin, end)
        kept = np.flatnonzero(begin < end)
        begin, end = begin[kept], end[kept]
        leaf, tree = self.leaf_of_node.take(every.node[kept]), every.own_path[kept] % len(self.roots)
        return self.leaf_of_node.take(point_leaves).reshape(len(cells), -1), NeighbourLeaves(
            owner[kept], tree, leaf, begin, end
        )

    def _follow(self, ways: FreedPaths, cells: Int32Array) -> tuple[FreedPaths, FreedPaths]:
        """The paths that have reached a leaf, and the others one node farther."""
        place, cut, left, right, missing = self.nodes.take(ways.node, axis=0).T
        ended, inner = ways.take(np.flatnonzero(place < 0)), np.flatnonzero(place >= 0)
        place, cut, left, right, missing = (array.take(inner) for array in (place, cut, left, right, missing))
        ways = ways.take(inner)
        free = place == ways.place
        coded = np.flatnonzero(free & self.is_categorical.take(place))
        free[coded] = False
        cell = np.where(free, ways.low, cells.take(ways.point * cells.shape[1] + place))
        goes = self._goes_left(place, cut, missing, cell)
        lefts, rights, other = ways._replace(node=left), ways._replace(node=right), ~goes
        if len(coded):
            lefts, rights = lefts._replace(levels=ways.levels.copy()), rights._replace(levels=ways.levels.copy())
            lefts.levels[coded] &= self.category_sets[cut[coded]]
            rights.levels[coded] &= ~self.category_sets[cut[coded]]
            goes[coded], other[coded] = lefts.levels[coded].any(axis=1), rights.levels[coded].any(axis=1)
        to_left, to_right = np.flatnonzero(goes), np.flatnonzero(np.where(free, ways.high > cut, other))
        lefts = lefts._replace(high=np.where(free, np.minimum(ways.high, cut), ways.high))
        rights = rights._replace(low=np.where(free, np.maximum(ways.low, cut + 1), ways.low))
        return ended, concatenate_paths([lefts.take(to_left), rights.take(to_right)])

    def _start_at_roots(self, points: int) -> tuple[Int32Array, Int32Array]:
        """The point and the root of each path at its start, ``(points * trees,)``."""
        return np.repeat(np.arange(points, dtype=np.int32), len(self.roots)), np.tile(self.roots, points)

    def _goes_left(self, place: Int32Array, cut: Int32Array, missing: Int32Array, cell: Int32Array) -> Mask:
        """Whether cells go left."""
        goes = cell <= cut
        is_missing = cell == self.first_cells[1:].take(place) - 1
        if is_missing.any():
            goes = np.where(is_missing, missing > 0, goes)
        if self.is_categorical.any():
            mine = np.flatnonzero(self.is_categorical.take(place) & (place >= 0))
            level = (cell - self.first_cells.take(place))[mine]
            goes[mine] = (
                self.category_sets[cut[mine], level // WORD_BITS] >> (level % WORD_BITS).astype(np.uint64)
            ) & np.uint64(1)
        return np.asarray(goes)

    def _open_ranges(self, ways: int) -> OwnPathRanges:
        low, high = np.tile(self.first_cells[:-1], ways), np.tile(self.first_cells[1:] - 2, ways)
        sizes = np.diff(self.first_cells)[self.is_categorical]
        levels = pack_bits(np.arange(WORD_BITS * self.category_sets.shape[1]) < sizes[:, None], rest=False)
        return OwnPathRanges(self, low, high, np.tile(levels, (ways, 1, 1)))


class OwnPathRanges(NamedTuple):
    """The cells of each column that lead along the points' own paths, as far as these have been walked."""

    walk: LeafWalk
    low: Int32Array  # (ways * f,) of numbers, the first and the last one
    high: Int32Array
    levels: BitWords  # (ways, categories, words) of categories, a bit for each level

    def leave_paths(
        self,
        way: Index,
        point: Int32Array,
        other: Int32Array,
        place: Int32Array,
        cut: Int32Array,
        goes: Mask,
        window: CellWindow,
    ) -> FreedPaths:
        """Paths that part from the points' own at a split ``cut`` and go to the ``other`` child; arrays are ``(e,)``.

        Each new path gets the range of cells that leads to it, and the own path, number ``way``, loses that range.
        Paths that no number of the window leads to are dropped.
        """
        at = way * len(self.walk.is_categorical) + place
        low, high = self.low.take(at), self.high.take(at)
        above, below = np.maximum(low, cut + 1), np.minimum(high, cut)
        self.low[at], self.high[at] = np.where(goes, low, above), np.where(goes, below, high)
        low, high = np.where(goes, above, low), np.where(goes, high, below)
        seen = point * np.int32(len(self.walk.is_categorical)) + place
        there = np.maximum(low, window.first.take(seen)) <= np.minimum(high, window.end.take(seen) - np.int32(1))
        levels = np.zeros((len(way), self.walk.category_sets.shape[1]), dtype=np.uint64)
        mine = np.flatnonzero(self.walk.is_categorical.take(place)) if self.walk.is_categorical.any() else way[:0]
        if len(mine):
            which = way[mine], (np.cumsum(self.walk.is_categorical) - 1).take(place[mine])
            path_levels, sets = self.levels[which], self.walk.category_sets[cut[mine]]
            same = np.where(goes[mine][:, None], sets, ~sets)
            self.levels[which] = path_levels & same
            levels[mine] = path_levels & ~same
            there[mine] = levels[mine].any(axis=1)
        return FreedPaths(point, way, other, place, low, high, levels).take(np.flatnonzero(there))


def concatenate_paths(parts: list[FreedPaths]) -> FreedPaths:
    """Several lists of paths as one."""
    return FreedPaths(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
