"""Random tables: every dtype that a user may bring, at every scale, under names of any kind.

What is drawn depends on one generator alone, so that a seed repeats a table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
Cells = Callable[[Rng, int], list[Any]]

TEXT = pd.Series(["x"]).dtype  # what pandas makes of text: object before version 3, its own dtype since
SIZES = pd.CategoricalDtype(["small", "medium", "large", "vast"], ordered=True)
COLOURS = pd.CategoricalDtype(["red", "green", "blue", "never seen"])


@dataclass(frozen=True)
class Kind:
    """A kind of column: its dtype, its cells, and what may be asked of it.

    is_number: arithmetic makes sense; is_ordered: so do < and >; is_whole: values are whole numbers; is_plain: NumPy
    holds the column, without missing cells, so that any model can be fitted on it as it is.
    """

    dtype: Any
    cells: Cells
    is_number: bool = False
    is_ordered: bool = False
    is_whole: bool = False
    is_plain: bool = False
    has_missing: bool = False


def _normal(scale: float, digits: int | None = None) -> Cells:
    def cells(rng: Rng, count: int) -> list[Any]:
        values = rng.normal(size=count) * scale
        return (values if digits is None else values.round(digits)).tolist()

    return cells


def _whole(low: int, high: int) -> Cells:
    return lambda rng, count: [low + int(rng.integers(0, 2**62)) % (high - low + 1) for _ in range(count)]


def _one_of(*values: Any) -> Cells:
    return lambda rng, count: [values[place] for place in rng.integers(len(values), size=count)]


def _with_holes(cells: Cells, mark: Any, share: float = 0.2) -> Cells:
    def holed(rng: Rng, count: int) -> list[Any]:
        return [
            mark if gone else value for value, gone in zip(cells(rng, count), rng.random(count) < share, strict=True)
        ]

    return holed


def _number(dtype: Any, cells: Cells, **more: bool) -> Kind:
    return Kind(dtype, cells, is_number=True, is_ordered=True, **more)


LATEST = 2
"""Editions: lists that grow get a further part, so that a seed of an earlier edition still draws the same question."""


def names_of_edition(edition: int, *parts: dict[str, Any]) -> list[str]:
    """The names in the first parts of a list, as many as the edition knows."""
    return [name for part in parts[:edition] for name in part]


FIRST_KINDS: dict[str, Kind] = {
    "float64": _number("float64", _normal(3.0), is_plain=True),
    "hundredths": _number("float64", _normal(5.0, 2), is_plain=True),
    "tiny": _number("float64", _normal(1e-12), is_plain=True),
    "huge": _number("float64", _normal(1e13), is_plain=True),
    "zeros of both signs": _number("float64", _one_of(-0.0, 0.0, 1.5, -1.5), is_plain=True),
    "constant": _number("float64", _one_of(4.5), is_plain=True),
    "vast": _number("float64", _normal(1e140), is_plain=True),
    "whole numbers in floats": _number("float64", _normal(4.0, 0), is_plain=True),
    "with holes": _number("float64", _with_holes(_normal(2.0), np.nan), has_missing=True),
    "float32": _number("float32", _normal(3.0), is_plain=True),
    "float16": _number("float16", _normal(3.0), is_plain=True),
    "int64": _number("int64", _whole(-20, 20), is_whole=True, is_plain=True),
    "int8": _number("int8", _whole(-100, 100), is_whole=True, is_plain=True),
    "int32": _number("int32", _whole(-(2**31), 2**31 - 1), is_whole=True, is_plain=True),
    "uint16": _number("uint16", _whole(0, 9), is_whole=True, is_plain=True),
    "uint8": _number("uint8", _whole(0, 255), is_whole=True, is_plain=True),
    "int64 above 2**53": _number("int64", _whole(2**53, 2**53 + 40), is_whole=True, is_plain=True),
    "uint64 above 2**63": _number("uint64", _whole(2**63, 2**63 + 4000), is_whole=True, is_plain=True),
    "Int64": _number("Int64", _with_holes(_whole(0, 30), pd.NA), is_whole=True, has_missing=True),
    "Float64": _number("Float64", _with_holes(_normal(2.0, 3), pd.NA), has_missing=True),
    "Int8": _number("Int8", _with_holes(_whole(-9, 9), pd.NA), is_whole=True, has_missing=True),
    "Float32": _number("Float32", _normal(2.0), has_missing=False),
    "integers beyond 64 bits": _number(object, _whole(2**70, 2**70 + 9), is_whole=True),
    "objects that are numbers": _number(object, _whole(1, 9), is_whole=True),
    "bool": Kind("bool", _one_of(True, False), is_plain=True),
    "boolean": Kind("boolean", _one_of(True, False, pd.NA), has_missing=True),
    "text": Kind(TEXT, _one_of("tcp", "udp", "icmp", "NA", "None")),
    "string": Kind("string", _one_of("tcp", "udp", pd.NA), has_missing=True),
    "objects": Kind(object, _one_of("a", "b", "c", None), has_missing=True),
    "object texts": Kind(object, _one_of("left", "right", "=1+1")),
    "nothing": Kind(object, _one_of(None), has_missing=True),
    "category of numbers": Kind(pd.CategoricalDtype([10, 20, 30]), _one_of(10, 20, 30)),
    "category": Kind(COLOURS, _one_of("red", "green", "blue")),
    "ordered category": Kind(SIZES, _one_of("small", "medium", "large"), is_ordered=True),
}
LATER_KINDS: dict[str, Kind] = {
    "near one": _number(
        "float64", lambda rng, count: (1.0 + rng.integers(-40, 40, count) * 2.0**-52).tolist(), is_plain=True
    ),
    "subnormal": _number("float64", _normal(1e-318), is_plain=True),
    "zeros and ones": _number("int64", _whole(0, 1), is_whole=True, is_plain=True),
    "ends of int64": _number("int64", _one_of(-(2**63), 2**63 - 1, 0, 1), is_whole=True, is_plain=True),
    "negative zeros in float32": _number("float32", _one_of(-0.0, 0.0, 2.5), is_plain=True),
    "float32 near its end": _number("float32", _normal(1e37), is_plain=True),
    "thousandths in float32": _number("float32", _normal(2.0, 3), is_plain=True),
    "UInt8": _number("UInt8", _with_holes(_whole(0, 255), pd.NA), is_whole=True, has_missing=True),
    "double of arrow": _number("double[pyarrow]", _with_holes(_normal(2.0), None), has_missing=True),
    "int64 of arrow": _number("int64[pyarrow]", _with_holes(_whole(-5, 30), None), is_whole=True, has_missing=True),
    "object numbers with None": _number(object, _with_holes(_normal(2.0, 2), None), has_missing=True),
    "sparse": _number(pd.SparseDtype("float64", 0.0), _one_of(0.0, 0.0, 1.0, 2.5)),
    "string of arrow": Kind("string[pyarrow]", _one_of("tcp", "udp", None), has_missing=True),
    "bool of arrow": Kind("bool[pyarrow]", _one_of(True, False)),
    "object bools": Kind(object, _one_of(True, False)),
    "object bools with None": Kind(object, _one_of(True, False, None), has_missing=True),
    "category with holes": Kind(COLOURS, _one_of("red", "green", None), has_missing=True),
    "category of halves": Kind(pd.CategoricalDtype([0.5, 1.5, -2.5]), _one_of(0.5, 1.5, -2.5)),
    "category of bools": Kind(pd.CategoricalDtype([True, False]), _one_of(True, False)),
    "texts that are hostile": Kind(
        TEXT,
        _one_of("<script>alert(1)</script>", "\x1b]0;title\x07", "=cmd|' /C calc'!A0", 'a"b', "a,b;c", "\u202ebac"),
    ),
    "texts that look alike": Kind(TEXT, _one_of("1", "1.0", "01", "true", "nan", "")),
    "times": Kind("datetime64[ns]", lambda rng, count: [pd.Timestamp(int(rng.integers(2**60))) for _ in range(count)]),
}
KINDS = FIRST_KINDS | LATER_KINDS
LARGE_INTEGERS = ("int64 above 2**53", "uint64 above 2**63", "integers beyond 64 bits", "ends of int64")
"""Kinds of columns by what a failure calls them."""

PLAIN_NAMES = ("load", "packets", "rate", "age", "service")
ODD_NAMES: tuple[Hashable, ...] = (
    "",
    " ",
    "two words",
    "naïve Größe",
    "价格",
    "quo'te",
    'dou"ble',
    "line\nbreak",
    "x0",
    "and",
    "1st",
    "a.b",
    "cp_status",
    7,
    ("a", 1),
)


@dataclass(frozen=True)
class Table:
    """A reference and rows to explain, with the kind of every column by its name."""

    kinds: dict[Hashable, str]
    reference: pd.DataFrame
    rows: pd.DataFrame

    def kind(self, name: Hashable) -> Kind:
        """The kind of a column."""
        return KINDS[self.kinds[name]]

    def names_where(self, question: Callable[[Kind], bool]) -> list[Hashable]:
        """The names of the columns of which something is true."""
        return [name for name in self.kinds if question(self.kind(name))]


def draw_table(rng: Rng, edition: int = LATEST) -> Table:
    """A table of one to five columns, with one to sixty rows of reference and one to five rows to explain."""
    only_plain = rng.random() < 0.5
    known = names_of_edition(edition, FIRST_KINDS, LATER_KINDS)
    pool = [name for name in known if KINDS[name].is_plain or not only_plain]
    width = int(rng.integers(1, 6))
    chosen = [pool[place] for place in rng.integers(len(pool), size=width)]
    kinds = dict(zip(_draw_names(rng, width), chosen, strict=True))
    size = int(rng.choice([1, 2, 12, 40, 60], p=[0.04, 0.04, 0.22, 0.4, 0.3]))
    reference = _draw_frame(rng, kinds, size)
    if rng.random() < 0.15:  # duplicated rows
        reference = reference.iloc[rng.integers(max(1, size // 4), size=size)].reset_index(drop=True)
    asked = _draw_frame(rng, kinds, int(rng.integers(1, 6)))
    if rng.random() < 0.5:
        asked = reference.iloc[rng.integers(size, size=len(asked))].reset_index(drop=True)
    asked = _disguise(rng, kinds, asked)
    return Table(kinds, reference, asked if edition == 1 else _disguise_more(rng, kinds, asked))


def _draw_names(rng: Rng, count: int) -> list[Hashable]:
    if rng.random() < 0.7:
        return list(PLAIN_NAMES[:count])
    return [ODD_NAMES[place] for place in rng.choice(len(ODD_NAMES), size=count, replace=False)]


def _draw_frame(rng: Rng, kinds: dict[Hashable, str], count: int) -> pd.DataFrame:
    columns = [pd.Series(KINDS[kind].cells(rng, count), dtype=KINDS[kind].dtype) for kind in kinds.values()]
    frame = pd.concat(columns, axis=1)
    return frame.set_axis(pd.Index(list(kinds), tupleize_cols=False), axis=1)


def _disguise(rng: Rng, kinds: dict[Hashable, str], rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as another program may hand them over: other orders, carried columns, another index, other dtypes."""
    if rng.random() < 0.1:
        for place, kind in enumerate(kinds.values()):
            if kind == "category":
                rows.isetitem(place, rows.iloc[:, place].cat.reorder_categories(list(COLOURS.categories)[::-1]))
            if kind == "int64":
                rows.isetitem(place, rows.iloc[:, place].astype("float64"))
    if rng.random() < 0.1:
        rows = rows.iloc[:, ::-1]
    if rng.random() < 0.15:
        rows = rows.assign(**{"carried along": [f"id {place}" for place in range(len(rows))]})
    if rng.random() < 0.15:
        rows = rows.set_axis([f"row {place // 2}" for place in range(len(rows))], axis=0)  # labels may be shared
    return rows


