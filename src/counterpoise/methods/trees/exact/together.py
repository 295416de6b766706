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

    def __init__(self, reduced: RowLeaves, costs: CellCosts) -> None:
        self.reduced, self.costs = reduced, costs
        count = reduced.rise_cell.shape[1]
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
        reduced, numbers, terms = self.reduced, self.reduced.local.numbers, self.reduced.local.terms
        apart = np.bitwise_or.reduce(reduced.above.take(numbers.high[leaf], axis=0), axis=1)
        apart |= np.bitwise_or.reduce(reduced.below.take(numbers.low[leaf], axis=0), axis=1)
        # the cheapest point of two boxes that overlap asks in each column for what the dearer one asks for
        cells = reduced.near[leaf]
        square, rest, _ = terms.of(cells)
        count = reduced.rise_cell.shape[1]
        totals = [np.repeat(square[:, None], count, axis=1), np.repeat(rest[:, None], count, axis=1)]
        parts = [(total, term) for total, term in zip(totals, (terms.square, terms.rest), strict=True) if term.any()]
        for column, cell in zip(reduced.rise_column, reduced.rise_cell, strict=True):
            own = cells.take(column, axis=1)  # (p, leaves)
            for total, term in parts:
                total += np.maximum(term.take(cell) - term.take(own), 0.0)
        near = self.costs.effort(*totals) < limit
        return np.asarray(reduced.voters.pack(near) & ~apart)

    def keep_to_sets(self, alive: Words, sets: Flags, before: Flags) -> None:
        """Take the leaves that are not open to any level left out of ``alive`` ``(p, words)``, which is changed."""
        for column, word in enumerate(self.reduced.local.sets.word):
            changed = np.flatnonzero((sets[:, word] != before[:, word]).any(axis=1))
            if not len(changed):
                continue
            different, which = np.unique(sets[changed][:, word], axis=0, return_inverse=True)
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
