"""Where searches start: reference rows of the target, made feasible and brought to the boundary, or random jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.methods.model_kinds import leaves_of
from counterpoise.methods.points import Points, join_points, score_points, stack_rows
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.models.goals import RangeGoal
from counterpoise.problem import Problem
from counterpoise.space.nearest_rows import pad_lists, spread_places
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask, split_rows


def start_at_reference_rows(problem: Problem, count: int, settings: SearchSettings = DEFAULTS) -> Points:
    """The nearest reference rows that the model gives the target, made feasible: up to ``count`` per row.

    Fixed features keep the row's value, so that a donor may lose the target; those that keep it come first.
    """
    if not settings.starts.reference_rows_tried_first:
        return score_points(problem, np.repeat(problem.region.nearest_feasible[:, None, :], count, axis=1))
    looked_at = 2 * count if problem.has_gradient else max(settings.starts.reference_rows_tried_first, count)
    if leaves_of(problem) is not None and problem.region.max_changes is None:
        looked_at = count  # surveys, as walkers, set out from the nearest alone
    if problem.model_rows_left < np.inf:
        looked_at = min(looked_at, max(count, int(settings.starts.reference_share_of_budget * problem.model_rows_left)))
    feasible = problem.region.project(list_reference_rows(problem, looked_at, settings=settings))
    points = score_points(problem, feasible).best(count)
    for further in (
        settings.starts.reference_rows_tried_first,
        settings.starts.reference_rows_tried_next,
    ):  # the near ones may owe the target to what may not change
        lost = np.flatnonzero(~points.valid.any(axis=1))
        is_known = len(problem.reference_rows.x) <= looked_at or further <= looked_at
        if not len(lost) or is_known or problem.has_expired:
            continue
        part = problem.take(lost)
        looked_at = int(min(further, part.model_rows_left / 2))
        if looked_at >= points.effort.shape[1]:
            more = score_points(
                part, part.region.project(list_reference_rows(part, looked_at, settings=settings))
            ).best(count)
            for mine, found in zip(points, more, strict=True):
                mine[lost] = found
    return (
        points
        if problem.region.max_changes is None
        else join_points(_borrow_features(problem, feasible, settings=settings), points).best(count)
    )


def list_reference_rows(problem: Problem, count: int, settings: SearchSettings = DEFAULTS) -> Array:
    """The nearest reference rows of the target, with the row's own value in fixed cells, ``(n, count, d)``.

    Rows with fewer of them are filled up with the row itself.
    """
    picked = np.repeat(problem.x0[:, None, :], count, axis=1)
    for group in problem.goal.group_rows() if len(problem.reference_rows.x) else ():
        pool = problem.reference_rows.get_target_pool(problem.goal.take(group[:1]), problem.energy.distance)
        # by squares first, whatever the distance: of four times as many the nearest are taken
        near = pool.find_nearest(problem.x0[group], 4 * count, problem.region.free[group])
        for some, places, real in pad_lists(near, settings.batches.near_cells // problem.x0.shape[1]):
            part = problem.take(group[some])
            # only the cells that may change count: the others will keep the row's value
            given = pool.x[places]
            mixed = np.where(part.region.free[:, None, :] & ~np.isnan(given), given, part.x0[:, None, :])
            effort = np.where(real, part.energy.effort(mixed, part.x0), np.inf)
            order = np.argsort(effort, axis=1, kind="stable")[:, :count]
            at = np.arange(len(some))[:, None], order
            held = picked[group[some]]
            held[:, : order.shape[1]] = np.where(real[at][..., None], mixed[at], part.x0[:, None, :])
            picked[group[some]] = held
    return picked


def is_far_from_reference(problem: Problem, effort: Array, settings: SearchSettings = DEFAULTS) -> Index:
    """Rows whose answers, of such an ``effort`` ``(n,)``, are none, or are far beside the nearest reference row."""
    near = problem.energy.effort(list_reference_rows(problem, 1, settings=settings), problem.x0)[:, 0]
    return np.flatnonzero(
        effort > np.where(near > 0, settings.starts.far_effort_share * near, np.finfo(np.float64).max)
    )


def _borrow_features(problem: Problem, given: Array, settings: SearchSettings = DEFAULTS) -> Points:
    """Copy a few features from donors ``(n, k, d)``, one at a time, always the one that gains most margin."""
    given = given[:, : settings.starts.lending_reference_rows]
    n, k, d = given.shape
    home = problem.region.nearest_feasible[:, None, :]
    now = score_points(problem, np.repeat(home, k, axis=1))
    every = np.arange(d)
    for _ in range(min(problem.region.max_changes or d, d)):
        open_rows = np.asarray(~now.valid.any(axis=1))
        if problem.has_expired or not open_rows.any():
            break
        single = np.repeat(now.x[:, :, None, :], d, axis=2)
        single[:, :, every, every] = given
        tried = score_points(problem, single.reshape(n, k * d, d))
        inside = problem.region.has_few_changes(tried.x)
        rank = np.where(tried.valid, np.inf, np.where(inside, tried.margin, -np.inf)).reshape(n, k, d)
        best = rank.argmax(axis=2)
        at = np.arange(n)[:, None], np.arange(k)[None, :] * d + best
        found = Points(tried.x[at], tried.margin[at], tried.effort[at])
        gains = np.take_along_axis(rank, best[..., None], axis=2)[..., 0] > now.margin
        now = now.replace_where(found, open_rows[:, None] & gains)
    return now


def find_range_crossings(problem: Problem, settings: SearchSettings = DEFAULTS) -> Points:
    """Points where lines to reference rows on the other side of a two-sided range pass through it.

    A narrow range may hold no reference row, and random jumps miss it. A model without steps meets every number between
    two that it gives, so halving the way ends inside. No points where a ration is short.
    """
    n, d = problem.x0.shape
    if not len(problem.reference_rows.x) or problem.model_rows_left < 2 * (
        settings.starts.crossing_reference_rows + settings.starts.crossing_halvings * settings.starts.max_crossings
    ):
        return score_points(problem, problem.region.nearest_feasible[:, None, :][:, :0])
    chunks = split_rows(n, settings.batches.crossing_cells, settings.starts.crossing_reference_rows * d)
    return stack_rows(_find_crossings_of_chunk(problem.take(rows), settings=settings) for rows in chunks)


def _find_crossings_of_chunk(problem: Problem, settings: SearchSettings = DEFAULTS) -> Points:
    given, home = problem.reference_rows.x, problem.region.nearest_feasible[:, None, :]
    given = given[spread_places(len(given), settings.starts.crossing_reference_rows)]
    below = is_below_range(problem)
    donors = problem.region.project(np.where(np.isnan(given), home, given))  # fixed cells keep the row's value
    effort = np.where(is_in_or_past_range(problem, donors, below), problem.energy.effort(donors, problem.x0), np.inf)
    order = np.argsort(effort, axis=1, kind="stable")[:, : settings.starts.max_crossings]
    far = np.take_along_axis(donors, order[..., None], axis=1)
    start = np.where(problem.numeric & ~np.isnan(home), home, far)  # categories switch at once

    def is_past(share: Array) -> Mask | None:
        if problem.has_expired:
            return None
        return is_in_or_past_range(problem, problem.region.project(start + share[..., None] * (far - start)), below)

    _, end = bisect(np.zeros(order.shape), np.ones(order.shape), is_past, settings.starts.crossing_halvings)
    return score_points(problem, start + end[..., None] * (far - start))


def nearest_misses(problem: Problem, count: int, settings: SearchSettings = DEFAULTS) -> Points:
    """Of reference rows with the row's own value in fixed cells, ``count`` that come nearest to the target by score."""
    given, home = problem.reference_rows.x, problem.region.nearest_feasible[:, None, :]
    given = given[
        spread_places(len(given), int(min(settings.starts.crossing_reference_rows, problem.model_rows_left / 2)))
    ]
    return score_points(problem, np.where(np.isnan(given), home, given)).best(count)


