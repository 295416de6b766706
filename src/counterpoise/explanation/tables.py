"""Tables of answers: encoded rows back in the input's own columns, dtypes and index, and what differs from the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.schema.tables_in import holds_only_doubles
from counterpoise.types import Array, Index, Mask

QUANTILE_SHARES: Array = np.array([0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0])
"""The shares of a population at which its quantiles are kept, ``(q,)``."""


class Change(NamedTuple):
    """One cell of one answer that differs from the row."""

    row: int  # position of the row
    alternative: int  # 0: the best answer
    column: int  # position of the feature in the schema
    before: Any  # the input's own value
    after: Any  # the answer's
    size: float  # scaled difference: what the cell adds to an L1 distance


def differs(x0: Array, answers: Array) -> Mask:
    """Which cells of the answers ``(n, a, d)`` are not the row's ``(n, d)``; missing equals missing.

    >>> differs(np.array([[1.0, np.nan]]), np.array([[[2.0, np.nan]]]))
    array([[[ True, False]]])
    """
    start = x0[:, None, :]
    return np.asarray((answers != start) & ~(np.isnan(answers) & np.isnan(start)))


def keep_own_cells(x0: Array, x: Array) -> Array:
    """Encoded answers ``x`` whose cells that equal the row's are the row's to the bit: -0.0 stays -0.0.

    >>> keep_own_cells(np.array([[-0.0, 1.0]]), np.array([[0.0, 2.0]]))
    array([[-0.,  2.]])
    """
    return np.where(x == x0, x0, x)


def list_changes(schema: Schema, rows: pd.DataFrame, x0: Array, answers: Array, count: Sequence[int]) -> list[Change]:
    """The changed cells of the first ``count[i]`` answers ``(n, a, d)`` of each row, in the order of the table.

    >>> table = pd.DataFrame({"ports": [8, 2], "proto": ["tcp", "udp"]})
    >>> schema = Schema.infer(table)
    >>> change, = list_changes(schema, table[:1], np.array([[8.0, 0.0]]), np.array([[[8.0, 1.0]]]), [1])
    >>> change.before, change.after, change.size
    ('tcp', 'udp', 1.0)
    """
    listed = np.arange(answers.shape[1]) < np.asarray(count, dtype=np.intp)[:, None]
    places = np.argwhere(differs(x0, answers) & listed[:, :, None])
    sizes = Distance.of(schema, "l1").differences(answers, x0)
    before = {
        int(column): rows[schema.features[column].name].to_numpy(dtype=object) for column in np.unique(places[:, 2])
    }
    return [
        Change(
            row,
            alternative,
            column,
            before[column][row],
            decode_value(schema.features[column], float(answers[row, alternative, column])),
            float(sizes[row, alternative, column]),
        )
        for row, alternative, column in places.tolist()
    ]


def decode_value(feature: Feature, code: float) -> Any:
    """The decoded value of a cell: a category, a whole number or a float; None if missing.

    >>> decode_value(Feature("proto", "categorical", categories=("tcp", "udp")), 1.0)
    'udp'
    """
    if np.isnan(code):
        return None
    if not feature.is_numeric:
        return feature.categories[int(code)]
    return int(code) if feature.kind == "integer" else float(code)


def restore_table(schema: Schema, rows: pd.DataFrame, x0: Array, x: Array) -> pd.DataFrame:
    """The encoded answers ``x`` ``(n, d)`` to ``rows``, in the columns, dtypes and index of the rows themselves.

    A cell that did not change is the input's own, to the bit. A column takes the reference's dtype only where its own
    cannot hold a new value exactly.

    >>> table = pd.DataFrame({"ports": [8, 2], "note": ["left", "alone"]})
    >>> restore_table(Schema.infer(table[["ports"]]), table, np.array([[8.0], [2.0]]), np.array([[3.0], [2.0]]))
       ports   note
    0      3   left
    1      2  alone
    """
    changed = differs(x0, x[:, None, :])[:, 0]
    if rows.shape[1] == x.shape[1] and holds_only_doubles(rows) and schema.matches_columns(rows):
        # one block: column by column a table of a thousand takes longer than the search
        return pd.DataFrame(np.where(changed, x, rows.to_numpy()), index=rows.index, columns=rows.columns)
    frame = rows.copy()
    for number in np.flatnonzero(changed.any(axis=0)):
        feature, cells = schema.features[number], changed[:, number]
        values = [decode_value(feature, code) for code in x[cells, number].tolist()]
        place: Any = rows.columns.get_loc(feature.name)
        column: Any = _write_cells(feature, rows[feature.name], cells, values)
        frame.isetitem(place, column)
    return frame


def population_quantiles(schema: Schema, x: Array) -> Array:
    """Quantiles ``(q, d)`` of encoded rows ``(p, d)`` at `QUANTILE_SHARES`; NaN for categories and empty columns.

    >>> population_quantiles(Schema.infer(pd.DataFrame({"a": [0.0, 10.0]})), np.array([[0.0], [10.0]]))[5]
    array([5.])
    """
    out = np.full((len(QUANTILE_SHARES), len(schema)), np.nan)
    for number in np.flatnonzero(schema.numeric):
        seen = x[~np.isnan(x[:, number]), number]
        if len(seen):
            out[:, number] = np.quantile(seen, QUANTILE_SHARES)
    return out


def percentile(levels: Array, value: float) -> float:
    """Where a value lies among quantiles ``levels`` ``(q,)``: 0 at or below the least, 100 at or above the greatest.

    A value that many rows share lies in the middle of them.

    >>> percentile(np.linspace(0.0, 1.0, 11), 0.5)
    50.0
    """
    if np.isnan(value) or np.isnan(levels).any():
        return float("nan")
    left, right = int(np.searchsorted(levels, value, "left")), int(np.searchsorted(levels, value, "right"))
    if left < right:
        return float(50.0 * (QUANTILE_SHARES[left] + QUANTILE_SHARES[right - 1]))
    if left in (0, len(levels)):
        return 100.0 if left else 0.0
    low, high = float(levels[left - 1]), float(levels[left])
    by = 1.0 if np.isfinite(high - low) else 0.5  # so that no difference leaves double precision
    part = (by * value - by * low) / (by * high - by * low)
    return float(100.0 * (QUANTILE_SHARES[left - 1] + part * (QUANTILE_SHARES[left] - QUANTILE_SHARES[left - 1])))


def _write_cells(feature: Feature, column: pd.Series[Any], cells: Mask, values: list[Any]) -> pd.Series[Any]:
    """The column with new values in some cells, in the first dtype that holds all of it exactly."""
    column_dtype, wanted = column.dtype, feature.dtype
    if feature.kind == "ordinal" and not isinstance(wanted, pd.CategoricalDtype):
        wanted = pd.CategoricalDtype(pd.Index(feature.categories), ordered=True)
    # an order tells no place of a new value
    if isinstance(column_dtype, pd.CategoricalDtype) and not column_dtype.ordered:
        unknown = [value for value in feature.categories if value not in column_dtype.categories]
        if any(value in unknown for value in values):
            # all of them, so that the dtype does not depend on which rows are answered together
            column = column.cat.add_categories(unknown)
    for dtype in (column.dtype, wanted, *([np.dtype(np.float64)] if feature.is_numeric else [])):
        written = _write_in_dtype(column, cells, values, dtype)
        if written is not None:
            return written
    mixed = column.astype(object)
    mixed.iloc[np.flatnonzero(cells)] = _object_array(values)
    return mixed


def _write_in_dtype(column: pd.Series[Any], cells: Mask, values: list[Any], dtype: Any) -> pd.Series[Any] | None:
    """The column in a dtype with new values in some cells, or None where that dtype would alter any of them."""
    try:
        cast = column.copy() if dtype == column.dtype else column.astype(dtype)
        if dtype != column.dtype and not _holds_values(column[~cells], cast[~cells].tolist()):
            return None
        new = _object_array([_fit_to_dtype(value, dtype) for value in values])
        array = cast.array.copy() if isinstance(dtype, pd.api.extensions.ExtensionDtype) else cast.to_numpy(copy=True)
        with np.errstate(over="ignore", invalid="ignore"):  # a value that does not fit is found by reading it back
            array[cells] = new
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return None
    out = pd.Series(array, index=column.index, dtype=dtype, name=column.name)
    return out if _holds_values(out[cells], values) else None


def _fit_to_dtype(value: Any, dtype: Any) -> Any:
    """A value as a column of that dtype holds it: its mark for missing, 0 and 1 as booleans and the reverse."""
    if value is None:
        return getattr(dtype, "na_value", np.nan)
    if pd.api.types.is_bool_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype) and value in (0, 1):
        return bool(value)
    if isinstance(value, bool) and pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return int(value)
    return value


def _holds_values(column: pd.Series[Any], values: list[Any]) -> bool:
    return all(
        gone if value is None or value is pd.NA or value != value else not gone and bool(cell == value)
        for cell, gone, value in zip(column.tolist(), column.isna().tolist(), values, strict=True)
    )


def _object_array(values: Sequence[Any]) -> Any:
    """An object array of the values as they are: a tuple stays one value."""
    out = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        out[place] = value
    return out


def scaled_differences(measure: Distance, x: Array, x0: Array) -> Array:
    """Scaled differences of rows ``x`` ``(..., d)`` from others that broadcast; 1 where only one cell is missing."""
    gone, lost = np.isnan(x), np.isnan(x0)
    plain = np.where(measure.nominal, (x != x0).astype(np.float64), np.abs(x - x0) / measure.unit)
    return np.asarray(np.where(gone | lost, (gone != lost).astype(np.float64), plain))


def real_rows_and_distances(schema: Schema, x0: Array, evidence: Array | None) -> list[tuple[Array, Array]]:
    """For each row ``(n, d)`` the reference rows near it, ``(m, d)``, and their L2 distances, ``(m,)``."""
    if evidence is None:
        return [(x0[:0], np.empty(0))] * len(x0)
    measure, out = Distance.of(schema, "l2"), []
    for start, rows in zip(x0, evidence, strict=True):
        real = rows[~np.isnan(rows).all(axis=1)]
        out.append((real, np.sqrt((scaled_differences(measure, real, start) ** 2).sum(axis=1))))
    return out


def tabulate_changes(
    schema: Schema, rows: pd.DataFrame, x0: Array, answers: Array, count: Sequence[int]
) -> pd.DataFrame:
    """Every change of the first ``count`` answers of each row: whose it is, what changes, from what, to what."""
    listed = list_changes(schema, rows, x0, answers, count)
    labels = rows.index.take([change.row for change in listed])
    columns = {
        "row": labels.to_flat_index() if isinstance(labels, pd.MultiIndex) else labels,
        "alternative": np.array([change.alternative for change in listed], dtype=np.int64),
        "feature": pd.Series([schema.names[change.column] for change in listed], dtype=object),
        "from": pd.Series([change.before for change in listed], dtype=object),
        "to": pd.Series([change.after for change in listed], dtype=object),
        "position": np.array([change.row for change in listed], dtype=np.int64),
    }
    return pd.DataFrame(columns)


def tabulate_alternatives(schema: Schema, rows: pd.DataFrame, x0: Array, answers: Array, count: Index) -> pd.DataFrame:
    """The first ``count`` ``(n,)`` answers ``(n, a, d)`` of each row, as the user's rows, by (row, alternative)."""
    place = np.repeat(np.arange(len(rows)), count)
    number = np.concatenate([np.arange(0), *(np.arange(size) for size in count)]).astype(np.int64)
    frame = restore_table(schema, rows.iloc[place], x0[place], answers[place, number])
    index = frame.index
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    names = list(index.names) if len(levels) > 1 else ["row"]
    return frame.set_axis(pd.MultiIndex.from_arrays([*levels, number], names=[*names, "alternative"]))


