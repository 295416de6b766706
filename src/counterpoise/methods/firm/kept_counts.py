"""Which candidate is the least that is firm enough: candidates counted on the same noisy copies, as few as it takes.

A candidate is as firm as the share that its count surely shows, the lower end of Wilson's interval. `keep=q` takes the
candidate of least effort that is at least as firm as q, or as the firmest where none is: a higher q chooses from fewer
candidates, so its effort is never less. Copies are counted only until that choice is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


def sure_share(kept: Array | float, copies: int, deviations: float) -> Array:
    """The share that is surely kept, the lower end of Wilson's interval around a share ``kept`` of so many copies.

    >>> sure_share(np.array([0.0, 0.9, 1.0]), 100, 2.0).round(2)
    array([0.  , 0.82, 0.96])
    """
    kept, weight = np.asarray(kept, dtype=np.float64), deviations**2 / copies
    spread = np.sqrt(np.maximum(weight * kept * (1 - kept) + weight**2 / 4, 0.0))
    return np.asarray(np.maximum((kept + weight / 2 - spread) / (1 + weight), 0.0))


def share_to_count(sure: Array | float, copies: int, deviations: float) -> Array:
    """The share of so many copies that has to be counted for a share that is ``sure``; above 1 where none would do.

    >>> float(share_to_count(sure_share(0.9, 100, 2.0), 100, 2.0))
    0.9
    """
    sure = np.asarray(sure, dtype=np.float64)
    return np.asarray(sure + deviations * np.sqrt(sure * (1 - sure) / copies))


@dataclass(frozen=True)
class CountedCandidates:
    """Candidates of n rows, by effort, with the copies counted so far: ``(n, k)`` each."""

    problem: Problem  # its cloud holds the copies
    x: Array  # (n, k, d)
    effort: Array  # infinite where a candidate is none
    counted: Index  # copies counted
    kept: Index  # of these, copies that keep the target
    deviations: float

    @classmethod
    def of(cls, problem: Problem, x: Array, effort: Array, deviations: float) -> CountedCandidates:
        """Candidates of which nothing is counted yet."""
        order = np.argsort(effort, axis=1, kind="stable")
        zeros = np.zeros(effort.shape, dtype=np.intp)
        x, effort = x[np.arange(len(x))[:, None], order], np.take_along_axis(effort, order, axis=1)
        return cls(problem, x, effort, zeros, zeros.copy(), deviations)

    @property
    def copies(self) -> int:
        """How many copies there are of each candidate."""
        assert self.problem.cloud is not None
        return int(self.problem.cloud.draws.shape[1])

    @property
    def firmness(self) -> Array:
        """The share that each candidate surely keeps, at most: copies not counted are taken to keep the target."""
        most = (self.copies - self.counted + self.kept) / self.copies
        return np.where(np.isfinite(self.effort), sure_share(most, self.copies, self.deviations), -1.0)

    def join(self, others: CountedCandidates, rows: Index) -> CountedCandidates:
        """These candidates with ``others`` of some ``rows``."""
        n, k, d = len(self.x), *others.x.shape[1:]
        x, effort = np.broadcast_to(self.x[:, :1], (n, k, d)).copy(), np.full((n, k), np.inf)
        counted, kept = np.zeros((n, k), dtype=np.intp), np.zeros((n, k), dtype=np.intp)
        x[rows], effort[rows], counted[rows], kept[rows] = others.x, others.effort, others.counted, others.kept
        every = [
            np.concatenate(pair, axis=1)
            for pair in ((self.x, x), (self.effort, effort), (self.counted, counted), (self.kept, kept))
        ]
        order, line = np.argsort(every[1], axis=1, kind="stable"), np.arange(n)[:, None]
        x, effort, counted, kept = (array[line, order] for array in every)
        return replace(self, x=x, effort=effort, counted=counted, kept=kept)

    def count(self, wanted: Mask, copies: int) -> None:
        """Count the ``wanted`` candidates ``(n, k)`` on their next copies, up to as many as ``copies`` in all."""
        for begun in np.unique(self.counted[wanted]).tolist():
            rows, places = np.nonzero(wanted & (self.counted == begun))
            if begun >= copies:
                continue
            part = self.problem.take(rows)
            assert part.cloud is not None
            some = replace(part, cloud=replace(part.cloud, draws=part.cloud.draws[:, begun:copies], keep=0.0, T=0.0))
            share = some.score_under_noise(self.x[rows, places][:, None]).kept[:, 0]
            self.kept[rows, places] += np.rint(share * (copies - begun)).astype(np.intp)
            self.counted[rows, places] = copies

    def choose(self, keep: float, answers: int, first_copies: int) -> Mask:
        """Which candidates ``(n, k)`` answer ``keep``: the least that are firm enough, or the firmest of all.

        More than one ``answers`` a row: all that are firm enough.
        """
        real = np.isfinite(self.effort)
        self.count(real, min(first_copies, self.copies))
        while True:  # the nearest that may be firm enough is counted to its end
            may = real & (self.firmness >= keep)
            whole = may & (self.counted == self.copies)
            if answers == 1:
                may &= ~(np.cumsum(whole, axis=1) > 0)  # what comes after one that is firm is not needed
            wanted = may & (self.counted < self.copies)
            if answers == 1:
                wanted &= np.cumsum(wanted, axis=1) == 1
            if not wanted.any() or self.problem.has_expired:
                break
            for begun in np.unique(self.counted[wanted]).tolist():  # a few at a time: most are out soon
                self.count(wanted & (self.counted == begun), min(2 * begun, self.copies))
        lost = real.any(axis=1) & ~whole.any(axis=1)
        return np.asarray(whole | self._find_firmest(real & lost[:, None]))

    def _find_firmest(self, real: Mask) -> Mask:
        """The firmest of the ``real`` candidates ``(n, k)``, the nearest of equals."""
        while not self.problem.has_expired:
            whole = self.counted == self.copies
            best = np.where(real & whole, self.firmness, -1.0).max(axis=1, initial=-1.0)
            open_ones = real & ~whole & (self.firmness >= best[:, None])
            firmest = np.where(open_ones, self.firmness, -1.0)
            wanted = open_ones & (firmest == firmest.max(axis=1, initial=-1.0)[:, None])
            if not wanted.any():
                break
            self.count(wanted, self.copies)
        whole = real & (self.counted == self.copies)
        judged = np.where(whole.any(axis=1)[:, None], whole, real)
        firmness = np.where(judged, self.firmness, -1.0)
        top = judged & (firmness == firmness.max(axis=1, initial=-1.0)[:, None])
        return np.asarray(top & (np.cumsum(top, axis=1) == 1))
