"""Which candidate is the least that is firm enough: candidates counted on the same noisy copies, as few as it takes.

Copies are counted in stages. After each, a candidate may be as firm as the upper end of the interval around its count,
and no firmer than after the stages before; after the last, it is as firm as the lower end, the share that it surely
keeps. `keep=q` takes the candidate of least effort that is at least as firm as q, or the firmest where none is: a
higher q chooses from fewer candidates, so its effort is never less. What can no longer be chosen is not counted on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.methods.firm.guided import copy_margins
from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.physics.boltzmann import log_mean_exp
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
    stage: Index  # stages counted
    kept: Index  # copies counted that keep the target
    firmness: Array  # how firm a candidate may still be; how firm it is after the last stage; -1 where it is none
    settings: FirmSettings

    @classmethod
    def of(cls, problem: Problem, x: Array, effort: Array, settings: FirmSettings) -> CountedCandidates:
        """Candidates of which nothing is counted yet."""
        order = np.argsort(effort, axis=1, kind="stable")
        x, effort = x[np.arange(len(x))[:, None], order], np.take_along_axis(effort, order, axis=1)
        zeros = np.zeros(effort.shape, dtype=np.intp)
        return cls(problem, x, effort, zeros, zeros.copy(), np.where(np.isfinite(effort), 1.0, -1.0), settings)

    @property
    def is_whole(self) -> Mask:
        """Which candidates ``(n, k)`` are counted to the end."""
        return np.asarray(self.stage == len(self.settings.check_stages))

    def count_next_stage(self, wanted: Mask) -> None:
        """Count the ``wanted`` candidates ``(n, k)`` on the copies of their next stage."""
        settings, cloud = self.settings, self.problem.cloud
        assert cloud is not None
        for stage in np.unique(self.stage[wanted]).tolist():
            rows, places = np.nonzero(wanted & (self.stage == stage))
            begun, end = (0, *settings.check_stages)[stage : stage + 2]
            kept = copy_margins(self.problem, rows, self.x[rows, places], cloud.draws[rows, begun:end])[1]
            count = self.kept[rows, places] + np.count_nonzero(kept, axis=1)
            share, last = count / end, stage + 1 == len(settings.check_stages)
            # the upper end is the lower end of the share lost
            likely = 1 - sure_share(1 - share, end, settings.race_deviations)
            able = sure_share(share if last else likely, settings.check_samples, settings.spare_deviations)
            self.kept[rows, places], self.stage[rows, places] = count, stage + 1
            self.firmness[rows, places] = np.minimum(self.firmness[rows, places], able)

    def choose(self, keep: float, answers: int) -> Mask:
        """Which candidates ``(n, k)`` answer ``keep``: the least that is firm enough, or the firmest of all.

        More than one ``answers`` a row: all that are firm enough.
        """
        real = np.isfinite(self.effort)
        self.count_next_stage(real & (self.stage == 0))
        while True:
            may = real & (self.firmness >= keep)
            chosen = may & self.is_whole
            if answers == 1:  # what comes after one that is firm is not needed; the nearest that may be is counted
                may &= ~(np.cumsum(chosen, axis=1) > 0)
            wanted = may & ~self.is_whole
            if answers == 1:
                wanted &= np.cumsum(wanted, axis=1) == 1
            if not wanted.any() or self.problem.has_expired:
                break
            self.count_next_stage(wanted)
        lost = np.asarray(real.any(axis=1) & ~chosen.any(axis=1))
        return np.asarray(chosen | self._find_firmest(real & lost[:, None]))

    def choose_by_free_energy(self, T: float) -> Mask:
        """Which candidate ``(n, k)`` has the least free energy, effort - T ln <exp(-kappa phi)> over all copies.

        The same candidates and copies for every T: as T rises, effort never falls. A candidate whose effort alone is
        more than the least free energy so far is not counted.
        """
        cloud, n, energy = self.problem.cloud, len(self.x), np.full(self.effort.shape, np.inf)
        assert cloud is not None
        kappa = np.broadcast_to(np.asarray(cloud.kappa, dtype=np.float64), (n,))
        for place in range(self.effort.shape[1]):  # by effort
            rows = np.flatnonzero(self.effort[:, place] < energy.min(axis=1))
            if not len(rows) or self.problem.has_expired:
                break
            margin, _ = copy_margins(self.problem, rows, self.x[rows, place], cloud.draws[rows])
            survival = log_mean_exp(-kappa[rows, None] * np.maximum(0.0, -margin))
            energy[rows, place] = self.effort[rows, place] - T * survival
        least = np.isfinite(energy) & (energy == energy.min(axis=1, keepdims=True))
        return np.asarray(least & (np.cumsum(least, axis=1) == 1))

    def _find_firmest(self, real: Mask) -> Mask:
        """The firmest of the ``real`` candidates ``(n, k)``, the nearest of equals."""
        while not self.problem.has_expired:
            firmness = np.where(real, self.firmness, -1.0)
            top = real & (firmness == firmness.max(axis=1, initial=-1.0)[:, None])
            wanted = top & ~self.is_whole
            if not wanted.any():
                break
            self.count_next_stage(wanted)
        whole = real & self.is_whole
        judged = np.where(np.any(whole, axis=1, keepdims=True), whole, real)
        firmness = np.where(judged, self.firmness, -1.0)
        top = judged & (firmness == firmness.max(axis=1, initial=-1.0)[:, None])
        return np.asarray(top & (np.cumsum(top, axis=1) == 1))
