"""Answers of least free energy: effort, and a price for every share of the noisy copies that would lose the target.

The problem carries a cloud of noise that adds the price of fragility to the effort of every point, so that the moves
and sweeps of the plain search work on it. The search starts from the minimal answers, stretched and mixed
with reference rows deep inside the target, and ends with a look at other draws than those it was led by: an answer that
fits its own draws too well is stretched until it holds on the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.base import Run, last_run
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.incumbents import Incumbents, has_improved
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.methods.polish import undo_changes
from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.methods.settings.search import DEFAULTS, FIRM_DEFAULTS, SearchSettings
from counterpoise.methods.starts import bisect_towards, jump_at_random, start_at_reference_rows
from counterpoise.methods.trials.sweep import max_useful_distance, sweep
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Index


@dataclass(frozen=True)
class FirmSearch:
    """The search under the problem's cloud of noise; ``search`` holds what it shares with the plain search."""

    settings: FirmSettings = FIRM_DEFAULTS
    search: SearchSettings = DEFAULTS

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        assert problem.cloud is not None, "a firm search needs a cloud"
        now = time.perf_counter()
        early = replace(problem, deadline=now + self.settings.search_time_share * (problem.deadline - now))
        guided = self._redraw_cloud(early, streams, self.settings.samples)
        board = Incumbents(self._make_starts(guided, streams), problem.region)
        yield board.make_run()
        rows = board.open_rows
        yield from self._sweep_rows(guided, board, rows)
        firm_rows = np.flatnonzero(board.points.valid.any(axis=1))
        if len(firm_rows) and not guided.has_expired:
            board.enter(firm_rows, undo_changes(guided.take(firm_rows), board.points.at(firm_rows).best(1)))
        points = board.points.best(1) if guided.has_expired else board.points  # a look at the others takes its time
        found = self._check_on_other_draws(self._redraw_cloud(problem, streams, self.settings.check_samples), points)
        yield Run(*found, np.ones(len(problem), dtype=bool), board.steps + 1)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def _redraw_cloud(self, problem: Problem, streams: Streams, samples: int) -> Problem:
        """The problem with new draws, in opposite pairs."""
        cloud = problem.cloud
        assert cloud is not None
        half = streams.normal((samples // 2, problem.x0.shape[1]))
        return replace(problem, cloud=replace(cloud, draws=np.concatenate([half, -half], axis=1)))

    def _make_starts(self, problem: Problem, streams: Streams) -> Points:
        """The hints, stretched away from the row and mixed with donors; the donors brought towards the hints.

        A row that holds nowhere there is looked for farther out: wide noise asks for points deep inside the target.
        """
        assert problem.hints is not None
        start = np.where(np.isnan(problem.x0)[:, None, :], problem.hints, problem.x0[:, None, :])
        lines = [start + factor * (problem.hints - start) for factor in self.settings.stretch_factors]
        stretched = np.where(problem.numeric, np.concatenate(lines, axis=1), np.tile(problem.hints, (1, len(lines), 1)))
        found = score_points(problem, problem.region.project(stretched))
        if problem.has_expired:
            return found.best(self.settings.points)
        given = start_at_reference_rows(problem, self.settings.points, settings=self.search)
        best = problem.hints[:, :1]
        mixed = [
            np.where(problem.numeric, best + share * (given.x - best), given.x) for share in self.settings.blend_shares
        ]
        blends = score_points(problem, problem.region.project(np.concatenate(mixed, axis=1)))
        points = join_points(found, given, blends).best(self.settings.points)
        lost = np.flatnonzero(~points.valid.any(axis=1))
        if len(lost) and not problem.has_expired:
            part, few = problem.take(lost), points.at(lost)
            more = join_points(
                few,
                start_at_reference_rows(part, self.settings.far_starts, settings=self.search),
                jump_at_random(part, streams.take(lost), self.settings.far_starts, settings=self.search),
            )
            for mine, new in zip(points, more.best(self.settings.points), strict=True):
                mine[lost] = new
        towards = np.repeat(best, points.x.shape[1], axis=1)
        return bisect_towards(problem, points, towards, self.settings.start_halvings)

    def _sweep_rows(self, problem: Problem, board: Incumbents, rows: Index) -> Iterator[Run]:
        """Sweep the best points of each row, and the row itself: few changes are found from where there are none."""
        if not len(rows):
            return
        part = problem.take(rows)
        home = score_points(part, part.region.nearest_feasible[:, None, :])
        points = join_points(board.points.at(rows).best(self.settings.swept_points), home)
        for _ in range(self.settings.sweeps):
            if problem.has_expired or not len(rows):
                break
            part, before = problem.take(rows), board.points.at(rows).lowest_effort
            reach = max_useful_distance(part, before, settings=self.search)
            width = self.settings.sweep_width
            points = sweep(part, Cells.of(part), points, reach, width, settings=self.search).points
            board.enter(rows, points)
            better = has_improved(before, board.points.at(rows).lowest_effort, settings=self.search)
            rows, points = rows[better], points.at(np.flatnonzero(better))
            yield board.make_run()

    def _check_on_other_draws(self, problem: Problem, points: Points) -> Points:
        """The answers as other draws see them, stretched where these refuse them.

        Of a row that holds nowhere, the one answer comes back of which most copies hold.
        """
        start = np.where(np.isnan(problem.x0)[:, None, :], points.x, problem.x0[:, None, :])
        lines = [
            np.where(problem.numeric, start + f * (points.x - start), points.x)
            for f in self.settings.final_stretch_factors
        ]
        found = score_points(problem, problem.region.project(np.concatenate(lines, axis=1)))
        weak = np.flatnonzero(~found.valid.any(axis=1))
        if len(weak) and not problem.has_expired:
            part = problem.take(weak)
            deep = start_at_reference_rows(part, self.settings.deep_reference_rows, settings=self.search)
            if deep.valid.any():  # reference rows that these draws, too, find firm
                better = join_points(deep, found.at(weak)).best(found.x.shape[1])
                for mine, new in zip(found, better, strict=True):
                    mine[weak] = new
                weak = weak[~better.valid.any(axis=1)]
        if len(weak):
            part = problem.take(weak)
            assert part.hints is not None
            tried = np.concatenate([found.x[weak], part.hints], axis=1)
            plain = score_points(replace(part, cloud=None), tried)
            kept = np.where(plain.valid, part.score_under_noise(plain.x).kept, -1.0)
            firmest = np.arange(tried.shape[1]) == kept.argmax(axis=1)[:, None]
            width = found.x.shape[1]
            kept_only = Points(plain.x, plain.margin, np.where(firmest, plain.effort, np.inf)).best(width)
            for mine, new in zip(found, kept_only, strict=True):
                mine[weak] = new
        return found.best(points.x.shape[1])
