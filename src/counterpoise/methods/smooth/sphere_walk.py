"""Sliding: the search of models with a slope, their own or one that differences show.

A row whose score is linear is finished by its Taylor jump. Elsewhere walkers go round the row on spheres that close in;
where few features should change, lines along single features take their place. Taylor steps lead from there to the
nearest point of the boundary. No slope says which category to take, or which of many features to change far: sweeps do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterpoise.methods.categories import fill_missing_cells
from counterpoise.methods.incumbents import Incumbents, has_improved
from counterpoise.methods.model_kinds import penalises_count, prefers_few_changes, starts_at_row
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.methods.settings.search import DEFAULTS, SearchSettings
from counterpoise.methods.slopes import score_and_gradient
from counterpoise.methods.smooth.few_changes import (
    descend_at_several_prices,
    leave_changes_out,
    step_along_single_columns,
)
from counterpoise.methods.smooth.second_order import can_step_second_order, descend_second_order, is_not_stationary
from counterpoise.methods.smooth.taylor_steps import (
    branch_whole_numbers,
    coarse_cells,
    descend,
    descend_from_switches,
    jump_linear_rows,
    scatter_walkers,
    walk_to_boundary,
)
from counterpoise.methods.starts import make_starts, sample_comparison_points, section_towards_row
from counterpoise.methods.trials.ladder import max_line_model_rows, search_lines
from counterpoise.methods.trials.sifting import RepeatedSweeps
from counterpoise.methods.trials.sweep import columns_without_relations
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


def search_by_slope(
    board: Incumbents,
    rows: Index,
    problem: Problem,
    streams: Streams,
    sift: RepeatedSweeps,
    settings: SearchSettings = DEFAULTS,
) -> Iterator[None]:
    """Search some rows of a board; each stage enters what it finds, and yields."""
    if problem.has_gradient:
        jumped = jump_linear_rows(
            problem, sample_comparison_points(problem, streams, settings.smooth.starts_per_row), settings=settings
        )
        margin, gradient = jumped.margin, jumped.gradient
        if len(jumped.linear_rows):
            board.enter(rows[jumped.linear_rows], jumped.points)
            yield
            bent = np.ones(len(rows), dtype=bool)
            bent[jumped.linear_rows[jumped.points.valid[:, 0]]] = False
            left = np.flatnonzero(bent)
            if not len(left):
                return
            margin, gradient = margin[left], gradient[left]
            rows, problem, streams = rows[left], problem.take(left), streams.take(left)
    else:
        score, gradient = score_and_gradient(problem, problem.x0[:, None, :], settings=settings)
        margin = score.margin
    points = board.points.at(rows).best(1)
    counting = problem.has_gradient and problem.energy.counts_changes and problem.energy.distance.spreads_changes
    # steps along a slope choose features by what changes cost; a ceiling, or a black box, asks for trials
    trying_alone = penalises_count(problem, settings=settings) and not (counting and problem.region.max_changes is None)
    if prefers_few_changes(problem, settings=settings) and problem.model_rows_left > max_line_model_rows(
        problem, settings=settings
    ):
        found = search_lines(
            problem, settings.smooth.starts_per_row, settings.smooth.joint_starts_per_row, settings=settings
        )
        points = (
            found if starts_at_row(problem, settings=settings) else join_points(found, points)
        )  # else the best start is the row, which lines have
        board.enter(rows, points)
        yield
        # one change is beaten by none of two where changes are counted
        left = np.flatnonzero((problem.cloud is not None) | ~problem.beats_any_two_changes(points.lowest_effort))
        if not len(left):
            return
        points, margin, gradient = points.at(left), margin[left], gradient[left]
        rows, problem, streams = rows[left], problem.take(left), streams.take(left)
        if not problem.has_gradient:
            points = points.best(
                max(1, settings.smooth.difference_model_rows // (settings.smooth.taylor_steps * problem.x0.shape[1]))
            )
    else:
        # beside the nearest by length, those of few changes
        if trying_alone and problem.model_rows_left > max_line_model_rows(problem, settings=settings):
            board.enter(
                rows,
                search_lines(
                    problem, settings.smooth.starts_per_row, settings.smooth.joint_starts_per_row, settings=settings
                ),
            )
        points = _walk_from_starts(problem, streams, points, margin, gradient, settings=settings)
        yield
    found = descend(problem, points, settings.smooth.taylor_steps, margin, settings=settings)
    board.enter(rows, found)
    yield
    if counting:
        board.enter(rows, descend_at_several_prices(problem, margin, settings))
        board.enter(rows, step_along_single_columns(problem, gradient, margin, settings))
        leave_changes_out(board, rows, problem, margin, settings)
        yield
    _enter_beside_steps(board, rows, problem, points, found, settings)
    if problem.has_gradient or (
        problem.x0.shape[1] <= settings.smooth.max_black_box_branch_columns and problem.model_rows_left == np.inf
    ):
        yield from _branch_while_improving(board, rows, problem, settings=settings)
    if problem.is_all_numeric and prefers_few_changes(problem, settings=settings):
        best = board.points.at(rows).best(1).x
        many = (
            np.count_nonzero(problem.region.is_changed(best), axis=-1)[:, 0] > settings.smooth.max_changes_left_to_lines
        )
        left = np.flatnonzero(many | _is_off_expansion(problem, best, margin, gradient, settings=settings))
        rows, problem, streams = rows[left], problem.take(left), streams.take(left)
        margin, gradient = margin[left], gradient[left]
    if len(rows) and (prefers_few_changes(problem, settings=settings) or trying_alone or not problem.is_all_numeric):
        features = (
            columns_without_relations(problem, settings=settings) if problem.energy.distance.spreads_changes else None
        )
        yield from sift(
            board,
            rows,
            problem,
            streams,
            None,
            _make_sweep_starts(board, rows, problem, streams, settings=settings),
            features,
        )
        board.enter(
            rows,
            descend(
                problem,
                board.points.at(rows).best(settings.smooth.swept_points_per_row),
                settings.smooth.taylor_steps_after_sweeps,
                settings=settings,
            ),
        )
        yield
    if len(rows) and can_step_second_order(problem, settings=settings):
        yield from _correct_by_curvature(board, rows, problem, streams, margin, gradient, sift, settings=settings)


def _enter_beside_steps(
    board: Incumbents, rows: Index, problem: Problem, points: Points, found: Points, settings: SearchSettings
) -> None:
    """What Taylor steps from ``points`` to ``found`` cannot do: stuck points, categories, values for missing cells."""
    if problem.has_gradient:
        stuck = np.flatnonzero(found.lowest_effort >= points.lowest_effort)
        if len(stuck):  # no slope led anywhere from where the walks ended: that point, brought to the boundary
            board.enter(
                rows[stuck], section_towards_row(problem.take(stuck), found.at(stuck).best(1), settings=settings)
            )
        if not (problem.is_all_numeric and problem.region.has_no_missing):
            board.enter(rows, descend_from_switches(problem, settings=settings).best(settings.smooth.starts_per_row))
    elif not problem.region.has_no_missing:
        given, real = fill_missing_cells(problem, problem.region.nearest_feasible, settings=settings)
        board.enter(rows, score_points(problem, given).masked(real))


def _walk_from_starts(
    problem: Problem,
    streams: Streams,
    points: Points,
    margin: Array,
    gradient: Array,
    settings: SearchSettings = DEFAULTS,
) -> Points:
    """Where walkers end, and the ``points`` ``(n, 1, d)`` themselves; by differences, as many as there are rows for."""
    d = problem.x0.shape[1]
    walkers = settings.smooth.walkers
    chains = (
        walkers if problem.has_gradient else max(1, min(walkers, settings.smooth.difference_model_rows // (12 * d)))
    )
    steps = (
        settings.smooth.walk_steps
        if problem.has_gradient
        else min(settings.smooth.walk_steps, settings.smooth.difference_model_rows // (2 * d * chains))
    )
    if steps <= 3:
        return points
    spheres = scatter_walkers(problem, streams, points, chains, margin, gradient)
    return join_points(walk_to_boundary(problem, *spheres, steps, settings=settings), points)


def _is_off_expansion(
    problem: Problem, x: Array, margin: Array, gradient: Array, settings: SearchSettings = DEFAULTS
) -> Mask:
    """Rows whose answer ``x`` ``(n, 1, d)`` is not about as far as the expansion at the row promised, ``(n,)``.

    Then the slope there, ``gradient`` ``(n, 1, d)``, says little of where the boundary is.
    """
    u, h = problem.energy.distance.differences(x, problem.x0)[:, 0], np.abs(gradient[:, 0] * problem.scales)
    if problem.energy.distance.spreads_changes:
        length, steep = np.sqrt(np.square(u).sum(axis=1)), np.sqrt(np.square(h).sum(axis=1))
    else:
        length, steep = u.sum(axis=1), h.max(axis=1)  # where the steepest feature alone would end
    promised = np.abs(margin[:, 0]) / np.maximum(steep, 1e-300)
    return np.asarray(
        (length < settings.smooth.min_promised_distance_ratio * promised)
        | (length > settings.smooth.max_promised_distance_ratio * promised)
    )


def _correct_by_curvature(
    board: Incumbents,
    rows: Index,
    problem: Problem,
    streams: Streams,
    margin: Array,
    gradient: Array,
    sift: RepeatedSweeps,
    settings: SearchSettings = DEFAULTS,
) -> Iterator[None]:
    """Rows that slopes have misled, by second-order steps; those that these help are swept once more in L1."""
    nearest = board.points.at(rows).best(1)
    left = np.flatnonzero(
        nearest.valid[:, 0] & _is_off_expansion(problem, nearest.x, margin, gradient, settings=settings)
    )
    left = left[is_not_stationary(problem.take(left), nearest.x[left], settings=settings)] if len(left) else left
    if not len(left):
        return
    rows, problem, streams, before = rows[left], problem.take(left), streams.take(left), nearest.lowest_effort[left]
    board.enter(rows, descend_second_order(problem, board.points.at(rows), margin[left], settings=settings))
    yield
    left = np.flatnonzero(has_improved(before, board.points.at(rows).lowest_effort, settings=settings))
    if len(left) and prefers_few_changes(problem, settings=settings):
        part = board.points.at(rows[left]).best(1)
        yield from sift(board, rows[left], problem.take(left), streams.take(left), None, part)


def _branch_while_improving(
    board: Incumbents, rows: Index, problem: Problem, settings: SearchSettings = DEFAULTS
) -> Iterator[None]:
    """Whole numbers one up and one down, while it pays."""
    active = np.flatnonzero(coarse_cells(problem, board.points.at(rows).best(1), settings=settings).any(axis=1))
    for _ in range(settings.smooth.max_branch_rounds if len(active) else 0):
        mine = rows[active]
        before = board.points.at(mine).lowest_effort
        board.enter(mine, branch_whole_numbers(problem.take(active), board.points.at(mine).best(1), settings=settings))
        active = active[has_improved(before, board.points.at(mine).lowest_effort, settings=settings)]
        yield
        if not len(active):
            return


def _make_sweep_starts(
    board: Incumbents, rows: Index, problem: Problem, streams: Streams, settings: SearchSettings = DEFAULTS
) -> Points:
    """The chains to sweep: the best so far, one that a reference row led to, and the row itself."""
    points = board.points.at(rows).best(settings.smooth.swept_points_per_row - 1)
    if starts_at_row(problem, settings=settings):
        others = descend(
            problem,
            make_starts(problem, streams, settings.smooth.starts_per_row, 0, settings=settings).best(
                settings.smooth.swept_points_per_row - 1
            ),
            settings.smooth.taylor_steps_after_sweeps,
            settings=settings,
        )
        board.enter(rows, others)
        points = join_points(points.first(1), others.best(1))
    return join_points(points, score_points(problem, problem.region.nearest_feasible[:, None, :]))
