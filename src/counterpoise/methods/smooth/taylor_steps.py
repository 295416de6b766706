"""Descent by Taylor steps, for models with a slope: walk to the boundary on a shrinking sphere, then slide along it.

The walk is the one of decoupled direction and norm (Rony et al., 2019): a step along the slope, then back to a sphere
around the row whose radius shrinks while the target is reached and grows while it is not. The descent expands the
score, Eq. (2), jumps to the nearest point of the tangent boundary and repeats, as long as the energy of Eq. (3) falls.
"""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi
from typing import NamedTuple

import numpy as np

from counterpoise.methods.categories import fill_missing_cells, switch_single_categories
from counterpoise.methods.points import Points, make_points, score_points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.slopes import lattice_unit, score_and_gradient
from counterpoise.methods.smooth.tangent import step_to_tangent_boundary
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


def walk_to_boundary(
    problem: Problem, x: Array, radius: Array, steps: int, settings: SearchSettings = DEFAULTS
) -> Points:
    """The nearest valid points that walks from ``x`` ``(n, k, d)`` meet; ``radius`` ``(n, k)`` of the first sphere."""
    start, scales = np.where(np.isnan(problem.x0)[:, None, :], x, problem.x0[:, None, :]), problem.scales
    moves = problem.numeric & problem.region.free[:, None, :] & ~np.isnan(x)
    low, high = problem.region.lower[:, None, :], problem.region.upper[:, None, :]
    nearest, shortest = x, np.full(radius.shape, np.inf)
    every = bool(moves.all())
    for step in range(steps):
        score, gradient = score_and_gradient(problem, x, settings=settings)
        u = (x - start) / scales if every else np.where(moves, (x - start) / scales, 0.0)
        length = _length(u)
        better = score.reached & (length < shortest)
        nearest, shortest = np.where(better[..., None], x, nearest), np.where(better, length, shortest)
        h = gradient * scales
        share = (
            settings.smooth.last_step_share
            + (settings.smooth.first_step_share - settings.smooth.last_step_share) * (1 + cos(pi * step / steps)) / 2
        )
        u += (share * radius / np.maximum(_length(h), 1e-300))[..., None] * h
        radius = radius * np.where(
            score.reached, 1 - settings.smooth.radius_shrink_share, 1 + settings.smooth.radius_shrink_share
        )
        u *= (radius / np.maximum(_length(u), 1e-300))[..., None]
        u *= scales
        u += start
        y = np.minimum(np.maximum(u, low), high)
        x = y if every else np.where(moves, y, x)
        if problem.has_expired:
            break
    return score_points(problem, nearest)  # on the lattice, where one that was valid may be so no longer


def scatter_walkers(
    problem: Problem, streams: Streams, best: Points, chains: int, margin: Array, gradient: Array
) -> tuple[Array, Array]:
    """Where ``chains`` walkers of each row set out, ``(n, k, d)``, and the radius ``(n, k)`` of their spheres.

    ``margin`` ``(n, 1)`` and ``gradient`` ``(n, 1, d)`` are those of the rows.
    """
    d = problem.x0.shape[1]
    steep = np.sqrt(np.square(gradient * problem.scales).sum(axis=-1))
    with np.errstate(over="ignore"):
        expected = np.abs(margin) / np.maximum(steep, 1e-300)  # where the expansion puts the boundary
    # where no answer is known, about as far as rows are from each other
    known = np.where(best.valid, problem.energy.distance(best.x, problem.x0), d**0.5)
    radius = np.repeat(np.where(steep > 0, np.minimum(expected, known), known), chains, axis=1)
    spread = streams.normal((chains, d)) * (radius[..., None] * 0.5 / np.sqrt(d)) * problem.scales
    spread[:, 0] = 0.0  # one chain starts at the row itself
    # half of the walkers keep the row's own categories, the others take those of the best start
    own_levels = (np.arange(chains) % 2 == 0)[:, None]
    levels = np.where(own_levels, problem.x0[:, None, :], best.x)
    x, _ = problem.region.bring_inside(np.where(problem.numeric, problem.x0[:, None, :] + spread, levels))
    return x, radius


class TaylorJump(NamedTuple):
    """The expansion at n rows, Eq. (2), and where it leads those whose score is linear."""

    margin: Array  # (n, 1)
    gradient: Array  # (n, 1, d)
    linear_rows: Index  # (r,) the rows whose score is linear,
    points: Points  # (r, 1, d) the nearest points of their boundaries


