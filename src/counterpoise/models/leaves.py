"""Leaves of all trees as one table: which cells of which columns keep a row out of each leaf.

A row is in the leaf of a tree that none of its cells is shut out of. A leaf that a single cell shuts it out of is where
the tree goes if that column changes. So one look at the table tells what every change of a single column does to the
sums of the leaves, without asking the model once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.links import Finish
from counterpoise.types import Array, Index, Mask

if TYPE_CHECKING:
    from counterpoise.models.trees import Boxes, TreeEnsemble

MOST = 16_000_000  # cells times leaves: beyond it, asking the model is quicker than the table
WIDEST = 255  # columns that are split, so that a byte can count and number them
AT_ONCE = 2_000_000  # bytes of the table looked at together, so that they stay near the processor
COMPARED = 100_000  # values times split points


class Survey(NamedTuple):
    """What p points sum up to, and what changes of a single cell make of that; cells are numbered through."""

    sums: Array  # (p, s)
    shifts: Array  # (s, p, cells + 1) what is added in each cell
    marks: Mask  # (p, cells + 1) where it may differ from what is added in the cell before

    def at(self, point: Index, cell: Index) -> Array:
        """The sums ``(e, s)`` of points ``(e,)`` moved to a cell ``(e,)`` each."""
        place = point * self.marks.shape[1] + cell
        return np.stack(
            [self.sums[:, k].take(point) + shift.take(place) for k, shift in enumerate(self.shifts)], axis=1
        )


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of an ensemble, and the cells between its split points: numbered through, column after column.

    A column of numbers has a cell on either side of each split point, then one for missing values; a category has one
    for each level, then one for missing values. ``finish`` turns sums of leaves into the model's outputs.
    """

    columns: Index  # (f,) columns that are split
    edges: tuple[Array | None, ...]  # (f,) their split points; None for a category
    first: Index  # (f + 1,) the first cell of each, and one past the last
    shut: NDArray[np.uint8]  # (cells, leaves) 1 where a row in the cell cannot be in the leaf
    low: NDArray[np.int32]  # (leaves, f) the first cell of a column that is open,
    high: NDArray[np.int32]  # (leaves, f) and the last one of numbers; of levels, the first once more
    tree: Index  # (leaves,)
    value: Array  # (leaves, s) what a leaf adds to the sums
    base: Array  # (s,)
    finish: Finish

    @classmethod
    def of(cls, trees: TreeEnsemble) -> Leaves | None:
        """The leaves of an ensemble; None where the table would be too large, or nothing is split."""
        columns = np.unique(trees.feature[trees.feature >= 0])
        coded = trees.category >= 0
        of_sets = zip(trees.feature[coded].tolist(), trees.category[coded].tolist(), strict=True)
        sizes = {column: len(trees.sets[number]) for column, number in of_sets}
        edges = tuple(None if column in sizes else trees.thresholds[column] for column in columns.tolist())
        counts = [sizes[j] if edge is None else len(edge) + 2 for j, edge in zip(columns.tolist(), edges, strict=True)]
        leaves = int(np.count_nonzero(trees.feature < 0))
        mixed = any(len(trees.thresholds[column]) for column in sizes)  # a number here and a category there
        if not 0 < len(columns) <= WIDEST or sum(counts) * leaves > MOST or mixed:
            return None
        boxes = [trees.boxes(tree) for tree in range(len(trees.roots))]
        first = np.concatenate([[0], np.cumsum(counts)])
        shut = np.zeros((int(first[-1]), leaves), dtype=np.uint8)
        low, high = np.zeros((2, leaves, len(columns)), dtype=np.int32)
        for place, (column, edge) in enumerate(zip(columns.tolist(), edges, strict=True)):
            mine = shut[first[place] : first[place + 1]]
            if edge is None:
                mine[:] = _by_level(boxes, column, len(mine))
                start = end = mine.argmin(axis=0)
            else:
                start = edge.searchsorted(np.concatenate([box.lower[:, column] for box in boxes]), side="right")
                end = edge.searchsorted(np.concatenate([box.upper[:, column] for box in boxes]), side="left")
                cell = np.arange(len(edge) + 1)[:, None]
                mine[:-1] = (cell < start) | (cell > end)
                mine[-1] = ~np.concatenate([box.missing[:, column] for box in boxes])
            low[:, place], high[:, place] = first[place] + start, first[place] + end
        tree = np.repeat(np.arange(len(boxes)), [len(box.value) for box in boxes])
        base = np.zeros(len(trees.base)) if trees.mean else trees.base
        return cls(columns, edges, first, shut, low, high, tree, _values(trees, boxes, tree), base, trees.finish)

    @cached_property
    def feature(self) -> Index:
        """The place of each cell's column among those that are split, ``(cells,)``."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.first))

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
    def grain(self) -> float:
        """A change of the sums that is nothing but rounding, whatever the batch."""
        return float(1e-7 * np.abs(self.value).max())

    @cached_property
    def bounds(self) -> tuple[Index, Index]:
        """Every column that a leaf has a bound on: the leaf, and the place of the column, ``(bounds,)`` each."""
        leaf, place = np.nonzero(np.maximum.reduceat(self.shut, self.first[:-1], axis=0).T)
        return leaf, place

    def cells(self, x: Array) -> Index:
        """The cells ``(p, f)`` that encoded rows ``(p, d)`` are in."""
        values = x[:, self.columns]
        if values.size * self._padded.shape[1] <= COMPARED:  # few: comparing all is quicker than a search by column
            cell = np.count_nonzero(~(self._padded >= values[..., None]), axis=-1)
        else:
            cell = np.empty(values.shape, dtype=np.intp)
            for place, edge in enumerate(self.edges):
                if edge is not None:
                    cell[:, place] = edge.searchsorted(values[:, place], side="left")
        gone = np.isnan(values)
        if len(self.coded):
            cell[:, self.coded] = np.where(gone[:, self.coded], 0, values[:, self.coded])
        cell += self.first[:-1]
        return np.where(gone, self.first[1:] - 1, cell) if gone.any() else cell

    def sums(self, cells: Index) -> Array:
        """The sums ``(p, s)`` of rows in these cells ``(p, f)``."""
        count = np.add.reduce(self.shut.take(cells, axis=0), axis=1, dtype=np.uint8)
        return np.asarray(self.base + self.value[np.nonzero(count == 0)[1].reshape(len(cells), -1)].sum(axis=1))

    def survey(self, cells: Index) -> Survey:
        """What rows in these cells ``(p, f)`` sum up to, and what they would with any one of their cells changed.

        Missing values of a column of numbers are not looked into: their cell says what the row has now.
        """
        size = max(1, AT_ONCE // (len(self.columns) * len(self.tree)))
        parts = [self._survey(cells[start : start + size]) for start in range(0, len(cells), size)]
        if len(parts) == 1:
            return parts[0]
        sums, shifts, marks = zip(*parts, strict=True)
        return Survey(np.concatenate(sums), np.concatenate(shifts, axis=1), np.concatenate(marks))

    def _survey(self, cells: Index) -> Survey:
        p, leaves, total = len(cells), len(self.tree), int(self.first[-1]) + 1
        shut = self.shut.take(cells, axis=0)  # (p, f, leaves)
        count = np.add.reduce(shut, axis=1, dtype=np.uint8).reshape(-1)
        own = np.flatnonzero(count == 0)  # each tree's leaf, point after point
        own -= np.repeat(np.arange(p) * leaves, len(own) // p)
        now = self.value.take(own, axis=0)
        near = np.flatnonzero(count == 1)
        point = np.repeat(np.arange(p), np.diff(np.searchsorted(near, np.arange(p + 1) * leaves)))
        leaf = near - point * leaves
        shut *= self._numbers  # the sum of one number is that number: the column that keeps the row out
        place = np.add.reduce(shut, axis=1, dtype=np.uint8).reshape(-1).take(near).astype(np.intp)
        change = self.value.take(leaf, axis=0) - now.take(point * (len(own) // p) + self.tree.take(leaf), axis=0)
        # what a leaf brings begins at its first open cell and ends after its last
        bound = leaf * len(self.columns) + place
        begin, end = self.low.take(bound).astype(np.intp), self.high.take(bound).astype(np.intp) + 1
        if len(self.coded):
            which, begin, end = self._levels(leaf, place, begin, end)
            point, change = point[which], change[which]
        at = np.concatenate([begin, end]) + np.tile(point * total, 2)
        marks = np.zeros(p * total, dtype=bool)
        marks[at] = True
        shifts = np.empty((len(self.base), p, total))
        for k, shift in enumerate(shifts):
            steps = np.bincount(at, np.concatenate([change[:, k], -change[:, k]]), p * total)
            np.cumsum(steps.reshape(p, total), axis=1, out=shift)  # point by point: none depends on another
        sums = self.base + now.reshape(p, -1, len(self.base)).sum(axis=1)
        return Survey(sums, shifts, marks.reshape(p, total))

    def _levels(self, leaf: Index, place: Index, begin: Index, end: Index) -> tuple[Index, Index, Index]:
        """The same beginnings and ends, those of categories level by level, and which leaf of the list each is of."""
        of_numbers = np.flatnonzero(~np.isin(place, self.coded))
        which, begins, ends = [of_numbers], [begin[of_numbers]], [end[of_numbers]]
        for column in self.coded.tolist():
            mine = np.flatnonzero(place == column)
            level, number = np.nonzero(self.shut[self.first[column] : self.first[column + 1], leaf[mine]] == 0)
            which.append(mine[number])
            begins.append(self.first[column] + level)
            ends.append(self.first[column] + level + 1)
        return np.concatenate(which), np.concatenate(begins), np.concatenate(ends)

    def _columns(self) -> list[tuple[Array | None, int]]:
        return list(zip(self.edges, np.diff(self.first).tolist(), strict=True))

    @cached_property
    def _numbers(self) -> NDArray[np.uint8]:
        return np.arange(len(self.columns), dtype=np.uint8)[:, None]

    @cached_property
    def _padded(self) -> Array:
        """Split points ``(f, t)``, padded with infinity."""
        width = max((len(edge) for edge in self.edges if edge is not None), default=0)
        out = np.full((len(self.edges), width), np.inf)
        for place, edge in enumerate(self.edges):
            if edge is not None:
                out[place, : len(edge)] = edge
        return out


def _ends(edge: Array | None, size: int) -> tuple[Array, Array]:
    """The lower and the upper end of each cell of one column."""
    if edge is None:
        level = np.append(np.arange(size - 1.0), np.nan)
        return np.nextafter(level, -np.inf), level
    return np.concatenate([[-np.inf], edge, [np.nan]]), np.concatenate([edge, [np.inf, np.nan]])


def _by_level(boxes: list[Boxes], column: int, size: int) -> Mask:
    """Which levels of a category are shut out of each leaf, ``(levels + 1, leaves)``."""
    every = [box.levels.get(column, np.ones((len(box.value), size), dtype=bool)) for box in boxes]
    return ~np.concatenate(every).T


def _values(trees: TreeEnsemble, boxes: list[Boxes], tree: Index) -> Array:
    """What each leaf adds to the sums, ``(leaves, s)``."""
    value = np.concatenate([box.value for box in boxes])
    if value.shape[1] == 1 and len(trees.base) > 1:
        column = np.arange(len(trees.base)) == trees.column[tree][:, None]
        value = np.where(column, value, 0.0)
    return value / len(boxes) if trees.mean else trees.scale * value
