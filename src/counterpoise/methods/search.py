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

from counterpoise.methods.base import Run, last_run
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.incumbents import Incumbents
from counterpoise.methods.model_kinds import choose_thoroughness, is_black_box, leaves_of, starts_at_row
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings, Thoroughness
from counterpoise.methods.slopes import has_slope
from counterpoise.methods.smooth.sphere_walk import search_by_slope
from counterpoise.methods.starts import (
    is_far_from_reference,
    is_two_sided_range,
    make_one_sided,
    make_starts,
    nearest_misses,
    section_towards_row,
    start_at_row,
)
from counterpoise.methods.surrogate import propose_answers
from counterpoise.methods.trees.beam import beam_search
from counterpoise.methods.trials.repeated_sweeps import RepeatedSweeps
from counterpoise.methods.trials.sweep import max_useful_distance
from counterpoise.methods.trials.value_ladder import try_single_numbers
from counterpoise.problem import Problem
from counterpoise.space.norms import Norm
from counterpoise.streams import Streams
from counterpoise.types import Array, Index


@dataclass(frozen=True, repr=False)
class Search(SearchSettings):
    """The default search: a table by what the model offers (a slope, known leaves, or neither).

    Its fields are the settings of each family of stages; the repr shows those that are not the default.

    starts: where searches start.
    trials: single changes and their combinations, for models of which nothing is known.
    smooth: for models with a slope.
    trees: for models whose leaves are known.
    surrogate: trees that stand for models of which nothing is known, where model rows are limited.
    batches: how many points go to the model at once.
    votes: how thorough the search is on models that vote or give probabilities.
    sums: the same for scores that add up.

    >>> from counterpoise.methods.settings.smooth import SmoothSettings
    >>> Search(), Search(smooth=SmoothSettings(walkers=8))
    (Search(), Search(smooth=SmoothSettings(walkers=8)))
    """

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        known, at_first = leaves_of(problem) is not None, not starts_at_row(problem, settings=self)
        count = self._count_starts(problem, known)
        start = self._make_starts(problem, streams, count) if at_first else start_at_row(problem, count)
        board = Incumbents(start, problem.region, keeps_one_per_feature_set=known)
        yield board.make_run()
        self._enter_sparse_answers(board, problem, streams)
        yield from self._search_rows(board, board.open_rows, problem, streams)
        if not at_first:
            yield from self._retry_from_reference(board, problem, streams, count, known)
        if len(problem.region.system) and not (known or problem.energy.distance.spreads_changes):
            yield from self._retry_in_l2(board, problem, streams)
        if len(problem.region.system) and known and problem.energy.counts_changes and problem.energy.lam > 0:
            yield from self._retry_without_penalty(board, problem, streams)
        board.done[:] = True
        yield board.make_run()

    def _count_starts(self, problem: Problem, known: bool) -> int:
        """How many points each row starts from; ``known``: whether the leaves of the model are."""
        affordable = problem.model_rows_left / self.starts.model_rows_per_start
        wanted = min(choose_thoroughness(problem, settings=self).starts, affordable)
        if self._is_rationed_black_box(problem):
            return int(max(self.surrogate.least_starts, wanted))
        starts = int(max(self.smooth.starts_per_row, wanted))
        if problem.has_gradient:
            return min(starts, self.smooth.starts_per_row)
        return min(starts, self.trees.points_per_row) if known else starts

    def _make_starts(self, problem: Problem, streams: Streams, count: int) -> Points:
        """Starts from reference rows, and from what a surrogate proposes where model rows are limited."""
        if not self._is_rationed_black_box(problem):
            return make_starts(problem, streams, count, 0, settings=self)
        proposed = score_points(problem, self._propose(problem))
        return join_points(proposed, make_starts(problem, streams, count, 0, settings=self)).best(count)

    def _is_rationed_black_box(self, problem: Problem) -> bool:
        """Whether nothing is known of the model, and only so many rows may be asked: a surrogate says which."""
        return is_black_box(problem) and problem.cloud is None and problem.model_rows_left < np.inf

    def _retry_from_reference(
        self, board: Incumbents, problem: Problem, streams: Streams, count: int, known: bool
    ) -> Iterator[Run]:
        """Retry rows with no answer, or one over half as far as the nearest reference row, from reference rows."""
        effort = board.points.lowest_effort
        if known and not problem.has_expired:
            lost = is_far_from_reference(problem, effort, settings=self)
        else:
            lost = np.flatnonzero(np.isinf(effort))
        if len(lost):
            starts = self._make_starts(problem.take(lost), streams.take(lost), count)
            board.enter(lost, starts)
            yield from self._search_rows(board, lost, problem, streams, starts)

    def _retry_in_l2(self, board: Incumbents, problem: Problem, streams: Streams) -> Iterator[Run]:
        """Retry rows without an answer in L2: only its steps know the way where relations leave little room."""
        lost = np.flatnonzero(~board.points.valid.any(axis=1))
        if len(lost) and not problem.has_expired:
            self._enter_answers_of_variant(board, lost, problem, streams, "l2", problem.region.max_changes)
            yield from self._search_rows(board, lost[board.points.valid[lost].any(axis=1)], problem, streams)

    def _retry_without_penalty(self, board: Incumbents, problem: Problem, streams: Streams) -> Iterator[Run]:
        """Retry rows whose answer costs several changes: where relations bind, many small ones may be less."""
        price = np.min(problem.energy.change_prices, where=problem.energy.change_prices > 0, initial=np.inf)
        effort = board.points.lowest_effort
        dear = np.flatnonzero(np.isfinite(effort) & (effort > self.trees.dear_changes * price))
        if len(dear) and not problem.has_expired and problem.model_rows_left == np.inf:
            part = problem.take(dear)
            bare = replace(part, energy=replace(part.energy, lam=0.0))
            board.enter(dear, score_points(part, self(bare, streams.take(dear)).x))
            yield board.make_run()
            nearer = dear[board.points.lowest_effort[dear] < effort[dear]]
            yield from self._search_rows(board, nearer, problem, streams)

    def _search_rows(
        self, board: Incumbents, rows: Index, problem: Problem, streams: Streams, start: Points | None = None
    ) -> Iterator[Run]:
        """Some rows searched as their model asks for; surveys begin at ``start`` ``(r, k, d)``, else at the best."""
        if not len(rows) or problem.is_out_of_time:
            return
        rows_for_slopes = self.surrogate.model_rows_per_column_for_slopes * problem.x0.shape[1]
        if self._is_rationed_black_box(problem) and problem.model_rows_left < rows_for_slopes:
            steep = np.zeros(len(rows), dtype=bool)
        else:
            steep = has_slope(problem.take(rows), board.points.at(rows), settings=self)
        sift = RepeatedSweeps(self)
        if steep.any():
            part_rows = rows[steep]
            part, part_streams = problem.take(part_rows), streams.take(part_rows)
            if is_two_sided_range(part) and len(part.reference_rows.x) and part.model_rows_left == np.inf:
                board.enter(part_rows, score_points(part, self(make_one_sided(part), part_streams).x))
            for _ in search_by_slope(board, part_rows, part, part_streams, sift, settings=self):
                yield board.make_run()
        if not steep.all():
            part_rows = rows[~steep]
            begin = (start or board.points.at(rows)).best(1).at(np.flatnonzero(~steep))
            for _ in self._search_without_slope(
                board, part_rows, problem.take(part_rows), streams.take(part_rows), sift, begin
            ):
                yield board.make_run()

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def _enter_sparse_answers(self, board: Incumbents, problem: Problem, streams: Streams) -> None:
        """Where few features may change and no start is that sparse: the sparsest answers without the ceiling."""
        if problem.region.max_changes is None:
            return
        rows = np.flatnonzero(~board.points.valid.any(axis=1))
        if len(rows):
            self._enter_answers_of_variant(board, rows, problem, streams, "l0", None)
        if len(problem.region.system) and problem.has_gradient and len(board.open_rows):
            # steps that keep to relations change as many features as it takes, which may be few enough
            self._enter_answers_of_variant(board, board.open_rows, problem, streams, None, None)

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

    def _survey_rows(
        self, board: Incumbents, rows: Index, problem: Problem, start: Points, care: Thoroughness | None = None
    ) -> Iterator[None]:
        """Rows of a model whose leaves are known, from themselves and from ``start`` ``(n, k, d)``."""
        waiting: list[Points] = []  # entered together, as long as they are of the same rows
        waiting_rows = rows[:0]
        try:
            for some, found, still in beam_search(
                problem, start, care or choose_thoroughness(problem, settings=self), settings=self
            ):
                if len(some) != len(waiting_rows) or len(waiting) == self.trees.rounds_per_update:
                    self._enter_points(board, waiting_rows, waiting)
                    waiting = []
                waiting_rows = rows[some]
                waiting.append(found)
                board.locally_minimal_effort[waiting_rows] = still
                yield
        finally:  # however the search ends, what it has found stays
            self._enter_points(board, waiting_rows, waiting)

    def _survey_nearest_misses(self, board: Incumbents, rows: Index, problem: Problem) -> Iterator[None]:
        """Rows without an answer ``(n,)``, from the reference rows whose score comes closest.

        Where that leads to none either, once more whatever it costs: the price of margin turns searches away from the
        one far corner that fixed features may leave. What is found there is then brought nearer.
        """
        misses = nearest_misses(problem, self.starts.nearest_miss_starts, settings=self)
        yield from self._survey_rows(board, rows, problem, misses)
        lost = np.flatnonzero(~board.points.at(rows).valid.any(axis=1))
        if not len(lost) or not self.trees.starts_of_lost_rows or problem.has_expired:
            return
        part, care = problem.take(lost), choose_thoroughness(problem, settings=self)
        dear = replace(
            care,
            margin_price_factors=(self.trees.margin_price_factor_of_lost_rows,),
            beam_widths=(self.trees.beam_width_of_lost_rows,),
        )
        begin = misses.at(lost).best(self.trees.starts_of_lost_rows)
        yield from self._survey_rows(board, rows[lost], part, begin, dear)
        found = lost[board.points.at(rows[lost]).valid.any(axis=1)]
        if len(found):
            begin = board.points.at(rows[found]).best(1)
            yield from self._survey_rows(board, rows[found], problem.take(found), begin)

    @staticmethod
    def _enter_points(board: Incumbents, rows: Index, waiting: list[Points]) -> None:
        if waiting:
            board.enter(rows, join_points(*waiting) if len(waiting) > 1 else waiting[0])

    def _search_by_leaves(
        self, board: Incumbents, rows: Index, problem: Problem, sift: RepeatedSweeps, start: Points
    ) -> Iterator[None]:
        """Surveys, then those of rows that are still without an answer, and sweeps of what derived columns read."""
        yield from self._survey_rows(board, rows, problem, start)
        lost = np.flatnonzero(~board.points.at(rows).valid.any(axis=1))
        restarts = self.starts.nearest_miss_starts > 0 and start.has_been_scored and not problem.has_expired
        if len(lost) and len(problem.reference_rows.x) and restarts:
            yield from self._survey_nearest_misses(board, rows[lost], problem.take(lost))
        feeding = np.flatnonzero(problem.region.system.is_derivation_source[problem.numeric])
        if len(feeding):  # what a survey says of a column leaves out what is computed from it
            itself = score_points(problem, problem.region.nearest_feasible[:, None, :])
            points = join_points(board.points.at(rows).best(self.trials.source_sweep_points), itself)
            yield from sift(board, rows, problem, None, points, feeding)

    def _search_without_slope(
        self, board: Incumbents, rows: Index, problem: Problem, streams: Streams, sift: RepeatedSweeps, start: Points
    ) -> Iterator[None]:
        """Models without a slope: surveys where the leaves are known, else single changes and sweeps."""
        if leaves_of(problem) is not None:
            yield from self._search_by_leaves(board, rows, problem, sift, start)
            return
        if self.starts.start_sections:
            nearest = board.points.at(rows).best(self.starts.starts_brought_nearer)
            parts, rounds = self.starts.start_sections, self.starts.section_rounds
            if problem.model_rows_left < np.inf:  # halved as often as it takes: more calls, fewer model rows
                parts, rounds = 2, rounds * (parts - 1).bit_length()
            board.enter(rows, section_towards_row(problem, nearest, parts, rounds))
        if problem.has_expired:
            return
        cells = Cells.of(problem)
        is_screened = self._is_rationed_black_box(problem)
        raw = board.points.at(rows).best(max(choose_thoroughness(problem, settings=self).swept_points - 1, 1))
        home: Points | None = None  # few changes are found from where there are none
        if _tries_numbers_alone(problem, cells, settings=self):
            reach = max_useful_distance(problem, board.points.at(rows).lowest_effort, settings=self)
            single, home = try_single_numbers(problem, cells, reach, self.trials.single_changes_per_row, settings=self)
            board.enter(rows, single)
            left = np.flatnonzero(
                ~problem.beats_any_two_changes(board.points.at(rows).lowest_effort)
            )  # none can cost less
            if not len(left):
                return
            rows, problem, streams = rows[left], problem.take(left), streams.take(left)
            raw, home = raw.at(left), home.at(left)
        home = self._score_home(problem, home)
        varied = join_points(board.points.at(rows).best(1), raw)
        points = join_points(varied.pick(varied.list_distinct()[:, : raw.x.shape[1]]), home)
        yield from sift(board, rows, problem, cells, points, is_screened=is_screened)
        if is_screened and self.surrogate.finished_points:
            points = board.points.at(rows).best(self.surrogate.finished_points)
            yield from sift(board, rows, problem, cells, points)

    @staticmethod
    def _score_home(problem: Problem, known: Points | None) -> Points:
        """The rows as they are, or as near as the region allows, scored unless they are known."""
        return score_points(problem, problem.region.nearest_feasible[:, None, :]) if known is None else known

    def _propose(self, problem: Problem) -> Array:
        """What surrogates of the model take for answers, ``(n, m, d)``."""
        settings = self.surrogate
        return propose_answers(problem, self, settings.margins, settings.answers, settings)


def _tries_numbers_alone(problem: Problem, cells: Cells | None, settings: SearchSettings = DEFAULTS) -> bool:
    """Whether each number is tried alone at every value that split points tell apart, or at some of all."""
    if cells is None:
        return problem.x0.shape[1] <= settings.trials.max_columns_tried_alone and problem.model_rows_left == np.inf
    return bool(
        cells.split_counts.sum()
        <= (
            settings.trials.max_splits_tried_alone_for_l0
            if problem.energy.counts_changes
            else settings.trials.max_splits_tried_alone
        )
    )
