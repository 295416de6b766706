"""Firm answers: the nearest point of which a given share of noisy copies keeps the target, or the least free energy.

The problem carries a cloud of noise; its score of a point is the margin that the share asked for has at least, so that
every move and sweep of the plain search works on it. The search starts from the minimal answers, stretched and mixed
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
from counterpoise.methods.starts import jump_at_random, start_at_reference_rows
from counterpoise.methods.trials.sweep import max_useful_distance, sweep
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index

STRETCH_FACTORS = (1.0, 1.08, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5)
FINAL_STRETCH_FACTORS = (1.0, 1.02, 1.05, 1.09, 1.15, 1.25, 1.4, 1.7)
BLEND_SHARES = (0.25, 0.5, 0.75)
START_HALVINGS = 5
SEARCH_TIME_SHARE = 0.5  # of the time that is left: a look at other draws takes time too
FAR_STARTS_PER_ROW = 64  # reference rows, and random points, that are tried where nothing nearer holds
DEEP_REFERENCE_ROWS = 24  # reference rows that are tried where what was found does not hold on other draws


@dataclass(frozen=True)
class FirmSearch:
    """The search under the problem's cloud of noise.

    ``samples`` noisy copies guide the search, ``checks`` other ones choose among its answers; ``spare`` is the share
    asked for beyond the one required, since copies that led the search flatter its answers.
    """

    chains: int = 5
    sweeps: int = 2
    samples: int = 32
    check_samples: int = 512
    spare_share: float = 0.03

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        assert problem.cloud is not None, "a firm search needs a cloud"
        now = time.perf_counter()
        early = replace(problem, deadline=now + SEARCH_TIME_SHARE * (problem.deadline - now))
        guided = self._redraw_cloud(early, streams, self.samples)
        board = Incumbents(self._make_starts(guided, streams), problem.region)
        yield board.make_run()
        rows = board.open_rows
        yield from self._sweep_rows(guided, board, rows)
        firm_rows = np.flatnonzero(board.points.valid.any(axis=1))
        if len(firm_rows) and not guided.has_expired:
            board.enter(firm_rows, undo_changes(guided.take(firm_rows), board.points.at(firm_rows).best(1)))
        points = board.points.best(1) if guided.has_expired else board.points  # a look at the others takes its time
        found = self._check_on_other_draws(self._redraw_cloud(problem, streams, self.check_samples), points)
        yield Run(*found, np.ones(len(problem), dtype=bool), board.steps + 1)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def _redraw_cloud(self, problem: Problem, streams: Streams, samples: int) -> Problem:
        """The problem with new draws, in opposite pairs, and the spare share asked for."""
        cloud = problem.cloud
        assert cloud is not None
        half = streams.normal((samples // 2, problem.x0.shape[1]))
        keep = min(cloud.keep + self.spare_share, 1.0) if cloud.keep else 0.0
        return replace(problem, cloud=replace(cloud, draws=np.concatenate([half, -half], axis=1), keep=keep))

    def _make_starts(self, problem: Problem, streams: Streams) -> Points:
        """The hints, stretched away from the row and mixed with donors; the donors brought towards the hints.

        A row that holds nowhere there is looked for farther out: wide noise asks for points deep inside the target.
        """
        assert problem.hints is not None
        start = np.where(np.isnan(problem.x0)[:, None, :], problem.hints, problem.x0[:, None, :])
        lines = [start + factor * (problem.hints - start) for factor in STRETCH_FACTORS]
        stretched = np.where(problem.numeric, np.concatenate(lines, axis=1), np.tile(problem.hints, (1, len(lines), 1)))
        found = score_points(problem, problem.region.project(stretched))
        if problem.has_expired:
            return found.best(self.chains)
        given = start_at_reference_rows(problem, self.chains)
        best = problem.hints[:, :1]
        mixed = [np.where(problem.numeric, best + share * (given.x - best), given.x) for share in BLEND_SHARES]
        blends = score_points(problem, problem.region.project(np.concatenate(mixed, axis=1)))
        points = join_points(found, given, blends).best(self.chains)
        lost = np.flatnonzero(~points.valid.any(axis=1))
        if len(lost) and not problem.has_expired:
            part, few = problem.take(lost), points.at(lost)
            more = join_points(
                few,
                start_at_reference_rows(part, FAR_STARTS_PER_ROW),
                jump_at_random(part, streams.take(lost), FAR_STARTS_PER_ROW),
            )
            for mine, new in zip(points, more.best(self.chains), strict=True):
                mine[lost] = new
        return self._bisect_towards(problem, points, np.repeat(best, points.x.shape[1], axis=1))

    def _bisect_towards(self, problem: Problem, points: Points, towards: Array) -> Points:
        """Valid points brought towards others as far as they stay valid, by bisection."""
        near, far = np.zeros(points.margin.shape), np.ones(points.margin.shape)
        found, valid = points, points.valid
        for _ in range(START_HALVINGS):
            if not valid.any() or problem.has_expired:
                break
            middle = ((near + far) / 2)[..., None]
            line = np.where(problem.numeric, towards + middle * (points.x - towards), points.x)
            trial = score_points(problem, line)
            good = trial.valid & valid
            found = found.replace_where(trial, good & (trial.effort < found.effort))
            near, far = np.where(good, near, middle[..., 0]), np.where(good, middle[..., 0], far)
        return found

    def _sweep_rows(self, problem: Problem, board: Incumbents, rows: Index) -> Iterator[Run]:
        active = rows
        for _ in range(self.sweeps):
            if problem.has_expired or not len(active):
                break
            part = problem.take(active)
            cells = Cells.of(part)
            points = board.points.at(active).best(1)
            board.enter(active, sweep(part, cells, points, max_useful_distance(part, points.lowest_effort), 3).points)
            active = active[has_improved(points.lowest_effort, board.points.at(active).lowest_effort)]
            yield board.make_run()

    def _check_on_other_draws(self, problem: Problem, points: Points) -> Points:
        """The answers as other draws see them, stretched where these refuse them.

        Of a row that holds nowhere, the one answer comes back of which most copies hold.
        """
        start = np.where(np.isnan(problem.x0)[:, None, :], points.x, problem.x0[:, None, :])
        lines = [np.where(problem.numeric, start + f * (points.x - start), points.x) for f in FINAL_STRETCH_FACTORS]
        found = score_points(problem, problem.region.project(np.concatenate(lines, axis=1)))
        weak = np.flatnonzero(~found.valid.any(axis=1))
        if len(weak) and not problem.has_expired:
            part = problem.take(weak)
            deep = start_at_reference_rows(part, DEEP_REFERENCE_ROWS)
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
