"""Firm answers for every share and every temperature at once, so that effort rises with either.

Least effort subject to ``P(kept) >= q``, or least free energy ``effort - T ln P(kept)``.

One fixed grid of shares is searched from the top, whatever share is asked for, all of them on the same noisy copies:
firm points are looked for beyond the minimal answer and at real rows, then brought nearer to the row while they stay
firm, and what was found for a greater share is where the search for a lesser one begins. All that was found are the
candidates of a row, the same whatever is asked; other copies than those that led the search choose among them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.base import Run, last_run
from counterpoise.methods.firm.guided import FirmPoints, without_repeats
from counterpoise.methods.firm.kept_counts import CountedCandidates
from counterpoise.methods.firm.lanes import Lanes
from counterpoise.methods.firm.proposals import stretch
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.methods.settings.search_settings import DEFAULTS, FIRM_DEFAULTS, SearchSettings
from counterpoise.methods.starts import jump_at_random
from counterpoise.model_calls import Tally
from counterpoise.problem import Problem
from counterpoise.streams import Streams


@dataclass(frozen=True)
class FirmSearch:
    """The search under the problem's cloud of noise; ``search`` holds what it shares with the plain search."""

    settings: FirmSettings = FIRM_DEFAULTS
    search: SearchSettings = DEFAULTS

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        tally, opened = problem.tally, problem.model.leaves is not None or problem.model.layers is not None
        if opened:  # what was read is looked up: the model is not asked, and decides on fresh copies at the end
            problem = replace(problem, tally=Tally(block_rows=problem.tally.block_rows))
        cloud, hints, settings = problem.cloud, problem.hints, self.settings
        assert cloud is not None, "a firm search needs a cloud"
        assert hints is not None, "a firm search needs the minimal answers"
        now, n = time.perf_counter(), len(problem)
        early = replace(problem, deadline=now + settings.search_time_share * (problem.deadline - now))
        budget = problem.tally.row_budget
        whole = 0 if budget is None else budget.search_limit
        if budget is not None:  # what is left is for telling the candidates apart
            budget.search_limit -= int((1 - settings.search_time_share) * (whole - budget.search_start))
        found = self._search_shares(_draw_cloud(early, streams, settings.samples), streams)
        if budget is not None:
            budget.search_limit = whole
        candidates = self._list_candidates(_draw_cloud(problem, streams, settings.check_samples), found)
        keep, answers = float(np.max(cloud.keep)), hints.shape[1]
        chosen = candidates.choose(keep, answers) if keep else candidates.choose_by_free_energy(cloud.T)
        margin, effort = np.where(chosen, 0.0, -1.0), np.where(chosen, candidates.effort, np.inf)
        best = Points(candidates.x, margin, effort).best(settings.points * hints.shape[1])
        tally.opened_rows += problem.tally.rows if opened else 0
        yield Run(*best, np.ones(n, dtype=bool), 1)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def _search_shares(self, problem: Problem, streams: Streams) -> list[FirmPoints]:
        """What is found after each step of the search: for the greatest share of all rows, then for the next ones."""
        settings = self.settings
        lanes = Lanes.of(problem, settings, self.search)
        lanes.start()
        self._jump(lanes, streams)
        near = lanes.starts.list_nearest(lanes.race, settings.candidate_starts)
        extra = [FirmPoints(x, np.zeros(len(x)), lanes.now.margin) for x in np.moveaxis(near, 1, 0)]
        found = [*extra, lanes.now.copy()]
        for stage in range(max(settings.stages)):
            wide = lanes.escape() if stage == settings.escape_stage else lanes
            wide.bring_nearer()
            wide.sweep(stage)
            if stage + 1 == max(settings.stages):
                wide.bring_nearer()
            lanes.merge(wide)
            found.append(lanes.now.copy())
        return found

    def _jump(self, lanes: Lanes, streams: Streams) -> None:
        """Random points that hold, for rows that nothing else serves."""
        settings = self.settings
        lost = np.flatnonzero(np.isinf(lanes.now.effort))
        if not len(lost):
            return
        rows, again = np.unique(lost % len(streams), return_inverse=True)  # the same points for all shares of a row
        part = lanes.race.problem.take(rows)
        assert part.cloud is not None
        deep = replace(part, cloud=replace(part.cloud, draws=part.cloud.draws[:, : settings.jump_samples], keep=1.0))
        jumps = jump_at_random(deep, streams.take(rows), settings.jumps, settings=self.search).best(settings.points)
        race = lanes.race.take(lost)
        unknown = FirmPoints.unknown(race.problem.x0, settings.samples)
        lanes.now.improve(race.run(jumps.x[again], unknown.effort, unknown), lost)
        lanes.pass_down()

    def _list_candidates(self, problem: Problem, found: list[FirmPoints]) -> CountedCandidates:
        """The minimal answers and what the search found, points farther out and between the shares of the grid."""
        settings = self.settings
        assert problem.hints is not None
        hint = problem.hints[:, 0]

        levels = len(found[0].x) // len(hint)
        each = [np.where(np.isfinite(now.effort)[:, None], now.x, np.tile(hint, (levels, 1))) for now in found]
        by_level = np.stack(each).reshape(len(found), levels, *hint.shape)
        x, last = np.moveaxis(by_level.reshape(-1, *hint.shape), 0, 1), np.moveaxis(by_level[-1], 0, 1)
        lower = last[:, 1:]  # below the last there are others, if this is not the whole grid
        if levels == len(settings.shares):
            lower = np.concatenate([lower, problem.hints[:, :1]], axis=1)
        upper = last[:, : lower.shape[1]]
        between = problem.region.project(np.where(problem.numeric, (upper + lower) / 2, upper))
        farther = stretch(problem, last, settings.final_stretch_factors)
        every = score_points(replace(problem, cloud=None), np.concatenate([problem.hints, x, between, farther], axis=1))
        return CountedCandidates.of(problem, every.x, without_repeats(every.x, every.effort), settings)


def _draw_cloud(problem: Problem, streams: Streams, samples: int) -> Problem:
    """The problem with new draws, in opposite pairs."""
    assert problem.cloud is not None
    half = streams.normal((samples // 2, problem.x0.shape[1]))
    draws = np.stack([half, -half], axis=2).reshape(len(half), 2 * half.shape[1], -1)
    return replace(problem, cloud=replace(problem.cloud, draws=draws))