def is_two_sided_range(problem: Problem) -> bool:
    """True for a two-sided range on one continuous score, which a step can overshoot."""
    goal, model = problem.goal, problem.model
    if not isinstance(goal, RangeGoal) or model.predict_each is not None or model.thresholds is not None:
        return False
    return bool((np.isfinite(goal.low) & np.isfinite(goal.high)).all())


def make_one_sided(problem: Problem) -> Problem:
    """The same rows, asked to reach the nearer end of their range alone: the nearest answer to that may lie inside."""
    below = is_below_range(problem)[:, 0]
    goal = problem.goal
    assert isinstance(goal, RangeGoal)
    ends = replace(goal, low=np.where(below, goal.low, -np.inf), high=np.where(below, np.inf, goal.high))
    return replace(problem, goal=ends)


def is_below_range(problem: Problem) -> Mask:
    """Whether the number of each row is below the range that it should be in, ``(n, 1)``."""
    assert isinstance(problem.goal, RangeGoal)
    return np.asarray(problem.outputs(problem.region.nearest_feasible[:, None, :])[..., 0] < problem.goal.low[:, None])


def is_in_or_past_range(problem: Problem, x: Array, below: Mask) -> Mask:
    """Whether points ``(n, k, d)`` are inside the range or beyond it, for rows ``below`` it ``(n, 1)`` or above."""
    assert isinstance(problem.goal, RangeGoal)
    scores, low, high = problem.outputs(x)[..., 0], problem.goal.low[:, None], problem.goal.high[:, None]
    return np.asarray(np.where(below, scores >= low, scores <= high))


