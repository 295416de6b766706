"""Trees behind a pipeline's first steps, in the row's own columns: split points carried back to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.sklearn.pipeline.columnwise import ColumnwiseSteps
from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.nodes import code_places
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask


def carry_trees_back(trees: TreeEnsemble, front: ColumnwiseSteps, schema: Schema) -> TreeEnsemble | None:
    """The trees in the schema's columns; None if they split a number of the schema by category."""
    threshold, missing_left = trees.threshold.copy(), trees.missing_left.copy()
    category, sets = np.full(len(trees.feature), -1, dtype=np.intp), list[Mask]()
    for column in np.unique(trees.feature[trees.feature >= 0]).tolist():
        nodes = np.flatnonzero(trees.feature == column)
        feature = schema.features[front.source_columns[column]]
        if feature.is_numeric and (trees.category[nodes] >= 0).any():
            return None
        if feature.is_numeric:
            threshold[nodes] = _largest_left(front, column, trees.threshold[nodes], len(schema))
            missing_left[nodes] = _missing_goes_left(front, column, trees, nodes, len(schema))
            continue
        codes = np.append(np.arange(len(feature.categories), dtype=np.float64), np.nan)
        read = _apply_to_column(front, column, codes, len(schema))
        known: dict[tuple[int, float, bool], int] = {}
        for node in nodes.tolist():
            old, limit, left = int(trees.category[node]), trees.threshold[node], bool(trees.missing_left[node])
            key = (old, 0.0, False) if old >= 0 else (-1, float(limit), left)
            if key not in known:
                known[key] = len(sets)
                sets.append(
                    _levels_left_by_codes(read, trees.category_sets[old])
                    if old >= 0
                    else _levels_left_by_limit(read, limit, left)
                )
            category[node] = known[key]
        threshold[nodes] = np.nan
    feature_of = np.where(trees.feature >= 0, front.source_columns[trees.feature], -1)
    return replace(
        trees,
        feature=feature_of,
        threshold=threshold,
        missing_left=missing_left,
        category=category,
        category_sets=tuple(sets),
        compares_in_single=np.zeros(len(schema), dtype=bool),
        width=len(schema),
    )


def _levels_left_by_limit(read: Array, limit: float, missing_left: bool) -> Mask:
    """Levels that go left, from the number that stands for each, where the tree splits a number."""
    return np.where(np.isnan(read), missing_left, read <= limit)


def _levels_left_by_codes(read: Array, old: Mask) -> Mask:
    """Levels that go left, from the code that stands for each, where the tree splits by a set of codes."""
    return old[code_places(read, len(old))]


def _apply_to_column(front: ColumnwiseSteps, column: int, values: Array, width: int) -> Array:
    """The values of one of the last step's columns for values of its source column."""
    x = np.zeros((len(values), width))
    x[:, front.source_columns[column]] = values
    with np.errstate(over="ignore"):
        return front(x)[:, column]


def _missing_goes_left(front: ColumnwiseSteps, column: int, trees: TreeEnsemble, nodes: Index, width: int) -> Mask:
    (read,) = _apply_to_column(front, column, np.array([np.nan]), width)
    return trees.missing_left[nodes] if np.isnan(read) else np.asarray(read <= trees.threshold[nodes])


def _largest_left(front: ColumnwiseSteps, column: int, thresholds: Array, width: int) -> Array:
    """The largest number that still goes left of each threshold after the first steps; infinite if all or none do.

    Bisection over the floats in the order of their bits: 64 steps, whatever the scale.
    """
    far = np.full(len(thresholds), np.finfo(np.float64).max)
    low, high = _float_to_order(-far), _float_to_order(far)
    for _ in range(64):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        left = ~(
            _apply_to_column(front, column, _order_to_float(middle), width) > thresholds
        )  # below where a logarithm begins, too
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    found = np.where(_apply_to_column(front, column, -far, width) > thresholds, -np.inf, _order_to_float(low))
    return np.where(_apply_to_column(front, column, far, width) > thresholds, found, np.inf)


def _float_to_order(values: Array) -> NDArray[np.int64]:
    """Integers in the order of the floats."""
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _order_to_float(order: NDArray[np.int64]) -> Array:
    bits = np.where(order < 0, np.int64(-(2**63)) - order - 1, order)
    return np.asarray(bits.view(np.float64))
