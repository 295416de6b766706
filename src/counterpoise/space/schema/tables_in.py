"""What users give, as frames: tables and rows in whatever form they come, or an error that says what is wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError, name_kind
from counterpoise.types import Array, Index, Mask, Points, is_identity_index


def as_pandas(data: Any) -> Any:
    """A table of Polars or Arrow as a frame of pandas, by its own methods; anything else as it is.

    >>> as_pandas([1, 2])
    [1, 2]
    """
    kind = type(data).__module__.partition(".")[0], type(data).__name__
    if kind == ("polars", "LazyFrame"):
        raise InputError("a table must hold its rows", "a LazyFrame of Polars is a plan for one", "call its collect()")
    if kind == ("polars", "DataFrame"):  # column by column: its own to_pandas needs a further package
        plain = {name: data.get_column(name) for name in data.columns}
        numbers = {name: column.dtype.is_numeric() and not column.null_count() for name, column in plain.items()}
        cells = {name: column.to_numpy() if numbers[name] else column.to_list() for name, column in plain.items()}
        return pd.DataFrame(cells)
    if kind[0] == "pyarrow" and kind[1] in ("Table", "RecordBatch"):
        return data.to_pandas()
    return data


def as_table(data: Any, what: str) -> pd.DataFrame:
    """A frame with unique flat column names and a row for each record, from a frame or a two-dimensional array.

    >>> list(as_table(np.zeros((1, 2)), "reference").columns)
    ['f0', 'f1']
    """
    data = as_pandas(data)
    if isinstance(data, pd.DataFrame):
        _check_column_names(data.columns, what)
        if data.index.dtype == object:
            require_whole_characters(data.index, f"row labels of the {what}")
        return data
    array = _require_number_table(_as_array(data, what), what)
    return pd.DataFrame(array, columns=[f"f{number}" for number in range(array.shape[1])])


def _require_number_table(array: Any, what: str) -> Any:
    """The array, or an error where it is not a table of numbers."""
    if array.ndim != 2:
        raise InputError(
            f"the {what} must be a frame or a two-dimensional array",
            f"an array of shape {array.shape}",
            "reshape it to (rows, columns)",
        )
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"an array given as {what} must hold numbers",
            f"its dtype is {array.dtype}",
            "give a pandas DataFrame, whose columns may be of different kinds",
        )
    return array


def as_rows(data: Any, names: Sequence[Hashable] | pd.Index[Any]) -> pd.DataFrame:
    """The rows to explain as a frame, whatever they came as.

    A frame, a two-dimensional array with the columns ``names``, one row as an array, a Series or a dict, or a list of
    dicts.

    >>> as_rows({"a": 1, "b": "x"}, ["a", "b"]).to_dict("records")
    [{'a': 1, 'b': 'x'}]
    """
    data = as_pandas(data)
    if isinstance(data, pd.DataFrame):
        return as_table(data, "rows")
    if isinstance(data, pd.Series):
        _check_column_names(data.index, "row given as a Series")
        require_whole_characters([data.name, *data.tolist()], "texts of a row given as a Series")
        return _frame_from_series(data)
    if isinstance(data, dict):
        data = [data]
    if isinstance(data, (list, tuple)) and data and all(isinstance(item, dict) for item in data):
        return _frame_from_dicts(data)
    array = _as_array(data, "rows")
    if array.ndim == 1:
        array = array.reshape(1, -1) if array.size else array.reshape(0, len(names))
    if array.ndim == 2 and array.shape[1] != len(names):
        raise InputError(
            f"rows given as an array must have the reference's {len(names)} columns",
            f"the array has {array.shape[1]}",
            "give the columns of the reference, in its order",
        )
    columns = names if isinstance(names, pd.Index) else pd.Index(list(names), tupleize_cols=False)
    if array.ndim == 2 and array.dtype.kind == "O":  # an array taken from a frame of mixed kinds
        return pd.DataFrame(array, columns=columns).infer_objects()
    return pd.DataFrame(_require_number_table(array, "rows"), columns=columns)


def quote_names(names: Sequence[Hashable], most: int = 8) -> str:
    """Names for a message, the first few of them.

    >>> quote_names(["a", "b"])
    "'a', 'b'"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(as_python_value(name)) for name in names[:most]) + more


def as_python_value(value: Any) -> Any:
    """A NumPy number, or those in a tuple, as Python's own, which reads better in a message; others as they are.

    >>> as_python_value(np.float64(0.5))
    0.5
    >>> as_python_value((np.int64(1), "a"))
    (1, 'a')
    """
    if type(value) is tuple:
        return tuple(map(as_python_value, value))
    return value.item() if isinstance(value, np.generic) else value


