"""LeafTable: for each cell of each column the leaves that it excludes, as bits: 64 leaves to a word.

A row is in the one leaf of each tree that none of its cells excludes. If one cell alone excludes a leaf, the tree goes
to that leaf when the cell's column changes. Both are read off whole words at once, and so are the leaves that no cell
of a window leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.trees.leaf_ranges import CellWindow, Int32Array, LeafRanges, NeighbourLeaves
from counterpoise.models.trees.settings import DEFAULT_LEAF_SETTINGS, LeafSettings
from counterpoise.types import Index, Mask

WORD_BITS = 64


class LeafBlock(NamedTuple):
    """The leaves of some trees, and the cells that exclude each; cells that these trees treat alike share a line."""

    first_leaf: int  # the number of its first leaf
    first_cell_of_line: Index  # (lines,) the first of the cells that each line of the table is of
    has_line_per_cell: bool  # whether each cell has a line of its own
    exclusion_bits: NDArray[np.uint64]  # (lines, words) a bit for each leaf: 1 where a row in the cell cannot be in it
    above_bits: NDArray[np.uint64]  # (lines, words) 1 where larger numbers alone lead to the leaf; of categories, all 0
    padding_bits: NDArray[np.uint64]  # (words,) bits that are no leaf's; they are 1 in every line of ``exclusion_bits``

    @classmethod
    def of(cls, paths: LeafRanges, first: Index, part: slice) -> LeafBlock:
        """The block of the leaves in a slice of all leaves."""
        apart = [paths.distinct_cells(place, *ends, part) for place, ends in enumerate(pairwise(first.tolist()))]
        pairs = [_make_column_bits(paths, place, cells, part) for place, cells in enumerate(apart)]
        shut, over = (np.concatenate(lines) for lines in zip(*pairs, strict=True))
        begin, spare = np.concatenate(apart), pack_bits(np.zeros((1, part.stop - part.start), dtype=bool))
        return cls(part.start, begin, len(begin) == first[-1], shut | spare, over, spare[0])

    @property
    def nbytes(self) -> int:
        """The size of both tables of bits."""
        return self.exclusion_bits.nbytes + self.above_bits.nbytes

    def find_leaves(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        return self._leaves_not_excluded(
            np.bitwise_or.reduce(self.exclusion_bits.take(self._lines_of_cells(cells), axis=0), axis=1)
        )

    def find_leaves_and_neighbours(self, cells: Index, window: CellWindow, every: Mask) -> tuple[Index, Index, Index]:
        """`find_leaves`, and the leaves that a single cell excludes: the cell's place and the leaf, both ``(e,)``.

        Leaves that no cell of the row's window ``(n, f)`` leads to are left out, but in columns where ``every``
        ``(n, f)`` is true. The same number of points belongs to each row.
        """
        shut = self.exclusion_bits.take(self._lines_of_cells(cells), axis=0)
        seen = np.bitwise_or.accumulate(shut, axis=1)
        twice = np.bitwise_or.reduce(shut[:, 1:] & seen[:, :-1], axis=1)
        twice |= self.padding_bits
        np.invert(twice, out=twice)
        shut &= twice[:, None, :]
        by_row = shut.reshape(len(window.first), -1, *shut.shape[1:])
        by_row &= self._leaves_in_window(window, every)[:, None]
        line, leaf = find_set_bits(shut)
        return self._leaves_not_excluded(seen[:, -1]), line, leaf + self.first_leaf

    def _leaves_in_window(self, window: CellWindow, every: Mask) -> NDArray[np.uint64]:
        """The leaves that some number of a window ``(n, f)`` leads to, ``(n, f, words)``."""
        low, high = self._lines_of_cells(window.first), self._lines_of_cells(window.end - 1)
        out = ~self.exclusion_bits.take(low, axis=0)
        out |= self.above_bits.take(low, axis=0)
        out &= ~self.above_bits.take(high, axis=0)
        if every.any():
            out[every] = ~np.uint64(0)
        return out

    def _lines_of_cells(self, cells: NDArray[np.integer]) -> NDArray[np.integer]:
        """The lines of the table that cells are in."""
        return cells if self.has_line_per_cell else np.searchsorted(self.first_cell_of_line, cells, side="right") - 1

    def _leaves_not_excluded(self, shut: NDArray[np.uint64]) -> Index:
        """The leaves ``(p, trees)`` that points are in: the only ones whose bits in ``(p, words)`` are 0."""
        return np.asarray(self.first_leaf + find_set_bits(~shut)[1]).reshape(len(shut), -1)


def _make_column_bits(
    paths: LeafRanges, place: int, cells: Index, part: slice
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Which of a column's cells ``(c,)``, missing values last, keep a row out of some of the leaves, ``(c, words)``.

    And which of these larger numbers lead to.
    """
    if place in paths.levels:
        lines = pack_bits(~paths.levels[place][part].T)
        return lines, np.zeros_like(lines)
    low, high, missing_bits = (
        paths.low[part, place],
        paths.high[part, place],
        pack_bits(~paths.allows_missing[part, place][None]),
    )
    turns = np.zeros((len(cells), missing_bits.view(np.uint8).shape[1]), dtype=np.uint8)
    ever = low <= high  # where not, only a missing value leads to the leaf
    closed = np.flatnonzero((low > cells[0]) | ~ever)
    opens, shuts = np.flatnonzero((low > cells[0]) & ever), np.flatnonzero((high + 1 < cells[-1]) & ever)
    begin, end = np.searchsorted(cells, low[opens]), np.searchsorted(cells, high[shuts] + 1)
    # each line differs from the one before by the leaves that open or shut there
    _flip_bits(turns, begin, opens)
    over = turns.copy()
    _flip_bits(over, np.zeros_like(opens), opens)
    _flip_bits(turns, np.zeros_like(closed), closed)
    _flip_bits(turns, end, shuts)
    lines, above = turns.view(np.uint64), over.view(np.uint64)
    for table in (lines, above):
        np.bitwise_xor.accumulate(table, axis=0, out=table)
    lines[-1], above[-1] = missing_bits[0], 0
    return lines, above


