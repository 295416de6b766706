"""Which leaves can be chosen together: those that share a point which costs less than the limit."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.trees.exact.cell_costs import CellCosts
from counterpoise.methods.trees.exact.local_columns import Flags, lowest_bit
from counterpoise.methods.trees.exact.row_leaves import Cells, RowLeaves
from counterpoise.methods.trees.exact.voters import Words
from counterpoise.types import Index


class Together:
    """What choosing a leaf leaves of a box: its cheapest point, its sets of levels, and the leaves that reach in.

    Ranges of numbers that overlap two by two have a cell in common, so that leaves reach into a box as soon as they
    overlap with each leaf that made it; sets of levels do not have this property, and are held against the box.
    """

    def __init__(
        self, reduced: RowLeaves, costs: CellCosts, single_holds: float = 1e30, rounding: float = 1e-4
    ) -> None:
        """Costs below ``single_holds`` are added up in single precision, which errs by less than ``rounding``."""
        self.reduced, self.costs, self.rounding = reduced, costs, rounding
        count, terms = reduced.rise_cell.shape[1], reduced.local.terms
        asked = np.ascontiguousarray(reduced.near.T)
        square, rest, _ = terms.of(reduced.near)
        # single precision is twice as fast; what rounding could hide below the limit is let through
        kind = np.float32 if max(square.max(initial=0.0), rest.max(initial=0.0)) < single_holds else np.float64
        self._alone = square.astype(kind), rest.astype(kind)  # (leaves,) what the cheapest points cost,
        self._terms = terms.square.astype(kind), terms.rest.astype(kind)
        # and what they cost in each column, (columns, leaves); None where that is nothing
        self._prices = [term.take(asked) if term.any() else None for term in self._terms]
        self._overlaps: Words = reduced.voters.none(count)
        self._known = np.zeros(count, dtype=bool)
        self._open_to: dict[tuple[int, bytes], Words] = {}

    def nearest(self, cells: Cells, sets: Flags, leaf: Index) -> tuple[Cells, Flags]:
        """The cheapest points ``(p, columns)`` and sets ``(p, words)`` of boxes, each cut down to a leaf ``(p,)``."""
        numbers, levels = self.reduced.local.numbers, self.reduced.local.sets
        count = len(numbers.column)
        cells, sets = cells.copy(), sets & levels.open[leaf]
        cells[:, :count] = np.minimum(np.maximum(cells[:, :count], numbers.low[leaf]), numbers.high[leaf])
        for column, (word, first) in enumerate(zip(levels.word, levels.first, strict=True), count):
            cells[:, column] = first + lowest_bit(sets[:, word])
        return cells, sets

    def reached_from(self, leaf: Index, limit: float) -> Words:
        """The leaves ``(p, words)`` that share a point below the limit with each of some leaves ``(p,)``."""
        new = np.unique(leaf[~self._known[leaf]])
        if len(new):
            self._overlaps[new] = self._overlapping(new, limit)
            self._known[new] = True
        return self._overlaps[leaf]

    def _overlapping(self, leaf: Index, limit: float) -> Words:
        reduced, numbers = self.reduced, self.reduced.local.numbers
        apart = np.bitwise_or.reduce(reduced.above.take(numbers.high[leaf], axis=0), axis=1)
        apart |= np.bitwise_or.reduce(reduced.below.take(numbers.low[leaf], axis=0), axis=1)
        # the cheapest point of two boxes that overlap asks in each column for what the dearer one asks for
        most = reduced.rise_count[leaf]
        order = np.argsort(-most, kind="stable")
        leaf, number = leaf[order], np.cumsum(np.bincount(most)[::-1])[::-1]
        totals = [np.repeat(alone[None], len(leaf), axis=0) for alone in self._alone]
        for rise, size in enumerate(number[1:].tolist()):  # so many leaves ask for that many columns or more
            column, cell = reduced.rise_column[rise, leaf[:size]], reduced.rise_cell[rise, leaf[:size]]
            for total, term, prices in zip(totals, self._terms, self._prices, strict=True):
                if prices is not None:
                    more = prices.take(column, axis=0)
                    np.subtract(term.take(cell)[:, None], more, out=more)
                    total[:size] += np.maximum(more, 0.0, out=more)
        near = np.empty(totals[0].shape, dtype=bool)
        near[order] = self.costs.effort(*totals) < limit * (1 + self.rounding)
        return np.asarray(reduced.voters.pack(near) & ~apart)

    def keep_to_sets(self, alive: Words, sets: Flags, before: Flags) -> None:
        """Take the leaves that are not open to any level left out of ``alive`` ``(p, words)``, which is changed."""
        for column, word in enumerate(self.reduced.local.sets.word):
            changed = np.flatnonzero((sets[:, word] != before[:, word]).any(axis=1))
            if not len(changed):
                continue
            mine = sets[changed][:, word]
            if mine.shape[1] == 1:  # a single word a set, which is sorted much faster than lines of words
                single, which = np.unique(mine[:, 0], return_inverse=True)
                different = single[:, None]
            else:
                different, which = np.unique(mine, axis=0, return_inverse=True)
            table = np.stack([self._open_to_any(column, line) for line in different])
            alive[changed] &= table[which.reshape(-1)]

    def _open_to_any(self, column: int, classes: Flags) -> Words:
        """The leaves ``(words,)`` that are open to some of the classes of a column of levels."""
        key = (column, classes.tobytes())
        if key not in self._open_to:
            reduced = self.reduced
            chosen = np.flatnonzero(np.unpackbits(classes.view(np.uint8), bitorder="little"))
            shut = reduced.shut[reduced.local.sets.first[column] + chosen]
            self._open_to[key] = reduced.voters.full & ~np.bitwise_and.reduce(shut, axis=0)
        return self._open_to[key]
