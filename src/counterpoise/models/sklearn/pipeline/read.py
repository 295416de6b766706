"""First steps of a pipeline, read as arithmetic on the columns, so that the last step can be asked directly."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The steps of a pipeline, those of pipelines in it one by one."""
    steps = (step for _, step in pipeline.steps)
    return [part for step in steps for part in (flatten_steps(step) if isinstance(step, Pipeline) else [step])]


def read_operations(step: Any, width: int) -> tuple[ColumnOperation, ...] | None:
    """The arithmetic of a fitted scaler, imputer or function of ``width`` columns, or None where it is none of them."""
    name = type(step).__name__
    ops: list[tuple[OperationKind, Any]]
    if name == "StandardScaler":
        ops = [("subtract", step.mean_ if step.with_mean else None), ("divide", step.scale_)]
    elif name == "RobustScaler":
        ops = [("subtract", step.center_), ("divide", step.scale_)]
    elif name == "MaxAbsScaler":
        ops = [("divide", step.scale_)]
        if getattr(step, "clip", False):
            ops += [("floor", np.full(width, -1.0)), ("ceiling", np.full(width, 1.0))]
    elif name == "MinMaxScaler":
        ops = [("multiply", step.scale_), ("add", step.min_)]
        if step.clip:
            low, high = step.feature_range
            ops += [("floor", np.full(width, low)), ("ceiling", np.full(width, high))]
    elif name == "SimpleImputer" and not step.add_indicator and _is_nan(step.missing_values):
        if not np.issubdtype(np.asarray(step.statistics_).dtype, np.number) or np.isnan(step.statistics_).any():
            return None  # an empty column is dropped
        ops = [("fill", step.statistics_)]
    elif name == "FunctionTransformer" and not step.kw_args:
        known: list[Any] = [kind for kind, (function, _) in CURVED_FUNCTIONS.items() if function is step.func]
        if not known:
            return None
        ops = [(known[0], np.zeros(width))]
    else:
        return None
    found = tuple(ColumnOperation(kind, np.asarray(by, dtype=np.float64)) for kind, by in ops if by is not None)
    return found if all(op.operand.shape == (width,) for op in found) else None


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
    """Tables of categories, found by asking the fitted encoder about every level of one column at a time.

    None if a column has no category at all, or more than ``max_levels``: the pipeline itself is asked then.
    """
    features = [schema.features[place] for place in picked]
    if _is_passthrough(inner) or any(f.is_numeric or not 0 < len(f.categories) <= max_levels for f in features):
        return None
    block = Schema(tuple(features), schema.frame)
    still = _try_transform(inner, decode(block, np.zeros((1, len(features)))))
    if still is None:
        return None
    owners, tables = np.full(still.shape[1], -1), []
    for number, feature in enumerate(features):
        rows = np.zeros((len(feature.categories), len(features)))
        rows[:, number] = np.arange(len(feature.categories))
        levels = _try_transform(inner, decode(block, rows))
        rows[0, number] = np.nan
        missing = _try_transform(inner, decode(block, rows[:1]))
        if levels is None:
            return None
        moved = np.any(levels != still, axis=0) | (False if missing is None else missing[0] != still[0])
        if np.any(moved & (owners >= 0)):
            return None  # a column that depends on two categories
        owners[moved] = number
        tables.append(np.vstack([levels, np.full_like(still, np.nan) if missing is None else missing]))
    owners = np.maximum.accumulate(np.maximum(owners, np.append(0, owners[:-1])))  # constants go with their neighbours
    return [
        CategoryColumns(np.full(np.count_nonzero(owners == number), place), tables[number][:, owners == number])
        for number, place in enumerate(picked)
        if np.any(owners == number)
    ]


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