def _disguise_more(rng: Rng, kinds: dict[Hashable, str], rows: pd.DataFrame) -> pd.DataFrame:
    """Dtypes that hold the same values, and cells that are missing in rows alone."""
    rows = rows.copy()
    has_large = any(kind in kinds.values() for kind in LARGE_INTEGERS)
    if rng.random() < 0.1 and not has_large:  # such columns leave a model no form but that of the rows
        wider = {"int64": "Int64", "float64": "Float64", "float32": "float64", "int8": "int32", "text": object}
        for name, kind in kinds.items():
            dtype = object if rng.random() < 0.2 else wider.get(kind)
            if dtype is not None:
                rows.isetitem(_place(rows, name), rows[name].astype(dtype))
    if rng.random() < 0.08:
        name = list(kinds)[int(rng.integers(len(kinds)))]
        column = rows[name]
        cells = [None if rng.random() < 0.5 else cell for cell in column.tolist()]
        is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf"
        dtype = "float64" if is_plain else column.dtype  # as pandas writes holes
        if str(dtype) in ("float64", "object", "str", "string", "category"):
            rows.isetitem(_place(rows, name), pd.Series(cells, index=rows.index, dtype=dtype))
    return rows


def _place(rows: pd.DataFrame, name: Hashable) -> int:
    return rows.columns.tolist().index(name)
