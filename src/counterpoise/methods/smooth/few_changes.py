"""Answers of few changes, for models with a slope: Taylor steps at several prices of a change, then changes left out.

A slope at one point does not tell which features an answer needs. Chains that take a change to cost less or more than
it does end with different numbers of them; the energy chooses. Then each change is left out in turn, the others slid to
make up for it, as long as that pays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.methods.incumbents import Incumbents
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.smooth.followed_steps import expand_followers
from counterpoise.methods.smooth.taylor_steps import descend
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


def descend_at_several_prices(problem: Problem, row_margin: Array, settings: SearchSettings = DEFAULTS) -> Points:
    """The best points ``(n, k, d)`` of chains that set out from the rows, one for each price of a change.

    ``row_margin`` ``(n, 1)`` is the margin of the rows.
    """
    factors = np.array(settings.smooth.change_price_factors)
    start = score_points(problem, problem.region.nearest_feasible[:, None, :])
    every = Points(*(np.repeat(array, len(factors), axis=1) for array in start))
    return descend(
        problem, every, settings.smooth.taylor_steps + 1, row_margin, factors, settings=settings, follows=True
    )


def step_along_single_columns(
    problem: Problem, gradient: Array, row_margin: Array, settings: SearchSettings = DEFAULTS
) -> Points:
    """The points ``(n, c, d)`` where Taylor steps along one feature each end: the steepest features of each row.

    ``gradient`` ``(n, 1, d)`` and ``row_margin`` ``(n, 1)`` are slope and margin of the rows.
    """
    steep = _slopes_with_followers(problem, gradient) * (problem.region.free & problem.numeric)
    count = min(settings.smooth.columns_stepped_alone, steep.shape[1])
    columns = np.argsort(-steep, axis=1, kind="stable")[:, :count]
    real = np.take_along_axis(steep, columns, axis=1) > 0
    row, slot = np.nonzero(real)
    only = np.zeros((len(row), steep.shape[1]), dtype=bool)
    only[np.arange(len(row)), columns[row, slot]] = True
    home = problem.region.nearest_feasible
    return _descend_apart(problem, home[row], ~only, row_margin, (row, slot), real.shape, settings)


def _slopes_with_followers(problem: Problem, gradient: Array) -> Array:
    """How steep the margin is along each feature with all that follows it, per unit of their length, ``(n, d)``."""
    h = gradient[:, 0] * problem.scales
    if not problem.region.system.clause_set.followers:
        return np.abs(h)
    slopes = expand_followers(
        problem.region.system, problem.region.nearest_feasible[:, None, :], problem.region.free, problem.scales
    )[:, 0]
    total = h + np.einsum("nf,nfd->nd", h[:, _following_columns(problem)], slopes)
    length = np.sqrt(1 + np.square(slopes).sum(axis=1))
    return np.asarray(np.where(problem.region.system.is_following, 0.0, np.abs(total) / length))


def _following_columns(problem: Problem) -> list[int]:
    return [follower.column for follower in problem.region.system.clause_set.followers]


def leave_changes_out(
    board: Incumbents, rows: Index, problem: Problem, row_margin: Array, settings: SearchSettings = DEFAULTS
) -> None:
    """Enter the best answers of some rows of a board without one of their changes, as long as that pays.

    ``row_margin`` ``(n, 1)`` is the margin of the rows.
    """
    active = np.arange(len(rows))
    for _ in range(settings.smooth.max_left_out_rounds):
        best = board.points.at(rows[active]).best(1)
        several = _droppable_changes(problem.take(active), best).sum(axis=1) > 1
        active = active[several & best.valid[:, 0]]
        if not len(active) or problem.has_expired:
            break
        before = board.points.at(rows[active]).lowest_effort
        part = problem.take(active)
        board.enter(
            rows[active], _leave_each_out(part, board.points.at(rows[active]).best(1), row_margin[active], settings)
        )
        active = active[board.points.at(rows[active]).lowest_effort < before]


def _droppable_changes(problem: Problem, points: Points) -> Mask:
    """The changed numbers of points ``(n, 1, d)`` that may move by themselves, ``(n, d)``."""
    return (
        problem.region.is_changed(points.x)[:, 0]
        & problem.region.free
        & problem.numeric
        & ~problem.region.system.is_following
    )


def _leave_each_out(problem: Problem, points: Points, row_margin: Array, settings: SearchSettings) -> Points:
    """The answers ``(n, 1, d)`` without one of their changes each, ``(n, c, d)``: the smallest changes first."""
    x, region, changed = points.x[:, 0], problem.region, _droppable_changes(problem, points)
    size = problem.energy.distance.differences(points.x, problem.x0)[:, 0]
    count = int(min(settings.smooth.max_left_out_columns, changed.sum(axis=1).max()))
    columns = np.argsort(np.where(changed, size, np.inf), axis=1, kind="stable")[:, :count]
    real = np.take_along_axis(changed, columns, axis=1)
    row, slot = np.nonzero(real)
    held = np.zeros((len(row), x.shape[1]), dtype=bool)
    held[np.arange(len(row)), columns[row, slot]] = True
    start = np.where(held, region.nearest_feasible[row], x[row])
    return _descend_apart(problem, start, held, row_margin, (row, slot), real.shape, settings)


def _descend_apart(
    problem: Problem,
    start: Array,
    held: Mask,
    row_margin: Array,
    place: tuple[Index, Index],
    shape: tuple[int, ...],
    settings: SearchSettings,
) -> Points:
    """Taylor steps from points ``start`` ``(p, d)`` with the ``held`` cells ``(p, d)`` as they are, each by itself.

    ``place`` says which row and slot of the ``shape`` ``(n, c)`` each belongs to; other slots hold no point.
    """
    row, slot = place
    every = Points(
        np.repeat(problem.region.nearest_feasible[:, None, :], shape[1], axis=1),
        np.full(shape, -np.inf),
        np.full(shape, np.inf),
    )
    if not len(row):
        return every
    alone = problem.take(row)
    held = held & ~alone.region.system.is_following
    alone = replace(alone, region=replace(alone.region, free=alone.region.free & ~held))
    points = score_points(alone, start[:, None, :])
    found = descend(alone, points, settings.smooth.taylor_steps, row_margin[row], settings=settings, follows=True)
    for mine, new in zip(every, found, strict=True):
        mine[row, slot] = new[:, 0]
    return every