def is_exact_whole(values: Array) -> Mask:
    """Which of the numbers double precision tells from every other whole number: those below 2**53.

    >>> is_exact_whole(np.array([2.0**53 - 1, 2.0**53]))
    array([ True, False])
    """
    return np.asarray(np.abs(values) < 2.0**53)


def holds_only_doubles(table: pd.DataFrame) -> bool:
    """Whether every column of a frame holds numbers in double precision."""
    return all(dtype == np.float64 for dtype in table.dtypes.tolist())


def take_rows(table: pd.DataFrame, rows: Index) -> pd.DataFrame:
    """Some rows of a frame, by position; the frame itself where they are all of it, in order.

    >>> take_rows(pd.DataFrame({"a": [5, 6, 7]}), np.array([2, 0]))["a"].tolist()
    [7, 5]
    """
    return table if is_identity_index(rows, len(table)) else table.iloc[rows]


def take_points(points: Points, rows: Index | slice) -> Points:
    """Some of the points, by position: of encoded rows, or of a frame.

    >>> take_points(pd.DataFrame({"a": [5, 6, 7]}, index=[3, 3, 1]), slice(1, None))["a"].tolist()
    [6, 7]
    """
    return points.iloc[rows] if isinstance(points, pd.DataFrame) else points[rows]


def _check_column_names(names: pd.Index[Any], what: str) -> None:
    if names.nlevels > 1:
        raise InputError(
            f"the {what} must have one level of column names",
            f"they are a MultiIndex with {names.nlevels} levels",
            "join the levels into one name per column",
        )
    if not names.is_unique:
        raise InputError(
            f"the {what} must have unique column names",
            f"given twice: {quote_names(list(names[names.duplicated()].unique()))}",
            "rename or drop the doubles",
        )
    require_whole_characters(names, f"column names of the {what}")


def require_whole_characters(values: Iterable[Any], what: str) -> None:
    """An error where one of the texts among the values cannot be written to a file, nor held by a column of texts.

    >>> require_whole_characters(["a", 3], "names")
    """
    for value in values:
        if isinstance(value, str) and not _is_whole(value):
            raise InputError(
                f"the {what} must be whole characters",
                f"{value!a} has half of a pair of UTF-16",
                "replace it by a character that UTF-8 can write",
            )


def _is_whole(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _frame_from_series(row: pd.Series[Any]) -> pd.DataFrame:
    index = pd.RangeIndex(1) if row.name is None else pd.Index([row.name])
    if row.dtype != np.dtype(object):
        return row.to_frame(name=0).T.set_axis(index, axis=0)
    return pd.DataFrame([row.tolist()], columns=row.index, index=index).infer_objects()


def _frame_from_dicts(records: Sequence[dict[Hashable, Any]]) -> pd.DataFrame:
    """Rows given as dicts; a name that only some of them have is a mistake, not a missing cell."""
    known = dict.fromkeys(name for record in records for name in record)
    require_whole_characters(known, "names of rows given as dicts")
    require_whole_characters((cell for record in records for cell in record.values()), "texts of rows given as dicts")
    for number, record in enumerate(records):
        absent = [name for name in known if name not in record]
        if absent:
            raise InputError(
                "rows given as dicts must all have the same names",
                f"row {number} has no {quote_names(absent)}",
                "add the name, with None where the cell is missing",
            )
    return pd.DataFrame(list(records))


def _as_array(data: Any, what: str) -> Any:
    try:
        array = np.asarray(data)
        if array.ndim == 0:
            todo = "give a pandas DataFrame, or an array of (rows, columns)"
            if isinstance(data, (str, PathLike)):
                todo = f"read the file first, for instance pd.read_csv({str(data)[:80]!r})"
            raise InputError(
                f"the {what} must be a frame or a two-dimensional array",
                f"{name_kind(data)} was given",
                "call its toarray() first" if hasattr(data, "toarray") else todo,
            )
        # numpy turns a list of numbers and texts into texts alone
        return (
            np.asarray(data, dtype=object) if array.dtype.kind in "US" and not isinstance(data, np.ndarray) else array
        )
    except InputError:  # which is a ValueError too
        raise
    except ValueError as error:
        raise InputError(
            f"the {what} must be a frame or a two-dimensional array",
            f"rows of unequal length ({error})",
            "give each row the same number of values",
        ) from None
