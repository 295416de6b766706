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
from counterpoise.methods.firm.escapes import hold_change, start_without_change
from counterpoise.methods.firm.firm_starts import FirmStarts
from counterpoise.methods.firm.guided import FirmPoints, Race, copy_margins, without_repeats
from counterpoise.methods.firm.kept_counts import CountedCandidates, share_to_count
from counterpoise.methods.firm.proposals import propose_nearer, stretch
from counterpoise.methods.firm.sweeps import climb, measure_leverage, sweep_features
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.methods.settings.search_settings import DEFAULTS, FIRM_DEFAULTS, SearchSettings
from counterpoise.methods.starts import jump_at_random
from counterpoise.model_calls import Tally
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index


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

    def _search_shares(self, problem: Problem, streams: Streams) -> list[list[FirmPoints]]:
        """What is found for every share of the grid, from the top, after each stage of its search."""
        settings = self.settings
        assert problem.hints is not None
        assert problem.cloud is not None
        now = FirmPoints.unknown(problem.hints[:, 0], settings.samples)
        starts = FirmStarts.of(problem, settings, self.search)
        tip = FirmPoints.unknown(problem.hints[:, 0], settings.samples)
        assert problem.cloud is not None
        tip.margin = copy_margins(problem, np.arange(len(problem)), tip.x, problem.cloud.draws)[0]
        leverage = measure_leverage(problem, problem.hints[:, 0], self.search)
        shares = share_to_count(np.array(settings.shares), settings.check_samples, settings.spare_deviations)
        found: list[list[FirmPoints]] = []
        for level, (share, stages) in enumerate(zip(shares.tolist(), settings.stages, strict=True)):
            race = Race(problem, min(share, 1.0), settings)
            _improve(now, starts.find_firm(race, now.effort))
            _improve(now, starts.find_firm_between(race, now))
            lost = np.flatnonzero(np.isinf(now.effort))
            if len(lost) and level in settings.climbed_levels:
                part = replace(race, problem=problem.take(lost))
                _improve(now, climb(part, starts.find_firmest(lost), leverage[lost], self.search), lost)
                lost = np.flatnonzero(np.isinf(now.effort))
            if len(lost) and level + 1 == len(shares):
                _improve(now, self._jump(race, lost, streams), lost)
            found.append([now.copy()])
            for stage in range(stages):
                self._bring_nearer(race, now)
                found[-1].append(now.copy())
                sweep_features(race, now, tip, leverage, self.search, around_rows=not stage)
                found[-1].append(now.copy())
            self._bring_nearer(race, now)
            found[-1].append(now.copy())
            if level in settings.escape_levels:
                self._escape(race, now, starts, tip, leverage)
                found[-1].append(now.copy())
        return found

    def _escape(self, race: Race, now: FirmPoints, starts: FirmStarts, tip: FirmPoints, leverage: Array) -> None:
        """Replace points by nearer ones that do without one of their largest changes."""
        for place in range(self.settings.escapes):
            rows = now.found
            if not len(rows) or race.problem.has_expired:
                break
            race_part = hold_change(replace(race, problem=race.problem.take(rows)), now.x[rows], place)
            other = start_without_change(race_part, now.x[rows], starts.x[rows], leverage[rows], self.search)
            self._bring_nearer(race_part, other)
            sweep_features(race_part, other, tip.at(rows), leverage[rows], self.search, around_rows=True)
            self._bring_nearer(race_part, other)
            _improve(now, other, rows)

    def _blend(self, problem: Problem, x: Array) -> Array:
        """Points between the minimal answer and ``x`` ``(n, k, d)``."""
        assert problem.hints is not None
        best = problem.hints[:, :1]
        mixed = [np.where(problem.numeric, best + share * (x - best), x) for share in self.settings.blend_shares]
        return problem.region.project(np.concatenate(mixed, axis=1))

    def _jump(self, race: Race, rows: Index, streams: Streams) -> FirmPoints:
        """Random points that hold, for rows that no reference row serves."""
        settings, part = self.settings, race.problem.take(rows)
        assert part.cloud is not None
        deep = replace(part, cloud=replace(part.cloud, draws=part.cloud.draws[:, : settings.jump_samples], keep=1.0))
        jumps = jump_at_random(deep, streams.take(rows), settings.jumps, settings=self.search).best(settings.points)
        unknown = FirmPoints.unknown(part.x0, settings.samples)
        return replace(race, problem=part).run(jumps.x, unknown.effort, unknown)

    def _bring_nearer(self, race: Race, now: FirmPoints) -> None:
        """Replace points by nearer ones that are as firm, round by round, as long as there are any."""
        settings = self.settings
        idle = np.zeros(len(now.x), dtype=np.intp)
        for step in range(settings.rounds):
            rows = np.flatnonzero(np.isfinite(now.effort) & (idle < settings.share_cycle))
            if not len(rows) or race.problem.has_expired:
                break
            part, current = race.problem.take(rows), now.at(rows)
            x = propose_nearer(part, current.x, step, settings)
            if not step:
                x = np.concatenate([x, self._blend(part, current.x[:, None])], axis=1)
            limit = (1 - settings.min_gain_share) * current.effort
            nearer = replace(race, problem=part).run(x, limit, current)
            better = np.isfinite(nearer.effort)
            now.put(rows[better], nearer.at(np.flatnonzero(better)))
            idle[rows] = np.where(better, 0, idle[rows] + 1)

    def _list_candidates(self, problem: Problem, found: list[list[FirmPoints]]) -> CountedCandidates:
        """The minimal answers and what the search found, points farther out and between the shares of the grid."""
        settings = self.settings
        assert problem.hints is not None
        hint = problem.hints[:, 0]

        def stack(points: list[FirmPoints]) -> Array:
            return np.stack([np.where(np.isfinite(each.effort)[:, None], each.x, hint) for each in points], axis=1)

        x, last = stack([each for level in found for each in level]), stack([level[-1] for level in found])
        lower = np.concatenate([last[:, 1:], problem.hints[:, :1]], axis=1)
        between = problem.region.project(np.where(problem.numeric, (last + lower) / 2, last))
        farther = stretch(problem, last, settings.final_stretch_factors)
        every = score_points(replace(problem, cloud=None), np.concatenate([problem.hints, x, between, farther], axis=1))
        return CountedCandidates.of(problem, every.x, without_repeats(every.x, every.effort), settings)


def _draw_cloud(problem: Problem, streams: Streams, samples: int) -> Problem:
    """The problem with new draws, in opposite pairs."""
    assert problem.cloud is not None
    half = streams.normal((samples // 2, problem.x0.shape[1]))
    draws = np.stack([half, -half], axis=2).reshape(len(half), 2 * half.shape[1], -1)
    return replace(problem, cloud=replace(problem.cloud, draws=draws))


def _improve(now: FirmPoints, new: FirmPoints, rows: Index | None = None) -> None:
    """Take the new points where they are nearer; ``rows`` are those that they belong to."""
    rows = np.arange(len(now.x)) if rows is None else rows
    better = np.flatnonzero(new.effort < now.effort[rows])
    now.put(rows[better], new.at(better))
