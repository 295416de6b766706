"""Rounding of numbers to what a column can hold: a narrow dtype, or a list of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.types import Array, Index


def round_to_dtype(x: Array, dtype: np.dtype[Any], low: Array, high: Array) -> Array:
    """Numbers as a narrow dtype holds them, on the inner side of the box."""
    with np.errstate(over="ignore"):
        near: NDArray[Any] = x.astype(dtype)
        up, down = np.array(np.inf, dtype=dtype), np.array(-np.inf, dtype=dtype)
        near = np.where(near < low, np.nextafter(near, up), np.where(near > high, np.nextafter(near, down), near))
    return np.asarray(near, dtype=np.float64)


def nearest_listed(values: Array, x: Array, first: Index, last: Index) -> Array:
    """The nearest of sorted ``values`` to each number, from place ``first`` to ``last``; missing stays missing."""
    if not len(values):
        return np.full(x.shape, np.nan)
    right = np.minimum(values.searchsorted(x), len(values) - 1)
    left = np.maximum(right - 1, 0)
    place = np.where(x - values[left] <= values[right] - x, left, right)
    held = np.where(first <= last, np.minimum(np.maximum(place, first), last), place)
    return np.where(np.isnan(x), np.nan, values.take(held, mode="clip"))


class CodeColumns(NamedTuple):
    """Columns ``(c,)`` of codes, the first and last that the box of each row holds ``(n, c)``, the greatest of all."""

    columns: Index
    first_code: Array
    last_code: Array
    greatest_code: Array
    other_choices: list[int]  # places of the choices that are not codes

    @classmethod
    def of(cls, choices: Sequence[tuple[int, Array]], spans: Sequence[Index]) -> CodeColumns:
        """Those of some columns with listed values, and the spans ``(n, 2)`` that boxes hold of them."""
        plain = [np.array_equal(values, np.arange(len(values))) and len(values) > 0 for _, values in choices]
        mine = [place for place, is_plain in enumerate(plain) if is_plain]
        listed_places = [place for place, is_plain in enumerate(plain) if not is_plain]
        ends = np.stack([spans[place] for place in mine], axis=2) if len(mine) else np.empty((0, 2, 0))
        return cls(
            np.array([choices[place][0] for place in mine], dtype=np.intp),
            ends[:, 0].astype(np.float64),
            ends[:, 1].astype(np.float64),
            np.array([len(choices[place][1]) - 1.0 for place in mine]),
            listed_places,
        )

    def round(self, cells: Array) -> Array:
        """Cells ``(n, k, c)`` as codes, in the boxes of their rows."""
        first, last = self.first_code[:, None, :], self.last_code[:, None, :]
        near = np.minimum(np.maximum(np.ceil(cells - 0.5), 0.0), self.greatest_code)
        return np.asarray(np.where(first <= last, np.minimum(np.maximum(near, first), last), near))
