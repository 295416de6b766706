"""Walks: down all trees at once, along the cells of points, and along any one other cell of each.

A point leaves its own way at a node where it goes to the other side, and from there on the column of that node is free
within a range: it takes both sides of later splits of the column, as far as the range reaches, and the point's own side
of all others. The leaves where such ways end are those that a single cell keeps the point out of. Nothing has to be
made before but a list of nodes, so that trees of any size can be asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.blocks import WORD, ones, packed
from counterpoise.models.paths import Near, Small, Window, bounds
from counterpoise.types import Array, Index, Mask

if TYPE_CHECKING:
    from counterpoise.models.trees import TreeEnsemble

AT_ONCE = 1_000_000  # columns of ways from the roots that are walked together
Words = NDArray[np.uint64]


class Ways(NamedTuple):
    """Ways that have left those of their points; each array is ``(e,)``."""

    point: Small
    way: Index  # the own way that each has left
    node: Small
    place: Small  # of the column that is free, among those that are split
    low: Small  # the first and the last of the cells that it may be in, if it is a number
    high: Small
    levels: Words  # (e, words) the levels that it may have, if it is a category

    def take(self, some: Index) -> Ways:
        """Some of them."""
        point, way, node, place, low, high, levels = self
        return Ways(point[some], way[some], node[some], place[some], low[some], high[some], levels[some])


@dataclass(frozen=True, eq=False)
class Walk:
    """The nodes of all trees, as splits between cells that are numbered through."""

    nodes: Small  # (nodes, 5) place of the column, -1 in a leaf; last cell to the left, or number of a set; children;
    #               whether a missing number goes left
    leaf: Index  # (nodes,) the number of each leaf among the leaves; -1 where it is none
    roots: Small
    first: Small  # (f + 1,) the first cell of each column
    coded: Mask  # (f,) columns that are categories
    sets: Words  # (sets, words) a bit for each level, the missing one last: 1 where it goes left

    @classmethod
    def of(
        cls, trees: TreeEnsemble, columns: Index, edges: tuple[Array | None, ...], first: Index, node: Index
    ) -> Walk:
        """All nodes of an ensemble over ``columns`` with these split points; ``first`` ``(f + 1,)`` cell of each.

        ``node`` ``(leaves,)`` are the leaves among them, in the order in which they are numbered.
        """
        place = np.searchsorted(columns, np.maximum(trees.feature, columns[0]))
        cut = np.where(trees.category >= 0, trees.category, first[place] + bounds(trees, place, edges))
        inner = trees.feature >= 0
        nodes = np.stack([np.where(inner, place, -1), cut, trees.left, trees.right, trees.missing_left], axis=1)
        sets = np.zeros((len(trees.sets), max((len(levels) for levels in trees.sets), default=0)), dtype=bool)
        for number, levels in enumerate(trees.sets):
            sets[number, : len(levels)] = levels
        coded = np.array([edge is None for edge in edges])
        leaf = np.full(len(inner), -1, dtype=np.intp)
        leaf[node] = np.arange(len(node))
        small = nodes.astype(np.int32), trees.roots.astype(np.int32), first.astype(np.int32)
        return cls(small[0], leaf, small[1], small[2], coded, packed(sets, rest=False))

    @property
    def size(self) -> int:
        """How many points are asked about together."""
        each = len(self.coded) + np.count_nonzero(self.coded) * 2 * self.sets.shape[1]
        return int(AT_ONCE // (len(self.roots) * each))

    def inside(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        flat, f = cells.reshape(-1).astype(np.int32), cells.shape[1]
        point, node = self._set_out(len(cells))
        going = np.arange(len(node))
        while len(going):
            place, cut, left, right, missing = self.nodes.take(node[going], axis=0).T
            here = flat.take(point[going] * f + place)
            node[going] = np.where(place < 0, node[going], np.where(self._left(place, cut, missing, here), left, right))
            going = going[self.nodes[node[going], 0] >= 0]
        return self.leaf.take(node).reshape(len(cells), -1)

    def around(self, cells: Index, window: Window) -> tuple[Index, Near]:
        """The same, and the leaves that a single cell of a row's window ``(n, f)`` keeps its points out of."""
        window = window.repeated(len(cells))
        flat, f = cells.reshape(-1).astype(np.int32), cells.shape[1]
        point, node = self._set_out(len(cells))
        own, ranges, going = np.empty(len(node), dtype=np.intp), self._ranges(len(node)), np.arange(len(node))
        none = np.empty(0, dtype=np.int32)
        ways, found = Ways(none, going[:0], none, none, none, none, self.sets[:0]), []
        while len(going) or len(ways.node):
            place, cut, left, right, missing = self.nodes.take(node, axis=0).T
            own[going] = node  # the last one is the leaf
            inner = np.flatnonzero(place >= 0)
            place, cut, left, right, missing, point = (
                array.take(inner) for array in (place, cut, left, right, missing, point)
            )
            going = going.take(inner)
            goes = self._left(place, cut, missing, flat.take(point * f + place))
            node, other = np.where(goes, left, right), np.where(goes, right, left)
            ended, ways = self._followed(ways, flat.reshape(-1, f))
            found.append(ended)
            ways = joined([ranges.leaving(going, point, other, place, cut, goes, window), ways])
        every = joined(found)
        begin, end = every.low, every.high + np.int32(1)
        if self.coded.any():  # level by level
            mine = np.flatnonzero(self.coded.take(every.place))
            entry, level = ones(every.levels[mine])
            cell = self.first.take(every.place[mine[entry]]) + level
            of_numbers = np.flatnonzero(~self.coded.take(every.place))
            begin, end = np.concatenate([begin[of_numbers], cell]), np.concatenate([end[of_numbers], cell + 1])
            every = joined([every.take(of_numbers), every.take(mine[entry])])
            begin, end = begin.astype(np.int32), end.astype(np.int32)
        owner = every.point.astype(np.intp)
        begin, end = window.clipped(owner * f + every.place, begin, end)
        kept = np.flatnonzero(begin < end)
        begin, end = begin[kept], end[kept]
        leaf, tree = self.leaf.take(every.node[kept]), every.way[kept] % len(self.roots)
        return self.leaf.take(own).reshape(len(cells), -1), Near(owner[kept], tree, leaf, begin, end)

    def _followed(self, ways: Ways, cells: Small) -> tuple[Ways, Ways]:
        """Those of the ways that have come to a leaf, and the others one node farther."""
        place, cut, left, right, missing = self.nodes.take(ways.node, axis=0).T
        ended, inner = ways.take(np.flatnonzero(place < 0)), np.flatnonzero(place >= 0)
        place, cut, left, right, missing = (array.take(inner) for array in (place, cut, left, right, missing))
        ways = ways.take(inner)
        free = place == ways.place
        coded = np.flatnonzero(free & self.coded.take(place))
        free[coded] = False
        here = np.where(free, ways.low, cells.take(ways.point * cells.shape[1] + place))
        goes = self._left(place, cut, missing, here)
        lefts, rights, other = ways._replace(node=left), ways._replace(node=right), ~goes
        if len(coded):
            lefts, rights = lefts._replace(levels=ways.levels.copy()), rights._replace(levels=ways.levels.copy())
            lefts.levels[coded] &= self.sets[cut[coded]]
            rights.levels[coded] &= ~self.sets[cut[coded]]
            goes[coded], other[coded] = lefts.levels[coded].any(axis=1), rights.levels[coded].any(axis=1)
        to_left, to_right = np.flatnonzero(goes), np.flatnonzero(np.where(free, ways.high > cut, other))
        lefts = lefts._replace(high=np.where(free, np.minimum(ways.high, cut), ways.high))
        rights = rights._replace(low=np.where(free, np.maximum(ways.low, cut + 1), ways.low))
        return ended, joined([lefts.take(to_left), rights.take(to_right)])

    def _set_out(self, points: int) -> tuple[Small, Small]:
        """The points and the roots that all ways set out from, ``(points * trees,)``."""
        return np.repeat(np.arange(points, dtype=np.int32), len(self.roots)), np.tile(self.roots, points)

    def _left(self, place: Small, cut: Small, missing: Small, cell: Small) -> Mask:
        """Whether cells go left."""
        goes = cell <= cut
        gone = cell == self.first[1:].take(place) - 1
        if gone.any():
            goes = np.where(gone, missing > 0, goes)
        if self.coded.any():
            mine = np.flatnonzero(self.coded.take(place) & (place >= 0))
            level = (cell - self.first.take(place))[mine]
            goes[mine] = (self.sets[cut[mine], level // WORD] >> (level % WORD).astype(np.uint64)) & np.uint64(1)
        return np.asarray(goes)

    def _ranges(self, ways: int) -> Ranges:
        low, high = np.tile(self.first[:-1], ways), np.tile(self.first[1:] - 2, ways)
        sizes = np.diff(self.first)[self.coded]
        levels = packed(np.arange(WORD * self.sets.shape[1]) < sizes[:, None], rest=False)
        return Ranges(self, low, high, np.tile(levels, (ways, 1, 1)))


class Ranges(NamedTuple):
    """The cells of each column that lead along points' own ways, as far as these have come."""

    walk: Walk
    low: Small  # (ways * f,) of numbers, the first and the last one
    high: Small
    levels: Words  # (ways, categories, words) of categories, a bit for each level

    def leaving(
        self, way: Index, point: Small, other: Small, place: Small, cut: Small, goes: Mask, window: Window
    ) -> Ways:
        """Ways to ``other`` nodes from where points go left or right at ``cut``, with the ranges that lead there.

        What is left of the own ways, whose numbers are ``way``, is less by these ranges; each array is ``(e,)``. A way
        that no number of the window leads to is not followed.
        """
        at = way * len(self.walk.coded) + place
        low, high = self.low.take(at), self.high.take(at)
        above, below = np.maximum(low, cut + 1), np.minimum(high, cut)
        self.low[at], self.high[at] = np.where(goes, low, above), np.where(goes, below, high)
        low, high = np.where(goes, above, low), np.where(goes, high, below)
        seen = point * np.int32(len(self.walk.coded)) + place
        there = np.maximum(low, window.first.take(seen)) <= np.minimum(high, window.end.take(seen) - np.int32(1))
        levels = np.zeros((len(way), self.walk.sets.shape[1]), dtype=np.uint64)
        mine = np.flatnonzero(self.walk.coded.take(place)) if self.walk.coded.any() else way[:0]
        if len(mine):
            which = way[mine], (np.cumsum(self.walk.coded) - 1).take(place[mine])
            here, sets = self.levels[which], self.walk.sets[cut[mine]]
            same = np.where(goes[mine][:, None], sets, ~sets)
            self.levels[which] = here & same
            levels[mine] = here & ~same
            there[mine] = levels[mine].any(axis=1)
        return Ways(point, way, other, place, low, high, levels).take(np.flatnonzero(there))


def joined(parts: list[Ways]) -> Ways:
    """Several lists of ways as one."""
    return Ways(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
