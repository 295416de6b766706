"""Screening: of all single changes of a sweep the model is asked about those that a surrogate thinks best of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.points import Points
from counterpoise.methods.settings.search_settings import SearchSettings
from counterpoise.methods.surrogate import predict_margins
from counterpoise.methods.trials.prices import first_order_costs
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


class CellChanges(NamedTuple):
    """Changes of single cells of points: of columns ``(n, t)`` to values ``(n, q, t)``; what is known of each.

    ``spots`` and ``real`` ``(n, q, s)``: the places of changes to ask about, and which of these are not padding.
    ``gain`` and ``held`` ``(n, q, t)``: what each adds to the margin, and the value that the cell then has.
    """

    column: Index
    value: Array
    spots: Index
    real: Mask
    gain: Array
    held: Array

    def note(self, x: Array, spots: Index, real: Mask, y: Array, rise: Array) -> None:
        """Note where changes at ``spots`` ``(n, q, s)`` led, to ``y`` ``(n, q * s, d)``, and how much each gained.

        What only pads a point's list is left out, so that no row depends on how long the lists of others are.
        """
        moved = np.take_along_axis(np.broadcast_to(self.column[:, None, :], self.value.shape), spots, axis=2)
        there = np.take_along_axis(y.reshape(*spots.shape, x.shape[2]), moved[..., None], axis=3)[..., 0]
        for known, asked in ((self.gain, rise), (self.held, there)):
            np.put_along_axis(known, spots, np.where(real, asked, np.take_along_axis(known, spots, axis=2)), axis=2)


def _list_as_mask(spots: Index, real: Mask, shape: tuple[int, ...]) -> Mask:
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
    margin = predict_margins(problem, points.x, settings.surrogate)
    if margin is None:
        return None
    single = np.repeat(points.x[:, :, None, :], t, axis=2)
    np.put_along_axis(single, np.broadcast_to(column[:, None, :, None], (n, q, t, 1)), value[..., None], axis=3)
    there = predict_margins(problem, single.reshape(n, q * t, d), settings.surrogate)
    assert there is not None, "the rows have a surrogate"
    return there.reshape(n, q, t) - margin[..., None]


def screen_changes(
    problem: Problem,
    points: Points,
    changes: CellChanges,
    gain: Array,
    now: Array,
    count: int,
    settings: SearchSettings,
) -> CellChanges:
    """The changes with gains as predicted, ``gain`` ``(n, q, t)``, of which ``count`` are asked about.

    ``now`` ``(n, q)`` is the margin of the points on the scale of ``gain``. Half of those asked about are those that
    gain most margin for what they cost, half those that save most effort where the target is likely to be kept.
    """
    spots, real = changes.spots, changes.real
    listed = _list_as_mask(spots, real, gain.shape)
    predicted = np.where(listed, gain, 0.0), np.where(listed, changes.value, changes.held)
    cost = first_order_costs(problem, points.x, changes.column, changes.value)
    cost, gain = (np.take_along_axis(each, spots, axis=2) for each in (cost, gain))
    spread = settings.trials.prediction_error_share * np.maximum(np.abs(now), 1e-3) + 1e-12
    likely = 1 / (1 + np.exp(-np.clip((now[..., None] + gain) / spread[..., None], -30, 30)))
    saving = np.where(real & (cost < 0), -cost * likely, 0.0)
    forward = np.where(real & (gain > 0), gain / np.maximum(cost, 1e-9), 0.0)
    rank = np.minimum(_descending_rank(saving), _descending_rank(forward))
    rank = np.where(real, rank, spots.shape[2] + 1)
    order = np.argsort(rank, axis=2, kind="stable")[..., :count]
    asked, is_real = np.take_along_axis(spots, order, axis=2), np.take_along_axis(real, order, axis=2)
    return changes._replace(spots=asked, real=is_real, gain=predicted[0], held=predicted[1])


def _descending_rank(score: Array) -> Index:
    return np.argsort(np.argsort(-score, axis=2, kind="stable"), axis=2, kind="stable")