def jump_linear_rows(problem: Problem, elsewhere: Array, settings: SearchSettings = DEFAULTS) -> TaylorJump:
    """The Taylor jump, Eq. (2), of each row whose score is linear: then nothing can be nearer.

    ``elsewhere`` ``(n, k, d)`` are other points of the row: the slope is the same at all of them where the score is
    linear. A coarse lattice, a relation or a ceiling may be in the way of the nearest point: then no row counts so.
    """
    x0 = problem.x0[:, None, :]
    score, gradient = score_and_gradient(problem, np.concatenate([x0, elsewhere], axis=1), settings=settings)
    steep, margin = gradient[:, :1], score.margin[:, :1]
    even = np.abs(gradient - steep).max(axis=(1, 2)) <= settings.smooth.linearity_tolerance * np.abs(gradient).max(
        axis=(1, 2)
    )
    region = problem.region
    plain = (
        region.max_changes is None
        and region.system.has_only_orders
        and problem.cloud is None
        and problem.energy.is_norm_plus_prices
    )
    coarse = lattice_unit(problem) > settings.smooth.fine_spacing_scales * problem.scales
    if not plain or not problem.is_all_numeric or coarse.any():
        even[:] = False
    even &= ~(np.isnan(problem.x0) & region.free).any(axis=1)  # a missing cell that is given a value may do more
    rows = np.flatnonzero(even)
    if not len(rows):
        return TaylorJump(margin, steep, rows, Points(x0[rows], margin[rows], margin[rows]))
    bound = problem.take(rows)
    part, start, slack = bound, x0[rows], slack_of(margin[rows], settings=settings)
    if len(region.system):  # what is nearest without the orders, and obeys them, is nearest with them
        part = replace(bound, region=replace(bound.region, system=bound.region.system.without_relations()))
    ahead = step_to_tangent_boundary(part, start, margin[rows], steep[rows], slack, settings=settings)
    y, inside = round_keeping_margin(part, ahead, start, margin[rows], steep[rows], slack)
    inside = inside & bound.region.contains(y) if len(region.system) else inside
    return TaylorJump(margin, steep, rows, make_points(part, y, part.score(y), inside))


def descend(
    problem: Problem,
    points: Points,
    rounds: int,
    row_margin: Array | None = None,
    price_factors: Array | float = 1.0,
    settings: SearchSettings = DEFAULTS,
    *,
    follows: bool = False,
) -> Points:
    """The best valid points of chains that start at ``points`` and take ``rounds`` damped Taylor steps each.

    ``row_margin`` ``(n, 1)`` is the margin of the rows themselves, where it is known; ``price_factors`` ``(k,)``
    multiply what changes cost in the steps of each chain; ``follows``: columns that relations compute move with those
    that are changed.
    """
    best = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
    row_margin = problem.score(problem.x0[:, None, :]).margin if row_margin is None else row_margin
    slack = slack_of(row_margin, settings=settings)
    trial = x = aim = points.x
    inside = points.valid
    gradient, margin = np.zeros_like(x), points.margin
    merit, share, extra = np.full(margin.shape, np.inf), np.ones(margin.shape), np.zeros(margin.shape)
    for number in range(rounds):
        score, steep = score_and_gradient(problem, trial, settings=settings)
        effort = problem.energy.effort(trial, problem.x0)
        better = score.reached & (effort < best.effort) & inside
        best.x[better], best.margin[better], best.effort[better] = trial[better], score.margin[better], effort[better]
        if number == rounds - 1 or problem.has_expired:
            break
        with np.errstate(over="ignore"):  # no slope at all: no step leads there
            energy = effort + _penalty_mu(problem, steep, settings=settings) * np.maximum(0.0, slack - score.margin)
        taken = energy <= merit
        x = np.where(taken[..., None], trial, x)
        gradient = np.where(taken[..., None], steep, gradient)
        margin, merit = np.where(taken, score.margin, margin), np.where(taken, energy, merit)
        if number and len(problem.region.system):  # mending takes margin: the next step aims so much farther
            extra += np.where(taken & ~score.reached, settings.smooth.shortfall_factor * (slack - score.margin), 0.0)
        aim = np.where(
            taken[..., None],
            step_to_tangent_boundary(
                problem, trial, score.margin, steep, slack + extra, price_factors, settings=settings, follows=follows
            ),
            aim,
        )
        share = np.where(taken, np.minimum(1.0, 2 * share), 0.5 * share)
        trial, inside = round_keeping_margin(problem, x + share[..., None] * (aim - x), x, margin, gradient, slack)
    return best


def descend_from_switches(problem: Problem, settings: SearchSettings = DEFAULTS) -> Points:
    """The rows with one category switched or one missing cell filled, ``(n, s, d)``, then moved by Taylor steps.

    At most ``max_descent_switches`` switches are tried.
    """
    trial = switch_single_categories(problem, problem.region.nearest_feasible)
    tried_switches = np.linspace(
        0, trial.shape[1] - 1, min(trial.shape[1], settings.smooth.max_descent_switches)
    ).astype(np.intp)
    given, real = fill_missing_cells(problem, problem.region.nearest_feasible, settings=settings)
    trial, real = (
        np.concatenate([trial[:, tried_switches], given], axis=1),
        np.pad(real, ((0, 0), (len(tried_switches), 0)), constant_values=True),
    )
    if not trial.shape[1]:  # no category has another level, and nothing is missing
        return score_points(problem, problem.region.nearest_feasible[:, None, :])
    return descend(problem, score_points(problem, trial), settings.smooth.branch_steps, settings=settings).masked(real)


