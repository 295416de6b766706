"""Sweeps under noise: features that do most to the copies that decide, tried at other values and put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from counterpoise.methods.categories import switchable_columns
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.firm.guided import FirmPoints, Race, copy_margins
from counterpoise.methods.firm.proposals import stretch
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.search_settings import SearchSettings
from counterpoise.methods.trials.sweep import SweepResult, max_useful_distance, sweep
from counterpoise.problem import Problem
from counterpoise.types import Array, Index


def sweep_features(
    race: Race, now: FirmPoints, others: Sequence[FirmPoints], leverage: Array, search: SearchSettings
) -> None:
    """Replace firm points by nearer ones that a sweep around them, or around ``others`` of their rows, leads to.

    The sweep sees the few copies that decide; what it finds is counted on all of them. All are swept around at once.
    """
    rows = now.found
    if not len(rows) or race.problem.has_expired:
        return
    times, each = len(others), np.arange(len(rows))
    around = FirmPoints.concatenate([other.at(rows) for other in others])
    again = np.tile(rows, times)
    wide, current = race.take(again), now.at(again)
    lean, _ = wide.with_deciding_copies(around)
    swept = _sweep_around(wide, lean, score_points(lean, around.x[:, None]), current, leverage[again], search)
    limit = (1 - race.settings.min_gain_share) * current.effort
    nearer = wide.run(np.concatenate([swept.points.x, swept.combinations], axis=1), limit, around)
    for place in range(times):
        now.improve(nearer.at(each + place * len(rows)), rows)


def climb(race: Race, x: Array, leverage: Array, search: SearchSettings) -> FirmPoints:
    """Firm points that sweeps lead to from points ``x`` ``(n, d)`` that are not firm: they lose fewer copies each time.

    What a sweep leads to is also tried farther out.
    """
    settings, (n, m) = race.settings, race.draws.shape[:2]
    found, current, rows = FirmPoints.unknown(x, m), FirmPoints.unknown(x, m), np.arange(n)
    for _ in range(settings.climbing_sweeps):
        if not len(rows) or race.problem.has_expired:
            break
        race_part = race.take(rows)
        part, at = race_part.problem, current.at(rows)
        at.margin = copy_margins(part, np.arange(len(rows)), at.x, race_part.draws)[0]
        lean, _ = race_part.with_deciding_copies(at)
        points = score_points(lean, at.x[:, None])
        best = _sweep_around(race_part, lean, points, at, leverage[rows], search).points.best(1)
        current.x[rows] = best.x[:, 0]
        farther = stretch(part, best.x, settings.climbing_factors)
        new = race_part.run(farther, np.full(len(rows), np.inf), at)
        found.put(rows[new.found], new.at(new.found))
        rows = rows[np.isinf(new.effort) & (best.margin[:, 0] > points.margin[:, 0])]
    return found


def _sweep_around(
    race: Race, lean: Problem, points: Points, current: FirmPoints, leverage: Array, search: SearchSettings
) -> SweepResult:
    """What a sweep around points ``(n, q, d)`` leads to; features are those that matter at ``current``."""
    settings = race.settings
    cells, reach = Cells.of(lean), max_useful_distance(lean, current.effort, settings=search)
    only = pick_features(race, cells, current, leverage)
    return sweep(lean, cells, points, reach, settings.sweep_width, only, settings=search)


def pick_features(race: Race, cells: Cells | None, current: FirmPoints, leverage: Array) -> Index | None:
    """The features ``(n, g)``, numbered as a sweep does, that do most to the score, and that noise works through most.

    ``leverage`` ``(n, d)`` is what each column does to the score; what noise does is read off the copies: their
    margins beside their draws. None: all features.
    """
    problem, settings = race.problem, race.settings
    columns = np.flatnonzero(problem.numeric) if cells is None else cells.columns
    columns = np.concatenate([columns, [column for column, _ in switchable_columns(problem)]]).astype(np.intp)
    if len(columns) <= settings.swept_features:
        return None
    free = problem.region.free[:, columns]
    noisy = np.where(free, _effect_of_draws(race.draws, current.margin)[:, columns], -1.0)
    able = np.where(free, leverage[:, columns], -1.0)
    noisiest = np.argsort(-noisy, axis=1, kind="stable")[:, : settings.noisiest_features]
    np.put_along_axis(able, noisiest, np.inf, axis=1)
    return np.argsort(-able, axis=1, kind="stable")[:, : settings.swept_features]


def measure_leverage(problem: Problem, x: Array, search: SearchSettings) -> Array:
    """What each column does to the margin without noise, ``(n, d)``: by the slope at ``x`` ``(n, d)``, in scales.

    Models without a slope are asked about a few values of every feature of the row, and so are categories.
    """
    plain, cells, out = replace(problem, cloud=None), Cells.of(problem), np.zeros(x.shape)
    effort = problem.energy.effort(x[:, None], problem.x0)[:, 0]
    reach = max_useful_distance(plain, effort, settings=search)
    home = score_points(plain, plain.region.nearest_feasible[:, None, :])
    switched = [column for column, _ in switchable_columns(problem)]
    numbers = np.flatnonzero(problem.numeric) if cells is None else cells.columns
    columns = np.concatenate([numbers, switched]).astype(np.intp)
    only = None
    if problem.has_gradient:  # the slope knows numbers alone
        out = np.where(problem.numeric, np.abs(plain.gradient(x[:, None])[1][:, 0]) * problem.scales, 0.0)
        only = np.tile(len(numbers) + np.arange(len(switched)), (len(x), 1))
        columns, kept = columns[len(numbers) :], slice(len(numbers), None)
    if len(columns):
        effect = sweep(plain, cells, home, reach, 1, only, settings=search).effect
        out[:, columns] = effect if only is None else effect[:, kept]
    return np.asarray(out)


def _effect_of_draws(draws: Array, margin: Array) -> Array:
    """How much of the margins ``(n, m)`` each column of the draws ``(n, m, d)`` explains, ``(n, d)``, from 0 to 1."""
    spread = margin - margin.mean(axis=1, keepdims=True)
    size = np.sqrt((spread**2).sum(axis=1) * draws.shape[1])
    return np.asarray(np.abs(np.einsum("nm,nmd->nd", spread, draws)) / np.maximum(size, 1e-300)[:, None])
