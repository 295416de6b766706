"""The values that a changed number may take: on its column's own grid, seen ones alone, or any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.space.schema.column import Feature
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

ValuesSetting = Literal["auto", "any", "seen"]


def resolve_values(schema: Schema, table: pd.DataFrame | None, values: ValuesSetting, *, is_given: bool) -> Schema:
    """The schema with the values that a changed number may take, as the reference and ``values`` say.

    "auto": the grid of each column, and seen values alone where there are few; "any": any number, whole where the
    column is; "seen": values of the reference alone. What a schema that the user gave (``is_given``) says wins.

    >>> table = pd.DataFrame({"ttl": [31.0, 62.0, 254.0] * 10, "load": np.arange(30) / 8})
    >>> [resolve_values(Schema.infer(table), table, how, is_given=False)["ttl"].values for how in ("auto", "any")]
    [(31.0, 62.0, 254.0), 'any']
    """
    if values not in ("auto", "any", "seen"):
        raise InputError("values must be 'auto', 'any' or 'seen'", f"{values!r}", "'any' lets numbers be any number")
    features = tuple(_resolve(feature, table, values, is_given) for feature in schema)
    return schema if features == schema.features else replace(schema, features=features)


def _resolve(feature: Feature, table: pd.DataFrame | None, values: ValuesSetting, is_given: bool) -> Feature:
    wanted = values if feature.values == "auto" else feature.values
    if not feature.is_numeric or isinstance(wanted, tuple):
        return feature
    if wanted == "any":
        return replace(feature, values="any", decimals=feature.decimals if is_given else None)
    column: Any = None if table is None or feature.name not in table.columns else table[feature.name]
    numbers = None if column is None else column.dropna().to_numpy(dtype=np.float64)
    if wanted == "auto":
        if numbers is None or not len(numbers):
            return feature
        resolution = find_resolution(numbers) if feature.decimals is None else None
        return replace(feature, values=few_values(numbers), resolution=resolution)
    if numbers is None:
        raise InputError(
            "seen values are those of the reference",
            f"there is no reference for {feature.name!r}",
            "give reference=, or list the values",
        )
    return replace(feature, values=tuple(np.unique(numbers).tolist())) if len(numbers) else feature


def few_values(
    values: Array, few: int = 20, some: int = 50, some_share: float = 0.01, rows_each: int = 10
) -> tuple[float, ...] | Literal["auto"]:
    """The distinct values of a column that has few of them, each seen often enough; else "auto".

    At most ``few``, or at most ``some`` that are under ``some_share`` of the rows, and ``rows_each`` rows for each on
    average.

    >>> few_values(np.repeat([0.0, 31.0, 62.0], 10)), few_values(np.arange(40.0))
    ((0.0, 31.0, 62.0), 'auto')
    """
    distinct = np.unique(values)
    is_short = len(distinct) <= few or (len(distinct) <= some and len(distinct) < some_share * len(values))
    return tuple(distinct.tolist()) if is_short and len(values) >= rows_each * len(distinct) else "auto"


def find_resolution(values: Array, digits: int = 5, small_share: float = 0.05, limit: int = 15) -> int | None:
    """The decimals of a column of computed numbers, which no few decimals write: those of its finest step.

    A step is no finer than ``digits`` significant digits of its small values (the ``small_share`` of least size): what
    is beyond, nobody reads. None where a double has no room for so many, or ``limit`` does not do.

    >>> find_resolution(np.array([1.0, 4 / 3, 5 / 3])), find_resolution(np.array([1.0]))
    (1, None)
    """
    distinct = np.unique(values)
    gaps, sizes = np.diff(distinct), np.abs(distinct[distinct != 0])
    if not len(gaps) or not len(sizes):
        return None
    with np.errstate(over="ignore"):
        step = max(float(gaps.min()), float(np.quantile(sizes, small_share)) * 10.0**-digits)
    if not 0 < step < np.inf:
        return None
    decimals = max(int(np.ceil(-np.log10(step))), 0)
    return decimals if decimals <= limit and sizes.max() * 10.0**decimals < 2.0**52 else None
