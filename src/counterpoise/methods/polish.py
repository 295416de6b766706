"""The last mile: walk changes back, one feature at a time, while the row stays valid and feasible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.methods.base import Method, Run, last_run
from counterpoise.methods.model_kinds import leaves_of
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.finish import PolishSettings
from counterpoise.methods.settings.search_settings import POLISH_DEFAULTS
from counterpoise.methods.slopes import lattice_unit
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True)
class Polished:
    """Another method's best ``answers``, with redundant changes removed and the rest shortened.

    method: the method whose answers are polished.
    answers: how many of its best answers are polished.
    settings: how; see docs/reference/settings.md.

    >>> from counterpoise.methods.baselines.nearest import NearestNeighbour
    >>> Polished(NearestNeighbour()).answers
    1
    """

    method: Method
    answers: int = 1
    settings: PolishSettings = POLISH_DEFAULTS

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        run, none = None, np.zeros(len(problem), dtype=bool)
        budget = problem.tally.row_budget
        whole = 0 if budget is None else budget.search_limit
        if budget is not None:
            budget.search_limit -= int(self.settings.share_of_model_rows * whole)
        for run in self.method.iterate(problem, streams):
            yield run._replace(done=none)
        if budget is not None:
            budget.search_limit = whole
        assert run is not None, "a method yields at least one run"
        yield polish_run(problem, run, self.answers, self.settings)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))


def polish_run(problem: Problem, run: Run, answers: int, settings: PolishSettings = POLISH_DEFAULTS) -> Run:
    """A run whose best answers are as short as single-feature steps can make them."""
    rough = run.valid[:, :answers]
    if run.locally_minimal_effort is not None:
        rough = rough & (run.effort[:, :answers] != run.locally_minimal_effort[:, None])
    rows, slots = np.nonzero(rough)
    if not len(rows) or problem.has_expired:
        return run._replace(done=np.ones_like(run.done))
    alone = problem.take(rows)
    before = Points(run.x[rows, slots][:, None], run.margin[rows, slots][:, None], run.effort[rows, slots][:, None])
    # what few changes leave undone is mostly all of them: whether a row has slack is asked along with that
    tried = score_points(
        alone,
        np.concatenate([_set_back(alone, before.x[:, 0], settings), _step_nearer(alone, before.x, settings)], axis=1),
    )
    after = undo_changes(alone, before, tried.first(tried.x.shape[1] - 1).best(1), settings)
    slack, moved = tried.effort[:, -1] < before.effort[:, 0], np.flatnonzero(after.effort[:, 0] != before.effort[:, 0])
    if len(moved):
        part, there = alone.take(moved), after.at(moved)
        slack[moved] = (score_points(part, _step_nearer(part, there.x, settings)).effort < there.effort)[:, 0]
    after = shorten_changes(alone, after, slack, settings)
    every = Points(run.x.copy(), run.margin.copy(), run.effort.copy())
    for mine, new in zip(every, after, strict=True):
        mine[rows, slots] = new[:, 0]
    after_run = Run(*every.best(run.x.shape[1]), np.ones_like(run.done), run.steps)
    return after_run._replace(bound=run.bound, is_infeasible=run.is_infeasible, further_bound=run.further_bound)


def undo_changes(
    problem: Problem, points: Points, first: Points | None = None, settings: PolishSettings = POLISH_DEFAULTS
) -> Points:
    """Answers ``(n, 1, d)`` with every change set back that can be, the dearest first.

    ``first`` are the best points ``(n, 1, d)`` with one change set back, where these are known.
    """
    found = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
    active = np.flatnonzero(_count_changes(problem, points) > 1)  # one change is what it takes
    best = None if first is None else first.at(active)
    while len(active) and not problem.has_expired:
        part, current = problem.take(active), found.at(active)
        if best is None:
            best = score_points(part, _set_back(part, current.x[:, 0], settings)).best(1)
        # what relations mend may slide on for ever, a little at a time
        has_fewer = _count_changes(part, best) < _count_changes(part, current)
        gain = np.where(has_fewer, 0.0, settings.min_gain_share * current.effort[:, 0])
        better = best.effort[:, 0] < current.effort[:, 0] - gain
        active = active[better]
        for mine, new in zip(found, best, strict=True):
            mine[active] = new[better]
        best = None
    return found


def _count_changes(problem: Problem, points: Points) -> Index:
    """How many features points ``(n, 1, d)`` change, ``(n,)``."""
    return np.asarray(problem.region.is_changed(points.x)[:, 0].sum(axis=1))


def shorten_changes(problem: Problem, points: Points, slack: Mask, settings: PolishSettings) -> Points:
    """Answers ``(n, 1, d)`` with single numeric changes halved back towards the row as far as they stay valid.

    Rows that have no ``slack`` ``(n,)`` are on the boundary, but where values are far apart nobody knows that, unless
    leaves tell which value of a cell is the nearest, and no relation moves it on.
    """
    found = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
    if leaves_of(problem) is None or len(problem.region.system):
        apart = lattice_unit(problem) > settings.coarse_spacing_scales * problem.scales
        slack = slack | (problem.region.is_changed(points.x)[:, 0, :] & apart).any(axis=1)
    active = np.flatnonzero(slack)
    for _ in range(settings.passes):
        if not len(active) or problem.has_expired:
            break
        part, current = problem.take(active), found.at(active)
        best = _bisect_columns(part, current, settings).best(1)
        better = best.effort[:, 0] < current.effort[:, 0] * (1 - settings.min_gain_share)
        active = active[better]
        for mine, new in zip(found, best, strict=True):
            mine[active] = new[better]
    return found


def _step_nearer(problem: Problem, x: Array, settings: PolishSettings) -> Array:
    """Points ``(n, 1, d)`` a little nearer to the row: what stays valid there is not on the boundary."""
    start = problem.x0[:, None, :]
    if not problem.region.has_no_missing:
        start = np.where(np.isnan(start), x, start)
    nearer = start + (1 - settings.slack_probe_share) * (x - start)
    return nearer if problem.is_all_numeric else np.where(problem.numeric, nearer, x)


def _pick_columns(delta: Array, wanted: Mask, settings: PolishSettings) -> tuple[Index, Mask]:
    """Up to ``max_columns`` wanted columns of each row, the largest ``delta`` first, and which entries are real."""
    count = int(min(settings.max_columns, wanted.sum(axis=1).max(initial=0)))
    order = np.argsort(np.where(wanted, -delta, np.inf), axis=1, kind="stable")[:, :count]
    return order, wanted[np.arange(len(order))[:, None], order]


def _set_back(problem: Problem, x: Array, settings: PolishSettings) -> Array:
    """Proposals ``(n, c, d)``: each sets one change back, or several of the smallest at once."""
    changed = problem.region.is_changed(x[:, None, :])[:, 0, :] & problem.region.free
    delta = problem.energy.distance.differences(x[:, None, :], problem.x0)[:, 0, :]
    columns, real = _pick_columns(delta, changed, settings)
    trial = np.repeat(x[:, None, :], max(columns.shape[1], 1), axis=1)
    rows, slots = np.nonzero(real)
    trial[rows, slots, columns[rows, slots]] = problem.x0[rows, columns[rows, slots]]
    sizes = settings.reset_group_sizes[
        : np.searchsorted(settings.reset_group_sizes, changed.sum(axis=1).max(initial=0), side="right")
    ]
    if not len(sizes):
        return trial
    rank = np.argsort(np.argsort(np.where(changed, delta, np.inf), axis=1), axis=1)
    groups = np.where(rank[:, None, :] < sizes[None, :, None], problem.x0[:, None, :], x[:, None, :])
    return np.concatenate([trial, groups], axis=1)


def _bisect_columns(problem: Problem, points: Points, settings: PolishSettings) -> Points:
    """Points ``(n, c, d)``: in each one changed column is as near to the row as bisection brings it, alone."""
    x = points.x[:, 0]
    movable = problem.region.is_changed(points.x)[:, 0, :] & problem.numeric & ~np.isnan(problem.x0)
    columns, real = _pick_columns(problem.energy.distance.differences(points.x, problem.x0)[:, 0], movable, settings)
    held = Points(*(np.repeat(array, max(columns.shape[1], 1), axis=1) for array in points))
    if not real.any():
        return held
    rows, slots = np.nonzero(real)
    column = columns[rows, slots]
    refused = problem.x0[rows, column]

    def stays_valid(middle: Array) -> Mask | None:
        """Which middles are valid: those on a value that was asked about are as it was, and the others are asked."""
        if problem.has_expired:
            return None
        value = problem.region.lattice.snap_cells(column, middle, rows)
        good: Mask = value == held.x[rows, slots, column]
        asked = np.flatnonzero(~good & (value != refused))
        if not len(asked):
            return good
        some, place = np.unique(rows[asked], return_inverse=True)
        there = place, slots[asked]
        trial = held.x[some]
        trial[(*there, column[asked])] = value[asked]
        tried = score_points(problem.take(some), trial)
        good[asked] = tried.valid[there]
        for mine, new in zip(held, tried, strict=True):
            mine[rows[asked], slots[asked]] = np.where(
                good[asked].reshape(-1, *[1] * (new.ndim - 2)), new[there], mine[rows[asked], slots[asked]]
            )
        refused[~good] = value[~good]
        return good

    start, end = problem.x0[rows, column], x[rows, column]
    bisect(start, end, stays_valid, _count_halvings(problem, np.abs(end - start), column, settings))
    return held


def _count_halvings(problem: Problem, length: Array, column: Index, settings: PolishSettings) -> int:
    """How often changes of this length are halved: until none spans more than a step between values of its column."""
    unit = lattice_unit(problem)[column]
    if not unit.all() or len(problem.region.system):  # relations move a change on, by less than its own step
        return settings.halvings
    return int(min(settings.halvings, np.ceil(np.log2(np.maximum(length / unit, 1.0).max(initial=1.0)))))
