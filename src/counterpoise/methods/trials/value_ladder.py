"""Lines: every feature moved alone, to either edge of its box, as far as it takes; then the best moves together.

What a few features can do is not in the slope at one point. A line is looked at on a ladder of steps first, then
between the last step that did not reach the target and the first one that did. The steps of all lines are also an
expansion of the margin, Eq. (2), in changes of single features: what they promise together is tried as in a sweep.
"""

from __future__ import annotations

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.methods.categories import switch_single_categories, switchable_columns, values_like_reference
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.points import Points, join_points, score_points, stack_rows
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.starts import is_below_range, is_in_or_past_range, is_two_sided_range
from counterpoise.methods.trials.prices import first_order_costs
from counterpoise.methods.trials.sweep import changes_left, combine_changes, to_additive_scale
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask, split_rows


def search_lines(problem: Problem, alone: int, together: int, settings: SearchSettings = DEFAULTS) -> Points:
    """The best points of each row that change one feature, and several, and the row itself, ``(n, k, d)``.

    At most one for every feature, ``alone`` of them, and ``together`` that change more.
    """
    n, d = problem.x0.shape
    columns = np.flatnonzero(problem.numeric & problem.region.free.any(axis=0))
    tried = max(2 * len(settings.trials.ladder_shares) * len(columns), _count_levels(problem), 1)
    return stack_rows(
        _search_lines_of_chunk(problem.take(rows), columns, alone, together, settings=settings)
        for rows in split_rows(n, settings.batches.cells, d * tried)
    )


def _search_lines_of_chunk(
    problem: Problem, columns: Index, alone: int, together: int, settings: SearchSettings = DEFAULTS
) -> Points:
    region, home = problem.region, problem.region.nearest_feasible
    n, f, w = len(home), len(columns), 2 * len(settings.trials.ladder_shares)
    way = _distances_to_edges(problem, columns, home, settings=settings)
    seen = score_points(
        problem,
        np.concatenate(
            [
                _move_columns(home, columns, way[..., None] * settings.trials.ladder_shares),
                _switch_few_categories(problem, settings=settings),
            ],
            axis=1,
        ),
    )
    ladder, switched = _slice_points(seen, 0, f * w), _slice_points(seen, f * w, -1)
    start_point = _slice_points(seen, -1, None)
    if not f:
        return join_points(switched.best(alone), start_point)
    below = is_below_range(problem) if is_two_sided_range(problem) else None
    reached = (ladder.valid if below is None else is_in_or_past_range(problem, ladder.x, below)).reshape(n, f, 2, -1)
    first = reached.argmax(axis=-1)
    near, far = np.where(first > 0, settings.trials.ladder_shares[first - 1], 0.0), settings.trials.ladder_shares[first]
    way = np.where(reached.any(axis=-1), way, 0.0)
    for _ in range(
        settings.trials.line_refinements if len(region.system) and below is None else 0
    ):  # Taylor steps may not stay on the line
        near, far = _narrow_brackets(problem, columns, way, near, far, settings=settings)
    share = near[..., None] + (far - near)[..., None] * settings.trials.subdivision_shares
    if below is not None:  # a ladder steps over a narrow range
        share = _bisect_into_range(problem, columns, way, near, far, below, settings=settings)[..., None]
    between = _move_columns(home, columns, way[..., None] * share)
    seen = score_points(
        problem,
        np.concatenate([between, _combine_steps(problem, columns, start_point, ladder, settings=settings)], axis=1),
    )
    closer, several = _slice_points(seen, 0, between.shape[1]), _slice_points(seen, between.shape[1], None)
    best = join_points(_group_by_line(ladder, f), _group_by_line(closer, f)).best(1)
    best = Points(*(array.reshape(n, f, *array.shape[2:]) for array in best))
    single_change = np.count_nonzero(region.is_changed(several.x), axis=-1) < 2
    several = several._replace(effort=np.where(single_change, np.inf, several.effort))
    found = join_points(join_points(best, switched).best(alone), several.best(together), start_point)
    if not len(region.system) or np.array_equal(home, region.row_in_box, equal_nan=True):
        return found
    # a row that breaks a relation itself: what mends it by one change may also turn the decision
    itself = score_points(
        problem,
        _move_columns(
            region.row_in_box,
            columns,
            _distances_to_edges(problem, columns, region.row_in_box, settings=settings)[..., None]
            * settings.trials.ladder_shares,
        ),
    )
    return join_points(found, itself.best(alone))


