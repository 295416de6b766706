"""The lattice: the values a cell can hold at all (whole numbers, steps, decimals, a narrow dtype, listed values)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.space.constraints import Draft
from counterpoise.types import Array, Index, Mask

EXACT = 2.0**52  # beyond this many counts a double has no digits left to round


@dataclass(frozen=True, eq=False)
class Lattice:
    """How cells are rounded, column by column, inside the box of each row.

    A step (whole numbers) and values that the user lists bind every answer. Decimals, the dtype and the categories
    that were seen are about how a new value is written: a cell that keeps the row's value keeps it to the bit.
    """

    columns: Index  # (g,) columns on a grid: values are count * step / parts
    step: Array  # (g,)
    parts: Array  # (g,)
    first: Array  # (n, g) the least and the greatest count that the box holds; first > last: none
    last: Array  # (n, g)
    binds: Mask  # (d,) columns where an unchanged cell must be on the lattice too
    narrow: tuple[tuple[int, np.dtype[Any]], ...]  # columns of a float dtype below double precision
    choices: tuple[tuple[int, Array], ...]  # columns with listed values, sorted
    spans: tuple[Index, ...]  # for each of them the places (n, 2) of the first and last value that the box holds

    @classmethod
    def of(cls, draft: Draft, choices: list[Array | None]) -> Lattice:
        """The lattice of a draft whose box is complete: the user's steps, ``choices`` by column, decimals, dtypes."""
        schema, d = draft.schema, len(draft.schema)
        whole = np.array([feature.kind == "integer" for feature in schema])
        step = np.where(whole, np.maximum(draft.step, 1.0), np.where(schema.numeric, draft.step, 0.0))
        parts = np.array([10.0**f.decimals if f.numeric and f.decimals is not None else 0.0 for f in schema])
        listed = np.array([values is not None for values in choices])
        columns = np.flatnonzero(((step > 0) | (parts > 0)) & ~listed)
        narrow = []
        for number, feature in enumerate(schema):
            storage = feature.storage
            if storage is not None and storage.kind == "f" and storage.itemsize < 8:
                narrow.append((number, storage))
        picked = tuple((number, values) for number, values in enumerate(choices) if values is not None)
        spans = []
        for number, values in picked:
            low = np.searchsorted(values, draft.lower[:, number], "left")
            high = np.searchsorted(values, draft.upper[:, number], "right") - 1
            spans.append(np.stack([low, high], axis=1))
        by_user = np.array([values is not None for values in draft.choices])
        empty = np.zeros((len(draft.x0), len(columns)))
        on_step = step[columns] > 0
        lattice = cls(
            columns,
            np.where(on_step, step[columns], 1.0),
            np.where(on_step, 1.0, parts[columns]),
            empty,
            empty,
            np.array((step > 0) | by_user).reshape(d),
            tuple(narrow),
            picked,
            tuple(spans),
        )
        first, last = lattice._counts(draft.lower[:, columns], draft.upper[:, columns])
        return replace(lattice, first=first, last=last)

    def take(self, rows: Index) -> Lattice:
        """The lattice of some of the rows."""
        spans = tuple(span[rows] for span in self.spans)
        return replace(self, first=self.first[rows], last=self.last[rows], spans=spans)

    def round(self, x: Array, x0: Array, lower: Array, upper: Array) -> Array:
        """``x`` ``(n, k, d)``, which lies in the box ``(n, d)``, on the lattice; still in the box where it has a point.

        Cells that equal the row's ``x0`` ``(n, d)`` stay as they are, except where the lattice binds every answer.
        """
        if not (len(self.columns) or self.narrow or self.choices):
            return x
        y = x.copy()
        for column, dtype in self.narrow:
            y[..., column] = _narrowed(x[..., column], dtype, lower[:, None, column], upper[:, None, column])
        if len(self.columns):
            cells = x[..., self.columns]
            first, last = self.first[:, None, :], self.last[:, None, :]
            count = np.minimum(np.maximum(self._count(cells), first), last)
            rounded = (first <= last) & (np.abs(count) < EXACT)
            y[..., self.columns] = np.where(rounded, self._value(count), y[..., self.columns])
        for (column, values), span in zip(self.choices, self.spans, strict=True):
            y[..., column] = _nearest(values, x[..., column], span[:, None, 0], span[:, None, 1])
        if self.binds.all():
            return y
        start = x0[:, None, :]
        return np.where((x == start) & ~self.binds, start, y)

    def misses(self, x: Array, changed: Mask) -> Mask:
        """Which cells of ``x`` ``(n, k, d)`` are off the lattice; ``changed`` says which differ from the row."""
        off = np.zeros(x.shape, dtype=bool)
        for column, dtype in self.narrow:
            with np.errstate(over="ignore"):
                off[..., column] = x[..., column].astype(dtype) != x[..., column]
        if len(self.columns):
            cells = x[..., self.columns]
            count = self._count(cells)
            written = (self._value(count) != cells) & (np.abs(count) < EXACT)
            off[..., self.columns] |= written & ((self.first <= self.last)[:, None, :] | self.binds[self.columns])
        for column, values in self.choices:
            off[..., column] = ~np.isin(x[..., column], values)
        return off & ~np.isnan(x) & (changed | self.binds)

    def vacant(self, lower: Array, upper: Array) -> Mask:
        """Which boxes ``(n, d)`` hold no value at all that a changed cell could take."""
        none = lower > upper
        bound = self.binds[self.columns]
        none[:, self.columns[bound]] |= (self.first > self.last)[:, bound]
        for (column, _), span in zip(self.choices, self.spans, strict=True):
            none[:, column] |= span[:, 0] > span[:, 1]
        return none

    def _count(self, cells: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.rint(cells * self.parts / self.step)

    def _value(self, count: Array) -> Array:
        """The numbers at these counts, ``(..., g)``, as the columns' dtypes hold them."""
        value = count * self.step / self.parts
        places = {column: place for place, column in enumerate(self.columns.tolist())} if self.narrow else {}
        for column, dtype in self.narrow:
            if column in places:
                with np.errstate(over="ignore"):
                    value[..., places[column]] = value[..., places[column]].astype(dtype)
        return value

    def _counts(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """The least and the greatest count whose value lies in ``[lower, upper]``, each ``(n, g)``."""
        first, last = self._count(lower), self._count(upper)
        for _ in range(2):  # a count is at most one off by rounding, two in a dtype that rounds again
            first = np.where(self._value(first - 1.0) >= lower, first - 1.0, first)
            last = np.where(self._value(last + 1.0) <= upper, last + 1.0, last)
        for _ in range(3):
            first = np.where(self._value(first) < lower, first + 1.0, first)
            last = np.where(self._value(last) > upper, last - 1.0, last)
        held = (self._value(first) >= lower) & (self._value(last) <= upper)
        return np.where(held, first, 1.0), np.where(held, last, 0.0)


def _narrowed(x: Array, dtype: np.dtype[Any], low: Array, high: Array) -> Array:
    """Numbers as a narrow dtype holds them, on the inner side of the box."""
    with np.errstate(over="ignore"):
        near: NDArray[Any] = x.astype(dtype)
        up, down = np.array(np.inf, dtype=dtype), np.array(-np.inf, dtype=dtype)
        near = np.where(near < low, np.nextafter(near, up), np.where(near > high, np.nextafter(near, down), near))
    return np.asarray(near, dtype=np.float64)


def _nearest(values: Array, x: Array, first: Index, last: Index) -> Array:
    """The nearest of sorted ``values`` to each number, from place ``first`` to ``last``; missing stays missing."""
    if not len(values):
        return np.full(x.shape, np.nan)
    right = np.clip(np.searchsorted(values, x), 0, len(values) - 1)
    left = np.maximum(right - 1, 0)
    place = np.where(x - values[left] <= values[right] - x, left, right)
    held = np.where(first <= last, np.minimum(np.maximum(place, first), last), place)
    return np.where(np.isnan(x), np.nan, values[np.clip(held, 0, len(values) - 1)])
