"""Local columns: the cells that a row's leaves tell apart, as ranges of numbers and as sets of levels."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.exact.open_cells import OpenCells
from counterpoise.methods.trees.exact.voters import Voters, Words
from counterpoise.types import Array, Index, Mask

Flags = NDArray[np.uint64]


class LocalNumbers(NamedTuple):
    """Columns of numbers: groups of neighbouring open cells that no leaf tells apart."""

    column: Index  # (c,) places among the columns that are split
    begin: Index  # (c,) the first group of each,
    last: Index  # (c,) the last,
    start: Index  # (c,) and the cheapest
    stands: Index  # (groups,) the open cell that each group stands for: the one nearest to the cheapest
    low: Index  # (leaves, c) the first group of each leaf,
    high: Index  # (leaves, c) and the last

    @classmethod
    def of(cls, opened: OpenCells, count: int, leaf: Index, wall: Index, place: Index) -> LocalNumbers:
        """From the walls of ``count`` leaves that keep out an open cell: leaf, wall and column of each, ``(e,)``."""
        column = np.unique(place)
        first, end = opened.first[column], opened.first[column + 1]
        low_cell, end_cell = opened.low[wall], opened.high[wall] + 1
        is_cut = np.zeros(opened.first[-1] + 1, dtype=bool)
        for cells in (low_cell, end_cell, first, end):
            is_cut[cells] = True
        group = np.cumsum(is_cut) - 1  # of each open cell
        begin, last = group[first], group[end] - 1
        low, high = np.repeat(begin[None], count, axis=0), np.repeat(last[None], count, axis=0)
        number = np.zeros(len(opened.start), dtype=np.intp)
        number[column] = np.arange(len(column))
        at = leaf, number[place]
        low[at], high[at] = group[low_cell], group[end_cell] - 1
        cuts = np.flatnonzero(is_cut)
        near = np.zeros(max(len(cuts) - 1, 0), dtype=np.intp)
        for cell, one, other in zip(opened.start[column].tolist(), begin.tolist(), last.tolist(), strict=True):
            near[one : other + 1] = cell
        stands = np.clip(near, cuts[: len(near)], cuts[1:] - 1)
        return cls(column, begin, last, group[opened.start[column]], stands, low, high)

    def beside(self, voters: Voters) -> tuple[Words, Words]:
        """The leaves that lie above each group in its column, and those below it, each ``(groups, words)``."""
        above, below = voters.none(len(self.stands)), voters.none(len(self.stands))
        leaf, column = (self.low > self.begin).nonzero()
        voters.put(above, self.low[leaf, column] - 1, leaf)
        leaf, column = (self.high < self.last).nonzero()
        voters.put(below, self.high[leaf, column] + 1, leaf)
        for one, other in zip(self.begin.tolist(), self.last.tolist(), strict=True):
            part = slice(one, other + 1)
            above[part] = np.bitwise_or.accumulate(above[part][::-1], axis=0)[::-1]
            below[part] = np.bitwise_or.accumulate(below[part], axis=0)
        return above, below


class LocalSets(NamedTuple):
    """Columns of levels: classes of levels that no leaf tells apart, each stands for its cheapest one.

    Classes are numbered through after the groups of numbers, those of a column by what they cost.
    """

    column: Index  # (c,) places among the columns that are split
    first: tuple[int, ...]  # the first class of each column
    word: tuple[slice, ...]  # of each column, its words in a set of classes
    stands: Index  # (classes,) the open cell that each stands for
    every: Flags  # (words,) the set of all classes
    open: Flags  # (leaves, words) the classes that each leaf is open to

    @classmethod
    def of(
        cls, opened: OpenCells, count: int, leaf: Index, wall: Index, place: Index, prices: Array, groups: int
    ) -> LocalSets:
        """From the walls of ``count`` leaves that keep out an open cell: leaf, wall and column of each, ``(e,)``.

        ``prices`` ``(3, open)`` are the terms of all open cells; ``groups`` is the number of groups of numbers.
        """
        column = np.unique(place)
        classes = [_Classes.of(opened, int(number), wall[place == number], prices) for number in column]
        ends = np.cumsum([0, *(each.inside.shape[1] for each in classes)]).tolist()
        every = np.concatenate([each.every for each in classes]) if classes else np.empty(0, dtype=np.uint64)
        open_to = np.repeat(every[None], count, axis=0)
        words = tuple(slice(begin, end) for begin, end in pairwise(ends))
        for number, each, word in zip(column.tolist(), classes, words, strict=True):
            open_to[leaf[place == number], word] = each.inside[each.which]
        firsts = (groups + np.cumsum([0, *(len(each.cells) for each in classes)])[:-1]).tolist()
        stands = np.concatenate([each.cells for each in classes]) if classes else np.empty(0, dtype=np.intp)
        return cls(column, tuple(firsts), words, stands, every, open_to)

    def shut(self, voters: Voters) -> Words:
        """The leaves that are not open to each class, ``(classes, words of voters)``."""
        shut = voters.none(len(self.stands))
        for word, first in zip(self.word, self.first, strict=True):
            closed = ~self.open[:, word] & self.every[word]
            leaf, number = np.unpackbits(closed.view(np.uint8), axis=1, bitorder="little").nonzero()
            voters.put(shut, first - self.first[0] + number, leaf)
        return shut

    def share(self, one: Index, other: Index) -> Mask:
        """Which leaves ``one`` and ``other``, whose numbers broadcast, are open to a common level in each column."""
        found = np.ones(np.broadcast_shapes(one.shape, other.shape), dtype=bool)
        for word in self.word:
            common = self.open[one, word] & self.open[other, word]
            found &= (common != 0).any(axis=-1)
        return found


class _Classes(NamedTuple):
    """The classes of one column of levels, and which of them its walls let in."""

    cells: Index  # (classes,) the cheapest open cell of each, cheapest first
    inside: Flags  # (k, words) the classes that each different wall lets in
    every: Flags  # (words,)
    which: Index  # (e,) the different wall of each wall that was given

    @classmethod
    def of(cls, opened: OpenCells, column: int, wall: Index, prices: Array) -> _Classes:
        part = opened.sets[column]
        order = np.argsort(part.walls, kind="stable")
        line = order[np.searchsorted(part.walls[order], wall)]
        lines, which = np.unique(line, return_inverse=True)
        each = prices[:, part.cells]
        by_price = np.lexsort((each[2], each[0] + each[1]))
        cells = part.cells[by_price]
        table = part.open[lines][:, by_price]
        kept = np.sort(np.unique(table, axis=1, return_index=True)[1])
        words = -(-len(kept) // 64)
        every = _as_words(np.ones((1, len(kept)), dtype=bool), words)[0]
        return cls(cells[kept], _as_words(table[:, kept], words), every, which.reshape(-1))


def lowest_bit(words: Flags) -> Index:
    """The number of the lowest bit of each line ``(p, words)``; the first word is the lowest.

    >>> lowest_bit(np.array([[6, 0], [0, 1]], dtype=np.uint64))
    array([ 1, 64])
    """
    place = np.bitwise_count((words & (~words + np.uint64(1))) - np.uint64(1)).astype(np.intp)
    if words.shape[1] == 1:
        return np.asarray(place[:, 0])
    which = (words != 0).argmax(axis=1)
    return np.asarray(which * 64 + np.take_along_axis(place, which[:, None], axis=1)[:, 0])


def _as_words(table: Mask, size: int) -> Flags:
    """Lines of flags ``(k, m)`` as words ``(k, size)``, the first flag in the lowest bit."""
    padded = np.zeros((len(table), size * 64), dtype=bool)
    padded[:, : table.shape[1]] = table
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
