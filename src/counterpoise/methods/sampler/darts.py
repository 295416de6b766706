"""Darts: jumps between points that the chains met while they adapted, so that separate basins exchange chains.

A dart takes the few columns in which two remembered points differ from how one has them to how the other does. It is
thrown where a chain agrees with the first in these columns, and the way back is as likely: the list of darts is fixed
before the sampling, and has each in both directions (after Sminchisescu and Welling, 2007, on places instead of balls).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.types import Array, Index


class Darts(NamedTuple):
    """Darts of n rows, p each at most: columns ``(n, p, c)`` and their places before and after; a row may have none.

    Unused columns of a dart repeat its first one.
    """

    columns: Index
    before: Index
    after: Index
    dart_counts: Index  # (n,)

    @classmethod
    def none(cls, n: int) -> Darts:
        """No darts at all."""
        empty = np.zeros((n, 1, 1), dtype=np.intp)
        return cls(empty, empty, empty, np.zeros(n, dtype=np.intp))

    @classmethod
    def between(cls, visited: list[Index], points: int = 32, most: int = 256, columns: int = 4) -> Darts:
        """Darts between the most visited points of each row, those that differ in few columns first.

        ``visited`` has for each row the places ``(v, d)`` that its chains were in; a dart moves at most ``columns``.
        """
        n = len(visited)
        table = np.zeros((3, n, most, columns), dtype=np.intp)
        count = np.zeros(n, dtype=np.intp)
        for row, places in enumerate(visited):
            distinct, often = np.unique(places, axis=0, return_counts=True)
            modes = distinct[np.argsort(-often, kind="stable")[:points]]
            one, other = np.triu_indices(len(modes), 1)
            differs = modes[one] != modes[other]
            size = differs.sum(axis=1)
            order = np.lexsort((other, one, size))
            order = order[size[order] <= columns][: most // 2]
            for place, pair in enumerate(order.tolist()):
                mine = np.resize(np.flatnonzero(differs[pair]), columns)
                for turn, (a, b) in enumerate(((one[pair], other[pair]), (other[pair], one[pair]))):
                    table[:, row, 2 * place + turn] = mine, modes[a, mine], modes[b, mine]
            count[row] = 2 * len(order)
        return cls(table[0], table[1], table[2], count)

    def take(self, rows: Index) -> Darts:
        """The darts of some rows."""
        return Darts(*(part[rows] for part in self))

    def draw(self, u: Array) -> tuple[Index, Index, Index]:
        """A dart for each chain, by uniform numbers ``u`` ``(n, k)``: columns and places, ``(n, k, c)`` each."""
        number = np.minimum(
            (u * self.dart_counts[:, None]).astype(np.intp), np.maximum(self.dart_counts - 1, 0)[:, None]
        )
        row = np.arange(len(u))[:, None]
        return self.columns[row, number], self.before[row, number], self.after[row, number]