def jump_at_random(problem: Problem, streams: Streams, count: int, settings: SearchSettings = DEFAULTS) -> Points:
    """Random directions with doubling length and random points of the box, for rows that no donor serves."""
    d = problem.x0.shape[1]
    direction = streams.normal((count, d)) * problem.scales
    draws = streams.uniform((count, d))
    home, far = (
        problem.region.nearest_feasible,
        settings.starts.unbounded_scales * problem.scales,
    )  # what only a dtype bounds is not bounded
    home = np.where(np.isnan(home), np.clip(0.0, problem.region.lower, problem.region.upper), home)
    low = np.where(
        problem.region.lower < home - far,
        home - settings.starts.unbounded_reach_scales * problem.scales,
        problem.region.lower,
    )
    high = np.where(
        problem.region.upper > home + far,
        home + settings.starts.unbounded_reach_scales * problem.scales,
        problem.region.upper,
    )
    start = np.where(np.isnan(problem.x0), (low + high) / 2, problem.x0)[:, None, :]
    anywhere = low[:, None, :] + draws * (high - low)[:, None, :]
    for column, values in problem.region.lattice.choices_to_draw:
        anywhere[..., column] = values[(draws[..., column] * len(values)).astype(np.intp)]
    swap = streams.uniform((count, d)) < 0.5
    found = score_points(problem, problem.region.project(np.where(problem.numeric | swap, anywhere, start)))
    for doubling in range(settings.starts.length_doublings):
        if problem.has_expired:
            break
        reach = start + direction * (0.125 * 2.0**doubling / np.sqrt(d))
        mixed = np.where(problem.numeric, reach, np.where(swap, anywhere, start))
        trial = score_points(problem, problem.region.project(mixed))
        open_rows = np.asarray(~found.valid.any(axis=1))
        if not open_rows.any():
            break
        found = found.replace_where(trial, open_rows[:, None] & (trial.valid | (trial.margin > found.margin)))
    return found


