"""Frames to encoded arrays and back: the one place where dtypes, categories and missing cells are translated."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.space.schema.column import make_huge_integer_error
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.schema.tables_in import as_python_value, quote_names
from counterpoise.types import Array, Mask

MISSING_MARKS = {"nan": np.nan, "None": None, "NA": pd.NA}


def encode(schema: Schema, table: pd.DataFrame, what: str = "row") -> Array:
    """Encoded values ``(n, d)`` of the schema's columns of a frame; categories become codes, missing cells NaN.

    >>> table = pd.DataFrame({"n": [1, 5], "proto": ["tcp", "udp"]})
    >>> encode(Schema.infer(table), table)
    array([[1., 0.],
           [5., 1.]])
    """
    out = np.empty((len(table), len(schema)))
    block = _find_number_columns(schema, table)
    if block:  # all at once: a frame gives its columns one by one only slowly
        whole = len(block) == len(schema) and schema.matches_columns(table)
        picked = table if whole else table.iloc[:, _frame_positions(schema, table, block)]
        out[:, slice(None) if whole else block] = picked.to_numpy(dtype=np.float64)
        for number in _find_suspect_columns(schema, out, block):
            _check_numbers(schema.features[number], out[:, number], table[schema.names[number]], what)
    for number in sorted(set(range(len(schema))) - set(block)):
        feature = schema.features[number]
        column = table[feature.name]
        out[:, number] = (
            _encode_numbers(feature, column, what) if feature.is_numeric else _encode_categories(feature, column, what)
        )
    return out


def _frame_positions(schema: Schema, table: pd.DataFrame, columns: list[int]) -> list[Any]:
    """Where some of the features stand in a frame."""
    return (
        columns
        if schema.matches_columns(table)
        else [table.columns.get_loc(schema.names[number]) for number in columns]
    )


def _find_number_columns(schema: Schema, table: pd.DataFrame) -> list[int]:
    """Columns of numbers in NumPy's own dtypes."""
    if schema.numeric.all() and schema.matches_columns(table) and table.to_numpy().dtype == np.float64:
        return [*range(len(schema))]  # what makes one array of doubles is numbers throughout
    dtypes: dict[Hashable, Any] = dict(zip(table.columns.tolist(), table.dtypes.tolist(), strict=True))
    return [
        number
        for number, feature in enumerate(schema)
        if feature.is_numeric and isinstance(dtypes[feature.name], np.dtype) and dtypes[feature.name].kind in "biuf"
    ]


def _find_suspect_columns(schema: Schema, x: Array, columns: list[int]) -> list[int]:
    """Columns of numbers with a cell that may be wrong."""
    values = x if len(columns) == x.shape[1] else x[:, columns]
    wrong = np.isinf(values)
    if schema.has_grid:
        wrong |= ((values != np.rint(values)) & ~np.isnan(values) | (np.abs(values) > 2.0**63)) & schema.integer[
            columns
        ]
    return [columns[place] for place in np.flatnonzero(wrong.any(axis=0))]


def decode(schema: Schema, x: Array) -> Any:
    """What the model was fitted on, for encoded rows ``(p, d)``: a frame with the reference's dtypes, or an array.

    >>> table = pd.DataFrame({"n": [1, 5], "proto": ["tcp", "udp"]})
    >>> decode(Schema.infer(table), np.array([[2.0, 1.0]])).to_dict("records")
    [{'n': 2, 'proto': 'udp'}]
    """
    if schema.has_only_doubles:
        return pd.DataFrame(x, columns=schema.columns, copy=True) if schema.frame else x.copy()
    if not schema.frame:
        return _decode_array(schema, x)
    columns = {number: decode_column(feature, x[:, number]) for number, feature in enumerate(schema)}
    frame = pd.DataFrame(columns, copy=False)
    frame.columns = schema.columns
    return frame


def decode_column(feature: Feature, values: Array) -> Any:
    """One decoded column, in the reference's dtype where that dtype can hold the values."""
    dtype = feature.dtype
    if not feature.is_numeric:
        return _decode_categories(feature, values)
    missing = np.isnan(values)
    if feature.kind == "integer" or getattr(dtype, "kind", "") in ("i", "u"):
        values = np.rint(values)  # a search may ask between whole numbers; a dtype of them would cut off or refuse
    if dtype == np.dtype(object):
        return _decode_objects(feature, values, missing)
    if isinstance(dtype, np.dtype):
        return values.astype(dtype) if _can_hold(dtype, values, missing) else values
    storage = feature.storage_dtype
    if storage is not None and not _can_hold(storage, np.where(missing, 0.0, values), np.zeros_like(missing)):
        dtype = pd.Float64Dtype()  # a number out of the dtype's range must not come round at its other end
    cells: Any = np.where(missing, np.array(None, dtype=object), values.astype(object)) if missing.any() else values
    return pd.array(cells, dtype=dtype)


def _decode_array(schema: Schema, x: Array) -> NDArray[Any]:
    """An array in the reference's dtype, or in double precision where that cannot hold it."""
    dtype = np.result_type(*(feature.dtype for feature in schema))
    return x.astype(dtype) if _can_hold(dtype, x, np.isnan(x)) else x.copy()


def _can_hold(dtype: np.dtype[Any], values: Array, missing: Mask) -> bool:
    """Whether a dtype has room for the values; floats are rounded, and never become infinite or wrapped around."""
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        # float(max) of the 64-bit kinds is one too many, so the upper end is exclusive
        return not missing.any() and bool(np.all((values >= float(ends.min)) & (values < float(ends.max) + 1)))
    if dtype.kind == "f" and dtype.itemsize < 8:
        return not bool((np.abs(values) > float(np.finfo(dtype).max)).any())
    return not (dtype.kind == "b" and missing.any())


