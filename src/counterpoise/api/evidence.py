"""Evidence: the real rows of the target that are nearest to a row, and a fingerprint of the model that said so."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from counterpoise.models.score import Goal
from counterpoise.problem import Donors, Tally, model_outputs
from counterpoise.space.distance import Distance
from counterpoise.space.features import Schema
from counterpoise.types import Array, Index, Model

NEAREST = 3
TOGETHER = 256  # rows compared with the reference at once
CACHED = 100_000  # numbers of the reference compared at once: few enough to stay in the processor's memory
CLOSE = 1e-6  # what the quick comparison may be wrong by
DIGITS = 6  # of a score that count: the last ones depend on how many rows are asked about at once


def nearest_rows(schema: Schema, x0: Array, goal: Goal, donors: Donors) -> Array | None:
    """The reference rows that the model gives the target of each row, nearest first: ``(n, NEAREST, d)``.

    Nearest is by L2 in feature scales; a cell that only one of the two has counts 1. Slots without a row are NaN; None
    where there is no reference.
    """
    if not len(donors.x):
        return None
    found = np.full((len(x0), NEAREST, x0.shape[1]), np.nan)
    measure = Distance.of(schema, "l2")
    for group in goal.groups() if len(x0) else ():
        pool = donors.x[goal.take(group[:1]).reached(donors.outputs[None])[0]]
        if not len(pool):
            continue
        for start in range(0, len(group), TOGETHER):
            rows = group[start : start + TOGETHER]
            for row, near in zip(rows.tolist(), _candidates(measure, x0[rows], pool), strict=True):
                exact = (differences(measure, pool[near], x0[row]) ** 2).sum(axis=1)
                taken = near[np.argsort(exact, kind="stable")[:NEAREST]]
                found[row, : len(taken)] = pool[taken]
    return found


def fingerprint(model: Model, rows: Array) -> str:
    """A hash of what a model says of some rows ``(p, d)``: another model says something else of one of them."""
    outputs = model_outputs(model, rows, np.arange(len(rows)), Tally(), "reference row")
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.floor(np.log10(np.abs(outputs)))
    unit = 10.0 ** (np.where(np.isfinite(power), power, 0.0) - (DIGITS - 1))
    digits = np.where(np.isfinite(outputs), np.round(outputs / unit), 0.0) + 0.0
    said = repr((model.labels, digits.tolist(), power.tolist()))
    return sha256(said.encode()).hexdigest()


def _candidates(measure: Distance, x0: Array, pool: Array) -> list[Index]:
    """For each row the places of the nearest in ``pool``, and of all that are as near but for rounding, in order."""
    centre = np.nan_to_num(x0).mean(axis=0)  # large values that hardly differ would drown the differences in rounding
    weight = np.where(measure.nominal, 0.0, 1.0 / measure.unit)
    a = (x0 - centre) * weight
    square, width = np.empty((len(x0), len(pool))), max(1, CACHED // len(weight))
    for start in range(0, len(pool), width):
        part = pool[start : start + width]
        square[:, start : start + width] = _squares(a, (part - centre) * weight)
    for column in np.flatnonzero(measure.nominal):
        one, other = x0[:, column, None], pool[:, column]
        square += (one != other) & ~np.isnan(one) & ~np.isnan(other)
    count = min(NEAREST, len(pool)) - 1
    last = np.partition(square, count, axis=1)[:, count]
    limit = last + CLOSE * (1 + np.nanmax(np.abs(a), initial=0.0) ** 2 + np.abs(last))
    return [np.flatnonzero(line <= end) for line, end in zip(square, limit, strict=True)]


def _squares(a: Array, b: Array) -> Array:
    """``|a - b|**2`` of every pair, ``(n, d)`` and ``(r, d)`` to ``(n, r)``; a cell that only one has adds 1."""
    if not (np.isnan(a).any() or np.isnan(b).any()):
        return np.asarray((a**2).sum(axis=1)[:, None] - 2 * a @ b.T + np.einsum("ij,ij->i", b, b))
    mine, theirs = ((~np.isnan(part)).astype(np.float64) for part in (a, b))
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    both = (a**2) @ theirs.T - 2 * a @ b.T + mine @ (b**2).T
    return np.asarray(both + mine @ (1 - theirs).T + (1 - mine) @ theirs.T)


def differences(measure: Distance, x: Array, x0: Array) -> Array:
    """Scaled differences ``(p, d)``; 1 where only one of the two cells is missing."""
    gone, lost = np.isnan(x), np.isnan(x0)
    plain = np.where(measure.nominal, (x != x0).astype(np.float64), np.abs(x - x0) / measure.unit)
    return np.asarray(np.where(gone | lost, (gone != lost).astype(np.float64), plain))
