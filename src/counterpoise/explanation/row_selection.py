"""Which rows of an explanation are meant: ``explanation[0]``, ``[2:5]``, ``[[1, 3]]``, ``[mask]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.types import Index

RowSelection = slice | Sequence[int] | Sequence[bool] | NDArray[Any] | pd.Series


def row_positions(key: int | RowSelection, n: int) -> Index:
    """The positions that a key selects among n rows: a number, a slice, a list of numbers, or a mask of booleans.

    >>> row_positions([0, -1], 3), row_positions(slice(1, None), 3)
    (array([0, 2]), array([1, 2]))
    """
    if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
        if not -n <= key < n:
            raise IndexError(f"a row must be one of the {n} explained; {key} was asked for; give its position")
        return np.array([key % n], dtype=np.intp)
    if isinstance(key, slice):
        return np.arange(n, dtype=np.intp)[key]
    places = np.asarray(key, dtype=bool if pd.api.types.is_bool_dtype(getattr(key, "dtype", object)) else None)
    if places.dtype == bool and places.shape == (n,):
        return np.flatnonzero(places)
    if places.ndim != 1 or (places.dtype.kind not in "iu" and places.size):
        given = f"{places.dtype} values of shape {places.shape}"
        raise InputError(f"rows must be positions, a slice or a mask of {n} booleans", given, "for instance [0, 2]")
    if places.size and not (-n <= places.min() and places.max() < n):
        raise IndexError(f"rows must be among the {n} explained; {key!r} was asked for; give their positions")
    return np.asarray(places.astype(np.intp) % n if n else places.astype(np.intp))
