"""Blocks: which cells of which columns keep a row out of each leaf, as bits: 64 leaves to a word.

A row is in the leaf of a tree that none of its cells is shut out of. A leaf that a single cell shuts it out of is where
the tree goes if that column changes. Both are read off whole words at once, and so is which leaves no cell of a window
leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.paths import Near, Paths, Small, Window
from counterpoise.types import Index, Mask

MOST = 150_000_000  # bytes of all blocks
AT_ONCE = 2_000_000  # bits looked at together, so that they stay near the processor
BLOCK = 80_000_000  # bits of one: trees that split at other points share no cells
WORD = 64


class Block(NamedTuple):
    """The leaves of some trees: which cells shut a row out of them, for cells that these trees tell apart."""

    first: int  # the number of its first leaf
    begin: Index  # (lines,) the first of the cells that each line of the table is of
    whole: bool  # whether each cell has a line of its own
    shut: NDArray[np.uint64]  # (lines, words) a bit for each leaf: 1 where a row in the cell cannot be in it
    over: NDArray[np.uint64]  # (lines, words) 1 where larger numbers alone lead to the leaf; of categories, all 0
    spare: NDArray[np.uint64]  # (words,) bits that are no leaf's; they are 1 in every line of ``shut``

    @classmethod
    def of(cls, paths: Paths, first: Index, part: slice) -> Block:
        """The block of the leaves in a slice of all leaves."""
        apart = [paths.told_apart(place, *ends, part) for place, ends in enumerate(pairwise(first.tolist()))]
        pairs = [_lines(paths, place, cells, part) for place, cells in enumerate(apart)]
        shut, over = (np.concatenate(lines) for lines in zip(*pairs, strict=True))
        begin, spare = np.concatenate(apart), packed(np.zeros((1, part.stop - part.start), dtype=bool))
        return cls(part.start, begin, len(begin) == first[-1], shut | spare, over, spare[0])

    @property
    def nbytes(self) -> int:
        """How large it is."""
        return self.shut.nbytes + self.over.nbytes

    def inside(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        return self._open(np.bitwise_or.reduce(self.shut.take(self._line(cells), axis=0), axis=1))

    def around(self, cells: Index, window: Window, every: Mask) -> tuple[Index, Index, Index]:
        """The same, and what single cells keep rows out of: the places of these cells and the leaves, both ``(e,)``.

        Leaves that no cell of the window of a row ``(n, f)`` leads to are left out; the same number of points belongs
        to each row. Where ``every`` ``(n, f)`` says so, leaves are not held against the window.
        """
        shut = self.shut.take(self._line(cells), axis=0)
        seen = np.bitwise_or.accumulate(shut, axis=1)
        twice = np.bitwise_or.reduce(shut[:, 1:] & seen[:, :-1], axis=1)
        twice |= self.spare
        np.invert(twice, out=twice)
        shut &= twice[:, None, :]
        by_row = shut.reshape(len(window.first), -1, *shut.shape[1:])
        by_row &= self._within(window, every)[:, None]
        line, leaf = ones(shut)
        return self._open(seen[:, -1]), line, leaf + self.first

    def _within(self, window: Window, every: Mask) -> NDArray[np.uint64]:
        """The leaves that some number of a window ``(n, f)`` leads to, ``(n, f, words)``."""
        low, high = self._line(window.first), self._line(window.end - 1)
        out = ~self.shut.take(low, axis=0)
        out |= self.over.take(low, axis=0)
        out &= ~self.over.take(high, axis=0)
        if every.any():
            out[every] = ~np.uint64(0)
        return out

    def _line(self, cells: NDArray[np.integer]) -> NDArray[np.integer]:
        """The lines of the table that cells are in."""
        return cells if self.whole else np.searchsorted(self.begin, cells, side="right") - 1

    def _open(self, shut: NDArray[np.uint64]) -> Index:
        """The leaves ``(p, trees)`` that nothing keeps points out of, whose bits ``(p, words)`` are 0."""
        return np.asarray(self.first + ones(~shut)[1]).reshape(len(shut), -1)


def _lines(paths: Paths, place: int, cells: Index, part: slice) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Which of a column's cells ``(c,)``, missing values last, keep a row out of some of the leaves, ``(c, words)``.

    And which of these larger numbers lead to.
    """
    if place in paths.levels:
        lines = packed(~paths.levels[place][part].T)
        return lines, np.zeros_like(lines)
    low, high, gone = paths.low[part, place], paths.high[part, place], packed(~paths.missing[part, place][None])
    turns = np.zeros((len(cells), gone.view(np.uint8).shape[1]), dtype=np.uint8)
    ever = low <= high  # where not, only a missing value leads to the leaf
    closed = np.flatnonzero((low > cells[0]) | ~ever)
    opens, shuts = np.flatnonzero((low > cells[0]) & ever), np.flatnonzero((high + 1 < cells[-1]) & ever)
    begin, end = np.searchsorted(cells, low[opens]), np.searchsorted(cells, high[shuts] + 1)
    # each line differs from the one before by the leaves that open or shut there
    _turned(turns, begin, opens)
    over = turns.copy()
    _turned(over, np.zeros_like(opens), opens)
    _turned(turns, np.zeros_like(closed), closed)
    _turned(turns, end, shuts)
    lines, above = turns.view(np.uint64), over.view(np.uint64)
    for table in (lines, above):
        np.bitwise_xor.accumulate(table, axis=0, out=table)
    lines[-1], above[-1] = gone[0], 0
    return lines, above