def coarse_cells(problem: Problem, points: Points, settings: SearchSettings = DEFAULTS) -> Mask:
    """Where rounding to the nearest value is not slight for the answers ``(n, 1, d)`` that rows have, ``(n, d)``.

    Values are far apart by themselves, or beside how far the answer is; a row without one is taken to be far.
    """
    apart = lattice_unit(problem) / problem.scales
    length = problem.energy.distance(points.x, problem.x0)
    near = np.where(points.valid, settings.smooth.coarse_spacing_share * length, np.inf)
    return (apart > np.minimum(near, settings.trials.coarse_spacing_scales)) & problem.numeric


def branch_whole_numbers(problem: Problem, points: Points, settings: SearchSettings = DEFAULTS) -> Points:
    """Answers ``(n, 1, d)`` with one coarse column a value up or down, the other columns slid to fit.

    Rounding settles whole numbers one by one; which of them to take decides the rest. At most ``max_branch_columns``
    columns are tried, those that have moved farthest; and all of them as they are, and as the row has them.
    """
    coarse = coarse_cells(problem, points, settings=settings)
    moved = np.where(coarse, np.nan_to_num(np.abs(points.x[:, 0] - problem.x0)) / problem.scales, -1.0)
    count = int(min(settings.smooth.max_branch_columns, coarse.sum(axis=1).max(initial=0)))
    columns = np.argsort(-moved, axis=1, kind="stable")[:, :count]  # (n, c)
    # a row with fewer coarse columns than others has places in which nothing is moved
    real = np.take_along_axis(coarse, columns, axis=1)
    trial = np.repeat(points.x, 2 * count, axis=1)
    rows, slots = np.arange(len(trial))[:, None], np.arange(count)
    for first, way in ((0, -1.0), (count, 1.0)):
        beside = problem.region.lattice.neighbours(points.x, np.full(points.x.shape, way))[:, 0]
        trial[rows, slots + first, columns] = np.where(
            real, np.take_along_axis(beside, columns, axis=1), trial[rows, slots + first, columns]
        )
    region = problem.region
    back = np.where(coarse[:, None, :], region.nearest_feasible[:, None, :], points.x)
    still = replace(problem, region=replace(region, free=region.free & ~coarse))
    return descend(
        still,
        score_points(problem, np.concatenate([points.x, back, trial], axis=1)),
        settings.smooth.branch_steps,
        settings=settings,
    )


def round_keeping_margin(
    problem: Problem, y: Array, x: Array, margin: Array, gradient: Array, slack: Array
) -> tuple[Array, Mask]:
    """Points ``y`` ``(n, k, d)`` on the lattice, with as much margin as the expansion around ``x`` gave them off it.

    Rounding to the nearest value costs margin about half of the time. Where it does, a column is moved one step on:
    the one whose step is just enough. Also says which points the region allows.
    """
    z, inside = problem.region.bring_inside(y)
    unit = lattice_unit(problem)
    if not unit.any():
        return z, inside
    fixed = np.isnan(problem.x0)[:, None, :] | ~problem.numeric
    promised = margin + np.einsum("nkd,nkd->nk", gradient, np.where(fixed, 0.0, y - x))
    lacking = np.minimum(promised, slack) - margin - np.einsum("nkd,nkd->nk", gradient, np.where(fixed, 0.0, z - x))
    for _ in range(3):
        if not (lacking > 0).any():
            break
        moved = problem.region.lattice.neighbours(z, np.where(unit > 0, gradient, 0.0))
        room = (moved >= problem.region.lower[:, None, :]) & (moved <= problem.region.upper[:, None, :])
        if problem.region.max_changes is not None:
            room &= z != problem.x0[:, None, :]
        gain = np.where(room & (unit > 0), np.nan_to_num(gradient * (moved - z)), 0.0)
        enough = np.where(gain >= lacking[..., None], gain, np.inf)
        column = np.where(np.isfinite(enough.min(axis=-1)), enough.argmin(axis=-1), gain.argmax(axis=-1))[..., None]
        gained = np.take_along_axis(gain, column, axis=-1)
        use = (lacking[..., None] > 0) & (gained > 0)
        old, new = np.take_along_axis(z, column, axis=-1), np.take_along_axis(moved, column, axis=-1)
        np.put_along_axis(z, column, np.where(use, new, old), axis=-1)
        lacking = np.where(use[..., 0], lacking - gained[..., 0], lacking)
    return problem.region.bring_inside(z)


def slack_of(row_margin: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """How far past the boundary steps of rows with this margin of their own aim."""
    return np.asarray(settings.smooth.boundary_slack_share * np.maximum(np.abs(row_margin), 1e-3))


def _length(u: Array) -> Array:
    return np.asarray(np.sqrt(np.vecdot(u, u)))


def _penalty_mu(problem: Problem, gradient: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """mu of each point: the dual norm of the slope makes a minimum of E valid."""
    h = gradient * problem.scales
    steep = _length(h) if problem.energy.distance.spreads_changes else np.abs(h).max(axis=-1)
    return settings.smooth.mu_factor / np.maximum(steep, 1e-300)
