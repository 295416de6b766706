"""Screening: of all single changes of a sweep the model is asked about those that a surrogate thinks best of."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.points import Points
from counterpoise.methods.settings.search import SearchSettings
from counterpoise.methods.surrogate import predict_margins, to_fitted_scale
from counterpoise.methods.trials.prices import first_order_costs
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


def list_as_mask(spots: Index, real: Mask, shape: tuple[int, ...]) -> Mask:
    """Which of all changes ``(n, q, t)`` are listed in ``spots``."""
    out = np.zeros(shape, dtype=bool)
    np.put_along_axis(out, spots, real, axis=2)
    return out


def predict_gains(
    problem: Problem, points: Points, column: Index, value: Array, settings: SearchSettings
) -> Array | None:
    """What a surrogate says that each change adds to the margin, ``(n, q, t)``; None where there is none."""
    n, q, t = value.shape
    d = points.x.shape[2]
    here = predict_margins(problem, points.x, settings.surrogate)
    if here is None:
        return None
    single = np.repeat(points.x[:, :, None, :], t, axis=2)
    np.put_along_axis(single, np.broadcast_to(column[:, None, :, None], (n, q, t, 1)), value[..., None], axis=3)
    there = predict_margins(problem, single.reshape(n, q * t, d), settings.surrogate)
    assert there is not None, "the rows have a surrogate"
    return there.reshape(n, q, t) - here[..., None]


def screen_changes(
    problem: Problem,
    points: Points,
    column: Index,
    value: Array,
    gain: Array,
    spots: Index,
    real: Mask,
    settings: SearchSettings,
) -> tuple[Index, Mask]:
    """The places ``(n, q, t)`` of the changes that the model is asked about, and which of them are real.

    Half are those that gain most margin for what they cost, half those that save most effort where the target is
    likely to be kept.
    """
    count = min(spots.shape[2], settings.surrogate.count_asked(value.shape[2], problem.model_rows_left))
    cost = first_order_costs(problem, points.x, column, value)
    cost, gain = (np.take_along_axis(each, spots, axis=2) for each in (cost, gain))
    now = to_fitted_scale(problem, points.margin)[..., None]
    spread = settings.surrogate.error_share * np.maximum(np.abs(now), 1e-3) + 1e-12
    likely = 1 / (1 + np.exp(-np.clip((now + gain) / spread, -30, 30)))
    saving = np.where(real & (cost < 0), -cost * likely, 0.0)
    forward = np.where(real & (gain > 0), gain / np.maximum(cost, 1e-9), 0.0)
    rank = np.minimum(_descending_rank(saving), _descending_rank(forward))
    rank = np.where(real, rank, spots.shape[2] + 1)
    order = np.argsort(rank, axis=2, kind="stable")[..., :count]
    return np.take_along_axis(spots, order, axis=2), np.take_along_axis(real, order, axis=2)


def _descending_rank(score: Array) -> Index:
    return np.argsort(np.argsort(-score, axis=2, kind="stable"), axis=2, kind="stable")
