"""Guiding copies: noisy copies that are the same for every point of a row, asked for as few at a time as it takes.

Points near each other lose the same copies. So the copies are put in the order in which the point that a search is at
would lose them, and a proposal is tried first on the few copies that decide: those around the share that is asked for.
Only what stands there is counted on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


@dataclass
class FirmPoints:
    """One point of each row that keeps the share asked for: ``(n, d)``, its effort ``(n,)``, infinite where none.

    ``margin`` ``(n, m)`` is that of each of the row's copies.
    """

    x: Array
    effort: Array
    margin: Array

    @classmethod
    def unknown(cls, x: Array, copies: int) -> FirmPoints:
        """Points ``(n, d)`` of whose copies nothing is known."""
        return cls(x.copy(), np.full(len(x), np.inf), np.zeros((len(x), copies)))

    @classmethod
    def concatenate(cls, parts: Sequence[FirmPoints]) -> FirmPoints:
        """Several sets of points, one after the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "effort", "margin")))

    def put(self, rows: Index, new: FirmPoints) -> None:
        """Replace the points of some rows."""
        self.x[rows], self.effort[rows], self.margin[rows] = new.x, new.effort, new.margin

    def improve(self, new: FirmPoints, rows: Index | None = None) -> None:
        """Take the new points where they are nearer; ``rows`` are those that they belong to, each there once."""
        rows = np.arange(len(self.x)) if rows is None else rows
        better = np.flatnonzero(new.effort < self.effort[rows])
        self.put(rows[better], new.at(better))

    def at(self, rows: Index) -> FirmPoints:
        """The points of some rows."""
        return FirmPoints(self.x[rows], self.effort[rows], self.margin[rows])

    def copy(self) -> FirmPoints:
        """The same points, which stay as they are."""
        return FirmPoints(self.x.copy(), self.effort.copy(), self.margin)

    @property
    def found(self) -> Index:
        """The rows that have a point."""
        return np.flatnonzero(np.isfinite(self.effort))

    @property
    def order(self) -> Index:
        """The numbers ``(n, m)`` of the copies, those that the point would lose first at the front."""
        return np.argsort(self.margin, axis=1, kind="stable")


