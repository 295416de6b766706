"""Where the search for firm points begins: beyond the minimal answer, and at real rows that may hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.methods.firm.deep_rows import find_deep_rows
from counterpoise.methods.firm.guided import FirmPoints, Race, copy_margins, sort_proposals
from counterpoise.methods.firm.proposals import stretch
from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.methods.settings.search_settings import SearchSettings
from counterpoise.methods.starts import list_reference_rows
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True)
class FirmStarts:
    """Points ``(n, k, d)`` by effort ``(n, k)``, and how many of the first copies each has lost ``(n, k)``."""

    x: Array
    effort: Array
    lost: Index
    copies: int  # so many are the first copies

    @classmethod
    def of(cls, problem: Problem, settings: FirmSettings, search: SearchSettings) -> FirmStarts:
        """The minimal answers stretched, the nearest reference rows, and those deeper inside the target."""
        assert problem.hints is not None
        assert problem.cloud is not None
        stretched = stretch(problem, problem.hints, settings.stretch_factors)
        near = list_reference_rows(problem, settings.points, settings=search)
        deep = find_deep_rows(problem, settings.deep_rows, settings.deep_rows_from)
        given = problem.region.project(np.concatenate([near, deep], axis=1))
        x, effort = sort_proposals(problem, np.concatenate([stretched, given], axis=1))
        rows, places = np.nonzero(np.isfinite(effort))
        lost = np.full(effort.shape, settings.first_copies, dtype=np.intp)
        draws = problem.cloud.draws[rows, : settings.first_copies]
        kept = copy_margins(problem, rows, x[rows, places], draws)[1]
        lost[rows, places] = np.count_nonzero(~kept, axis=1)
        return cls(x, effort, lost, settings.first_copies)

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

    def _may_be_firm(self, race: Race) -> Mask:
        """Which starts ``(n, k)`` have not lost too many of the first copies to keep the share of a race."""
        allowed = (1 - race.share) * self.copies
        likely = self.lost <= allowed + race.settings.race_deviations * np.sqrt(allowed * race.share)
        return np.asarray(likely & np.isfinite(self.effort))

    def find_firmest(self, rows: Index) -> Array:
        """The start ``(r, d)`` of each of some rows that has lost the fewest copies, the nearest of equals."""
        lost = np.where(np.isfinite(self.effort[rows]), self.lost[rows], self.copies + 1)
        return np.asarray(self.x[rows, lost.argmin(axis=1)])
