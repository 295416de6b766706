"""Columns, indexes, tables and schemas as plain JSON data and back, with nothing lost: dtypes, categories, labels."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.explanation.json.json_values import (
    check_zone,
    pack_numbers,
    pack_value,
    read_array_dtype,
    unpack_objects,
    unpack_value,
)
from counterpoise.space.schema.schema import Feature, Schema

MASKED_ARRAY_TYPES = (pd.arrays.BooleanArray, pd.arrays.IntegerArray, pd.arrays.FloatingArray)


def pack_dtype(dtype: Any) -> Any:
    """A dtype: its name; for strings, categories and sparse columns, what the name leaves open as well."""
    if isinstance(dtype, pd.CategoricalDtype):
        return {"category": pack_column(_index_as_column(dtype.categories)), "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.StringDtype):
        return {"string": dtype.storage, "missing": "NA" if dtype.na_value is pd.NA else "nan"}
    if isinstance(dtype, pd.SparseDtype):
        return {"sparse": str(dtype.subtype), "fill": pack_value(dtype.fill_value)}
    return str(dtype)


def unpack_dtype(data: Any) -> Any:
    """The dtype that `pack_dtype` packed."""
    match data:
        case {"category": categories, "ordered": ordered}:
            levels = unpack_column(categories)
            return pd.CategoricalDtype(pd.Index(levels, dtype=levels.dtype), ordered=ordered)
        case {"string": storage, "missing": missing}:
            gone = {} if missing == "NA" else {"na_value": np.nan}
            try:
                return pd.StringDtype(storage, **gone)
            except ImportError:  # the same text, kept without pyarrow
                return pd.StringDtype("python", **gone)
        case {"sparse": subtype, "fill": fill}:
            return pd.SparseDtype(read_array_dtype(subtype), unpack_value(fill))
    if isinstance(data, str) and data.startswith("datetime64[") and "," in data:
        check_zone(data.partition(",")[2].strip(" ]"))
    dtype = pd.api.types.pandas_dtype(data)
    return read_array_dtype(data) if isinstance(dtype, np.dtype) else dtype


def pack_column(column: pd.Series[Any]) -> dict[str, Any]:
    """A column: its dtype, and its values in the simplest form that loses nothing; null is its mark for missing."""
    dtype: Any = column.dtype
    array: Any = column.array
    if isinstance(dtype, pd.CategoricalDtype):
        values = [None if code < 0 else code for code in column.cat.codes.tolist()]
    elif isinstance(dtype, pd.StringDtype):
        values = [None if gone else text for text, gone in zip(column.tolist(), column.isna().tolist(), strict=True)]
    elif _is_masked(dtype):
        mask = np.asarray(array.isna())
        values = pack_numbers(array.to_numpy(dtype=dtype.numpy_dtype, na_value=0), missing=mask)
    elif _is_moment(dtype):
        zoned = isinstance(dtype, pd.DatetimeTZDtype)
        moments = column.to_numpy(dtype=f"M8[{dtype.unit}]") if zoned else column.to_numpy()
        values = pack_numbers(moments.view(np.int64), missing=np.isnat(moments))
    elif isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8:
        values = pack_numbers(column.to_numpy())
    else:
        values = [pack_value(value) for value in column.astype(object).tolist()]
    return {"dtype": pack_dtype(dtype), "values": values}


def unpack_column(data: dict[str, Any]) -> pd.Series[Any]:
    """The column that `pack_column` packed, with a plain index."""
    dtype: Any = unpack_dtype(data["dtype"])
    values: list[Any] = data["values"]
    array: Any
    if isinstance(dtype, pd.CategoricalDtype):
        array = pd.Categorical.from_codes(_fill_missing(values, -1, np.dtype(np.intp)), dtype=dtype)
    elif isinstance(dtype, pd.StringDtype):
        array = pd.array(values, dtype=dtype)
    elif _is_masked(dtype):
        mask = np.array([value is None for value in values], dtype=bool)
        array = dtype.construct_array_type()(_fill_missing(values, 0, dtype.numpy_dtype), mask)
    elif _is_moment(dtype):
        least = np.iinfo(np.int64).min  # how pandas stores a missing moment
        counts = _fill_missing(values, least, np.dtype(np.int64))
        if isinstance(dtype, pd.DatetimeTZDtype):
            array = pd.DatetimeIndex(counts.view(f"M8[{dtype.unit}]")).tz_localize("UTC").tz_convert(dtype.tz).array
        else:
            array = counts.view(dtype)
    elif isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        array = np.array(values, dtype=dtype)
    else:
        objects = unpack_objects(values)
        array = objects if dtype == np.dtype(object) else pd.array(objects.tolist(), dtype=dtype)
    column: pd.Series[Any] = pd.Series(array, dtype=dtype)
    return column


def pack_index(index: pd.Index[Any]) -> dict[str, Any]:
    """An index: a range, one column of labels, or the levels of a MultiIndex."""
    if isinstance(index, pd.RangeIndex):
        return {"name": pack_value(index.name), "range": [index.start, index.stop, index.step]}
    if isinstance(index, pd.MultiIndex):
        levels = [pack_index(index.get_level_values(level)) for level in range(index.nlevels)]
        return {"levels": levels}
    data = {"name": pack_value(index.name), **pack_column(_index_as_column(index))}
    freq = getattr(index, "freqstr", None) if isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)) else None
    return {**data, "freq": freq} if freq else data


def unpack_index(data: dict[str, Any]) -> Any:
    """The index that `pack_index` packed."""
    if "levels" in data:
        if any("range" in level for level in data["levels"]):
            raise ValueError("a level of an index is listed label by label")
        return pd.MultiIndex.from_arrays([unpack_index(level) for level in data["levels"]])
    name = unpack_value(data["name"])
    if "range" in data:
        start, stop, step = data["range"]
        return pd.RangeIndex(start, stop, step, name=name)
    column = unpack_column(data)
    index: Any = pd.Index(column, dtype=column.dtype, name=name)
    if "freq" in data:
        index.freq = data["freq"]
    return index


def pack_table(table: pd.DataFrame) -> dict[str, Any]:
    """The columns of a frame, without its index."""
    columns = [pack_column(table.iloc[:, place]) for place in range(table.shape[1])]
    return {"columns": pack_index(table.columns), "data": columns}


def unpack_table(data: dict[str, Any], index: Any) -> pd.DataFrame:
    """The frame that `pack_table` packed, with this index."""
    listed = [unpack_column(column) for column in data["data"]]
    if any(len(column) != len(index) for column in listed):  # a range may promise rows that nobody wrote down
        raise ValueError(f"a table of {len(index)} rows has columns of another length")
    columns = {place: column.set_axis(index) for place, column in enumerate(listed)}
    table = pd.DataFrame(columns, index=index)
    table.columns = unpack_index(data["columns"])
    return table


def pack_schema(schema: Schema) -> dict[str, Any]:
    """A schema: whether models get a frame, and every field of every feature."""
    features = []
    for feature in schema:
        fields = {field.name: getattr(feature, field.name) for field in dataclasses.fields(feature)}
        dtype = pack_dtype(fields.pop("dtype"))
        categories = [pack_value(value) for value in fields.pop("categories")]
        packed = {name: pack_value(value) for name, value in fields.items()}
        features.append({**packed, "dtype": dtype, "categories": categories})
    return {"frame": schema.frame, "features": features}


def unpack_schema(data: dict[str, Any]) -> Schema:
    """The schema that `pack_schema` packed."""
    features = []
    for packed in data["features"]:
        fields = {name: unpack_value(value) for name, value in packed.items() if name not in ("dtype", "categories")}
        categories = tuple(unpack_value(value) for value in packed["categories"])
        features.append(Feature(**fields, dtype=unpack_dtype(packed["dtype"]), categories=categories))
    return Schema(tuple(features), frame=data["frame"])


def _fill_missing(values: list[Any], mark: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values as an array, with a number as the mark for those that are null."""
    return np.array([mark if value is None else value for value in values], dtype=dtype)


def _index_as_column(index: Any) -> pd.Series[Any]:
    """An index as a column; its own ``to_series`` may take objects for text."""
    column: pd.Series[Any] = pd.Series(index.array, dtype=index.dtype)
    return column


def _is_masked(dtype: Any) -> bool:
    """Whether a column keeps its missing cells beside its numbers: Int64, Float32, boolean and the like."""
    return isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.construct_array_type() in MASKED_ARRAY_TYPES


def _is_moment(dtype: Any) -> bool:
    return isinstance(dtype, pd.DatetimeTZDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "Mm")
