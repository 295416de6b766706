"""Leaves of all trees as a table: which cells of which columns keep a row out of each leaf.

A row is in the leaf of a tree that none of its cells is shut out of. A leaf that a single cell shuts it out of is where
the tree goes if that column changes. So one look at the table tells what every change of a single column does to the
sums of the leaves, without asking the model once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.links import Finish
from counterpoise.models.paths import Paths
from counterpoise.models.walls import Walls
from counterpoise.types import Array, Index, Mask

if TYPE_CHECKING:
    from counterpoise.models.trees import TreeEnsemble

LARGEST = 2_000_000  # columns times leaves: beyond it, asking the model is quicker than the table
MOST = 150_000_000  # bytes of the table
BLOCK = 10_000_000  # bytes of the part for some of the trees: those that split at other points share no cells
DEEPEST = 255  # columns split on the way to one leaf, so that a byte can count them
AT_ONCE = 2_000_000  # bytes of the table looked at together, so that they stay near the processor
COMPARED = 100_000  # values times split points


class Survey(NamedTuple):
    """What p points sum up to, and what changes of a single cell make of that; cells are numbered through."""

    own: Index  # (p, trees) the leaf of each tree that a point is in
    sums: Array  # (p, s)
    shifts: Array  # (s, p, cells + 1) what is added in each cell
    marks: Mask  # (p, cells + 1) where it may differ from what is added in the cell before

    def at(self, point: Index, cell: Index) -> Array:
        """The sums ``(e, s)`` of points ``(e,)`` moved to a cell ``(e,)`` each."""
        place = point * self.marks.shape[1] + cell
        return np.stack(
            [self.sums[:, k].take(point) + shift.take(place) for k, shift in enumerate(self.shifts)], axis=1
        )


class Block(NamedTuple):
    """The leaves of some trees: which cells shut a row out of them, for cells that these trees tell apart."""

    local: Index  # (cells,) the line of the table that each cell has
    shut: NDArray[np.uint8]  # (lines, leaves) 1 where a row in the cell cannot be in the leaf

    @classmethod
    def of(cls, paths: Paths, first: Index, part: slice) -> Block:
        """The block of the leaves in a slice of all leaves."""
        lines, local, last = [], np.empty(int(first[-1]), dtype=np.intp), 0
        for place, (start, stop) in enumerate(pairwise(first.tolist())):
            cells = paths.told_apart(place, start, stop, part)
            local[start:stop] = last - 1 + np.searchsorted(cells, np.arange(start, stop), side="right")
            lines.append(paths.shut(place, cells, part))
            last += len(cells)
        return cls(local, np.concatenate(lines))


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of an ensemble, and the cells between its split points: numbered through, column after column.

    A column of numbers has a cell on either side of each split point, then one for missing values; a category has one
    for each level, then one for missing values. ``finish`` turns sums of leaves into the model's outputs.
    """

    columns: Index  # (f,) columns that are split
    edges: tuple[Array | None, ...]  # (f,) their split points; None for a category
    first: Index  # (f + 1,) the first cell of each, and one past the last
    paths: Paths
    blocks: tuple[Block, ...]  # all leaves, those of some trees each
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
        mixed = any(len(trees.thresholds[column]) for column in sizes)  # a number here and a category there
        if not len(columns) or mixed or np.count_nonzero(trees.feature < 0) * len(columns) > LARGEST:
            return None
        edges = tuple(None if column in sizes else trees.thresholds[column] for column in columns.tolist())
        counts = [sizes[j] if edge is None else len(edge) + 2 for j, edge in zip(columns.tolist(), edges, strict=True)]
        first = np.concatenate([[0], np.cumsum(counts)])
        paths = Paths.of(trees, columns, edges, first)
        deep = np.count_nonzero((paths.low > first[:-1]) | (paths.high < first[1:] - 2), axis=1).max() > DEEPEST
        blocks = None if deep else _blocks(paths, first)
        if blocks is None:
            return None
        value = trees.value[paths.node]
        if value.shape[1] == 1 and len(trees.base) > 1:
            value = np.where(np.arange(len(trees.base)) == trees.column[paths.tree][:, None], value, 0.0)
        value = value / len(trees.roots) if trees.mean else trees.scale * value
        base = np.zeros(len(trees.base)) if trees.mean else trees.base
        return cls(columns, edges, first, paths, blocks, value, base, trees.finish)

    @cached_property
    def feature(self) -> Index:
        """The place of each cell's column among those that are split, ``(cells,)``."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.first))

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return int(self.paths.tree[-1]) + 1

    @cached_property
    def walls(self) -> Walls:
        """What a row has to be inside of to be in each leaf."""
        return Walls.of(self.paths, self.first)

    @cached_property
    def kinds(self) -> tuple[Index, Index]:
        """Leaves of which no two of a tree are worth the same ``(k,)``, and which of these each leaf is worth."""
        every = np.column_stack([self.paths.tree, self.value])
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

    def cells(self, x: Array) -> Index:
        """The cells ``(p, f)`` that encoded rows ``(p, d)`` are in."""
        values = x[:, self.columns]
        cell = placed(self._padded, values)
        gone = np.isnan(values)
        if len(self.coded):
            cell[:, self.coded] = np.where(gone[:, self.coded], 0, values[:, self.coded])
        cell += self.first[:-1]
        return np.where(gone, self.first[1:] - 1, cell) if gone.any() else cell

    def sums(self, cells: Index) -> Array:
        """The sums ``(p, s)`` of rows in these cells ``(p, f)``."""
        count = np.concatenate(
            [block.shut.take(block.local[cells], axis=0).any(axis=1) for block in self.blocks], axis=1
        )
        return np.asarray(self.base + self.value[np.nonzero(~count)[1].reshape(len(cells), -1)].sum(axis=1))

    def swapped(self, seen: Survey) -> Array:
        """The outputs ``(p, kinds, c)`` of points if one tree alone gave them another leaf, for every kind of leaf."""
        leaf, p = self.kinds[0], len(seen.own)
        change = self.value[leaf] - self.value[seen.own].take(self.paths.tree[leaf], axis=1)
        return self.finish((seen.sums[:, None, :] + change).reshape(-1, len(self.base))).reshape(p, len(leaf), -1)

    def survey(self, cells: Index) -> Survey:
        """What rows in these cells ``(p, f)`` sum up to, and what they would with any one of their cells changed.

        Missing values of a column of numbers are not looked into: their cell says what the row has now.
        """
        size = max(1, AT_ONCE // (len(self.columns) * len(self.value)))
        parts = [self._survey(cells[start : start + size]) for start in range(0, len(cells), size)]
        if len(parts) == 1:
            return parts[0]
        own, sums, shifts, marks = zip(*parts, strict=True)
        return Survey(np.concatenate(own), np.concatenate(sums), np.concatenate(shifts, axis=1), np.concatenate(marks))

    def _survey(self, cells: Index) -> Survey:
        p, leaves, total = len(cells), len(self.value), int(self.first[-1]) + 1
        counts, places = [], []
        for block in self.blocks:
            shut = block.shut.take(block.local[cells], axis=0)  # (p, f, leaves of the block)
            counts.append(np.add.reduce(shut, axis=1, dtype=np.uint8))
            # the sum of one number is that number: the column that keeps the row out
            places.append(np.add.reduce(shut * self._numbers, axis=1, dtype=self._numbers.dtype))
        count, where = _beside(counts).reshape(-1), _beside(places).reshape(-1)
        own = np.flatnonzero(count == 0)  # each tree's leaf, point after point
        own -= np.repeat(np.arange(p) * leaves, len(own) // p)
        now = self.value.take(own, axis=0)
        near = np.flatnonzero(count == 1)
        point = np.repeat(np.arange(p), np.diff(np.searchsorted(near, np.arange(p + 1) * leaves)))
        leaf, place = near - point * leaves, where.take(near).astype(np.intp)
        change = self.value.take(leaf, axis=0) - now.take(point * (len(own) // p) + self.paths.tree.take(leaf), axis=0)
        # what a leaf brings begins at its first open cell and ends after its last
        bound = leaf * len(self.columns) + place
        begin, end = self.paths.low.take(bound).astype(np.intp), self.paths.high.take(bound).astype(np.intp) + 1
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
        return Survey(own.reshape(p, -1), sums, shifts, marks.reshape(p, total))

    def _levels(self, leaf: Index, place: Index, begin: Index, end: Index) -> tuple[Index, Index, Index]:
        """The same beginnings and ends, those of categories level by level, and which leaf of the list each is of."""
        of_numbers = np.flatnonzero(~np.isin(place, self.coded))
        which, begins, ends = [of_numbers], [begin[of_numbers]], [end[of_numbers]]
        for column in self.coded.tolist():
            mine = np.flatnonzero(place == column)
            number, level = np.nonzero(self.paths.levels[column][leaf[mine]])
            which.append(mine[number])
            begins.append(self.first[column] + level)
            ends.append(self.first[column] + level + 1)
        return np.concatenate(which), np.concatenate(begins), np.concatenate(ends)

    def _columns(self) -> list[tuple[Array | None, int]]:
        return list(zip(self.edges, np.diff(self.first).tolist(), strict=True))

    @cached_property
    def _numbers(self) -> NDArray[Any]:
        narrow = len(self.columns) <= np.iinfo(np.uint8).max
        return np.arange(len(self.columns)).astype(np.uint8 if narrow else np.uint16)[:, None]

    @cached_property
    def _padded(self) -> Array:
        """Split points ``(f, t)``, padded with infinity."""
        width = max((len(edge) for edge in self.edges if edge is not None), default=0)
        out = np.full((len(self.edges), width), np.inf)
        for place, edge in enumerate(self.edges):
            if edge is not None:
                out[place, : len(edge)] = edge
        return out


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


def _beside(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _blocks(paths: Paths, first: Index) -> tuple[Block, ...] | None:
    """The table of all leaves in blocks of whole trees; None where it would be too large."""
    starts = np.searchsorted(paths.tree, np.arange(int(paths.tree[-1]) + 2))
    blocks: list[Block] = []
    total, begin = 0, 0
    leaves, cells = len(paths.tree) / (len(starts) - 1), float(first[-1])  # of a tree; in all
    few = np.sqrt(BLOCK) / leaves if cells**2 > BLOCK else BLOCK / (cells * leaves)  # trees that fit into a block
    step = int(max(1, min(few, 0.9 * MOST / leaves**2 / (len(starts) - 1))))
    for end in [*range(step, len(starts) - 1, step), len(starts) - 1]:
        block = Block.of(paths, first, slice(int(starts[begin]), int(starts[end])))
        total, begin = total + block.shut.nbytes, end
        if total > MOST:
            return None
        blocks.append(block)
    return tuple(blocks)
