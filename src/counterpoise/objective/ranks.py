"""Quantile ranks: where a value stands among the reference's, from 0 (its least) to 1 (its greatest), and back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class Ranks:
    """The quantiles of each column of a reference at evenly spaced ranks, linear between them.

    ``table`` ``(d, g)`` is the sorted reference itself where it is small and complete.

    >>> ranks = Ranks.of(np.array([[0.0], [0.0], [0.0], [1.0], [9.0]]))
    >>> ranks.rank_interval(np.array([0.0, 5.0]), np.array([0, 0]))
    (array([0.   , 0.875]), array([0.5  , 0.875]))
    >>> ranks.values_at_knots(np.array([1.0, 3.5]), np.array([0, 0]))
    array([0., 5.])
    """

    table: Array

    @classmethod
    def of(cls, reference: Array, max_knots: int = 4096) -> Ranks:
        """The ranks of a reference ``(r, d)``, by ``max_knots`` quantiles at most; missing cells do not count."""
        knots = min(max(len(reference), 2), max_knots)
        if len(reference) == knots and not np.isnan(reference).any():
            return cls(np.ascontiguousarray(np.sort(reference, axis=0).T))
        if not len(reference):
            return cls(np.zeros((reference.shape[1], 2)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without values has no ranks, and needs none
            table = np.nanquantile(reference, np.linspace(0, 1, knots), axis=0)
        # quantiles of equal values may differ in the last digit, which would end a stretch too soon
        return cls(np.ascontiguousarray(np.maximum.accumulate(np.nan_to_num(table), axis=0).T))

    def rank_interval(self, x: Array, columns: Index) -> tuple[Array, Array]:
        """The least and the greatest rank of values ``(..., c)`` of these columns ``(c,)``; NaN has any."""
        top = self.table.shape[1] - 1
        left, right = np.empty(x.shape, dtype=np.intp), np.empty(x.shape, dtype=np.intp)
        for place, column in enumerate(columns.tolist()):
            knots, cells = self.table[column], x[..., place]
            left[..., place], right[..., place] = knots.searchsorted(cells, "left"), knots.searchsorted(cells, "right")
        below, above = np.minimum(np.maximum(left - 1, 0), top), np.minimum(left, top)
        offset, flat = columns * (top + 1), self.table.reshape(-1)
        floor = flat.take(below + offset)
        gap = flat.take(above + offset) - floor
        with np.errstate(invalid="ignore"):  # infinite ends of a box
            part = np.divide(x - floor, gap, out=np.zeros(x.shape), where=gap > 0)
        between: Mask = (left == right) & (left > 0) & (left <= top)
        first = np.where(between, below + part, np.minimum(left, top))
        last = np.where(between, below + part, np.maximum(right - 1, 0))
        return first / top, last / top

    def values_at_knots(self, at: Array, columns: Index) -> Array:
        """The values ``(..., c)`` at places ``at`` ``(..., c)``, counted in knots from 0, which are overwritten."""
        flat, knots = self.table.reshape(-1), self.table.shape[1]
        below = np.minimum(at.astype(np.intp), knots - 2)
        at -= below
        below += columns * knots
        low = flat.take(below)
        below += 1
        high = flat.take(below)
        high -= low
        high *= at
        high += low
        return np.asarray(high)

    def distance_outside_range(self, x: Array, columns: Index) -> Array:
        """How far values ``(..., c)`` lie outside the range of their columns, with its sign; 0 inside."""
        return np.asarray(x - np.clip(x, self.table[columns, 0], self.table[columns, -1]))
