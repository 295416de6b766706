"""Lanes of the firm search: a row that is searched for one share of the grid, beside itself for the other shares.

All lanes take each step together, whatever their row and share, so that a step is a few calls however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.firm.escapes import hold_change, start_without_change
from counterpoise.methods.firm.firm_starts import FirmStarts
from counterpoise.methods.firm.guided import FirmPoints, Race, copy_margins
from counterpoise.methods.firm.kept_counts import share_to_count
from counterpoise.methods.firm.proposals import blend, propose_nearer
from counterpoise.methods.firm.sweeps import climb, measure_leverage, sweep_features
from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.methods.settings.search_settings import SearchSettings
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True)
class Lanes:
    """Lanes ``(l,)``: of the first share of all rows, then of the next ones, and those that hold a change back last."""

    race: Race  # a row and a share for each lane
    now: FirmPoints  # changed in place
    starts: FirmStarts
    tip: FirmPoints  # the minimal answers
    home: Array  # (l, d) the rows themselves, or what is nearest to them in the region
    leverage: Array  # (l, d)
    level: Index  # (l,) which share of the grid it is
    is_escape: Mask  # (l,) which hold a change back
    beside: Index  # (l,) the lane that it was made from
    settings: FirmSettings
    search: SearchSettings

    @classmethod
    def of(cls, problem: Problem, settings: FirmSettings, search: SearchSettings) -> Lanes:
        """A lane of each row for every share down to the first below that asked for, in which nothing is found yet.

        What is found for a share depends on greater ones alone: whoever asks for less finds all of it, and more.
        """
        assert problem.hints is not None
        assert problem.cloud is not None
        asked, best = float(np.max(problem.cloud.keep)), problem.hints[:, 0]
        levels = min(1 + sum(share >= asked for share in settings.shares), len(settings.shares))
        given = np.array(settings.shares[:levels])
        share, n = share_to_count(given, settings.check_samples, settings.spare_deviations), len(problem)
        rows, level = np.tile(np.arange(n), levels), np.repeat(np.arange(levels), n)
        tip, home = _measure(problem, best).at(rows), problem.region.nearest_feasible[rows]
        leverage = measure_leverage(problem, best, search)[rows]
        starts = FirmStarts.of(problem, settings, search).take(rows)
        race = Race(problem.take(rows), np.minimum(share, 1.0)[level], settings)
        now, none = FirmPoints.unknown(tip.x, settings.samples), np.zeros(len(rows), dtype=bool)
        every = np.arange(len(rows))
        return cls(race, now, starts, tip, home, leverage, level, none, every, settings, search)

    @property
    def levels(self) -> int:
        """How many shares of the grid are searched for."""
        return int(self.level.max(initial=-1)) + 1

    def take(self, lanes: Index) -> Lanes:
        """Some of the lanes, with points of their own."""
        parts = {name: getattr(self, name).at(lanes) for name in ("now", "tip")}
        arrays = {name: getattr(self, name)[lanes] for name in ("home", "leverage", "level", "is_escape", "beside")}
        return replace(self, race=self.race.take(lanes), starts=self.starts.take(lanes), **parts, **arrays)

    def start(self) -> None:
        """Firm points among the starts, between them and the minimal answers, and where sweeps from them lead."""
        self.now.improve(self.starts.find_firm(self.race, self.now.effort))
        self.now.improve(self.starts.find_firm_between(self.race, self.now))
        self.pass_down()
        lost = np.flatnonzero(np.isinf(self.now.effort) & np.isin(self.level, self.settings.climbed_levels))
        if len(lost):
            firmest = self.starts.find_firmest(lost)
            self.now.improve(climb(self.race.take(lost), firmest, self.leverage[lost], self.search), lost)
            self.pass_down()

    def pass_down(self) -> None:
        """Give each lane what is nearer in that of the next greater share: it holds for the lesser one as well."""
        for level in range(1, self.levels):
            above, here = np.flatnonzero(self.level == level - 1), np.flatnonzero(self.level == level)
            self.now.improve(self.now.at(above), here)

    def escape(self) -> Lanes:
        """Lanes beside some of these that do without the largest change of their points, where firm ones are found.

        Returned are both; `merge` takes what the new ones find.
        """
        every = np.arange(len(self.level))
        wanted = self.now.found[np.isin(self.level[self.now.found], self.settings.escape_levels)]
        wide = self.take(np.concatenate([every, wanted]))
        wide.is_escape[len(every) :] = True
        wide = replace(wide, race=hold_change(wide.race, wide.now.x, wide.is_escape))
        new = np.flatnonzero(wide.is_escape)
        if len(new):
            part = wide.take(new)
            wide.now.put(new, start_without_change(part.race, part.now.x, part.starts.x, part.leverage, self.search))
        return replace(wide, beside=np.concatenate([every, wanted]))

    def merge(self, wide: Lanes) -> None:
        """Take the points of the lanes that `escape` returned, where they are nearer."""
        for some in (~wide.is_escape, wide.is_escape):
            lanes = np.flatnonzero(some)
            self.now.improve(wide.now.at(lanes), wide.beside[lanes])
        self.pass_down()

    def bring_nearer(self) -> None:
        """Replace points by nearer ones that are as firm, round by round, as long as there are any."""
        settings, now = self.settings, self.now
        idle = np.zeros(len(now.x), dtype=np.intp)
        for step in range(settings.rounds):
            lanes = np.flatnonzero(np.isfinite(now.effort) & (idle < settings.share_cycle))
            if not len(lanes) or self.race.problem.has_expired:
                break
            race, current = self.race.take(lanes), now.at(lanes)
            x = propose_nearer(race.problem, current.x, step, settings)
            if not step:
                x = np.concatenate([x, blend(race.problem, current.x[:, None], settings)], axis=1)
            nearer = race.run(x, (1 - settings.min_gain_share) * current.effort, current)
            better = np.isfinite(nearer.effort)
            now.put(lanes[better], nearer.at(np.flatnonzero(better)))
            idle[lanes] = np.where(better, 0, idle[lanes] + 1)

    def sweep(self, stage: int) -> None:
        """Replace points by nearer ones that sweeps lead to, in those lanes that have a sweep in this stage."""
        wanted = (np.array(self.settings.stages)[self.level] > stage) | self.is_escape
        lanes = np.flatnonzero(wanted & np.isfinite(self.now.effort))
        part = self.take(lanes)
        sweep_features(part.race, part.now, [part.now, part.tip], part.leverage, self.search)
        if not stage or part.is_escape.any():
            around = np.flatnonzero(part.is_escape | (stage == 0))
            home = part.take(around)
            unknown = FirmPoints.unknown(home.home, self.settings.samples)
            sweep_features(home.race, home.now, [unknown], home.leverage, self.search)
            part.now.put(around, home.now)
        self.now.put(lanes, part.now)


def _measure(problem: Problem, x: Array) -> FirmPoints:
    """Points ``(n, d)`` with the margins of their copies, whether they are firm or not."""
    assert problem.cloud is not None
    points = FirmPoints.unknown(x, problem.cloud.draws.shape[1])
    points.margin = copy_margins(problem, np.arange(len(x)), x, problem.cloud.draws)[0]
    return points