def bisect_towards_row(problem: Problem, points: Points, rounds: int = 10) -> Points:
    """Valid points moved along the line to their row while they stay valid; the others are left as they are."""
    start = np.where(np.isnan(problem.x0)[:, None, :], points.x, problem.x0[:, None, :])
    return bisect_towards(problem, points, start, rounds)


def bisect_towards(problem: Problem, points: Points, goal: Array, rounds: int) -> Points:
    """Valid points moved along the line to ``goal`` ``(n, k, d)`` while they stay valid; others are left alone."""
    valid, found = points.valid, points

    def stays_valid(share: Array) -> Mask | None:
        nonlocal found
        if not valid.any() or problem.has_expired:
            return None
        line = np.where(problem.numeric, goal + share[..., None] * (points.x - goal), points.x)
        trial = score_points(problem, line)
        good = trial.valid & valid
        found = found.replace_where(trial, good & (trial.effort < found.effort))  # nearer may be dearer: an odd row
        return good

    bisect(np.zeros(valid.shape), np.ones(valid.shape), stays_valid, rounds)
    return found


def section_towards_row(problem: Problem, points: Points, sections: int, rounds: int) -> Points:
    """Valid points ``(n, k, d)`` moved along the lines to their row to the nearest valid point that sections meet.

    The same as bisection in fewer model calls: many points of each line at once, then many between the last two.
    """
    n, k, d = points.x.shape
    start = np.where(np.isnan(problem.x0)[:, None, :], points.x, problem.x0[:, None, :])
    near, far = np.zeros((n, k, 1)), np.ones((n, k, 1))
    found = points
    for _ in range(rounds):
        if problem.has_expired:
            break
        share = near + (far - near) * np.arange(1, sections) / sections
        line = start[:, :, None] + share[..., None] * (points.x - start)[:, :, None]
        line = np.where(problem.numeric, line, points.x[:, :, None])
        trial = score_points(problem, line.reshape(n, -1, d))
        nearest = np.where(trial.valid.reshape(share.shape), share, far).min(axis=2, keepdims=True)
        near, far = np.where(share < nearest, share, near).max(axis=2, keepdims=True), nearest
        for place in range(sections - 1):  # nearer may be dearer: an odd row
            other = trial.pick(np.broadcast_to(np.arange(k) * (sections - 1) + place, (n, k)))
            found = found.replace_where(other, other.effort < found.effort)
    return found


def start_at_row(problem: Problem, chains: int) -> Points:
    """Chains of every row that start at the row itself, or as near as the region allows; the model is not asked yet."""
    infinite = np.full((len(problem), chains), np.inf)
    return Points(np.repeat(problem.region.nearest_feasible[:, None, :], chains, axis=1), -infinite, infinite)


def sample_comparison_points(problem: Problem, streams: Streams, count: int) -> Array:
    """Points ``(n, count, d)`` to compare a row with: reference rows, or random ones where there are none."""
    x0 = problem.x0[:, None, :]
    if not len(problem.reference_rows.x):
        return x0 + np.where(problem.numeric, streams.normal((count, x0.shape[2])) * problem.scales, 0.0)
    given = problem.reference_rows.x[spread_places(len(problem.reference_rows.x), count)]
    return np.where(np.isnan(given), x0, given)


def make_starts(
    problem: Problem, streams: Streams, chains: int, rounds: int, settings: SearchSettings = DEFAULTS
) -> Points:
    """Chains of every row: donors and crossings, on the boundary, or random jumps where none keeps the target."""
    points = start_at_reference_rows(problem, chains, settings=settings)
    if is_two_sided_range(problem) and settings.starts.max_crossings:
        points = join_points(points, find_range_crossings(problem, settings=settings)).best(chains)
    lost = np.flatnonzero(~points.valid.any(axis=1))
    if len(lost):
        leaps = jump_at_random(problem.take(lost), streams.take(lost), chains, settings=settings)
        for mine, found in zip(points, join_points(points.at(lost), leaps).best(chains), strict=True):
            mine[lost] = found
    return bisect_towards_row(problem, points, rounds)