def tabulate_real_rows(schema: Schema, index: pd.Index[Any], x0: Array, evidence: Array | None) -> pd.DataFrame:
    """A line for each real row near a row of ``x0`` ``(n, d)``: which row, rank, distance and features.

    >>> table = pd.DataFrame({"ports": [8, 2], "proto": ["tcp", "udp"]})
    >>> schema = Schema.infer(table)
    >>> real = tabulate_real_rows(schema, table.index[:1], np.array([[8.0, 0.0]]), np.array([[[2.0, 1.0]]]))
    >>> real[["position", "rank", "ports", "proto"]].values.tolist()
    [[0, 1, 2, 'udp']]
    """
    found = real_rows_and_distances(schema, x0, evidence)
    counts = [len(real) for real, _ in found]
    place = np.repeat(np.arange(len(found)), counts)
    labels = index.take(place)
    columns: dict[str, Any] = {
        "row": labels.to_flat_index() if isinstance(labels, pd.MultiIndex) else labels,
        "position": place,
        "rank": np.concatenate([np.arange(0), *(np.arange(1, count + 1) for count in counts)]).astype(np.int64),
        "distance": np.concatenate([np.empty(0), *(length for _, length in found)]),
    }
    table = pd.DataFrame(columns)
    x = np.concatenate([np.empty((0, len(schema))), *(real for real, _ in found)])
    for column, feature in enumerate(schema):
        values = pd.Series(
            [decode_value(feature, code) for code in x[:, column].tolist()], dtype=object
        ).infer_objects()
        table.insert(table.shape[1], feature.name, values, allow_duplicates=True)
    return table
