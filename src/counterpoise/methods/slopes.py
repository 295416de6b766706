"""The slope of the score: the model's own gradient where it has one, else differences, Eq. (16)."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.points import Points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.problem import Problem, Score
from counterpoise.types import Array, Index, Mask, split_rows


def score_and_gradient(problem: Problem, x: Array, settings: SearchSettings = DEFAULTS) -> tuple[Score, Array]:
    """Score ``(n, k)`` and the margin's gradient ``(n, k, d)`` in raw units; categories and fixed cells have none."""
    if problem.has_gradient:
        score, gradient = problem.gradient(x)
        gradient = gradient if problem.is_all_numeric else np.where(problem.numeric, gradient, 0.0)
    else:
        score, gradient = score_and_gradient_by_differences(problem, x, settings=settings)
    return score, problem.region.project_gradient(x, gradient)


def score_and_gradient_by_differences(
    problem: Problem, x: Array, known: Score | None = None, settings: SearchSettings = DEFAULTS
) -> tuple[Score, Array]:
    """The same by forward differences, inwards at an edge of the box and never less than a step of the lattice.

    ``known`` is the score where it has been asked for; else it is asked for along with the first of the steps.
    """
    n, k, d = x.shape
    shift = np.maximum(settings.smooth.difference_step_scales * problem.scales, lattice_unit(problem))
    inward = np.where(x + shift > problem.region.upper[:, None, :], -1.0, 1.0) * shift
    columns = np.flatnonzero(problem.numeric & ~problem.region.fixed.all(axis=0))
    score = Score(np.empty((n, k)), np.empty((n, k), dtype=bool)) if known is None else known
    gradient = np.zeros_like(x)
    width = max(1, settings.batches.difference_cells // max(d * k, 1) // max(len(columns), 1))
    for start in range(0, n, width):
        rows = np.arange(start, min(start + width, n))
        part = problem if len(rows) == n else problem.take(rows)
        pieces = max(1, -(-len(columns) * len(rows) * k * d // settings.batches.difference_cells))
        for number, chunk in enumerate(np.array_split(columns, pieces)):
            moved = np.repeat(x[rows][:, :, None, :], len(chunk), axis=2)
            moved[:, :, np.arange(len(chunk)), chunk] += inward[rows][:, :, chunk]
            steps = moved.reshape(len(rows), -1, d)
            is_asked_too = known is None and not number
            there = part.score(np.concatenate([x[rows], steps], axis=1) if is_asked_too else steps)
            if is_asked_too:
                score.margin[rows], score.reached[rows] = there.margin[:, :k], there.reached[:, :k]
            margin = there.margin[:, there.margin.shape[1] - steps.shape[1] :].reshape(len(rows), k, len(chunk))
            gradient[np.ix_(rows, np.arange(k), chunk)] = (margin - score.margin[rows][..., None]) / inward[rows][
                :, :, chunk
            ]
    return score, np.where(~problem.region.fixed[:, None, :] & ~np.isnan(x), gradient, 0.0)


def has_slope(problem: Problem, points: Points, settings: SearchSettings = DEFAULTS) -> Mask:
    """Which rows have a slope to follow at the best of their ``points``: most small steps change the score.

    Trees have none: a step between whole numbers may change their score, but the next one changes it otherwise. Neither
    has what rounding alone moves.
    """
    if problem.has_gradient:
        return np.ones(len(problem), dtype=bool)
    if problem.model.thresholds is not None:
        return np.zeros(len(problem), dtype=bool)
    x, margin, effort = points.best(1)
    movable = (problem.region.free & problem.numeric)[:, None, :] & ~np.isnan(x)
    known = Score(margin, np.isfinite(effort))
    _, gradient = score_and_gradient_by_differences(problem, x, known, settings=settings)
    rise = np.abs(gradient) * np.maximum(settings.smooth.difference_step_scales * problem.scales, lattice_unit(problem))
    shown = rise > settings.smooth.rounding_share * (1 + np.abs(margin))[..., None]
    coarse = lattice_unit(problem) > settings.smooth.difference_step_scales * problem.scales
    if (shown & coarse).any():
        shown &= ~coarse | _changes_alike(problem, x, margin, gradient, np.flatnonzero(coarse), settings)
    return np.asarray(shown.sum(axis=(1, 2)) * 2 > movable.sum(axis=(1, 2)))


def _changes_alike(
    problem: Problem, x: Array, margin: Array, gradient: Array, columns: Index, settings: SearchSettings
) -> Mask:
    """Where the next step between whole numbers changes the margin about as much as the first did, ``(n, 1, d)``.

    True where there is no room for a further step.
    """
    n, _, d = x.shape
    lower, upper = problem.region.lower[:, None, :], problem.region.upper[:, None, :]
    inward = np.where(x + lattice_unit(problem) > upper, -1.0, 1.0) * lattice_unit(problem)
    beyond = (x + 2 * inward < lower) | (x + 2 * inward > upper)
    steps = np.where(beyond, -1.0, 2.0) * inward  # the other way, where the box ends
    has_room = (x + steps >= lower) & (x + steps <= upper)
    alike = np.ones(x.shape, dtype=bool)
    for rows in split_rows(n, settings.batches.difference_cells, len(columns) * d):
        moved = np.repeat(x[rows], len(columns), axis=1)
        moved[:, np.arange(len(columns)), columns] += np.where(has_room, steps, 0.0)[rows][:, 0, columns]
        there = problem.take(rows).score(moved).margin
        first = (gradient * inward)[rows][:, 0, columns]
        second = np.where(beyond[rows][:, 0, columns], -1.0, 1.0) * (there - margin[rows])
        second -= np.where(beyond[rows][:, 0, columns], 0.0, first)
        largest = np.maximum(np.abs(first), np.abs(second))
        alike[rows[:, None], 0, columns] = np.abs(second - first) <= settings.smooth.step_difference_share * largest
    return alike | ~has_room


def lattice_unit(problem: Problem) -> Array:
    """Distance between neighbouring values of each number, ``(d,)``; 0 for categories and without a lattice."""
    return np.where(problem.numeric, problem.region.lattice.units, 0.0)
