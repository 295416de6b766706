"""mu, the weight of the decision in the energy, and the reference rows of the target that are near each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.problem import Problem
from counterpoise.types import Array, Mask

POOL = 64  # reference rows of the target looked at for each row, spread evenly over the reference
NEAR = 8
CELLS = 1_000_000  # compared at once


class Neighbours(NamedTuple):
    """For each row, reference rows that have its target, nearest first; ``there`` marks the real ones."""

    x: Array  # (n, NEAR, d)
    effort: Array  # (n, NEAR)
    margin: Array  # (n, NEAR)
    there: Mask  # (n, NEAR)


def neighbours(problem: Problem) -> Neighbours:
    """The nearest of an even sample of the reference rows that the model gives each row's target."""
    n, d = problem.x0.shape
    found = Neighbours(
        np.full((n, NEAR, d), np.nan), np.zeros((n, NEAR)), np.zeros((n, NEAR)), np.zeros((n, NEAR), dtype=bool)
    )
    donors = problem.donors
    for group in problem.goal.groups():
        given, margin = donors.sample(problem.goal.take(group[:1]), POOL) if len(donors.x) else (donors.x, np.empty(0))
        if not len(given):
            continue
        size = max(1, CELLS // (len(given) * d))
        for start in range(0, len(group), size):
            rows = group[start : start + size]
            x0 = problem.x0[rows]
            x = np.where(np.isnan(given), x0[:, None, :], given)
            effort = (problem if len(rows) == n else problem.take(rows)).energy.effort(x, x0)
            near = np.argsort(effort, axis=1, kind="stable")[:, :NEAR]
            width = near.shape[1]
            at = np.arange(len(rows))[:, None], near
            found.x[rows, :width], found.effort[rows, :width] = x[at], effort[at]
            found.margin[rows, :width] = margin[near]
            found.there[rows, :width] = True
    return found


def balanced(problem: Problem, margin: Array) -> Array:
    """mu of each row ``(n,)``: twice the effort that a unit of margin takes on the way to the nearest of the target.

    A minimum of E is valid only where mu times the slope of the score exceeds the slope of the effort (Eq. (3) with a
    one-sided phi); the factor 2 leaves room for slopes that vary. ``margin`` ``(n,)`` is that of the rows themselves.
    Rows that have reached the target, or have no such neighbours, get 1.
    """
    near = neighbours(problem)
    gain = near.margin - margin[:, None]
    usable = near.there & (gain > 0)
    with np.errstate(over="ignore"):  # too slight a gain: mu is bounded below
        slope = np.divide(near.effort, gain, out=np.full(gain.shape, np.nan), where=usable)
    known = usable.any(axis=1) & (margin <= 0)
    mu = np.ones(len(problem))
    ordered = np.sort(slope[known], axis=1)  # what is not usable stands last
    count = usable[known].sum(axis=1)
    every = np.arange(len(count))
    mu[known] = ordered[every, (count - 1) // 2] + ordered[every, count // 2]  # twice the median
    return np.minimum(np.maximum(mu, 1e-6), 1e6)