def copy_margins(problem: Problem, rows: Index, x: Array, draws: Array) -> tuple[Array, Mask]:
    """Margins, and whether the target is kept, ``(p, m)`` each, of copies of points ``x`` ``(p, d)`` of these rows.

    ``draws`` ``(p, m, d)`` are those of the copies.
    """
    cloud = problem.cloud
    assert cloud is not None, "noisy copies need a cloud"
    margin, kept = np.empty(draws.shape[:2]), np.empty(draws.shape[:2], dtype=bool)
    at_once = max(1, cloud.max_cells_together // max(draws[0].size, 1)) if len(draws) else 1
    for start in range(0, len(rows), at_once):
        some = slice(start, start + at_once)
        margins, held = problem.take(rows[some]).judge_copies(x[some, None], draws[some])
        margin[some], kept[some] = margins[:, 0], held[:, 0]
    return margin, kept


@dataclass(frozen=True)
class Race:
    """Finds the nearest of many proposals of each row that keeps a share of the copies of the problem's cloud.

    Each row has a share of its own: a row that is there more than once is searched for several shares together.
    """

    problem: Problem
    share: Array  # (n,)
    settings: FirmSettings

    def take(self, rows: Index) -> Race:
        """The race of some of the rows, which may be there more than once."""
        return replace(self, problem=self.problem.take(rows), share=self.share[rows])

    @property
    def draws(self) -> Array:
        """The draws of the copies, ``(n, m, d)``."""
        assert self.problem.cloud is not None
        return self.problem.cloud.draws

    @property
    def most_lost(self) -> Index:
        """How many of the copies may lose the target, ``(n,)``."""
        return np.asarray(np.floor((1 - self.share) * self.draws.shape[1] + 1e-9), dtype=np.intp)

    def with_deciding_copies(self, current: FirmPoints) -> tuple[Problem, Index]:
        """The problem with the copies alone that decide for points near ``current``, and how many of them may be lost.

        Where nothing is known of ``current``, they are the first copies.
        """
        settings, cloud, m = self.settings, self.problem.cloud, self.draws.shape[1]
        assert cloud is not None
        count = min(settings.deciding_copies, m)
        first = np.clip(self.most_lost - settings.deciding_copies // 3, 0, m - count)
        may_lose = self.most_lost - first
        if not current.margin.any():
            count = min(settings.first_copies, m)
            first, may_lose = np.zeros_like(first), -(-self.most_lost * count // m)
        deciding = np.take_along_axis(current.order, first[:, None] + np.arange(count), axis=1)
        draws = np.take_along_axis(self.draws, deciding[..., None], axis=1)
        enough = (count - may_lose) / count - 1e-9  # a hair less: so many kept are enough, however they are divided
        return replace(self.problem, cloud=replace(cloud, draws=draws, T=0.0, keep=enough)), may_lose

    def run(self, x: Array, limit: Array, current: FirmPoints) -> FirmPoints:
        """The nearest of the proposals ``x`` ``(n, k, d)`` that keeps the share at less effort than ``limit`` ``(n,)``.

        Copies are tried in the order in which the ``current`` points would lose them.
        """
        unknown = ~current.margin.any(axis=1)
        if unknown.any() and not unknown.all():  # each row is asked about as it would be alone
            found = FirmPoints.unknown(current.x, current.margin.shape[1])
            for rows in (np.flatnonzero(unknown), np.flatnonzero(~unknown)):
                found.put(rows, self.take(rows).run(x[rows], limit[rows], current.at(rows)))
            return found
        y, effort = sort_proposals(self.problem, x)
        effort = np.where(effort < limit[:, None], effort, np.inf)
        may = np.isfinite(effort)
        rows, places = np.nonzero(may)
        if len(rows):
            lean, may_lose = self.with_deciding_copies(current)
            assert lean.cloud is not None
            kept = copy_margins(lean, rows, y[rows, places], lean.cloud.draws[rows])[1]
            may[rows, places] = np.count_nonzero(~kept, axis=1) <= may_lose[rows]
        return self.count_nearest(y, effort, may, current.order, self.settings.counted_proposals)

    def count_nearest(self, x: Array, effort: Array, may: Mask, order: Index, tries: int) -> FirmPoints:
        """The first of the points ``(n, k, d)``, by effort, that ``may`` ``(n, k)`` be firm and is, in some tries."""
        best = FirmPoints.unknown(x[:, 0], order.shape[1])
        for _ in range(tries):
            turn = may & (np.cumsum(may, axis=1) == 1)
            rows, places = np.nonzero(turn)
            if not len(rows) or self.problem.has_expired:
                break
            firm, margin = self._count(rows, x[rows, places], order[rows])
            best.put(rows[firm], FirmPoints(x[rows, places][firm], effort[rows, places][firm], margin[firm]))
            may = may & ~turn
            may[rows[firm]] = False
        return best

    def _count(self, rows: Index, x: Array, order: Index) -> tuple[Mask, Array]:
        """Whether points ``(p, d)`` reach the target and keep the share of all copies; the copies' margins ``(p, m)``.

        Copies are counted in ``order`` ``(p, m)``, in two parts: what has lost too many of the first is not firm.
        """
        margin, most_lost = np.zeros(order.shape), self.most_lost[rows]
        lost = np.count_nonzero(~self.problem.are_reached(rows, x)[:, None], axis=1) * order.shape[1]
        for part in (order[:, : self.settings.first_counted], order[:, self.settings.first_counted :]):
            still = np.flatnonzero(lost <= most_lost)
            draws = self.draws[rows[still, None], part[still]]
            margins, kept = copy_margins(self.problem, rows[still], x[still], draws)
            lost[still] += np.count_nonzero(~kept, axis=1)
            margin[still[:, None], part[still]] = margins
        return lost <= most_lost, margin


def sort_proposals(problem: Problem, x: Array) -> tuple[Array, Array]:
    """Proposals ``(n, k, d)`` settled in the region, by effort ``(n, k)``: infinite where outside or there twice."""
    y, inside = problem.region.bring_inside(x)
    effort = without_repeats(y, np.where(inside, problem.energy.effort(y, problem.x0), np.inf))
    order = np.argsort(effort, axis=1, kind="stable")
    return np.take_along_axis(y, order[..., None], axis=1), np.take_along_axis(effort, order, axis=1)


def without_repeats(x: Array, effort: Array) -> Array:
    """The efforts of points ``(n, k, d)``, infinite for a point that is there already."""
    effort = effort.copy()
    for k in range(1, effort.shape[1]):
        twin = (effort[:, :k] == effort[:, k : k + 1]) & np.isfinite(effort[:, k : k + 1])
        if twin.any():
            same = (x[:, :k] == x[:, k : k + 1]) | np.isnan(x[:, k : k + 1])
            effort[(twin & same.all(axis=-1)).any(axis=1), k] = np.inf
    return effort
