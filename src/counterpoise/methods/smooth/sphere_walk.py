"""The search of models with a slope, given by the model or estimated by differences.

A row whose score is linear is finished by its Taylor jump. Elsewhere walkers go round the row on spheres that close in;
where few features should change, lines along single features take their place. Taylor steps lead from there to the
nearest point of the boundary. No slope says which category to take, or which of many features to change far: sweeps do.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np

from counterpoise.methods.categories import fill_missing_cells
from counterpoise.methods.incumbents import Incumbents, has_improved
from counterpoise.methods.model_kinds import penalises_count, prefers_few_changes, starts_at_row
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
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
from counterpoise.methods.trials.repeated_sweeps import RepeatedSweeps
from counterpoise.methods.trials.sweep import columns_without_relations
from counterpoise.methods.trials.value_ladder import max_line_model_rows, search_lines
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


class OpenRows(NamedTuple):
    """Rows that a search goes on with: their numbers on the board, and what was expanded at the row itself."""

    rows: Index
    problem: Problem
    streams: Streams
    margin: Array  # (n, 1) of the row
    gradient: Array  # (n, 1, d) of the margin there

    def take(self, left: Index) -> OpenRows:
        """Some of the rows."""
        return OpenRows(
            self.rows[left], self.problem.take(left), self.streams.take(left), self.margin[left], self.gradient[left]
        )


def search_by_slope(
    board: Incumbents,
    rows: Index,
    problem: Problem,
    streams: Streams,
    sift: RepeatedSweeps,
    settings: SearchSettings = DEFAULTS,
) -> Iterator[None]:
    """Search some rows of a board; each stage enters what it finds, and yields."""
    left = yield from _finish_linear_rows(board, rows, problem, streams, settings)
    if not len(left.rows) or problem.has_expired:
        return
    left, points = yield from _lead_to_boundary(board, left, settings)
    if not len(left.rows) or problem.has_expired:
        return
    found = descend(left.problem, points, settings.smooth.taylor_steps, left.margin, settings=settings)
    board.enter(left.rows, found)
    yield
    if _steps_choose_columns(left.problem):
        board.enter(left.rows, descend_at_several_prices(left.problem, left.margin, settings))
        board.enter(left.rows, step_along_single_columns(left.problem, left.gradient, left.margin, settings))
        leave_changes_out(board, left.rows, left.problem, left.margin, settings)
        yield
    _enter_beside_steps(board, left.rows, left.problem, points, found, settings)
    few_columns = left.problem.x0.shape[1] <= settings.smooth.max_black_box_branch_columns
    if left.problem.has_gradient or (few_columns and left.problem.model_rows_left == np.inf):
        yield from _branch_while_improving(board, left.rows, left.problem, settings=settings)
    left = _drop_sparse_answers(board, left, settings)
    if not len(left.rows):
        return
    yield from _sweep_rows(board, left, sift, settings)
    if can_step_second_order(left.problem, settings=settings):
        yield from _correct_by_curvature(board, left, sift, settings=settings)


def _steps_choose_columns(problem: Problem) -> bool:
    """Whether steps along a slope choose the columns to change, by what each change costs beside its length."""
    return problem.has_gradient and problem.energy.counts_changes and problem.energy.distance.spreads_changes


def _tries_columns_alone(problem: Problem, settings: SearchSettings) -> bool:
    """Whether changes are counted and steps do not choose among them: a ceiling, or a black box, asks for trials."""
    chosen = _steps_choose_columns(problem) and problem.region.max_changes is None
    return penalises_count(problem, settings=settings) and not chosen


def _finish_linear_rows(
    board: Incumbents, rows: Index, problem: Problem, streams: Streams, settings: SearchSettings
) -> Generator[None, None, OpenRows]:
    """Finish rows whose score is linear by one Taylor jump; return the others, expanded at the row."""
    if not problem.has_gradient:
        score, gradient = score_and_gradient(problem, problem.x0[:, None, :], settings=settings)
        return OpenRows(rows, problem, streams, score.margin, gradient)
    comparison_points = sample_comparison_points(problem, streams, settings.smooth.starts_per_row)
    jumped = jump_linear_rows(problem, comparison_points, settings=settings)
    every = OpenRows(rows, problem, streams, jumped.margin, jumped.gradient)
    if not len(jumped.linear_rows):
        return every
    board.enter(rows[jumped.linear_rows], jumped.points)
    yield
    bent = np.ones(len(rows), dtype=bool)
    bent[jumped.linear_rows[jumped.points.valid[:, 0]]] = False
    return every.take(np.flatnonzero(bent))


def _lead_to_boundary(
    board: Incumbents, left: OpenRows, settings: SearchSettings
) -> Generator[None, None, tuple[OpenRows, Points]]:
    """Points near the boundary, for Taylor steps to go on from: lines where few changes are wanted, walks elsewhere."""
    problem, smooth = left.problem, settings.smooth
    points = board.points.at(left.rows).best(1)
    affordable = problem.model_rows_left > max_line_model_rows(problem, settings=settings)
    wants_few_changes = prefers_few_changes(problem, settings=settings)
    if not (affordable and wants_few_changes):
        # beside the nearest by length, those of few changes
        if affordable and _tries_columns_alone(problem, settings):
            lines = search_lines(problem, smooth.starts_per_row, smooth.joint_starts_per_row, settings=settings)
            board.enter(left.rows, lines)
            if problem.has_expired:
                return left, points
        points = _walk_from_starts(problem, left.streams, points, left.margin, left.gradient, settings=settings)
        yield
        return left, points
    lines = search_lines(problem, smooth.starts_per_row, smooth.joint_starts_per_row, settings=settings)
    # where the best start is the row, lines have it
    points = lines if starts_at_row(problem, settings=settings) else join_points(lines, points)
    board.enter(left.rows, points)
    yield
    # one change is beaten by none of two where changes are counted
    still = np.flatnonzero((problem.cloud is not None) | ~problem.beats_any_two_changes(points.lowest_effort))
    points = points.at(still)
    if not problem.has_gradient:
        rows_per_point = smooth.taylor_steps * problem.x0.shape[1]
        points = points.best(max(1, smooth.difference_model_rows // rows_per_point))
    return left.take(still), points


def _drop_sparse_answers(board: Incumbents, left: OpenRows, settings: SearchSettings) -> OpenRows:
    """Where few changes of numbers are wanted: rows with few of them, about where the slope led, are finished."""
    if not (left.problem.is_all_numeric and prefers_few_changes(left.problem, settings=settings)):
        return left
    best = board.points.at(left.rows).best(1).x
    changes = np.count_nonzero(left.problem.region.is_changed(best), axis=-1)[:, 0]
    many = changes > settings.smooth.max_changes_left_to_lines
    return left.take(np.flatnonzero(many | _is_off_expansion(left, best, settings)))


def _sweep_rows(board: Incumbents, left: OpenRows, sift: RepeatedSweeps, settings: SearchSettings) -> Iterator[None]:
    """Sweeps, then Taylor steps again: for categories, and where few changes are wanted or each has its price."""
    rows, problem = left.rows, left.problem
    wants_few_changes = prefers_few_changes(problem, settings=settings) or _tries_columns_alone(problem, settings)
    if problem.is_all_numeric and not wants_few_changes:
        return
    spread = problem.energy.distance.spreads_changes
    features = columns_without_relations(problem, settings=settings) if spread else None
    starts = _make_sweep_starts(board, rows, problem, left.streams, settings=settings)
    yield from sift(board, rows, problem, None, starts, features)
    best = board.points.at(rows).best(settings.smooth.swept_points_per_row)
    board.enter(rows, descend(problem, best, settings.smooth.taylor_steps_after_sweeps, settings=settings))
    yield


def _enter_beside_steps(
    board: Incumbents, rows: Index, problem: Problem, points: Points, found: Points, settings: SearchSettings
) -> None:
    """What Taylor steps from ``points`` to ``found`` cannot do: stuck points, categories, values for missing cells."""
    if problem.has_gradient:
        stuck = np.flatnonzero(found.lowest_effort >= points.lowest_effort)
        if len(stuck):  # no slope led anywhere from where the walks ended: that point, brought to the boundary
            ends, starts = found.at(stuck).best(1), settings.starts
            ends = section_towards_row(problem.take(stuck), ends, starts.line_sections, starts.section_rounds)
            board.enter(rows[stuck], ends)
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


def _is_off_expansion(left: OpenRows, x: Array, settings: SearchSettings) -> Mask:
    """Rows whose answer ``x`` ``(n, 1, d)`` is not about as far as the expansion at the row promised, ``(n,)``.

    Then the slope there says little of where the boundary is.
    """
    distance, smooth = left.problem.energy.distance, settings.smooth
    u = distance.differences(x, left.problem.x0)[:, 0]
    h = np.abs(left.gradient[:, 0] * left.problem.scales)
    if distance.spreads_changes:
        length, steep = np.sqrt(np.square(u).sum(axis=1)), np.sqrt(np.square(h).sum(axis=1))
    else:
        length, steep = u.sum(axis=1), h.max(axis=1)  # where the steepest feature alone would end
    promised = np.abs(left.margin[:, 0]) / np.maximum(steep, 1e-300)
    near, far = smooth.min_promised_distance_ratio * promised, smooth.max_promised_distance_ratio * promised
    return np.asarray((length < near) | (length > far))


def _correct_by_curvature(
    board: Incumbents, left: OpenRows, sift: RepeatedSweeps, settings: SearchSettings = DEFAULTS
) -> Iterator[None]:
    """Rows that slopes have misled, by second-order steps; those that these help are swept once more in L1."""
    nearest = board.points.at(left.rows).best(1)
    valid = np.flatnonzero(nearest.valid[:, 0] & _is_off_expansion(left, nearest.x, settings))
    if not len(valid):
        return
    misled = valid[is_not_stationary(left.problem.take(valid), nearest.x[valid], settings=settings)]
    if not len(misled):
        return
    rows, problem, _, margin, _ = left.take(misled)
    board.enter(rows, descend_second_order(problem, board.points.at(rows), margin, settings=settings))
    yield
    before, after = nearest.lowest_effort[misled], board.points.at(rows).lowest_effort
    better = np.flatnonzero(has_improved(before, after, settings=settings))
    if len(better) and prefers_few_changes(problem, settings=settings):
        part = board.points.at(rows[better]).best(1)
        yield from sift(board, rows[better], problem.take(better), None, part)


def _branch_while_improving(
    board: Incumbents, rows: Index, problem: Problem, settings: SearchSettings = DEFAULTS
) -> Iterator[None]:
    """Try whole-number columns one step up and one down, as long as the effort falls."""
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
        descended = descend(
            problem,
            make_starts(problem, streams, settings.smooth.starts_per_row, 0, settings=settings).best(
                settings.smooth.swept_points_per_row - 1
            ),
            settings.smooth.taylor_steps_after_sweeps,
            settings=settings,
        )
        board.enter(rows, descended)
        points = join_points(points.first(1), descended.best(1))
    return join_points(points, score_points(problem, problem.region.nearest_feasible[:, None, :]))
