"""Local columns: the cells that a row's leaves tell apart, as ranges of numbers and as sets of levels."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.open_cells import OpenCells
from counterpoise.methods.trees.voters import Voters, Words
from counterpoise.types import Array, Index, Mask

Flags = NDArray[np.uint64]


class LocalNumbers(NamedTuple):
    """Columns of numbers: groups of neighbouring open cells, and the leaves above and below each."""

    column: Index  # (c,) places among the columns that are split
    start: Index  # (c,) the cheapest group of each
    stands: Index  # (groups,) the open cell that each group stands for: the one nearest to the cheapest
    low: Index  # (leaves, c) the first group of each leaf,
    high: Index  # (leaves, c) and the last
    above: Words  # (groups, words) leaves that lie above a group in its column,
    below: Words  # (groups, words) and below it

    @classmethod
    def of(cls, opened: OpenCells, voters: Voters, count: int, leaf: Index, wall: Index, place: Index) -> LocalNumbers:
        """From the walls of ``count`` leaves that keep out an open cell: leaf, wall and column of each, ``(e,)``."""
        column = np.unique(place)
        first, end = opened.first[column], opened.first[column + 1]
        cuts = np.unique(np.concatenate([opened.low[wall], opened.high[wall] + 1, first, end]))
        begin, last = np.searchsorted(cuts, first), np.searchsorted(cuts, end) - 1
        low, high = np.repeat(begin[None], count, axis=0), np.repeat(last[None], count, axis=0)
        at = leaf, np.searchsorted(column, place)
        low[at] = np.searchsorted(cuts, opened.low[wall])
        high[at] = np.searchsorted(cuts, opened.high[wall] + 1) - 1
        groups = max(len(cuts) - 1, 0)
        above, below = voters.none(groups), voters.none(groups)
        some = np.flatnonzero(low[at] > begin[at[1]])
        voters.put(above, low[at][some] - 1, leaf[some])
        some = np.flatnonzero(high[at] < last[at[1]])
        voters.put(below, high[at][some] + 1, leaf[some])
        near = np.zeros(groups, dtype=np.intp)
        for place_of, one, other in zip(column.tolist(), begin.tolist(), last.tolist(), strict=True):
            part = slice(one, other + 1)
            above[part] = np.bitwise_or.accumulate(above[part][::-1], axis=0)[::-1]
            below[part] = np.bitwise_or.accumulate(below[part], axis=0)
            near[part] = opened.start[place_of]
        stands = np.clip(near, cuts[:groups], cuts[1:] - 1)
        start = np.searchsorted(cuts, opened.start[column], side="right") - 1
        return cls(column, start, stands, low, high, above, below)


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
    shut: Words  # (classes, words of voters) the leaves that are not open to each class

    @classmethod
    def of(
        cls,
        opened: OpenCells,
        voters: Voters,
        count: int,
        leaf: Index,
        wall: Index,
        place: Index,
        prices: Array,
        groups: int,
    ) -> LocalSets:
        """From the walls of ``count`` leaves that keep out an open cell: leaf, wall and column of each, ``(e,)``.

        ``prices`` ``(3, open)`` are the terms of all open cells; ``groups`` is the number of groups of numbers.
        """
        column = np.unique(place)
        classes = [_Classes.of(opened, int(number), wall[place == number], prices) for number in column]
        sizes = [len(each.cells) for each in classes]
        widths = [each.inside.shape[1] for each in classes]
        ends = np.cumsum([0, *widths]).tolist()
        every = np.concatenate([each.every for each in classes]) if classes else np.empty(0, dtype=np.uint64)
        open_to, shut = np.repeat(every[None], count, axis=0), voters.none(sum(sizes))
        words = tuple(slice(begin, end) for begin, end in pairwise(ends))
        firsts = (groups + np.cumsum([0, *sizes])[:-1]).tolist()
        for number, each, word, first in zip(column.tolist(), classes, words, firsts, strict=True):
            mine = leaf[place == number]
            open_to[mine, word] = each.inside[each.which]
            entry, closed = (~each.table[each.which]).nonzero()
            voters.put(shut, first - groups + closed, mine[entry])
        stands = np.concatenate([each.cells for each in classes]) if classes else np.empty(0, dtype=np.intp)
        return cls(column, tuple(firsts), words, stands, every, open_to, shut)


class _Classes(NamedTuple):
    """The classes of one column of levels, and which of them its walls let in."""

    cells: Index  # (classes,) the cheapest open cell of each, cheapest first
    table: Mask  # (k, classes) which classes each different wall lets in,
    inside: Flags  # (k, words) the same as words
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
        return cls(cells[kept], table[:, kept], _as_words(table[:, kept], words), every, which.reshape(-1))


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
