"""Where the search for firm points begins: beyond the minimal answer, and at real rows that may hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.firm.deep_rows import find_deep_rows, find_single_changes
from counterpoise.methods.firm.guided import FirmPoints, Race, copy_margins, sort_proposals
from counterpoise.methods.firm.proposals import stretch
from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.methods.settings.search_settings import SearchSettings
from counterpoise.methods.starts import list_reference_rows
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True)
class FirmStarts:
    """Points ``(n, k, d)`` by effort ``(n, k)``, and how many of the copies ``counted`` each has ``lost``."""

    x: Array
    effort: Array
    lost: Index
    counted: Index

    @classmethod
    def of(cls, problem: Problem, settings: FirmSettings, search: SearchSettings) -> FirmStarts:
        """The minimal answers stretched, near and deep reference rows, and single changes."""
        assert problem.hints is not None
        assert problem.cloud is not None
        stretched = stretch(problem, problem.hints, settings.stretch_factors)
        near = list_reference_rows(problem, settings.points, settings=search)
        deep = find_deep_rows(problem, settings.deep_rows, settings.deep_rows_from)
        bases = np.stack([problem.region.nearest_feasible, problem.hints[:, 0]], axis=1)
        changed = find_single_changes(problem, bases, settings.single_changes, settings.single_values)
        given = problem.region.project(np.concatenate([near, deep, changed], axis=1))
        x, effort = sort_proposals(problem, np.concatenate([stretched, given], axis=1))
        starts = cls(x, effort, *(np.zeros(effort.shape, dtype=np.intp) for _ in range(2)))
        starts._count(problem, np.isfinite(effort), settings.first_copies)
        starts._count(problem, np.isfinite(effort) & (starts.lost <= settings.second_lost), settings.second_copies)
        return starts

    def _count(self, problem: Problem, wanted: Mask, more: int) -> None:
        """Count the ``wanted`` starts ``(n, k)``, of which equally many copies are counted, on so many ``more``."""
        assert problem.cloud is not None
        rows, places = np.nonzero(wanted)
        if len(rows):
            begun = int(self.counted[rows[0], places[0]])
            draws = problem.cloud.draws[rows, begun : begun + more]
            kept = copy_margins(problem, rows, self.x[rows, places], draws)[1]
            self.lost[rows, places] += np.count_nonzero(~kept, axis=1)
            self.counted[rows, places] += more

    def take(self, rows: Index) -> FirmStarts:
        """The starts of some of the rows, which may be there more than once."""
        return replace(self, x=self.x[rows], effort=self.effort[rows], lost=self.lost[rows], counted=self.counted[rows])

    def find_firm(self, race: Race, limit: Array) -> FirmPoints:
        """The nearest start that keeps the share of the race at less effort than ``limit`` ``(n,)``."""
        n, m = race.draws.shape[:2]
        may = self._may_be_firm(race) & (self.effort < limit[:, None])
        return race.count_nearest(self.x, self.effort, may, np.tile(np.arange(m), (n, 1)), race.settings.counted_starts)

    def find_firm_between(self, race: Race, now: FirmPoints) -> FirmPoints:
        """The nearest firm point on the ways from the minimal answers to starts that may be firm, nearer than now."""
        problem, settings = race.problem, race.settings
        assert problem.hints is not None
        may = self._may_be_firm(race)
        first = np.argsort(~may, axis=1, kind="stable")[:, : settings.blended_starts]
        ends = np.take_along_axis(self.x, first[..., None], axis=1)
        best = problem.hints[:, :1]
        ends = np.where(np.take_along_axis(may, first, axis=1)[..., None], ends, best)
        ways = [np.where(problem.numeric, best + share * (ends - best), ends) for share in settings.blend_shares[1::2]]
        return race.run(np.concatenate(ways, axis=1), now.effort, now)

    def list_nearest(self, race: Race, count: int) -> Array:
        """The ``count`` nearest starts ``(n, c, d)`` of each row that may be firm, then others."""
        first = np.argsort(~self._may_be_firm(race), axis=1, kind="stable")[:, :count]
        return np.asarray(np.take_along_axis(self.x, first[..., None], axis=1))

    def _may_be_firm(self, race: Race) -> Mask:
        """Which starts ``(n, k)`` have not lost too many of the first copies to keep the share of a race."""
        share = race.share[:, None]
        allowed = (1 - share) * self.counted
        likely = self.lost <= allowed + race.settings.race_deviations * np.sqrt(allowed * share)
        return np.asarray(likely & np.isfinite(self.effort))

    def find_firmest(self, rows: Index) -> Array:
        """The start ``(r, d)`` of each of some rows that has lost the fewest copies, the nearest of equals."""
        lost = np.where(np.isfinite(self.effort[rows]), self.lost[rows] / np.maximum(self.counted[rows], 1), 2.0)
        return np.asarray(self.x[rows, lost.argmin(axis=1)])
