"""First steps of a pipeline, read as arithmetic on the columns, so that the last step can be asked directly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from counterpoise.models.inputs import to_dense
from counterpoise.models.sklearn.pipeline.columnwise import (
    CURVED_FUNCTIONS,
    CategoryColumns,
    ColumnOperation,
    ColumnwiseSteps,
    NumericColumns,
    OperationKind,
)
from counterpoise.space.schema.encode import decode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index


def read_columnwise_steps(steps: Sequence[Any], schema: Schema, columns: Index) -> ColumnwiseSteps | None:
    """The arithmetic of a pipeline's first steps on the schema's ``columns``, or None where it is something else."""
    front: ColumnwiseSteps | None = None
    for step in steps:
        if _is_passthrough(step):
            continue
        if front is None and type(step).__name__ == "ColumnTransformer":
            front = _read_column_transformer(step, schema, columns)
            if front is None:
                return None
            continue
        if front is None:
            if not _has_only_numbers(schema, columns):
                return None
            front = ColumnwiseSteps((NumericColumns(columns),), schema.numeric)
        front = _append_step(front, step)
        if front is None:
            return None
    if front is None and _has_only_numbers(schema, columns):
        return ColumnwiseSteps((NumericColumns(columns),), schema.numeric)
    return front


def flatten_steps(pipeline: Pipeline) -> list[Any]:
    """The steps of a pipeline, with pipelines inside it unfolded."""
    steps = (step for _, step in pipeline.steps)
    return [part for step in steps for part in (flatten_steps(step) if isinstance(step, Pipeline) else [step])]


def read_operations(step: Any, width: int) -> tuple[ColumnOperation, ...] | None:
    """The arithmetic of a fitted scaler, imputer or function of ``width`` columns, or None where it is none of them."""
    reader = OPERATION_READERS.get(type(step).__name__)
    ops = None if reader is None else reader(step, width)
    if ops is None:
        return None
    found = tuple(ColumnOperation(kind, np.asarray(by, dtype=np.float64)) for kind, by in ops if by is not None)
    return found if all(op.operand.shape == (width,) for op in found) else None


Operations = Sequence[tuple[OperationKind, Any]]
"""What is done to columns, one after the other: the kind, and the number by column; None for nothing."""


def _read_standard_scaler(step: Any, width: int) -> Operations:
    return [("subtract", step.mean_ if step.with_mean else None), ("divide", step.scale_)]


def _read_robust_scaler(step: Any, width: int) -> Operations:
    return [("subtract", step.center_), ("divide", step.scale_)]


def _read_max_abs_scaler(step: Any, width: int) -> Operations:
    return [("divide", step.scale_), *(_clip((-1.0, 1.0), width) if getattr(step, "clip", False) else ())]


def _read_min_max_scaler(step: Any, width: int) -> Operations:
    return [("multiply", step.scale_), ("add", step.min_), *(_clip(step.feature_range, width) if step.clip else ())]


def _clip(ends: tuple[float, float], width: int) -> Operations:
    low, high = ends
    return [("floor", np.full(width, low)), ("ceiling", np.full(width, high))]


def _read_simple_imputer(step: Any, width: int) -> Operations | None:
    if step.add_indicator or not _is_nan(step.missing_values):
        return None
    values = np.asarray(step.statistics_)
    if not np.issubdtype(values.dtype, np.number) or np.isnan(values).any():
        return None  # an empty column is dropped
    return [("fill", values)]


def _read_function_transformer(step: Any, width: int) -> Operations | None:
    known: list[Any] = [kind for kind, (function, _) in CURVED_FUNCTIONS.items() if function is step.func]
    return [(known[0], np.zeros(width))] if known and not step.kw_args else None


OPERATION_READERS: dict[str, Callable[[Any, int], Operations | None]] = {
    "StandardScaler": _read_standard_scaler,
    "RobustScaler": _read_robust_scaler,
    "MaxAbsScaler": _read_max_abs_scaler,
    "MinMaxScaler": _read_min_max_scaler,
    "SimpleImputer": _read_simple_imputer,
    "FunctionTransformer": _read_function_transformer,
}


def _append_step(front: ColumnwiseSteps, step: Any) -> ColumnwiseSteps | None:
    if hasattr(step, "get_support") and hasattr(step, "transform"):
        keep = np.flatnonzero(step.get_support())
        kept = keep if front.selection is None else front.selection[keep]
        return replace(
            front,
            operations=tuple(ColumnOperation(op.kind, op.operand[keep]) for op in front.operations),
            selection=kept,
        )
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            found = front if _is_passthrough(inner) else _append_step(front, inner)
            if found is None:
                return None
            front = found
        return front
    ops = read_operations(step, len(front.source_columns))
    if ops is None or (front.is_curved and any(op.kind == "fill" for op in ops)):
        return None  # filling where a logarithm has no value makes a function that does not increase
    return replace(front, operations=(*front.operations, *ops))


def _read_column_transformer(transformer: Any, schema: Schema, columns: Index) -> ColumnwiseSteps | None:
    parts: list[NumericColumns | CategoryColumns] = []
    names = [schema.names[place] for place in columns]
    for _, inner, block in transformer.transformers_:
        picked = columns[_column_positions(block, names)]
        if (isinstance(inner, str) and inner == "drop") or not len(picked):
            continue
        found = _read_numeric_block(inner, schema, picked) or _read_category_block(inner, schema, picked)
        if found is None:
            return None
        parts += found
    return ColumnwiseSteps(tuple(parts), schema.numeric) if parts else None


def _column_positions(picked: Any, names: list[Any]) -> Index:
    """Which of the columns given to a ColumnTransformer one of its blocks reads."""
    places = np.arange(len(names), dtype=np.intp)
    if isinstance(picked, slice):
        if not isinstance(picked.start, str) and not isinstance(picked.stop, str):
            return np.asarray(places[picked])
        start = 0 if picked.start is None else names.index(picked.start)
        stop = len(names) if picked.stop is None else names.index(picked.stop) + 1  # by name the end is included
        return np.asarray(places[start : stop : picked.step])
    listed = np.atleast_1d(np.asarray(picked))
    if listed.dtype.kind in "biu":
        return np.asarray(places[listed])
    return np.array([names.index(name) for name in listed.tolist()], dtype=np.intp)


def _read_numeric_block(inner: Any, schema: Schema, picked: Index) -> list[NumericColumns | CategoryColumns] | None:
    if not _has_only_numbers(schema, picked):
        return None
    front = ColumnwiseSteps((NumericColumns(picked),), schema.numeric)
    found = front if _is_passthrough(inner) else _append_step(front, inner)
    return None if found is None else [NumericColumns(found.source_columns, found.operations)]


def _read_category_block(
    inner: Any, schema: Schema, picked: Index, max_levels: int = 256
) -> list[NumericColumns | CategoryColumns] | None:
    """Tables of categories, found by asking the fitted encoder about rows with one level changed each.

    None if a column has no category at all, or more than ``max_levels``: the pipeline itself is asked then.
    """
    features = [schema.features[place] for place in picked]
    if _is_passthrough(inner) or any(f.is_numeric or not 0 < len(f.categories) <= max_levels for f in features):
        return None
    block = Schema(tuple(features), schema.frame)
    still = _try_transform(inner, decode(block, np.zeros((1, len(features)))))
    if still is None:
        return None
    tables = _ask_about_levels(inner, block, max_levels)
    if tables is None:
        return None
    owners = np.full(still.shape[1], -1)
    for number, table in enumerate(tables):
        missing = table[-1] != still[0]
        moved = np.any(table[:-1] != still, axis=0) | (missing & ~np.isnan(table[-1]).all())
        if np.any(moved & (owners >= 0)):
            return None  # a column that depends on two categories
        owners[moved] = number
    owners = np.maximum.accumulate(np.maximum(owners, np.append(0, owners[:-1])))  # constants go with their neighbours
    return [
        CategoryColumns(np.full(np.count_nonzero(owners == number), place), tables[number][:, owners == number])
        for number, place in enumerate(picked)
        if np.any(owners == number)
    ]


def _ask_about_levels(inner: Any, block: Schema, rows_at_once: int) -> list[Array] | None:
    """What an encoder makes of each column's levels, then of a missing cell, all other columns at their first level.

    Tables ``(levels + 1, q)``, the last line NaN where a missing cell is refused; None if a level is. Columns are asked
    about together, up to so many rows, since a call costs far more than a row.
    """
    sizes = [len(feature.categories) for feature in block]
    owners = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.zeros((len(owners), len(sizes)))
    rows[np.arange(len(owners)), owners] = np.concatenate([np.arange(size) for size in sizes])
    levels: list[Array] = []
    first = 0
    while first < len(rows):
        found = _try_transform(inner, decode(block, rows[first : first + rows_at_once]))
        if found is None:
            return None
        levels.append(found)
        first += len(found)
    tables = np.split(np.vstack(levels), np.cumsum(sizes)[:-1])
    last = _ask_about_missing_cells(inner, block, tables[0].shape[1], rows_at_once)
    return [np.vstack([table, line]) for table, line in zip(tables, last, strict=True)]


def _ask_about_missing_cells(inner: Any, block: Schema, width: int, rows_at_once: int) -> Array:
    """What an encoder makes of a missing cell in each column alone, ``(columns, q)``; NaN where it is refused."""
    out = np.full((len(block), width), np.nan)
    askable = np.flatnonzero([not _refuses_missing_cells(inner, number) for number in range(len(block))])
    rows = np.zeros((len(askable), len(block)))
    rows[np.arange(len(askable)), askable] = np.nan
    found = _try_transform(inner, decode(block, rows)) if 0 < len(askable) <= rows_at_once else None
    if found is not None:
        out[askable] = found
        return out
    for row, number in zip(rows, askable.tolist(), strict=True):
        line = _try_transform(inner, decode(block, row[None]))
        out[number] = np.nan if line is None else line[0]
    return out


def _refuses_missing_cells(inner: Any, number: int) -> bool:
    """Whether an encoder says by itself that it takes no missing cell in a column, so that it need not be asked."""
    categories = getattr(inner, "categories_", None)
    if categories is None or getattr(inner, "handle_unknown", None) != "error":
        return False
    return not pd.isna(np.asarray(categories[number], dtype=object)).any()


def _try_transform(inner: Any, rows: Any) -> Array | None:
    try:
        return to_dense(inner.transform(rows))
    except (ValueError, TypeError):
        return None  # a missing cell that the encoder refuses, or an encoder whose output is not numbers


def _is_passthrough(step: Any) -> bool:
    """Whether a step leaves the columns as they are."""
    if step is None or isinstance(step, str):
        return True
    return type(step).__name__ == "FunctionTransformer" and step.func is None


def _has_only_numbers(schema: Schema, columns: Index) -> bool:
    return all(schema.features[place].is_numeric or schema.features[place].kind == "boolean" for place in columns)


def _is_nan(value: Any) -> bool:
    return value is pd.NA or (isinstance(value, float) and np.isnan(value))
