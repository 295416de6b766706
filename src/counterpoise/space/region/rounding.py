"""Rounding of numbers to what a column can hold: a narrow dtype, or a list of values."""

from __future__ import annotations

from typing import Any

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
