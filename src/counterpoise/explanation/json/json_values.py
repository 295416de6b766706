"""Values and arrays as plain JSON data and back, with nothing lost: dtypes, missing marks, bits.

What JSON has (null, true, text, numbers) stands for itself; what it lacks is an object with one tag that says what it
is. The forms are written down in docs/reference/explanation-format.md.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError

JSON_TYPES = (bool, int, str, type(None))
ZONE_PATTERN = re.compile(r"(?!dateutil/|pytz/)[A-Za-z][\w+-]*(/[\w+-]+)*|UTC[+-]\d\d:\d\d(:\d\d(\.\d+)?)?")


def pack_value(value: Any) -> Any:
    """One value of any supported kind as JSON data.

    >>> pack_value(1.5), pack_value(float("nan")), pack_value(np.int64(3))
    (1.5, {'float': 'nan'}, {'numpy': 'int64', 'value': 3})
    """
    kind = type(value)
    if kind in JSON_TYPES:
        return value
    if kind is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if kind is tuple:
        return {"tuple": [pack_value(item) for item in value]}
    if kind is Decimal:
        return {"decimal": str(value)}
    if isinstance(value, np.generic) and _has_exact_value(value.dtype):
        plain = int(value.astype(np.int64)) if value.dtype.kind in "Mm" else value.item()
        return {"numpy": "str" if value.dtype.kind == "U" else value.dtype.name, "value": pack_value(plain)}
    packed = _pack_moment(value)
    if packed is not None:
        return packed
    raise InputError(
        "a saved explanation holds numbers, text, booleans, dates, tuples of them and missing cells",
        f"{value!r} is a {kind.__module__}.{kind.__qualname__}",
        "convert it to text before explaining, or leave its column out",
    )


def _pack_moment(value: Any) -> dict[str, Any] | None:
    """A date, moment, period or mark for a missing cell as JSON data; None for anything else."""
    if value is pd.NA or value is pd.NaT:
        return {"missing": "NA" if value is pd.NA else "NaT"}
    if isinstance(value, pd.Timestamp):
        zone = None if value.tz is None else str(value.tz)
        return {"timestamp": int(value.asm8.astype(np.int64)), "unit": value.unit, "tz": zone}
    if isinstance(value, pd.Timedelta):
        return {"timedelta": int(value.asm8.astype(np.int64)), "unit": value.unit}
    if isinstance(value, pd.Period):
        return {"period": value.ordinal, "freq": value.freqstr}
    if type(value) in (dt.datetime, dt.date):
        return {type(value).__name__: value.isoformat()}
    return None


def unpack_value(data: Any) -> Any:
    """The value that `pack_value` packed.

    >>> unpack_value({"tuple": [1, {"float": "inf"}]})
    (1, inf)
    """
    if not isinstance(data, dict):
        return data
    match data:
        case {"float": text}:
            return float(text)
        case {"missing": text}:
            return {"NA": pd.NA, "NaT": pd.NaT}[text]
        case {"numpy": name, "value": value}:
            return np.array(unpack_value(value)).astype(read_array_dtype(name))[()]
        case {"timestamp": count, "unit": unit, "tz": zone}:
            stamp = pd.Timestamp(np.datetime64(count, unit))
            return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(check_zone(zone))
        case {"timedelta": count, "unit": unit}:
            return pd.Timedelta(np.timedelta64(count, unit))
        case {"period": ordinal, "freq": freq}:
            return pd.Period(ordinal=ordinal, freq=freq)
        case {"tuple": items}:
            return tuple(unpack_value(item) for item in items)
        case {"datetime": text}:
            return dt.datetime.fromisoformat(text)
        case {"date": text}:
            return dt.date.fromisoformat(text)
        case {"decimal": text}:
            return Decimal(text)
    raise ValueError(f"a value tagged {', '.join(map(repr, data))} is not one of the format's")


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """An array of numbers, booleans, texts or objects: dtype, shape, and values in the order of the last axis first."""
    flat = pack_numbers(array.ravel()) if array.dtype.kind != "O" else [pack_value(value) for value in array.ravel()]
    name = "str" if array.dtype.kind == "U" else array.dtype.name  # of texts, the values tell the length
    return {"dtype": name, "shape": list(array.shape), "values": flat}


def unpack_array(data: dict[str, Any]) -> NDArray[Any]:
    """The array that `pack_array` packed."""
    dtype = read_array_dtype(data["dtype"])
    flat = unpack_objects(data["values"]) if dtype.kind == "O" else np.array(data["values"], dtype=dtype)
    return flat.reshape(tuple(data["shape"]))


def read_array_dtype(name: Any) -> np.dtype[Any]:
    """A NumPy dtype by its name; the length of texts is measured, never taken from the file."""
    dtype: np.dtype[Any] = np.dtype(name)
    if not isinstance(name, str) or dtype.kind not in "biufcmMOU" or (dtype.kind == "U" and dtype.itemsize):
        raise ValueError(f"{name!r:.60} is no dtype of a single value")
    return dtype


def check_zone(name: Any) -> str:
    """The name of a time zone; some libraries take other names for files to open."""
    if not isinstance(name, str) or ZONE_PATTERN.fullmatch(name) is None:
        raise ValueError(f"{name!r:.60} is not the name of a time zone")
    return name


def _has_exact_value(dtype: np.dtype[Any]) -> bool:
    """Whether values of a dtype have an equal in Python; floats of more than eight bytes have none."""
    return dtype.kind in "biufUMm" and (dtype.kind == "U" or dtype.itemsize <= 8)


def pack_numbers(array: NDArray[Any], missing: Any = None) -> list[Any]:
    """Numbers as they are; null for a NaN, or, where missing cells are marked apart, null for those and 'nan'."""
    out: list[Any] = array.tolist()
    if array.dtype.kind == "f":
        for place in np.flatnonzero(~np.isfinite(array)):
            out[place] = repr(out[place]) if missing is not None or not np.isnan(array[place]) else None
    for place in np.flatnonzero(missing) if missing is not None else ():
        out[place] = None
    return out


def unpack_objects(values: list[Any]) -> NDArray[Any]:
    """An array of objects from values that `pack_value` packed."""
    out = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        out[place] = unpack_value(value)
    return out
