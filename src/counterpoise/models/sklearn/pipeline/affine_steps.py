"""First steps of a pipeline as one affine map of the row, where they shift, scale, fill, encode or project."""

from __future__ import annotations

import numpy as np

from counterpoise.models.affine import AffineOutputs
from counterpoise.models.sklearn.pipeline.columnwise import SHIFT_AND_SCALE_KINDS, CategoryColumns, ColumnwiseSteps
from counterpoise.models.sklearn.pipeline.projections import ColumnwiseThenMixing, Projection


def read_affine_steps(steps: ColumnwiseSteps | ColumnwiseThenMixing) -> AffineOutputs | None:
    """The columns ``(p, q)`` that the last step sees as affine outputs of the row; None where they are more."""
    if isinstance(steps, ColumnwiseThenMixing):
        first, mix = read_affine_steps(steps.columnwise_steps), steps.mixing_step
        if first is None or not isinstance(mix, Projection):
            return None
        known = AffineOutputs.of(mix.matrix.T, mix.offset - mix.centre @ mix.matrix)
        return known.behind(first)
    operations = [op for part in steps.parts if not isinstance(part, CategoryColumns) for op in part.operations]
    if not all(op.kind in (*SHIFT_AND_SCALE_KINDS, "fill") for op in (*operations, *steps.operations)):
        return None
    return _of_columns(steps)


def _of_columns(steps: ColumnwiseSteps) -> AffineOutputs:
    d, source = len(steps.numeric), steps.source_columns
    home = np.zeros((1, d))
    base = steps(home)[0]
    weights = np.zeros((len(source), d))
    numbers = steps.numeric[source]
    rates = (steps(np.ones((1, d)) * np.where(steps.numeric, 1.0, 0.0)) - base)[0]
    weights[np.flatnonzero(numbers), source[numbers]] = rates[numbers]
    tables = []
    sizes = {part.source_columns[0]: len(part.table) - 1 for part in steps.parts if isinstance(part, CategoryColumns)}
    for column in np.unique(source[~numbers]).tolist():
        count = sizes.get(column, 2)  # else a boolean, read as a number
        x = np.repeat(home, count + 1, axis=0)
        x[:, column] = [*range(count), np.nan]
        tables.append((column, np.where(source == column, steps(x) - base, 0.0)))
    x = np.repeat(home, d, axis=0)
    np.fill_diagonal(x, np.where(steps.numeric, np.nan, 0.0))
    gone = np.where(source == np.arange(d)[:, None], steps(x) - base, 0.0).T
    missing = gone if np.isfinite(gone).all() else None
    return AffineOutputs(weights, base, np.abs(weights), np.abs(base), tuple(tables), missing)
