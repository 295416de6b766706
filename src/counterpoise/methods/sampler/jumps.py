"""Jumps: moves that change several columns at once, to combinations that the chains visited while they adapted.

The few columns that change most often are the core of a row. Which of them are changed is the pattern of a point. A
jump draws a pattern by how often the chains had it, and a place of each of its columns by where they were within that
pattern. It does not depend on where the chain is, so that separate basins exchange chains however far apart they lie.
What was visited of a pattern is split into a few parts, each with places of its own: valid points often lie along a
diagonal, which no choice of one column after the other would meet.
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
    """Core columns and parts of patterns of n rows: c columns each, p parts at most; a row may have none.

    Unused core columns repeat the first one of the row and are unchanged in every pattern.
    """

    columns: Index  # (n, c)
    is_used: Index  # (n, c) 1 where the entry is a core column of its own, else 0
    first_parts: Index  # (n, 2**c) the first part of the pattern with these columns changed
    part_counts: Index  # (n, 2**c) how many parts it has, one after the other; 0: it is never drawn
    is_changed: Mask  # (n, p, c) which core columns each part changes
    table: ProposalTable  # of parts, as its columns, and places of core columns, as its temperatures
    log_shares: Array  # (n, p)

    @classmethod
    def none(cls, n: int, width: int) -> Jumps:
        """No jumps at all, where columns have ``width`` places."""
        columns = np.zeros((n, CORE_COLUMNS), dtype=np.intp)
        table = ProposalTable.of(np.zeros((n, 1, CORE_COLUMNS, width)), np.ones((n, 1)))
        numbers, changed = np.zeros((n, 2**CORE_COLUMNS), dtype=np.intp), np.zeros((n, 1, CORE_COLUMNS), dtype=bool)
        return cls(columns, columns, numbers, numbers, changed, table, np.zeros((n, 1)))

    @classmethod
    def between(
        cls, visited: Index, places: Places, usual: Array, patterns: int = 16, parts: int = 4, least: float = 0.02
    ) -> Jumps:
        """Jumps between the patterns that chains were in: ``visited`` ``(n, v, d)`` places, v of each row.

        ``usual`` ``(n, d, m + 1)`` are the probabilities with which places are proposed otherwise; each place of a
        jump is drawn from them with probability 0.1. Core columns are those changed in at least the share ``least``
        of what was visited. A pattern has at most so many ``parts``.
        """
        n, core = len(visited), CORE_COLUMNS
        width = usual.shape[2]
        share = (visited > 0).mean(axis=1)
        order = np.argsort(-share, axis=1, kind="stable")[:, :core]
        used = np.take_along_axis(share, order, axis=1) >= least
        lack = ((0, 0), (0, core - order.shape[1]))
        order, used = np.pad(order, lack), np.pad(used, lack)
        columns = np.where(used, order, order[:, :1])
        first, counts = (np.zeros((n, 2**core), dtype=np.intp) for _ in range(2))
        probability = np.zeros((n, patterns * parts, core, width))
        changed = np.zeros((n, patterns * parts, core), dtype=bool)
        part_share = np.zeros((n, patterns * parts))
        bits = 1 << np.arange(core)
        for row in range(n):
            mine = visited[row][:, columns[row]]
            codes = ((mine > 0) & used[row]) @ bits
            found, often = np.unique(codes, return_counts=True)
            number = 0
            for code in found[np.argsort(-often, kind="stable")[:patterns]].tolist():
                first[row, code] = number
                entries = np.flatnonzero(code & bits)
                for inside in _split_visited(mine[codes == code], entries, parts):
                    changed[row, number, entries], part_share[row, number] = True, len(inside)
                    for entry in entries.tolist():
                        column = columns[row, entry]
                        seen = np.bincount(inside[:, entry], minlength=width).astype(np.float64)
                        seen = spread_visits(seen, places.log_weight[row, column])
                        mixed = 0.9 * seen / seen.sum() + 0.1 * usual[row, column]
                        probability[row, number, entry] = mixed
                    number += 1
                counts[row, code] = number - first[row, code]
        table = ProposalTable.of(probability, part_share)
        shares = np.diff(table.column_cumulative, axis=1, prepend=0)
        with np.errstate(divide="ignore"):
            logs = np.log(shares / 2.0**31)
        return cls(columns, used.astype(np.intp), first, counts, changed, table, logs)

    def take(self, rows: Index) -> Jumps:
        """The jumps of some rows."""
        return Jumps(
            self.columns[rows],
            self.is_used[rows],
            self.first_parts[rows],
            self.part_counts[rows],
            self.is_changed[rows],
            self.table.take(rows),
            self.log_shares[rows],
        )

    def draw(self, u: Array) -> tuple[Index, Array]:
        """Places ``(n, k, c)`` of the core columns, by numbers ``u`` ``(n, k, 1 + c)``, and their log density."""
        part = self.table.draw_columns(u[..., 0])
        rows = np.arange(len(u))[:, None]
        drawn = np.zeros((*part.shape, u.shape[2] - 1), dtype=np.intp)
        row, chain, entry = np.nonzero(self.is_changed[rows, part])
        drawn[row, chain, entry] = self.table.draw(row, part[row, chain], entry, u[row, chain, 1 + entry])
        return drawn, self.log_density(drawn)

    def log_density(self, place: Index) -> Array:
        """Logarithm of the probability ``(n, k)`` of drawing places ``(n, k, c)``; -inf where they are never drawn."""
        bits = self.is_used << np.arange(self.columns.shape[1])
        code = ((place > 0) * bits[:, None, :]).sum(axis=2)
        first, count = (np.take_along_axis(each, code, axis=1) for each in (self.first_parts, self.part_counts))
        out = np.full(code.shape, -np.inf)
        for number in range(int(count.max(initial=0))):
            rows, chains = np.nonzero(count > number)
            found = self._log_density(rows, first[rows, chains] + number, place[rows, chains])
            out[rows, chains] = np.logaddexp(out[rows, chains], found)
        return out

    def _log_density(self, rows: Index, part: Index, place: Index) -> Array:
        """Logarithm of the probability of drawing places ``(q, c)`` of rows ``(q,)`` by parts ``(q,)``."""
        point, entry = np.nonzero(self.is_changed[rows, part])
        each = np.zeros(place.shape)
        each[point, entry] = self.table.log_probability(rows[point], part[point], entry, place[point, entry])
        return np.asarray(each.sum(axis=1) + self.log_shares[rows, part])


def _split_visited(inside: Index, entries: Index, parts: int, least: int = 8) -> list[Index]:
    """Visited places ``(v, c)`` in at most so many parts, the largest halved at the median of its widest column.

    A part keeps at least so many points; ``entries`` are the columns that may be split.
    """
    found = [inside]
    while len(found) < parts and len(entries):
        largest = max(range(len(found)), key=lambda each: len(found[each]))
        mine = found[largest]
        if len(mine) < 2 * least:
            break
        values = mine[:, entries[mine[:, entries].std(axis=0).argmax()]]
        lower = values <= np.median(values)
        if lower.all():
            lower = values < np.median(values)
        if min(lower.sum(), (~lower).sum()) < least:
            break
        found[largest : largest + 1] = [mine[lower], mine[~lower]]
    return found
