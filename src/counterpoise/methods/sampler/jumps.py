"""Jumps: moves that change several columns at once, to combinations that the chains visited while they adapted.

The few columns that change most often are the core of a row. Which of them are changed is the pattern of a point. A
jump draws a pattern by how often the chains had it, and a place of each of its columns by where they were within that
pattern. It does not depend on where the chain is, so that separate basins exchange chains however far apart they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.proposal_table import ProposalTable, spread_visits
from counterpoise.types import Array, Index, Mask

CORE_COLUMNS = 8
"""Columns that a jump changes at most."""


@dataclass(frozen=True, eq=False)
class Jumps:
    """Core columns and patterns of n rows: c columns each, p patterns at most; a row may have none.

    Unused core columns repeat the first one of the row and are unchanged in every pattern.
    """

    columns: Index  # (n, c)
    is_used: Index  # (n, c) 1 where the entry is a core column of its own, else 0
    pattern_numbers: Index  # (n, 2**c) the pattern with these columns changed; -1: none
    is_changed: Mask  # (n, p, c) which core columns each pattern changes
    table: ProposalTable  # of patterns, as its columns, and places of core columns, as its temperatures
    log_shares: Array  # (n, p)

    @classmethod
    def none(cls, n: int, width: int) -> Jumps:
        """No jumps at all, where columns have ``width`` places."""
        columns = np.zeros((n, CORE_COLUMNS), dtype=np.intp)
        table = ProposalTable.of(np.zeros((n, 1, CORE_COLUMNS, width)), np.ones((n, 1)))
        numbers, changed = np.full((n, 2**CORE_COLUMNS), -1), np.zeros((n, 1, CORE_COLUMNS), dtype=bool)
        return cls(columns, columns, numbers, changed, table, np.zeros((n, 1)))

    @classmethod
    def between(cls, visited: Index, places: Places, usual: Array, patterns: int = 16, least: float = 0.02) -> Jumps:
        """Jumps between the patterns that chains were in: ``visited`` ``(n, v, d)`` places, v of each row.

        ``usual`` ``(n, d, m + 1)`` are the probabilities with which places are proposed otherwise; each place of a
        jump is drawn from them with probability 0.1. Core columns are those changed in at least the share ``least``
        of what was visited.
        """
        n, core = len(visited), CORE_COLUMNS
        width = usual.shape[2]
        share = (visited > 0).mean(axis=1)
        order = np.argsort(-share, axis=1, kind="stable")[:, :core]
        used = np.take_along_axis(share, order, axis=1) >= least
        lack = ((0, 0), (0, core - order.shape[1]))
        order, used = np.pad(order, lack), np.pad(used, lack)
        columns = np.where(used, order, order[:, :1])
        numbers = np.full((n, 2**core), -1, dtype=np.intp)
        probability = np.zeros((n, patterns, core, width))
        changed = np.zeros((n, patterns, core), dtype=bool)
        pattern_share = np.zeros((n, patterns))
        bits = 1 << np.arange(core)
        for row in range(n):
            mine = visited[row][:, columns[row]]
            codes, which, counts = np.unique(((mine > 0) & used[row]) @ bits, return_inverse=True, return_counts=True)
            often = np.argsort(-counts, kind="stable")[:patterns]
            pattern_share[row, : len(often)] = counts[often]
            numbers[row, codes[often]] = np.arange(len(often))
            for number, pick in enumerate(often.tolist()):
                inside = mine[which == pick]
                changed[row, number] = codes[pick] & bits
                for entry in np.flatnonzero(changed[row, number]).tolist():
                    column = columns[row, entry]
                    seen = np.bincount(inside[:, entry], minlength=width).astype(np.float64)
                    seen = spread_visits(seen, places.log_weight[row, column])
                    mixed = 0.9 * seen / seen.sum() + 0.1 * usual[row, column]
                    probability[row, number, entry] = mixed
        table = ProposalTable.of(probability, pattern_share)
        shares = np.diff(table.column_cumulative, axis=1, prepend=0)
        with np.errstate(divide="ignore"):
            return cls(columns, used.astype(np.intp), numbers, changed, table, np.log(shares / 2.0**31))

    def take(self, rows: Index) -> Jumps:
        """The jumps of some rows."""
        return Jumps(
            self.columns[rows],
            self.is_used[rows],
            self.pattern_numbers[rows],
            self.is_changed[rows],
            self.table.take(rows),
            self.log_shares[rows],
        )

    def draw(self, u: Array) -> tuple[Index, Array]:
        """Places ``(n, k, c)`` of the core columns, by numbers ``u`` ``(n, k, 1 + c)``, and their log density."""
        pattern = self.table.draw_columns(u[..., 0])
        rows = np.arange(len(u))[:, None]
        drawn = np.zeros((*pattern.shape, u.shape[2] - 1), dtype=np.intp)
        row, chain, entry = np.nonzero(self.is_changed[rows, pattern])
        drawn[row, chain, entry] = self.table.draw(row, pattern[row, chain], entry, u[row, chain, 1 + entry])
        return drawn, self._log_density(pattern, drawn)

    def log_density(self, place: Index) -> Array:
        """Logarithm of the probability ``(n, k)`` of drawing places ``(n, k, c)``; -inf where they are never drawn."""
        bits = self.is_used << np.arange(self.columns.shape[1])
        code = ((place > 0) * bits[:, None, :]).sum(axis=2)
        pattern = np.take_along_axis(self.pattern_numbers, code, axis=1)
        return np.where(pattern >= 0, self._log_density(np.maximum(pattern, 0), place), -np.inf)

    def _log_density(self, pattern: Index, place: Index) -> Array:
        rows = np.arange(len(place))[:, None]
        row, chain, entry = np.nonzero(self.is_changed[rows, pattern] & (place > 0))
        each = np.zeros(place.shape)
        numbers = pattern[row, chain]
        each[row, chain, entry] = self.table.log_probability(row, numbers, entry, place[row, chain, entry])
        return np.asarray(each.sum(axis=2) + np.take_along_axis(self.log_shares, pattern, axis=1))