def _flip_bits(turns: NDArray[np.uint8], line: Index, leaf: Index) -> None:
    """Turn the bits of leaves ``(e,)`` in a line each, in place; none of them twice."""
    np.add.at(turns, (line, leaf >> 3), (1 << (leaf & 7)).astype(np.uint8))


def pack_bits(lines: Mask, *, rest: bool = True) -> NDArray[np.uint64]:
    """Lines ``(c, l)`` as words ``(c, w)``, filled up with ``rest``."""
    padded = np.full((len(lines), -(-lines.shape[1] // WORD_BITS) * WORD_BITS), rest)
    padded[:, : lines.shape[1]] = lines
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def find_set_bits(words: NDArray[np.uint64]) -> tuple[Index, Index]:
    """Which bits of lines ``(..., w)``, which are numbered through, are 1: the line and the place in it of each.

    >>> find_set_bits(np.array([[0, 5], [2, 0]], dtype=np.uint64))
    (array([0, 0, 1]), array([64, 66,  1]))
    """
    every = words.reshape(-1)
    full = (every != 0).nonzero()[0]  # most are 0, and so are most bytes of the others
    some = every.take(full).view(np.uint8)
    part = (some != 0).nonzero()[0]
    number = np.unpackbits(some.take(part), bitorder="little").view(bool).nonzero()[0]
    byte = part.take(number >> 3)
    place = (full.take(byte >> 3) << 6) + ((byte & 7) << 3) + (number & 7)
    line = place // (WORD_BITS * words.shape[-1])
    return line, place - line * (WORD_BITS * words.shape[-1])


@dataclass(frozen=True, eq=False)
class LeafTable:
    """All leaves of an ensemble, in blocks of those of some trees each."""

    leaf_ranges: LeafRanges
    blocks: tuple[LeafBlock, ...]
    first_cells: Index  # (f + 1,) the first cell of each column
    # (leaves * f,) the first open cell of each leaf and one past the last, 32 bits each
    packed_cell_ranges: NDArray[np.int64]
    settings: LeafSettings = DEFAULT_LEAF_SETTINGS

    @classmethod
    def of(cls, paths: LeafRanges, first: Index, settings: LeafSettings = DEFAULT_LEAF_SETTINGS) -> LeafTable | None:
        """The table of the leaves at the ends of paths; None where it would be too large."""
        most_bits, most_bytes = settings.max_block_bits, settings.max_table_bytes
        starts = np.searchsorted(paths.tree, np.arange(int(paths.tree[-1]) + 2))
        blocks: list[LeafBlock] = []
        total, begin = 0, 0
        leaves, cells = len(paths.tree) / (len(starts) - 1), float(first[-1])  # of a tree; in all
        # trees that fit into a block
        points_at_once = np.sqrt(most_bits) / leaves if cells**2 > most_bits else most_bits / (cells * leaves)
        step = int(max(1, min(points_at_once, 0.9 * 4 * most_bytes / leaves**2 / (len(starts) - 1))))
        for end in [*range(step, len(starts) - 1, step), len(starts) - 1]:
            block = LeafBlock.of(paths, first, slice(int(starts[begin]), int(starts[end])))
            total, begin = total + block.nbytes, end
            if total > most_bytes:
                return None
            blocks.append(block)
        ends = np.stack([paths.low, paths.high + np.int32(1)], axis=-1)
        return cls(paths, tuple(blocks), first, ends.view(np.int64).reshape(-1), settings)

    @property
    def max_points_together(self) -> int:
        """How many points are asked about together."""
        widest = max(block.exclusion_bits.shape[1] for block in self.blocks)
        return int(self.settings.max_bits_together // (WORD_BITS * widest * (len(self.first_cells) - 1)))

    def find_leaves(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        return np.concatenate([block.find_leaves(cells) for block in self.blocks], axis=1)

    def find_leaves_and_neighbours(self, cells: Index, window: CellWindow) -> tuple[Index, NeighbourLeaves]:
        """The same, and the leaves that a single cell of a row's window ``(n, f)`` keeps its points out of."""
        # categories, and columns whose window holds the missing cell, are clipped to the window below
        every = (window.end == self.first_cells[1:]) | self._is_categorical
        parts = [block.find_leaves_and_neighbours(cells, window, every) for block in self.blocks]
        point_leaves, line, leaf = parts[0]
        if len(parts) > 1:
            point_leaves = np.concatenate([part[0] for part in parts], axis=1)
            line, leaf = (np.concatenate([part[number] for part in parts]) for number in (1, 2))
        f = len(self.first_cells) - 1
        point = line // f
        place = line - point * f
        # what a leaf brings begins at its first open cell and ends after its last
        begin, end = self.packed_cell_ranges.take(leaf * f + place).view(np.int32).reshape(-1, 2).T
        if self.leaf_ranges.levels:
            which, begin, end = self._split_categories_by_level(leaf, place, begin, end)
            point, leaf, line = point[which], leaf[which], line[which]
        begin, end = window.repeat_for_points(len(cells)).clip_ranges(line, begin, end)
        if self._has_leaf_for_missing_only or every.any():
            kept = np.flatnonzero(begin < end)
            point, leaf, begin, end = point[kept], leaf[kept], begin[kept], end[kept]
        return point_leaves, NeighbourLeaves(point, self.leaf_ranges.tree.take(leaf), leaf, begin, end)

    @cached_property
    def _is_categorical(self) -> Mask:
        """Which columns are categories, ``(f,)``."""
        return np.isin(np.arange(len(self.first_cells) - 1), list(self.leaf_ranges.levels))

    @cached_property
    def _has_leaf_for_missing_only(self) -> bool:
        """Whether some leaf is open to no number of a column, but to missing values alone."""
        return bool((self.leaf_ranges.low > self.leaf_ranges.high).any())

    def _split_categories_by_level(
        self, leaf: Index, place: Index, begin: Int32Array, end: Int32Array
    ) -> tuple[Index, Int32Array, Int32Array]:
        """The same beginnings and ends, those of categories level by level, and which leaf of the list each is of."""
        of_numbers = np.flatnonzero(~np.isin(place, list(self.leaf_ranges.levels)))
        which, begins, ends = [of_numbers], [begin[of_numbers]], [end[of_numbers]]
        for column, levels in self.leaf_ranges.levels.items():
            mine = np.flatnonzero(place == column)
            number, level = np.nonzero(levels[leaf[mine]])
            which.append(mine[number])
            begins.append((self.first_cells[column] + level).astype(np.int32))
            ends.append(begins[-1] + np.int32(1))
        return np.concatenate(which), np.concatenate(begins), np.concatenate(ends)
