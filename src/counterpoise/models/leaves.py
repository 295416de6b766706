"""Leaves of all trees, and what they say of every change of a single column.

A leaf that a single cell shuts a row out of is where its tree goes if that column changes. So finding those leaves, in
a table or by a walk down the trees, tells what every such change does to the sums of the leaves, without asking the
model once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from counterpoise.models.blocks import Table
from counterpoise.models.links import Finish, first_and_second, zero_is_second
from counterpoise.models.paths import Paths, Window
from counterpoise.models.walk import Walk
from counterpoise.models.walls import Walls
from counterpoise.types import Array, Index, Mask, gapless

if TYPE_CHECKING:
    from counterpoise.models.trees import TreeEnsemble

LARGEST = 2_000_000  # columns times leaves: beyond it a table is slow to make, and mostly to read, beside a walk
FEW, MOST = 12, 10_000_000  # so few trees, which are jumped into, have paths to each leaf up to this
AT_ONCE = 4_000_000  # cells of all points that are surveyed together
COMPARED = 100_000  # values times split points
DIGITS, TINY = 49, np.finfo(np.float64).tiny  # binary digits that leaves have of the largest sum; 53 are exact


class Survey(NamedTuple):
    """What p points sum up to, and what changes of a single cell make of that; cells are numbered through."""

    own: Index  # (p, trees) the leaf of each tree that a point is in
    sums: Array  # (p, s)
    point: Index  # (m,) pieces of neighbouring cells of one column that all add the same: whose they are,
    cell: Index  # (m,) the first of their cells,
    last: Index  # (m,) the last one,
    added: Array  # (m, s) and what is added in each


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of an ensemble, and the cells between its split points: numbered through, column after column.

    A column of numbers has a cell on either side of each split point, then one for missing values; a category has one
    for each level, then one for missing values. ``finish`` turns sums of leaves into the model's outputs.
    """

    columns: Index  # (f,) columns that are split
    edges: tuple[Array | None, ...]  # (f,) their split points; None for a category
    first: Index  # (f + 1,) the first cell of each, and one past the last
    finder: Table | Walk
    paths: Paths | None  # to each leaf, where they are not too many
    value: Array  # (leaves, w) what a leaf adds to the sums,
    column: Index  # (trees,) from this one on
    base: Array  # (s,)
    finish: Finish

    @classmethod
    def of(cls, trees: TreeEnsemble) -> Leaves | None:
        """The leaves of an ensemble; None where nothing is split, or a column as a number here and a category there."""
        columns = np.unique(trees.feature[trees.feature >= 0])
        coded = trees.category >= 0
        of_sets = zip(trees.feature[coded].tolist(), trees.category[coded].tolist(), strict=True)
        sizes = {column: len(trees.sets[number]) for column, number in of_sets}
        if not len(columns) or any(len(trees.thresholds[column]) for column in sizes):
            return None
        edges = tuple(None if column in sizes else trees.thresholds[column] for column in columns.tolist())
        counts = [sizes[j] if edge is None else len(edge) + 2 for j, edge in zip(columns.tolist(), edges, strict=True)]
        first = np.concatenate([[0], np.cumsum(counts)])
        node = np.flatnonzero(trees.feature < 0)
        size, paths, table = len(node) * len(columns), None, None
        if size <= (MOST if len(trees.roots) <= FEW else LARGEST):
            paths = Paths.of(trees, columns, edges, first)
            node = paths.node
        if paths is not None and size <= LARGEST:
            table = Table.of(paths, first)
        value = trees.value[node] / len(trees.roots) if trees.mean else trees.scale * trees.value[node]
        base = np.zeros(len(trees.base)) if trees.mean else trees.base
        value, base = _exact(value, base, len(trees.roots))
        finder = table or Walk.of(trees, columns, edges, first, node)
        return cls(columns, edges, first, finder, paths, value, trees.column, base, trees.finish)

    @cached_property
    def ends(self) -> dict[bytes, Any]:
        """What a lattice leaves of the cells, by its key: a search keeps it here."""
        return {}

    @property
    def one_margin(self) -> bool:
        """Whether the sum is the margin between two classes."""
        return self.finish in (first_and_second, zero_is_second)

    @cached_property
    def feature(self) -> Index:
        """The place of each cell's column among those that are split, ``(cells,)``."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.first))

    @property
    def trees(self) -> int:
        """How many there are."""
        return len(self.column)

    @cached_property
    def walls(self) -> Walls | None:
        """What a row has to be inside of to be in each leaf; None where there are too many leaves."""
        return None if self.paths is None else Walls.of(self.paths, self.first)

    @cached_property
    def kinds(self) -> tuple[Index, Index]:
        """Leaves of which no two of a tree are worth the same ``(k,)``, and which of these each leaf is worth."""
        every = np.column_stack([self._tree, self.value])
        _, leaf, kind = np.unique(every, axis=0, return_index=True, return_inverse=True)
        return leaf, kind.reshape(-1)

    @cached_property
    def coded(self) -> Index:
        """The places of categories among the columns."""
        return np.array([place for place, edge in enumerate(self.edges) if edge is None], dtype=np.intp)

    @cached_property
    def above(self) -> Array:
        """The upper end of each cell ``(cells,)``, which belongs to it; a level is its own; NaN for missing values."""
        return np.concatenate([_ends(edge, size)[1] for edge, size in self._columns()])

    @cached_property
    def below(self) -> Array:
        """The lower end of each cell ``(cells,)``, which does not belong to it."""
        return np.concatenate([_ends(edge, size)[0] for edge, size in self._columns()])

    @cached_property
    def _every(self) -> bool:
        """Whether the columns that are split are the first ones, in order."""
        return np.array_equal(self.columns, np.arange(len(self.columns)))

    def cells(self, x: Array) -> Index:
        """The cells ``(p, f)`` that encoded rows ``(p, d)`` are in."""
        values = x if self._every and x.shape[1] == len(self.columns) else x.take(self.columns, axis=1)
        if values.size * self._padded.shape[1] <= COMPARED:  # the first split point that is not below
            cell = (self._padded >= values[..., None]).argmax(axis=-1)
        else:
            cell = placed(self._padded, values)
        if len(self.coded):
            levels = values[:, self.coded]
            cell[:, self.coded] = np.where(np.isnan(levels), 0, levels)
        cell += self.first[:-1]
        return cell if gapless(values) else np.where(np.isnan(values), self.first[1:] - 1, cell)

    def sums(self, cells: Index) -> Array:
        """The sums ``(p, s)`` of rows in these cells ``(p, f)``."""
        return self._summed(self.finder.inside(cells))

    def swapped(self, seen: Survey) -> Array:
        """The outputs ``(p, kinds, c)`` of points if one tree alone gave them another leaf, for every kind of leaf."""
        leaf, p = self.kinds[0], len(seen.own)
        tree = self._tree[leaf]
        change = self.value[leaf] - self.value[seen.own].take(tree, axis=1)  # (p, kinds, w)
        sums = np.repeat(seen.sums[:, None, :], len(leaf), axis=1)
        at = self.column[tree][:, None] + np.arange(change.shape[2])
        sums[:, np.arange(len(leaf))[:, None], at] += change
        return self.finish(sums.reshape(-1, len(self.base))).reshape(p, len(leaf), -1)

    def survey(self, cells: Index, home: Index, window: Window | None = None) -> Survey:
        """What points in these cells ``(p, f)`` sum up to, and what they would with any one of their cells changed.

        The points are of n rows, as many of each. Cells outside of a row's window ``(n, f)`` are not looked into. The
        cells ``home`` ``(n, f)``, which are inside it, are pieces of their own. Missing values of a column of numbers
        are not looked into either: their cell says what the row has now.
        """
        n, q = len(home), len(cells) // max(len(home), 1)
        if window is None:
            every = self.first[:-1], self.first[1:]
            window = Window(*(np.tile(ends.astype(np.int32), (n, 1)) for ends in every))
        size = max(1, min(self.finder.size, AT_ONCE // len(self.feature)) // max(q, 1))  # rows looked at together
        if size >= n:
            return self._survey(cells, home, window)
        parts, starts = [], range(0, n, size)
        for start in starts:
            some = slice(start, start + size)
            parts.append(self._survey(cells[start * q : (start + size) * q], home[some], window.part(some)))
        own, sums, point, cell, last, added = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        point += np.repeat(np.array(starts) * q, [len(part.point) for part in parts])
        return Survey(own, sums, point, cell, last, added)

    def _survey(self, cells: Index, home: Index, window: Window) -> Survey:
        own, near = self.finder.around(cells, window)
        (p, f), width = cells.shape, int(self.first[-1]) + 1
        line = np.arange(0, p * width, width)
        begin = line.take(near.point)
        begin, end = begin + near.begin, begin + near.end
        # pieces begin where what a leaf brings begins or ends, where windows do, and on either side of home
        edges = np.concatenate([window.first, window.end, home, home + 1], axis=1)
        at = line[:, None] + edges.repeat(p // max(len(home), 1), axis=0)
        marks = np.zeros(p * width, dtype=bool)
        marks[at] = marks[begin] = marks[end] = True
        found = marks.nonzero()[0]
        number = np.empty(p * width, dtype=np.intp)
        number[found] = np.arange(len(found))
        begin, end = number.take(begin), number.take(end)
        before, added = own.take(near.point * own.shape[1] + near.tree), np.zeros((len(self.base), len(found)))
        for first, mine in self._groups:
            some = slice(None) if len(self._groups) == 1 else np.flatnonzero(mine.take(near.tree))
            for k, worth in enumerate(self._worth, first):
                rise = worth.take(near.leaf[some]) - worth.take(before[some])
                steps = np.bincount(begin[some], rise, len(found))
                steps -= np.bincount(end[some], rise, len(found))
                added[k] += steps.cumsum()  # sums are exact: none depends on the points before
        # what lies between two windows is no piece
        marks[at[:, f : 2 * f]] = False
        marks[at[:, :f]] = True
        kept = marks.take(found).nonzero()[0]
        cell, last = found.take(kept), found.take(kept + 1)
        point = cell // width
        cell -= point * width
        last -= point * width + 1
        return Survey(own, self._summed(own), point, cell, last, added.take(kept, axis=1).T)

    def _summed(self, own: Index) -> Array:
        """What leaves ``(p, trees)`` sum up to, ``(p, s)``."""
        out = self.base[None].repeat(len(own), axis=0)
        for first, mine in self._groups:
            some = own if len(self._groups) == 1 else own[:, mine]
            for k, worth in enumerate(self._worth, first):
                out[:, k] += worth.take(some).sum(axis=1)
        return out

    @cached_property
    def _groups(self) -> tuple[tuple[int, Mask], ...]:
        """The first sum that trees add to, and which trees ``(trees,)`` do."""
        return tuple((first, self.column == first) for first in np.unique(self.column).tolist())

    @cached_property
    def _worth(self) -> Array:
        return np.ascontiguousarray(self.value.T)

    @cached_property
    def _tree(self) -> Index:
        assert self.paths is not None, "asked for where there are few trees"
        return self.paths.tree

    def _columns(self) -> list[tuple[Array | None, int]]:
        return list(zip(self.edges, np.diff(self.first).tolist(), strict=True))

    @cached_property
    def _padded(self) -> Array:
        """Split points ``(f, t)``, padded with infinity, one at least."""
        width = max((len(edge) for edge in self.edges if edge is not None), default=0)
        out = np.full((len(self.edges), width + 1), np.inf)
        for place, edge in enumerate(self.edges):
            if edge is not None:
                out[place, : len(edge)] = edge
        return out


def _exact(value: Array, base: Array, trees: int) -> tuple[Array, Array]:
    """Values of leaves and what they are added to, rounded to a grid so that sums of them are exact in any order.

    The grid goes by the largest sum that the largest leaves could make, so that values more than 12 digits below these
    are lost to surveys; the model itself is asked all the same before an answer counts.
    """
    total = trees * np.abs(value).max(initial=0.0) + np.abs(base).max(initial=0.0)
    grid = 2.0 ** (np.ceil(np.log2(max(total, TINY))) - DIGITS)
    return np.rint(value / grid) * grid, np.rint(base / grid) * grid


def placed(edges: Array, values: Array) -> Index:
    """How many split points ``(f, t)``, sorted and padded with infinity, lie below each of ``values`` ``(..., f)``.

    >>> placed(np.array([[1.0, 2.0], [5.0, np.inf]]), np.array([[2.0, 6.0]]))
    array([[1, 1]])
    """
    if values.size * edges.shape[1] <= COMPARED:  # few: comparing all is quicker than a search by column
        return np.asarray(np.count_nonzero(~(edges >= values[..., None]), axis=-1))
    out = np.empty(values.shape, dtype=np.intp)
    for place, line in enumerate(edges):
        out[..., place] = line.searchsorted(values[..., place], side="left")
    return out


def _ends(edge: Array | None, size: int) -> tuple[Array, Array]:
    """The lower and the upper end of each cell of one column."""
    if edge is None:
        level = np.append(np.arange(size - 1.0), np.nan)
        return np.nextafter(level, -np.inf), level
    return np.concatenate([[-np.inf], edge, [np.nan]]), np.concatenate([edge, [np.inf, np.nan]])
