"""Firm answers for every share at once: least effort subject to ``P(kept) >= q``, so that effort rises with q.

One fixed grid of shares is searched, whatever share is asked for, all of them on the same noisy copies. What was found
for every share of the grid, on the way between, and farther out are the candidates of a row; other copies than those
that led the search choose among them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.base import Run, last_run
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.firm.kept_counts import CountedCandidates, share_to_count
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.methods.polish import undo_changes
from counterpoise.methods.settings.finish import FirmShareSettings
from counterpoise.methods.settings.search import DEFAULTS, FIRM_SHARE_DEFAULTS, SearchSettings
from counterpoise.methods.starts import bisect_towards, jump_at_random, start_at_reference_rows
from counterpoise.methods.trials.sweep import max_useful_distance, sweep
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index


@dataclass(frozen=True)
class FirmShareSearch:
    """The search for ``keep`` under the problem's cloud; ``search`` holds what it shares with the plain search."""

    settings: FirmShareSettings = FIRM_SHARE_DEFAULTS
    search: SearchSettings = DEFAULTS

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        cloud, hints, settings = problem.cloud, problem.hints, self.settings
        assert cloud is not None, "a firm search needs a cloud"
        assert hints is not None, "a firm search needs the minimal answers"
        now, n = time.perf_counter(), len(problem)
        early = replace(problem, deadline=now + settings.search_time_share * (problem.deadline - now))
        guided = _draw_cloud(early, streams, settings.samples)
        starts = self._count_starts(guided, streams)
        shares = share_to_count(np.array(settings.shares), settings.check_samples, settings.spare_deviations)
        levels = _take_levels(guided, np.minimum(shares, 1.0))
        found = self._search_levels(levels, guided, _best_at_levels(starts, np.minimum(shares, 1.0)))
        checked = _draw_cloud(problem, streams, settings.check_samples)
        candidates = self._list_candidates(checked, starts, found)
        chosen = candidates.choose(float(np.max(cloud.keep)), hints.shape[1], settings.first_check_samples)
        margin, effort = np.where(chosen, 0.0, -1.0), np.where(chosen, candidates.effort, np.inf)
        best = Points(candidates.x, margin, effort).best(settings.points * hints.shape[1])
        yield Run(*best, np.ones(n, dtype=bool), 1)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def _count_starts(self, problem: Problem, streams: Streams) -> CountedCandidates:
        """The minimal answers stretched, reference rows, and what lies between, counted on the copies that guide.

        A row that does not hold there is looked for farther out: wide noise asks for points deep inside the target.
        """
        settings, plain = self.settings, replace(problem, cloud=None)
        assert problem.hints is not None
        stretched = score_points(plain, _stretch(problem, problem.hints, settings.stretch_factors))
        given = start_at_reference_rows(plain, settings.points, settings=self.search)
        best = problem.hints[:, :1]
        mixed = [np.where(problem.numeric, best + share * (given.x - best), given.x) for share in settings.blend_shares]
        blends = score_points(plain, problem.region.project(np.concatenate(mixed, axis=1)))
        found = join_points(stretched, given, blends)
        starts = CountedCandidates.of(problem, found.x, found.effort, settings.spare_deviations)
        starts.count(np.isfinite(starts.effort), settings.samples)
        lost = np.flatnonzero((starts.kept < settings.samples).all(axis=1))
        if len(lost) and not problem.has_expired:
            starts = starts.join(self._count_far_starts(problem.take(lost), streams.take(lost)), lost)
        return starts

    def _count_far_starts(self, problem: Problem, streams: Streams) -> CountedCandidates:
        """Reference rows farther away; where these do not hold either, random points that do."""
        settings, plain = self.settings, replace(problem, cloud=None)
        given = start_at_reference_rows(plain, settings.far_starts, settings=self.search)
        far = CountedCandidates.of(problem, given.x, given.effort, settings.spare_deviations)
        far.count(np.isfinite(far.effort), settings.first_samples)
        firm = np.isfinite(far.effort) & (far.kept == settings.first_samples)
        far.count(firm & (np.cumsum(firm, axis=1) <= settings.points), settings.samples)
        lost = np.flatnonzero((far.kept < settings.samples).all(axis=1))
        if len(lost) and not problem.has_expired:
            part = _with_keep(problem.take(lost), 1.0)
            jumps = jump_at_random(part, streams.take(lost), settings.far_starts, settings=self.search).best(
                settings.points
            )
            more = CountedCandidates.of(part, jumps.x, jumps.effort, settings.spare_deviations)
            more.count(np.isfinite(more.effort), settings.samples)
            far = far.join(more, lost)
        return far

    def _search_levels(self, levels: Problem, guided: Problem, points: Points) -> list[Points]:
        """What is found for every share of the grid: points ``(n * shares, 1, d)`` after each stage."""
        settings = self.settings
        assert levels.hints is not None
        found = [points, bisect_towards(levels, points, levels.hints[:, :1], settings.start_halvings)]
        only = self._pick_features(guided, len(settings.shares))
        rows = np.flatnonzero(found[-1].valid[:, 0])
        for first in range(settings.sweeps):
            if not len(rows) or levels.has_expired:
                break
            part, before = levels.take(rows), found[-1].at(rows)
            reach = max_useful_distance(part, before.lowest_effort, settings=self.search)
            features = None if only is None else only[rows]
            home = score_points(part, part.region.nearest_feasible[:, None, :])
            tried = (
                join_points(before, home) if not first else before
            )  # few changes are found from where there are none
            swept = sweep(part, Cells.of(part), tried, reach, settings.sweep_width, features, settings=self.search)
            after = join_points(before, swept.points).best(1)
            better = after.effort[:, 0] < (1 - settings.min_gain_share) * before.effort[:, 0]
            rows = rows[better]
            found.append(self._pass_down(_put(found[-1], rows, after.at(np.flatnonzero(better)))))
        rows = np.flatnonzero(found[-1].valid[:, 0])
        if len(rows) and not levels.has_expired:
            found.append(_put(found[-1], rows, undo_changes(levels.take(rows), found[-1].at(rows))))
        return found

    def _pass_down(self, points: Points) -> Points:
        """The points ``(n * shares, 1, d)``: what keeps a greater share at less effort serves a lesser one too."""
        shares = len(self.settings.shares)
        for level in range(1, shares):
            above, own = np.arange(level - 1, len(points.x), shares), np.arange(level, len(points.x), shares)
            nearer = points.effort[above, 0] < points.effort[own, 0]
            points = _put(points, own[nearer], points.at(above[nearer]))
        return points

    def _pick_features(self, problem: Problem, shares: int) -> Index | None:
        """The features ``(n * shares, g)`` that do most to the score of a row without noise; None: all."""
        plain, settings = replace(problem, cloud=None), self.settings
        assert problem.hints is not None
        tip = score_points(plain, problem.hints[:, :1])
        reach = max_useful_distance(plain, tip.lowest_effort, settings=self.search)
        home = score_points(plain, plain.region.nearest_feasible[:, None, :])
        effect = sweep(plain, Cells.of(plain), home, reach, settings.sweep_width, settings=self.search).effect
        if effect.shape[1] <= settings.swept_features:
            return None
        only = np.argsort(-effect, axis=1, kind="stable")[:, : settings.swept_features]
        return np.repeat(only, shares, axis=0)

    def _list_candidates(self, problem: Problem, starts: CountedCandidates, found: list[Points]) -> CountedCandidates:
        """What the search found, points between the shares of the grid and farther out, and the minimal answers."""
        settings, (n, d) = self.settings, problem.x0.shape
        assert problem.hints is not None
        there = found[-1].valid.reshape(n, -1)
        last = np.where(there[..., None], found[-1].x.reshape(n, -1, d), problem.hints[:, :1])
        between = np.where(problem.numeric, (last[:, 1:] + last[:, :-1]) / 2, last[:, 1:])
        x = [problem.hints, _stretch(problem, last, settings.final_stretch_factors), problem.region.project(between)]
        x += [np.where(there[..., None], each.x.reshape(n, -1, d), last) for each in found[1:2]]
        firmest = np.lexsort((starts.effort, -starts.kept), axis=-1)[:, : settings.start_candidates]
        x.append(starts.x[np.arange(n)[:, None], firmest])
        every = score_points(replace(problem, cloud=None), np.concatenate(x, axis=1))
        return CountedCandidates.of(problem, every.x, _drop_repeats(every), settings.spare_deviations)