def _turned(turns: NDArray[np.uint8], line: Index, leaf: Index) -> None:
    """Turn the bits of leaves ``(e,)`` in a line each, in place; none of them twice."""
    np.add.at(turns, (line, leaf >> 3), (1 << (leaf & 7)).astype(np.uint8))


def packed(lines: Mask, *, rest: bool = True) -> NDArray[np.uint64]:
    """Lines ``(c, l)`` as words ``(c, w)``, filled up with ``rest``."""
    padded = np.full((len(lines), -(-lines.shape[1] // WORD) * WORD), rest)
    padded[:, : lines.shape[1]] = lines
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def ones(words: NDArray[np.uint64]) -> tuple[Index, Index]:
    """Which bits of lines ``(..., w)``, which are numbered through, are 1: the line and the place in it of each.

    >>> ones(np.array([[0, 5], [2, 0]], dtype=np.uint64))
    (array([0, 0, 1]), array([64, 66,  1]))
    """
    every = words.reshape(-1)
    full = (every != 0).nonzero()[0]  # most are 0, and so are most bytes of the others
    some = every.take(full).view(np.uint8)
    part = (some != 0).nonzero()[0]
    number = np.unpackbits(some.take(part), bitorder="little").view(bool).nonzero()[0]
    byte = part.take(number >> 3)
    place = (full.take(byte >> 3) << 6) + ((byte & 7) << 3) + (number & 7)
    line = place // (WORD * words.shape[-1])
    return line, place - line * (WORD * words.shape[-1])


@dataclass(frozen=True, eq=False)
class Table:
    """All leaves of an ensemble, in blocks of those of some trees each."""

    paths: Paths
    blocks: tuple[Block, ...]
    first: Index  # (f + 1,) the first cell of each column
    ends: NDArray[np.int64]  # (leaves * f,) the first open cell of each leaf and one past the last, 32 bits each

    @classmethod
    def of(cls, paths: Paths, first: Index) -> Table | None:
        """The table of the leaves at the ends of paths; None where it would be too large."""
        starts = np.searchsorted(paths.tree, np.arange(int(paths.tree[-1]) + 2))
        blocks: list[Block] = []
        total, begin = 0, 0
        leaves, cells = len(paths.tree) / (len(starts) - 1), float(first[-1])  # of a tree; in all
        few = np.sqrt(BLOCK) / leaves if cells**2 > BLOCK else BLOCK / (cells * leaves)  # trees that fit into a block
        step = int(max(1, min(few, 0.9 * 4 * MOST / leaves**2 / (len(starts) - 1))))
        for end in [*range(step, len(starts) - 1, step), len(starts) - 1]:
            block = Block.of(paths, first, slice(int(starts[begin]), int(starts[end])))
            total, begin = total + block.nbytes, end
            if total > MOST:
                return None
            blocks.append(block)
        ends = np.stack([paths.low, paths.high + np.int32(1)], axis=-1)
        return cls(paths, tuple(blocks), first, ends.view(np.int64).reshape(-1))

    @property
    def size(self) -> int:
        """How many points are asked about together."""
        widest = max(block.shut.shape[1] for block in self.blocks)
        return int(AT_ONCE // (WORD * widest * (len(self.first) - 1)))

    def inside(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        return np.concatenate([block.inside(cells) for block in self.blocks], axis=1)

    def around(self, cells: Index, window: Window) -> tuple[Index, Near]:
        """The same, and the leaves that a single cell of a row's window ``(n, f)`` keeps its points out of."""
        every = (window.end == self.first[1:]) | self._coded  # of categories, and with missing values, looked at below
        parts = [block.around(cells, window, every) for block in self.blocks]
        own, line, leaf = parts[0]
        if len(parts) > 1:
            own = np.concatenate([part[0] for part in parts], axis=1)
            line, leaf = (np.concatenate([part[number] for part in parts]) for number in (1, 2))
        f = len(self.first) - 1
        point = line // f
        place = line - point * f
        # what a leaf brings begins at its first open cell and ends after its last
        begin, end = self.ends.take(leaf * f + place).view(np.int32).reshape(-1, 2).T
        if self.paths.levels:
            which, begin, end = self._levels(leaf, place, begin, end)
            point, leaf, line = point[which], leaf[which], line[which]
        begin, end = window.repeated(len(cells)).clipped(line, begin, end)
        if self._closed or every.any():
            kept = np.flatnonzero(begin < end)
            point, leaf, begin, end = point[kept], leaf[kept], begin[kept], end[kept]
        return own, Near(point, self.paths.tree.take(leaf), leaf, begin, end)

    @cached_property
    def _coded(self) -> Mask:
        """Which columns are categories, ``(f,)``."""
        return np.isin(np.arange(len(self.first) - 1), list(self.paths.levels))

    @cached_property
    def _closed(self) -> bool:
        """Whether some leaf is open to no number of a column, but to missing values alone."""
        return bool((self.paths.low > self.paths.high).any())

    def _levels(self, leaf: Index, place: Index, begin: Small, end: Small) -> tuple[Index, Small, Small]:
        """The same beginnings and ends, those of categories level by level, and which leaf of the list each is of."""
        of_numbers = np.flatnonzero(~np.isin(place, list(self.paths.levels)))
        which, begins, ends = [of_numbers], [begin[of_numbers]], [end[of_numbers]]
        for column, levels in self.paths.levels.items():
            mine = np.flatnonzero(place == column)
            number, level = np.nonzero(levels[leaf[mine]])
            which.append(mine[number])
            begins.append((self.first[column] + level).astype(np.int32))
            ends.append(begins[-1] + np.int32(1))
        return np.concatenate(which), np.concatenate(begins), np.concatenate(ends)
