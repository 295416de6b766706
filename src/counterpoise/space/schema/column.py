"""One column: its kind, its values, the unit in which distances count; and how all that is read from data."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.space.schema.tables_in import as_python_value, is_exact_whole, require_whole_characters
from counterpoise.types import Array, is_number, is_whole_number

Kind = Literal["continuous", "integer", "boolean", "categorical", "ordinal"]
Scale = Literal["std", "mad", "range"]
KINDS: tuple[Kind, ...] = ("continuous", "integer", "boolean", "categorical", "ordinal")
NORMAL_STD_PER_MAD = 1.4826  # makes the median absolute deviation of a Gaussian its standard deviation
DATE_TYPES = (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)  # held fixed, as no search moves them
CELL_TYPES = (str, bool, int, float, np.bool_, np.integer, np.floating)  # what a cell of an object column may hold


@dataclass(frozen=True)
class Feature:
    """One column: its kind, its values and the unit in which distances count.

    name: the name of the column.
    kind: "continuous", "integer", "categorical", "ordinal" or "boolean".
    dtype: the reference's own, or what fits the kind.
    categories: of a categorical or ordinal feature; of an ordinal one in rising order.
    lower, upper: the observed range, in the units of the table.
    scale: the length of one unit of distance, in the units of the table: often the standard deviation.
    decimals: digits behind the decimal point that answers are rounded to; None: not rounded.
    missing: whether cells may be empty.
    fixed: why the column may not change at all; empty: it may.
    unit, label, description: texts for people.
    unseen: categories that may come but that no reference row has.
    assumed: whether nobody gave the scale: reference data puts its own in its place.
    mark: how an object column writes a missing cell: "nan", "None" or "NA".
    strange: those of the unseen categories, the last ones, that nobody listed and a row to explain has all the same.
    values: what a changed number may be: a list, "any", "seen" (values of the reference) or "auto" (seen ones where
        they are few, else any with the decimals).
    resolution: the decimals of a column of computed numbers, which give way where an equation asks for others.
    mad: the median absolute deviation, as that of a Gaussian with this standard deviation; None: not known.

    >>> Feature("packets", "integer", scale=3.0, lower=0, upper=9).is_numeric
    True
    """

    name: Hashable
    kind: Kind
    dtype: Any = None
    categories: tuple[Any, ...] = ()
    lower: float = -np.inf
    upper: float = np.inf
    scale: float = 1.0
    decimals: int | None = None
    missing: bool = False
    fixed: str = ""
    unit: str = ""
    label: str = ""
    description: str = ""
    unseen: tuple[Any, ...] = ()
    assumed: bool = False
    mark: Literal["nan", "None", "NA"] = "None"
    strange: tuple[Any, ...] = ()
    values: tuple[float, ...] | Literal["auto", "any", "seen"] = "auto"
    resolution: int | None = None
    mad: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"a feature's kind must be one of {', '.join(KINDS)}",
                f"{self.name!r} has {self.kind!r}",
                "correct the kind",
            )
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise InputError(
                "a feature's scale must be a positive number",
                f"{self.name!r} has {self.scale!r}",
                "give the length of one unit of distance, for instance a standard deviation",
            )
        if self.mad is not None and not (np.isfinite(self.mad) and self.mad > 0):
            raise InputError(
                "a feature's mad must be a positive number",
                f"{self.name!r} has {self.mad!r}",
                "leave it out, or give 1.4826 times its median absolute deviation",
            )
        object.__setattr__(self, "categories", tuple(self.categories))
        require_whole_characters([self.name, *self.categories], "name and categories of a feature")
        self._check_values()
        if not self.is_numeric and not self.categories:
            if self.kind != "boolean" and not self.fixed:
                raise InputError(
                    f"a {self.kind} feature needs its categories",
                    f"{self.name!r} has none",
                    "list them in the feature's categories",
                )
            object.__setattr__(self, "categories", (False, True) if self.kind == "boolean" else ())
        dtype = self._default_dtype() if self.dtype is None else pd.api.types.pandas_dtype(self.dtype)
        object.__setattr__(self, "dtype", dtype)
        if self.has_large_integers and not self.fixed:
            object.__setattr__(self, "fixed", "its whole numbers reach 2**53, where double precision loses digits")

    def _check_values(self) -> None:
        if isinstance(self.values, str) and self.values in ("auto", "any", "seen"):
            return
        listed = isinstance(self.values, (tuple, list)) and all(is_number(value) for value in self.values)
        if not (listed and len(self.values) and self.is_numeric and np.isfinite(self.values).all()):
            raise InputError(
                "a feature's values must be 'auto', 'any', 'seen' or a list of numbers, for a feature of numbers",
                f"{self.name!r} is {self.kind} and has {self.values!r}",
                "list the categories of other features",
            )
        object.__setattr__(self, "values", tuple(sorted({float(value) for value in self.values})))

    def _default_dtype(self) -> Any:
        """The dtype of a column of this kind that nobody has described more closely."""
        if self.is_numeric:
            return np.dtype(np.float64 if self.kind == "continuous" else np.int64)
        if self.kind == "ordinal":
            return pd.CategoricalDtype(pd.Index(self.categories, tupleize_cols=False), ordered=True)
        return np.dtype(bool) if self.kind == "boolean" else pd.Series(list(self.categories)).dtype

    @property
    def is_numeric(self) -> bool:
        """Whether differences between values mean something."""
        return self.kind in ("continuous", "integer")

    @property
    def has_large_integers(self) -> bool:
        """Whether the observed range has whole numbers that double precision does not tell apart."""
        is_whole = self.kind == "integer" or (self.is_numeric and getattr(self.dtype, "kind", "") in ("i", "u"))
        ends = np.array([self.lower, self.upper])
        return is_whole and not bool(is_exact_whole(ends[np.isfinite(ends)]).all())

    @property
    def title(self) -> str:
        """The name people read: the label where the schema gives one."""
        return self.label or str(self.name)

    @property
    def has_default_dtype(self) -> bool:
        """Whether the dtype is the one that a column of these values has where nobody described it more closely."""
        return bool(self.dtype == self._default_dtype())

    @property
    def storage_dtype(self) -> np.dtype[Any] | None:
        """The NumPy dtype that numbers of this column are kept in; None for objects and categories."""
        dtype = getattr(self.dtype, "numpy_dtype", self.dtype)
        return dtype if self.is_numeric and isinstance(dtype, np.dtype) and dtype.kind in "iuf" else None

    @cached_property
    def category_array(self) -> Any:
        """The categories as an array of the column's dtype."""
        return pd.array(list(self.categories), dtype=self.dtype)

    @cached_property
    def code_by_category(self) -> dict[Any, float]:
        """The code of each category."""
        return {value: float(code) for code, value in enumerate(self.categories)}