def _draw_cloud(problem: Problem, streams: Streams, samples: int) -> Problem:
    """The problem with new draws, in opposite pairs."""
    assert problem.cloud is not None
    half = streams.normal((samples // 2, problem.x0.shape[1]))
    return replace(problem, cloud=replace(problem.cloud, draws=np.concatenate([half, -half], axis=1)))


def _with_keep(problem: Problem, keep: Array | float) -> Problem:
    assert problem.cloud is not None
    return replace(problem, cloud=replace(problem.cloud, keep=keep))


def _take_levels(problem: Problem, shares: Array) -> Problem:
    """Every row once for each of the ``shares`` ``(l,)``, which it has to keep."""
    rows = np.repeat(np.arange(len(problem)), len(shares))
    return _with_keep(problem.take(rows), np.tile(shares, len(problem)))


def _best_at_levels(starts: CountedCandidates, shares: Array) -> Points:
    """The nearest start that keeps each share, ``(n * l, 1, d)``; the firmest, not valid, where none does."""
    n, _, d = starts.x.shape
    kept = np.where(np.isfinite(starts.effort), starts.kept, -1)[:, None, :]
    firm = kept >= shares[:, None] * starts.copies - 1e-9  # (n, l, k), by effort
    place = np.where(firm.any(axis=-1), firm.argmax(axis=-1), kept.argmax(axis=-1))
    x, effort = starts.x[np.arange(n)[:, None], place], np.take_along_axis(starts.effort, place, axis=1)
    effort = np.where(firm.any(axis=-1), effort, np.inf)
    margin = np.where(np.isfinite(effort), 0.0, -np.inf)
    return Points(x.reshape(-1, 1, d), margin.reshape(-1, 1), effort.reshape(-1, 1))


def _stretch(problem: Problem, x: Array, factors: tuple[float, ...]) -> Array:
    """Points ``x`` ``(n, k, d)`` at multiples of their change, ``(n, k * f, d)``, inside the region."""
    start = np.where(np.isnan(problem.x0)[:, None, :], x, problem.x0[:, None, :])
    lines = [np.where(problem.numeric, start + factor * (x - start), x) for factor in factors]
    return problem.region.project(np.concatenate(lines, axis=1))


def _put(points: Points, rows: Index, new: Points) -> Points:
    """The points with those of some rows replaced."""
    every = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
    for mine, theirs in zip(every, new, strict=True):
        mine[rows] = theirs
    return every


def _drop_repeats(points: Points) -> Array:
    """The efforts of points ``(n, k)``, infinite for a point that is there already."""
    effort = points.effort.copy()
    for k in range(1, effort.shape[1]):
        twin = (points.effort[:, :k] == points.effort[:, k : k + 1]) & np.isfinite(effort[:, k : k + 1])
        if twin.any():
            same = (points.x[:, :k] == points.x[:, k : k + 1]) | np.isnan(points.x[:, k : k + 1])
            effort[(twin & same.all(axis=-1)).any(axis=1), k] = np.inf
    return effort