def _decode_objects(feature: Feature, values: Array, missing: Mask) -> pd.Series[Any]:
    out = np.empty(len(values), dtype=object)
    whole, mark = feature.kind == "integer", MISSING_MARKS[feature.mark]
    out[:] = [
        mark if is_missing else int(value) if whole else value
        for value, is_missing in zip(values.tolist(), missing.tolist(), strict=True)
    ]
    return pd.Series(out, dtype=object)  # a frame would look for a dtype of its own for a bare array


def _decode_categories(feature: Feature, values: Array) -> Any:
    dtype = feature.dtype
    codes = np.where(np.isnan(values), -1, values).astype(np.intp)
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Categorical.from_codes(codes, dtype=dtype)
    if isinstance(dtype, np.dtype) and dtype.kind not in "mM":
        levels = np.empty(len(feature.categories) + 1, dtype=object)
        levels[:-1] = feature.categories
        levels[-1] = MISSING_MARKS[feature.mark]
        picked = levels[codes]
        if dtype == np.dtype(object) or (codes < 0).any():
            return pd.Series(picked, dtype=object)  # a frame would make texts of a bare array, and None to NaN
        return picked.astype(dtype)
    return feature.category_array.take(codes, allow_fill=True)


def _find_first_wrong(column: pd.Series[Any], wrong: Mask) -> tuple[Any, Any]:
    first = int(np.flatnonzero(wrong)[0])
    return as_python_value(column.index[first]), as_python_value(column.iloc[first])


def _encode_numbers(feature: Feature, column: pd.Series[Any], what: str) -> Array:
    """The numbers of a column that is kept as objects or in one of pandas' own dtypes."""
    missing = column.isna().to_numpy()
    if not pd.api.types.is_any_real_numeric_dtype(column.dtype):
        wrong = np.array([not isinstance(value, (Real, np.bool_)) for value in column], dtype=bool) & ~missing
        if wrong.any():
            place, value = _find_first_wrong(column, wrong)
            raise InputError(
                f"{feature.name!r} must hold numbers",
                f"{what} {place!r} has {value!r} ({type(value).__name__})",
                "convert the column to numbers",
            )
    values = np.full(len(column), np.nan)
    try:
        values[~missing] = column[~missing].to_numpy(dtype=np.float64)
    except OverflowError:
        raise make_huge_integer_error(feature.name, f"the {what}s") from None
    _check_numbers(feature, values, column, what)
    return values


def _check_numbers(feature: Feature, values: Array, column: pd.Series[Any], what: str) -> None:
    if np.isinf(values).any():
        place, value = _find_first_wrong(column, np.isinf(values))
        raise InputError(
            "values must be finite",
            f"{feature.name!r} is {value!r} in {what} {place!r}",
            "replace it with a number, or mark it as missing",
        )
    broken = (values != np.rint(values)) & ~np.isnan(values)
    if feature.kind == "integer" and broken.any():
        place, value = _find_first_wrong(column, broken)
        raise InputError(
            f"{feature.name!r} holds whole numbers in the reference",
            f"{what} {place!r} has {value!r}",
            "round it, or give the reference's column a float dtype",
        )
    storage = feature.storage_dtype
    if feature.kind == "integer" and storage is not None and storage.kind in "iu":
        too_large = np.abs(values) > float(2 ** (64 if storage.kind == "u" else 63))
        if too_large.any():
            place, value = _find_first_wrong(column, too_large)
            raise InputError(
                f"{feature.name!r} holds whole numbers of 64 bits in the reference",
                f"{what} {place!r} has {value!r}",
                "correct it, or give the reference's column an object or a float dtype",
            )


def _encode_categories(feature: Feature, column: pd.Series[Any], what: str) -> Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        table = np.array([*(feature.code_by_category.get(value, -1.0) for value in column.cat.categories), np.nan])
        codes = table[column.cat.codes.to_numpy()]
    else:
        places, distinct = _list_distinct(column)
        table = np.array([*(_code_of(feature, value) for value in distinct), np.nan])
        codes = table[places]
    unknown = codes == -1.0
    if unknown.any():
        raise InputError(
            "categories must be known from the reference or the schema",
            f"{feature.name!r} is {describe_unknown_values(column, unknown, what)}; "
            f"known are {quote_names(feature.categories)}",
            "correct the values, or add them to the schema's categories",
            unknown=True,
        )
    return codes


def _list_distinct(column: pd.Series[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """For each cell its place among the distinct values, -1 where it is missing, and these values."""
    try:
        places, distinct = pd.factorize(column.array)
    except TypeError:  # a cell that has no hash: all are looked at one by one
        missing = np.asarray(pd.isna(column.array))
        return np.where(missing, -1, np.arange(len(column))), column.to_numpy(dtype=object).tolist()
    return places, np.asarray(distinct, dtype=object).tolist()


def _code_of(feature: Feature, value: Any) -> float:
    return feature.code_by_category.get(value, -1.0) if isinstance(value, Hashable) else -1.0


def describe_unknown_values(column: pd.Series[Any], unknown: Mask, what: str, most: int = 6) -> str:
    """The values of some cells of a column, ``most`` of them by name, where each stands first and how often."""
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(unknown).tolist():
        places.setdefault(repr(as_python_value(column.iloc[place])), []).append(place)
    shown = []
    for value, found in list(places.items())[:most]:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        shown.append(f"{value} in {what} {as_python_value(column.index[found[0]])!r}{more}")
    left = len(places) - most
    return ", ".join(shown) + (f", and {left} other values" if left > 0 else "")
