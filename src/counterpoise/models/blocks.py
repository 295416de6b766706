"""Blocks: which cells of which columns keep a row out of each leaf, as bits: 64 leaves to a word.

A row is in the leaf of a tree that none of its cells is shut out of. A leaf that a single cell shuts it out of is where
the tree goes if that column changes. Both are read off whole words at once.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    spare: NDArray[np.uint64]  # (words,) bits that are no leaf's; they are 1 in every line

    @classmethod
    def of(cls, paths: Paths, first: Index, part: slice) -> Block:
        """The block of the leaves in a slice of all leaves."""
        apart = [paths.told_apart(place, *ends, part) for place, ends in enumerate(pairwise(first.tolist()))]
        lines = [_lines(paths, place, cells, part) for place, cells in enumerate(apart)]
        begin, spare = np.concatenate(apart), packed(np.zeros((1, part.stop - part.start), dtype=bool))
        return cls(part.start, begin, len(begin) == first[-1], np.concatenate(lines) | spare, spare[0])

    def inside(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        return self._open(np.bitwise_or.reduce(self._shut(cells), axis=1))

    def around(self, cells: Index) -> tuple[Index, Index, Index]:
        """The same, and what single cells keep rows out of: the places of these cells and the leaves, both ``(e,)``."""
        shut = self._shut(cells)
        seen = np.bitwise_or.accumulate(shut, axis=1)
        twice = np.bitwise_or.reduce(shut[:, 1:] & seen[:, :-1], axis=1)
        twice |= self.spare
        shut &= ~twice[:, None, :]
        line, leaf = ones(shut)
        return self._open(seen[:, -1]), line, leaf + self.first

    def _shut(self, cells: Index) -> NDArray[np.uint64]:
        """What the cells ``(p, f)`` of points shut them out of, ``(p, f, words)``."""
        return self.shut.take(cells if self.whole else np.searchsorted(self.begin, cells, side="right") - 1, axis=0)

    def _open(self, shut: NDArray[np.uint64]) -> Index:
        """The leaves ``(p, trees)`` that nothing keeps points out of, whose bits ``(p, words)`` are 0."""
        return np.asarray(self.first + ones(~shut)[1]).reshape(len(shut), -1)


def _lines(paths: Paths, place: int, cells: Index, part: slice) -> NDArray[np.uint64]:
    """Which of a column's cells ``(c,)``, missing values last, keep a row out of some of the leaves, ``(c, words)``."""
    if place in paths.levels:
        return packed(~paths.levels[place][part].T)
    low, high, gone = paths.low[part, place], paths.high[part, place], packed(~paths.missing[part, place][None])
    turns = np.zeros((len(cells), gone.view(np.uint8).shape[1]), dtype=np.uint8)
    ever = low <= high  # where not, only a missing value leads to the leaf
    closed = np.flatnonzero((low > cells[0]) | ~ever)
    opens, shuts = np.flatnonzero((low > cells[0]) & ever), np.flatnonzero((high + 1 < cells[-1]) & ever)
    begin, end = np.searchsorted(cells, low[opens]), np.searchsorted(cells, high[shuts] + 1)
    # each line differs from the one before by the leaves that open or shut there
    for line, some in ((np.zeros_like(closed), closed), (begin, opens), (end, shuts)):
        np.add.at(turns, (line, some >> 3), (1 << (some & 7)).astype(np.uint8))
    lines = turns.view(np.uint64)
    np.bitwise_xor.accumulate(lines, axis=0, out=lines)
    lines[-1] = gone[0]
    return lines


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
    every = words.view(np.uint8).reshape(-1)
    full = (every != 0).nonzero()[0]
    number = np.unpackbits(every.take(full), bitorder="little").view(bool).nonzero()[0]
    place = (full.take(number >> 3) << 3) + (number & 7)
    line = place // (WORD * words.shape[-1])
    return line, place - line * (WORD * words.shape[-1])


@dataclass(frozen=True, eq=False)
class Table:
    """All leaves of an ensemble, in blocks of those of some trees each."""

    paths: Paths
    blocks: tuple[Block, ...]
    first: Index  # (f + 1,) the first cell of each column

    @classmethod
    def of(cls, paths: Paths, first: Index) -> Table | None:
        """The table of the leaves at the ends of paths; None where it would be too large."""
        starts = np.searchsorted(paths.tree, np.arange(int(paths.tree[-1]) + 2))
        blocks: list[Block] = []
        total, begin = 0, 0
        leaves, cells = len(paths.tree) / (len(starts) - 1), float(first[-1])  # of a tree; in all
        few = np.sqrt(BLOCK) / leaves if cells**2 > BLOCK else BLOCK / (cells * leaves)  # trees that fit into a block
        step = int(max(1, min(few, 0.9 * 8 * MOST / leaves**2 / (len(starts) - 1))))
        for end in [*range(step, len(starts) - 1, step), len(starts) - 1]:
            block = Block.of(paths, first, slice(int(starts[begin]), int(starts[end])))
            total, begin = total + block.shut.nbytes, end
            if total > MOST:
                return None
            blocks.append(block)
        return cls(paths, tuple(blocks), first)

    @property
    def size(self) -> int:
        """How many points are asked about together."""
        widest = max(block.shut.shape[1] for block in self.blocks)
        return int(AT_ONCE // (WORD * widest * (len(self.first) - 1)))

    def inside(self, cells: Index) -> Index:
        """The leaf of each tree ``(p, trees)`` that rows in these cells ``(p, f)`` are in."""
        return np.concatenate([block.inside(cells) for block in self.blocks], axis=1)

    def around(self, cells: Index, window: Window) -> tuple[Index, Near]:
        """The same, and the leaves that a single cell of the window keeps the rows out of."""
        every = [block.around(cells) for block in self.blocks]
        own, line, leaf = every[0]
        if len(every) > 1:
            own = np.concatenate([part[0] for part in every], axis=1)
            line, leaf = (np.concatenate([part[number] for part in every]) for number in (1, 2))
        f = len(self.first) - 1
        point = line // f
        place = line - point * f
        # what a leaf brings begins at its first open cell and ends after its last
        bound = leaf * f + place
        begin, end = self.paths.low.take(bound), self.paths.high.take(bound) + np.int32(1)
        if self.paths.levels:
            which, begin, end = self._levels(leaf, place, begin, end)
            point, leaf, line = point[which], leaf[which], line[which]
        kept, begin, end = window.clipped(line, begin, end)
        leaf = leaf.take(kept)
        return own, Near(point.take(kept), self.paths.tree.take(leaf), leaf, begin, end)

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