def dtype_range(feature: Feature) -> tuple[float, float]:
    """The least and the greatest number that a column's dtype holds."""
    dtype = feature.storage_dtype
    if dtype is None or (dtype.kind == "f" and dtype.itemsize >= 8):
        return -np.inf, np.inf
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    most = float(np.iinfo(dtype).max)
    return float(np.iinfo(dtype).min), most if int(most) <= np.iinfo(dtype).max else float(np.nextafter(most, 0.0))


def round_to_decimals(values: Array, decimals: int, dtype: np.dtype[Any] | None = None) -> Array:
    """Numbers with so many decimals, as a column of that dtype holds them.

    >>> round_to_decimals(np.array([0.12, 2.0]), 1)
    array([0.1, 2. ])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        count = np.rint(values * 10.0**decimals)
        # beyond 2**52 a double has no decimals left to round
        written = np.where(np.abs(count) < 2.0**52, count / 10.0**decimals, values)
        return written if dtype is None or dtype.kind != "f" else written.astype(dtype).astype(np.float64)


def infer_feature(column: pd.Series[Any], name: Hashable, scale: Scale) -> Feature:
    """The feature that a column of reference data shows.

    >>> infer_feature(pd.Series([1, 5, 9]), "packets", "range").scale
    8.0
    """
    dtype, missing = column.dtype, bool(column.isna().any())
    seen = column.dropna()
    kind, categories = _infer_kind(column, seen, name)
    if not len(seen):
        return Feature(name, kind, dtype, categories, missing=True, fixed="it is missing everywhere in the reference")
    if kind not in ("continuous", "integer"):
        found = set(pd.unique(seen) if seen.dtype.kind not in "mM" else seen)
        fixed = "" if len(found) > 1 else "it is constant in the reference"
        if _are_dates({*map(type, categories)}):
            fixed = "it holds dates or times"
        unseen = tuple(value for value in categories if value not in found)
        return Feature(
            name, kind, dtype, categories, missing=missing, fixed=fixed, unseen=unseen, mark=_find_missing_mark(column)
        )
    try:
        values = seen.to_numpy(dtype=np.float64)
    except OverflowError:
        raise make_huge_integer_error(name, "the reference") from None
    if not np.isfinite(values).all():
        where = seen.index[~np.isfinite(values)][0]
        raise InputError(
            "reference values must be finite",
            f"{name!r} is infinite in row {as_python_value(where)!r}",
            "replace infinite values, or mark them as missing",
        )
    lower, upper = float(values.min()), float(values.max())
    feature = Feature(name, kind, dtype, (), lower, upper, missing=missing, mark=_find_missing_mark(column))
    feature = replace(feature, decimals=_count_decimals(values, feature.storage_dtype))
    if lower == upper:
        return replace(feature, fixed="it is constant in the reference")
    return replace(feature, scale=_compute_scale(values, scale), mad=_compute_scale(values, "mad"))


def _infer_kind(column: pd.Series[Any], seen: pd.Series[Any], name: Hashable) -> tuple[Kind, tuple[Any, ...]]:
    dtype, types = column.dtype, pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        return ("ordinal" if dtype.ordered else "categorical"), tuple(dtype.categories)
    if types.is_bool_dtype(dtype):
        return "boolean", (False, True)
    if types.is_integer_dtype(dtype):
        return "integer", ()
    if types.is_float_dtype(dtype):
        return "continuous", ()
    if types.is_object_dtype(dtype) or types.is_string_dtype(dtype):
        return _infer_object_kind(seen, name)
    if dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype):
        return "categorical", tuple(sorted(set(seen)))
    raise _unsupported_column_error(name, str(dtype))


def _infer_object_kind(seen: pd.Series[Any], name: Hashable) -> tuple[Kind, tuple[Any, ...]]:
    types = {str} if isinstance(seen.dtype, pd.StringDtype) else {*map(type, seen)}
    if _are_dates(types):
        return "categorical", tuple(sorted(set(seen), key=str))
    if not all(issubclass(one, CELL_TYPES) for one in types):
        value = next(value for value in seen if not isinstance(value, CELL_TYPES))
        raise _unsupported_column_error(name, f"an object column with {value!r} ({type(value).__name__})")
    if types and all(issubclass(one, (bool, np.bool_)) for one in types):
        return "boolean", (False, True)
    if types and not any(issubclass(one, (bool, np.bool_, str)) for one in types):
        return ("integer" if _are_whole(seen) else "continuous"), ()
    return "categorical", tuple(sorted(pd.unique(seen), key=lambda value: (type(value).__name__, str(value))))


def _are_whole(values: Iterable[Any]) -> bool:
    """Whether all finite ones among some numbers are whole."""
    return all(is_whole_number(value) or float(value).is_integer() for value in values if value - value == 0)


def _are_dates(types: Collection[type]) -> bool:
    """Whether there are values, and the types of all of them are dates, times or spans."""
    return bool(types) and all(issubclass(one, DATE_TYPES) for one in types)


def _unsupported_column_error(name: Hashable, what: str) -> InputError:
    return InputError(
        "columns must hold numbers, booleans, text, categories or dates",
        f"{name!r} is {what}",
        "convert it, or leave it out of the reference: columns that only the rows have are carried through",
    )


def make_huge_integer_error(name: Hashable, what: str) -> InputError:
    """The error for a whole number that even a double of 1.8e308 is too small for."""
    return InputError(
        "numbers must be below 1.8e308",
        f"{name!r} of {what} holds a larger whole number",
        "give it as text, or leave the column out: columns that only the rows have are carried through",
    )


def _find_missing_mark(column: pd.Series[Any]) -> Literal["nan", "None", "NA"]:
    """How an object column writes a missing cell: models may tell None from NaN."""
    if column.dtype != np.dtype(object):
        return "None"
    first = next(iter(column[column.isna()]), None)
    return "None" if first is None else "NA" if first is pd.NA else "nan"


def _compute_scale(values: Array, scale: Scale) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        width = float(np.ptp(values))
        if scale == "range":
            return width if np.isfinite(width) else 1.0
        mad = float(np.median(np.abs(values - np.median(values)))) * NORMAL_STD_PER_MAD if scale == "mad" else 0.0
        # also for a MAD of zero, where more than half of the values are equal
        for spread in (mad, float(values.std()), width):
            if np.isfinite(spread) and spread > 0:
                return spread
    return 1.0


def _count_decimals(values: Array, storage: np.dtype[Any] | None, most: int = 9) -> int | None:
    """The fewest decimals, ``most`` at most, that write every value exactly, or None."""
    largest = np.abs(values).max(initial=0.0)
    for decimals in range(most + 1):
        if decimals and largest >= 2.0**52 / 10.0**decimals:  # beyond it a double has no decimals left
            return None
        if np.array_equal(round_to_decimals(values, decimals, storage), values):
            return decimals
    return None