def _distances_to_edges(problem: Problem, columns: Index, start: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """How far each of ``columns`` may go down and up from points ``(n, d)``, ``(n, f, 2)``; 0 where it may not move."""
    region, current, farthest = (
        problem.region,
        start[:, columns],
        settings.trials.max_change_distance * problem.scales[columns],
    )
    down = np.maximum(region.lower[:, columns], current - farthest) - current
    up = np.minimum(region.upper[:, columns], current + farthest) - current
    return np.where(region.free[:, columns, None], np.stack([down, up], axis=2), 0.0)


def _move_columns(home: Array, columns: Index, by: Array) -> Array:
    """Rows ``home`` ``(n, d)`` with one of ``columns`` ``(f,)`` moved ``by`` so much ``(n, f, 2, w)``, one each."""
    n, each = len(home), by.shape[2] * by.shape[3]
    x = np.repeat(home[:, None, :], len(columns) * each, axis=1)
    x[:, np.arange(x.shape[1]), np.repeat(columns, each)] += by.reshape(n, -1)
    return x


def _narrow_brackets(
    problem: Problem, columns: Index, way: Array, near: Array, far: Array, settings: SearchSettings = DEFAULTS
) -> tuple[Array, Array]:
    """Shares ``(n, f, 2)`` of each way that the target is first reached between, eight times as near to each other."""
    share = near[..., None] + (far - near)[..., None] * np.append(
        0.0, np.append(settings.trials.subdivision_shares, 1.0)
    )
    tried = score_points(
        problem, _move_columns(problem.region.nearest_feasible, columns, way[..., None] * share[..., 1:-1])
    )
    reached = np.concatenate([tried.valid.reshape(*way.shape, -1), np.ones((*way.shape, 1), dtype=bool)], axis=-1)
    first = reached.argmax(axis=-1)[..., None]
    low, high = (np.take_along_axis(share, first + place, axis=-1)[..., 0] for place in (0, 1))
    return low, high


def _bisect_into_range(
    problem: Problem,
    columns: Index,
    way: Array,
    near: Array,
    far: Array,
    below: Mask,
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """The share ``(n, f, 2)`` of each way at which numbers come into a range, between ``near`` and ``far`` ones."""

    def is_past(share: Array) -> Mask:
        x, _ = problem.region.bring_inside(
            _move_columns(problem.region.nearest_feasible, columns, (way * share)[..., None])
        )
        return is_in_or_past_range(problem, x, below).reshape(way.shape)

    return bisect(near, far, is_past, settings.trials.range_halvings)[1]


def _switch_few_categories(problem: Problem, settings: SearchSettings = DEFAULTS) -> Array:
    """The rows with one category switched, at most ``max_line_switches`` of them, and the rows themselves, last."""
    home = problem.region.nearest_feasible
    every = switch_single_categories(problem, home)
    some = np.linspace(0, every.shape[1] - 1, min(every.shape[1], settings.trials.max_line_switches)).astype(np.intp)
    return np.concatenate([every[:, some], home[:, None, :]], axis=1)


def _combine_steps(
    problem: Problem, columns: Index, start_point: Points, ladder: Points, settings: SearchSettings = DEFAULTS
) -> Array:
    """What all steps of all lines promise together, ``(n, m, d)``."""
    n, steps = ladder.margin.shape
    w = steps // len(columns)
    column = np.broadcast_to(np.repeat(columns, w), (n, steps))
    held = np.take_along_axis(ladder.x, column[:, :, None], axis=2).reshape(n, 1, steps)
    gain = to_additive_scale(problem, ladder.margin) - to_additive_scale(problem, start_point.margin)
    cost, shape = first_order_costs(problem, start_point.x, column, held), (n, 1, len(columns), w)
    values, gains, prices = held.reshape(shape), gain.reshape(shape), cost.reshape(shape)
    return combine_changes(
        start_point, column[:, ::w], values, gains, prices, changes_left(problem, start_point.x), settings=settings
    )[:, 0]


def max_line_model_rows(problem: Problem, settings: SearchSettings = DEFAULTS) -> int:
    """How many model rows the lines of a row take at most."""
    finer = (
        settings.trials.line_refinements * len(settings.trials.subdivision_shares) + len(settings.trials.ladder_shares)
        if len(problem.region.system)
        else 0
    )
    each = (
        len(settings.trials.ladder_shares)
        + len(settings.trials.subdivision_shares)
        + finer
        + (
            settings.trials.range_halvings + len(settings.trials.ladder_shares) + 1
            if is_two_sided_range(problem)
            else 0
        )
    )
    steps = 2 * each * int(problem.numeric.sum())
    return (
        steps + min(_count_levels(problem), settings.trials.max_line_switches) + settings.trials.sweep_multipliers + 1
    )


def _count_levels(problem: Problem) -> int:
    return sum(len(values) for _, values in switchable_columns(problem))


def _slice_points(points: Points, first: int, last: int | None) -> Points:
    return Points(*(array[:, first:last] for array in points))


def _group_by_line(points: Points, lines: int) -> Points:
    """The points of n rows as those of n x lines rows."""
    return Points(*(array.reshape(len(array) * lines, -1, *array.shape[2:]) for array in points))


def try_single_numbers(
    problem: Problem, cells: Cells | None, reach: Array, count: int, settings: SearchSettings = DEFAULTS
) -> tuple[Points, Points]:
    """The ``count`` best points of each row that change one number alone, and the one that they are changes of.

    Every cell between known split points is tried; where none are known, ``values_tried_per_number`` values, half of
    them evenly within ``reach`` ``(n,)`` and half as the reference has them.
    """
    n, d = problem.x0.shape
    tried = (
        int(cells.split_counts.sum()) + len(cells.columns)
        if cells is not None
        else settings.trials.values_tried_per_number * d
    )
    parts, homes = [], []
    for rows in split_rows(n, settings.batches.cells, d * (tried + 1)):
        part = problem.take(rows)
        moved = _scan_values(part, reach[rows], settings=settings) if cells is None else cells.change_one_feature(part)
        found = score_points(part, np.concatenate([part.region.nearest_feasible[:, None, :], moved], axis=1))
        parts.append(found.best(count))
        homes.append(found.first(1))
    return stack_rows(parts), stack_rows(homes)


def _scan_values(problem: Problem, reach: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """The rows' nearest feasible points with one number changed, ``(n, t, d)``."""
    home, columns = problem.region.nearest_feasible, np.flatnonzero(problem.numeric)
    n, f, d = len(home), len(columns), home.shape[1]
    start, far = home[:, columns, None], (reach[:, None] * problem.scales[columns])[..., None]
    usual = values_like_reference(problem, columns, settings.trials.values_tried_per_number // 2, settings=settings)
    # a missing number has no reach
    low = np.where(np.isnan(start), usual[..., :1], np.maximum(problem.region.lower[:, columns, None], start - far))
    high = np.where(np.isnan(start), usual[..., -1:], np.minimum(problem.region.upper[:, columns, None], start + far))
    low = np.where(np.isfinite(low), low, np.minimum(usual[..., :1], start))
    high = np.where(np.isfinite(high), high, np.maximum(usual[..., -1:], start))
    even = low + np.linspace(0, 1, settings.trials.values_tried_per_number // 2) * (high - low)
    value = np.concatenate([even, np.minimum(np.maximum(usual, low), high)], axis=2)  # (n, f, SCANNED)
    points = np.repeat(home, f * settings.trials.values_tried_per_number, axis=0).reshape(
        n, f, settings.trials.values_tried_per_number, d
    )
    points[:, np.arange(f), :, columns] = value.swapaxes(0, 1)
    return points.reshape(n, f * settings.trials.values_tried_per_number, d)
