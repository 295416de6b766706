"""The nearest rows of a table, for many rows at a time, by squared distance in feature scales."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from counterpoise.space.distance import Distance
from counterpoise.types import Array, Index, Mask, has_no_missing, split_rows


@lru_cache(maxsize=64)
def spread_places(total: int, count: int) -> Index:
    """The places of at most ``count`` of so many rows, evenly spread over all of them.

    >>> spread_places(9, 3)
    array([0, 4, 8])
    """
    places = np.linspace(0, total - 1, min(total, count)).astype(np.intp)
    places.flags.writeable = False
    return places


def pad_lists(lists: Sequence[Index], cells: int) -> Iterator[tuple[Index, Index, Mask]]:
    """Lists of places as tables ``(m, l)``: which lists ``(m,)``, their places, and which entries are real.

    Lists of about the same length are put together, as many as make a table of ``cells`` entries, or one.

    >>> [(rows.tolist(), table.tolist()) for rows, table, _ in pad_lists([np.array([4, 5]), np.array([6])], 100)]
    [([1, 0], [[6, 0], [4, 5]])]
    """
    if len(lists) == 1:
        yield np.zeros(1, dtype=np.intp), lists[0][None], np.full((1, len(lists[0])), True)
        return
    length = np.array([len(places) for places in lists])
    order = np.argsort(length, kind="stable")
    while len(order):
        size = max(1, np.count_nonzero(length[order] * np.arange(1, len(order) + 1) <= cells))
        rows, order = order[:size], order[size:]
        real = np.arange(length[rows[-1]]) < length[rows][:, None]
        table = np.zeros(real.shape, dtype=np.intp)
        table[real] = np.concatenate([lists[row] for row in rows.tolist()])
        yield rows, table, real


@dataclass(frozen=True, eq=False)
class NeighbourIndex:
    """Rows ``(r, d)``, centred and scaled; differences of categories are 0 or 1, a cell that only one has counts 1.

    >>> from counterpoise.space.known_distances import NormMixture
    >>> measure = NormMixture(np.ones(2), np.ones(2), np.zeros(2, dtype=bool))
    >>> pool = NeighbourIndex.of(np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]]), measure)
    >>> [near.tolist() for near in pool.find_nearest(np.array([[0.9, 0.9]]), 2)]
    [[0, 2]]
    """

    x: Array
    distance: Distance
    column_weights: Array  # (d,) what a unit of each column counts; 0 for categories
    centre: Array  # (d,) large values that hardly differ would drown the differences in rounding
    scaled_rows: Array  # (r, d) 0 where a cell is missing, and for categories
    squared_rows: Array  # (r, d)
    squared_norms: Array  # (r,)
    missing: Mask | None  # (r, d), or None where nothing is
    latest_query: list[tuple[bytes, int, list[Index]]] = field(default_factory=list)  # the latest one, and its answer
    relative_error: float = 1e-6  # of a squared distance: rows within it of the last of the nearest are found too
    blocks_per_neighbour: int = 16  # blocks of rows whose least distances stand in for a sort of all
    max_squares_at_once: int = 4_000_000  # squared distances held in memory at once

    @classmethod
    def of(cls, x: Array, distance: Distance) -> NeighbourIndex:
        """The index of rows ``x`` ``(r, d)``."""
        missing = np.isnan(x)
        count = np.maximum((~missing).sum(axis=0), 1)
        centre = np.where(missing, 0.0, x).sum(axis=0) / count
        weight = np.where(distance.nominal, 0.0, 1.0 / distance.unit)
        scaled = np.where(missing, 0.0, (x - centre) * weight)
        norms = np.einsum("rd,rd->r", scaled, scaled)
        return cls(x, distance, weight, centre, scaled, scaled**2, norms, missing if missing.any() else None)

    @cached_property
    def _category_columns(self) -> list[int]:
        """The columns of categories."""
        return np.flatnonzero(self.distance.nominal).tolist()

    def find_nearest(
        self, x0: Array, count: int, free: Mask | None = None, *, may_give_more: bool = False
    ) -> list[Index]:
        """For each of ``x0`` ``(n, d)`` the places of its ``count`` nearest rows or more, with all ties up to rounding.

        ``free`` ``(n, d)`` marks the cells that count. Nothing that is found for a row depends on the other rows.
        ``may_give_more`` allows the longer answer to the latest query, for those who sort by this very distance: to
        others, who choose by another one, it would make an answer depend on what was asked before.
        """
        if count >= len(self.x):
            return [np.arange(len(self.x))] * len(x0)
        free = None if free is None or free.all() else free
        # the same rows are asked about for their starts and for the evidence
        key = x0.tobytes() + (b"" if free is None else free.tobytes())
        for question, most, answer in self.latest_query:
            if question == key and (most == count or (may_give_more and most > count)):
                return answer
        found: list[Index] = []
        for rows in split_rows(len(x0), self.max_squares_at_once, len(self.x)):
            found += self._find_nearest_block(x0[rows], count, None if free is None else free[rows])
        self.latest_query[:] = [(key, count, found)]
        return found

    def _find_nearest_block(self, x0: Array, count: int, free: Mask | None) -> list[Index]:
        square, largest = self._squared_distances(x0, free)
        # some are at least as near as the last of the nearest of blocks: that is quicker to find, and hardly farther
        n, r = square.shape
        width = r // (self.blocks_per_neighbour * count)
        least = square[:, : r - r % width].reshape(n, -1, width).min(axis=2) if width > 1 else square
        last = np.partition(least, count - 1, axis=1)[:, count - 1]
        limit = last + self.relative_error * (1 + largest + np.abs(last))
        return [np.flatnonzero(line <= end) for line, end in zip(square, limit, strict=True)]

    def _squared_distances(self, x0: Array, free: Mask | None) -> tuple[Array, Array]:
        """``|x0 - x|**2`` of every pair, ``(n, r)``, and the greatest square that went into it, ``(n,)``."""
        a = (x0 - self.centre) * self.column_weights
        counts = None if free is None else free.astype(np.float64)
        if counts is not None:
            a = a * counts
        missing = None if has_no_missing(x0) else np.isnan(x0)
        if missing is not None:
            a[missing] = 0.0
        squares = np.square(a)
        if self.missing is None and missing is None:
            theirs = self.squared_norms if counts is None else counts @ self.squared_rows.T
            total = squares.sum(axis=1)[:, None] - 2 * a @ self.scaled_rows.T + theirs
        else:
            shared = np.ones(x0.shape) if counts is None else counts.copy()
            if missing is not None:
                shared[missing] = 0.0
            both = np.ones(self.x.shape) if self.missing is None else (~self.missing).astype(np.float64)
            total = squares @ both.T - 2 * a @ self.scaled_rows.T + shared @ self.squared_rows.T + shared @ (1 - both).T
            total += ((1.0 if counts is None else counts) - shared) @ both.T
        for column in self._category_columns:
            one, other = x0[:, column, None], self.x[:, column]
            unlike = (one != other) & ~np.isnan(one) & ~np.isnan(other)
            total += unlike if counts is None else unlike * counts[:, column, None]
        return total, squares.max(axis=1, initial=0.0)
