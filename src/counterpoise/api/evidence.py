"""Evidence: the reference rows of the target nearest to each row, and a hash that identifies the model."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from counterpoise.explanation.tables import scaled_differences
from counterpoise.model_calls import Tally, model_outputs
from counterpoise.models.goals import Goal
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.nearest_rows import pad_lists
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Model


def nearest_target_rows(
    schema: Schema, x0: Array, goal: Goal, donors: ReferenceRows, count: int = 3, max_cells: int = 200_000
) -> Array | None:
    """The nearest reference rows that the model gives each row's target, nearest first: ``(n, count, d)``.

    Distances are L2 in standard deviations; a cell that is missing in one of the two rows counts 1. Slots without a
    row are NaN. None where there is no reference. ``max_cells`` are compared at once.
    """
    if not len(donors.x):
        return None
    found = np.full((len(x0), count, x0.shape[1]), np.nan)
    measure = Distance.of(schema, "l2")
    for group in goal.group_rows() if len(x0) else ():
        pool = donors.get_target_pool(goal.take(group[:1]), measure)
        for some, places, real in pad_lists(
            pool.find_nearest(x0[group], count, may_give_more=True), max_cells // x0.shape[1]
        ):
            rows = group[some]
            away = scaled_differences(measure, pool.x[places], x0[rows][:, None, :])
            order = np.argsort(np.where(real, np.vecdot(away, away), np.inf), axis=1, kind="stable")[:, :count]
            at = np.arange(len(rows))[:, None], order
            nearest = np.where(real[at][..., None], pool.x[places[at]], np.nan)
            found[rows, : order.shape[1]] = nearest
    return found


def fingerprint(model: Model, rows: Array, digits: int = 6) -> str:
    """A hash of a model's outputs for some rows ``(p, d)``: models that differ on any of them have different ones.

    So many significant digits count: later ones depend on how many rows go into one model call.
    """
    outputs = model_outputs(model, rows, np.arange(len(rows)), Tally(), "reference row")
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(outputs)))
    unit = 10.0 ** (np.where(np.isfinite(power), power, 0.0) - (digits - 1))
    unit = np.maximum(unit, np.finfo(np.float64).tiny)
    rounded = np.where(np.isfinite(outputs), np.round(outputs / unit), 0.0) + 0.0
    content = repr((model.labels, rounded.tolist(), power.tolist()))
    return sha256(content.encode()).hexdigest()
