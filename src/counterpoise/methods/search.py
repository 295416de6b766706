"""The default search: a table by what the model offers, with all rows in each model call.

A model with a slope (its own, or one that differences show) is searched by Taylor steps that begin where walks on
shrinking spheres, or lines along single features, end; sweeps follow where there are categories or many changes. Trees
are searched by their leaves: each round surveys the most promising points. Any other model is searched by single
changes and by sweeps that combine them. Only valid points are kept as answers, and a row leaves the batch when nothing
improves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.incumbents import Incumbents
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.methods.settings import MAX_COLUMNS_TRIED_ALONE, choose_settings, leaves_of, starts_at_row
from counterpoise.methods.slopes import has_slope
from counterpoise.methods.smooth.sphere_walk import STARTS_PER_ROW, search_by_slope
from counterpoise.methods.starts import (
    is_far_from_reference,
    is_two_sided_range,
    make_one_sided,
    make_starts,
    nearest_misses,
    start_at_row,
)
from counterpoise.methods.trees.beam import beam_search
from counterpoise.methods.trials.sifting import RepeatedSweeps
from counterpoise.methods.trials.singles import try_single_numbers
from counterpoise.methods.trials.sweep import max_useful_distance
from counterpoise.problem import Problem
from counterpoise.space.distance import Norm
from counterpoise.streams import Streams
from counterpoise.types import Index, is_whole_number

MODEL_ROWS_PER_START = 60  # model rows of a ration for each start, the sweeps included
START_BISECTIONS = 6  # times that reference rows are halved towards the row, where nothing else brings them nearer
SURVEY_ROUNDS_PER_UPDATE = 8  # rounds of surveys whose points are entered at once
POINTS_PER_SURVEYED_ROW = (
    12  # points of a row whose model is surveyed: the best of those that differ by what they change
)
SINGLE_CHANGES_PER_ROW = 3  # single changes of a row that enter
MAX_SPLITS_TRIED_ALONE, MAX_SPLITS_TRIED_ALONE_FOR_L0 = (
    200,
    2000,
)  # split points that are all tried alone: always, and where changes count
SOURCE_SWEEP_POINTS = 2  # points of a row whose columns feed others that are swept
NEAREST_MISS_STARTS = 120  # reference rows that a target which no row has met is looked for from


@dataclass(frozen=True)
class Search:
    """The default search: a table by what the model offers (a slope, known leaves, or neither).

    ``walkers`` points per row walk to the boundary of a model with a slope. ``sweeps`` is the most sweeps of a row, and
    on trees whose leaves are known the most rounds of surveys.
    """

    walkers: int = 6
    sweeps: int = 14

    def __post_init__(self) -> None:
        for name, least in (("walkers", 1), ("sweeps", 0)):
            given = getattr(self, name)
            if not (is_whole_number(given) and given >= least):
                raise InputError(f"{name} must be at least {least}", f"{given!r}", "give a whole number")

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        starts = int(
            max(STARTS_PER_ROW, min(choose_settings(problem).starts, problem.model_rows_left / MODEL_ROWS_PER_START))
        )
        known, at_first = leaves_of(problem) is not None, not starts_at_row(problem)
        count = min(starts, STARTS_PER_ROW if problem.has_gradient else POINTS_PER_SURVEYED_ROW if known else starts)
        bisections = 0 if problem.has_gradient or known else START_BISECTIONS
        start = make_starts(problem, streams, count, bisections) if at_first else start_at_row(problem, count)
        board = Incumbents(start, problem.region, keeps_one_per_feature_set=known)
        yield board.make_run()
        self._enter_sparse_answers(board, problem, streams)
        bound = len(problem.region.system) and problem.region.max_changes is not None
        if bound and problem.has_gradient and len(board.open_rows):
            # steps that keep to relations change as many features as it takes, which may be few enough
            self._enter_answers_of_variant(board, board.open_rows, problem, streams, None, None)
        yield from self._search_rows(board, board.open_rows, problem, streams)
        if not at_first:
            # the row itself led nowhere, or far beside the nearest reference row: from reference rows, then
            far = known and not problem.has_expired
            lost = (
                is_far_from_reference(problem, board.points.lowest_effort)
                if far
                else np.flatnonzero(np.isinf(board.points.lowest_effort))
            )
            if len(lost):
                others = make_starts(problem.take(lost), streams.take(lost), count, bisections)
                board.enter(lost, others)
                yield from self._search_rows(board, lost, problem, streams, others)
        if len(problem.region.system) and not (known or problem.energy.distance.spreads_changes):
            # only steps in L2 know the way where relations leave little room
            lost = np.flatnonzero(~board.points.valid.any(axis=1))
            if len(lost) and not problem.has_expired:
                self._enter_answers_of_variant(board, lost, problem, streams, "l2", problem.region.max_changes)
                yield from self._search_rows(board, lost[board.points.valid[lost].any(axis=1)], problem, streams)
        board.done[:] = True
        yield board.make_run()

    def _search_rows(
        self, board: Incumbents, rows: Index, problem: Problem, streams: Streams, start: Points | None = None
    ) -> Iterator[Run]:
        """Some rows searched as their model asks for; surveys begin at ``start`` ``(r, k, d)``, else at the best."""
        if not len(rows):
            return
        steep = has_slope(problem.take(rows), board.points.at(rows))
        sift = RepeatedSweeps(self.sweeps)
        if steep.any():
            some = rows[steep]
            part, own = problem.take(some), streams.take(some)
            if is_two_sided_range(part) and len(part.reference_rows.x) and part.model_rows_left == np.inf:
                board.enter(some, score_points(part, self(make_one_sided(part), own).x))
            for _ in search_by_slope(board, some, part, own, self.walkers, sift):
                yield board.make_run()
        if not steep.all():
            some = rows[~steep]
            begin = (start or board.points.at(rows)).best(1).at(np.flatnonzero(~steep))
            for _ in self._search_without_slope(board, some, problem.take(some), streams.take(some), sift, begin):
                yield board.make_run()

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def _enter_sparse_answers(self, board: Incumbents, problem: Problem, streams: Streams) -> None:
        """Where few features may change and no start is that sparse: the sparsest answers without the ceiling."""
        rows = np.flatnonzero(~board.points.valid.any(axis=1))
        if problem.region.max_changes is None or not len(rows):
            return
        self._enter_answers_of_variant(board, rows, problem, streams, "l0", None)

    def _enter_answers_of_variant(
        self, board: Incumbents, rows: Index, problem: Problem, streams: Streams, norm: Norm | None, most: int | None
    ) -> None:
        """Answers to some rows that another distance finds nearest (None: the same), with ``most`` changes at most."""
        part = problem.take(rows)
        energy = part.energy
        if norm is not None:
            energy = replace(energy, distance=energy.distance.with_norm(norm))
        other = replace(part, energy=energy, region=replace(part.region, max_changes=most))
        board.enter(rows, score_points(part, self(other, streams.take(rows)).x))

    def _survey_rows(self, board: Incumbents, rows: Index, problem: Problem, start: Points) -> Iterator[None]:
        """Rows of a model whose leaves are known, from themselves and from ``start`` ``(n, k, d)``."""
        waiting: list[Points] = []  # entered together, as long as they are of the same rows
        here = rows[:0]
        try:
            for some, found, still in beam_search(problem, start, choose_settings(problem), self.sweeps):
                if len(some) != len(here) or len(waiting) == SURVEY_ROUNDS_PER_UPDATE:
                    self._enter_points(board, here, waiting)
                    waiting = []
                here = rows[some]
                waiting.append(found)
                board.locally_minimal_effort[here] = still
                yield
        finally:  # however the search ends, what it has found stays
            self._enter_points(board, here, waiting)

    @staticmethod
    def _enter_points(board: Incumbents, rows: Index, waiting: list[Points]) -> None:
        if waiting:
            board.enter(rows, join_points(*waiting) if len(waiting) > 1 else waiting[0])

    def _search_without_slope(
        self, board: Incumbents, rows: Index, problem: Problem, streams: Streams, sift: RepeatedSweeps, start: Points
    ) -> Iterator[None]:
        """Models without a slope: surveys where the leaves are known, else single changes and sweeps."""
        if leaves_of(problem) is not None:
            yield from self._survey_rows(board, rows, problem, start)
            lost = np.flatnonzero(~board.points.at(rows).valid.any(axis=1))
            if len(lost) and len(problem.reference_rows.x) and start.has_been_scored and not problem.has_expired:
                # a narrow target: from what just misses it
                part = problem.take(lost)
                yield from self._survey_rows(board, rows[lost], part, nearest_misses(part, NEAREST_MISS_STARTS))
            feeding = np.flatnonzero(problem.region.system.is_derivation_source[problem.numeric])
            if len(feeding):  # what a survey says of a column leaves out what is computed from it
                home = score_points(problem, problem.region.nearest_feasible[:, None, :])
                points = join_points(board.points.at(rows).best(SOURCE_SWEEP_POINTS), home)
                yield from sift(board, rows, problem, streams, None, points, feeding)
            return
        cells = Cells.of(problem)
        raw = board.points.at(rows).best(max(choose_settings(problem).swept_chains - 2, 1))
        if _tries_numbers_alone(problem, cells):
            board.enter(
                rows,
                try_single_numbers(
                    problem,
                    cells,
                    max_useful_distance(problem, board.points.at(rows).lowest_effort),
                    SINGLE_CHANGES_PER_ROW,
                ),
            )
            left = np.flatnonzero(
                ~problem.energy.beats_any_two_changes(board.points.at(rows).lowest_effort)
            )  # none can cost less
            if not len(left):
                return
            rows, problem, streams, raw = rows[left], problem.take(left), streams.take(left), raw.at(left)
        home = score_points(
            problem, problem.region.nearest_feasible[:, None, :]
        )  # few changes are found from where there are none
        points = join_points(board.points.at(rows).best(1), raw, home)
        yield from sift(board, rows, problem, streams, cells, points)


def _tries_numbers_alone(problem: Problem, cells: Cells | None) -> bool:
    """Whether each number is tried alone at every value that split points tell apart, or at some of all."""
    if cells is None:
        return problem.x0.shape[1] <= MAX_COLUMNS_TRIED_ALONE and problem.model_rows_left == np.inf
    return bool(
        cells.split_counts.sum()
        <= (MAX_SPLITS_TRIED_ALONE_FOR_L0 if problem.energy.distance.change_price else MAX_SPLITS_TRIED_ALONE)
    )
