"""What sampling gives for one row: the points at the lowest temperature, with their diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterpoise.methods.sampler.diagnostics import effective_size, r_hat
from counterpoise.types import Array, Mask


@dataclass(frozen=True, eq=False)
class Draws:
    """Points of one row at the lowest temperature: t draws of c independent chains, after burn-in.

    The temperatures are those of its ladder, s of them; their mean and variance of the effort are over the same draws.
    """

    x: Array  # (t, c, d)
    is_changed: Mask  # (t, c, d)
    effort: Array  # (t, c, s), the lowest temperature first
    changed_share: Array  # (s, d) share of draws in which each feature is changed, at each temperature
    T: Array  # (s,)
    swap_rates: Array  # (s - 1,)
    sweeps: int  # of which burn-in and adaptation are part
    burn_in: int  # draws thrown away after adaptation
    wanted: int  # effective samples asked for
    max_r_hat: float
    best_x: Array  # (d,) the point of least effort seen at any temperature
    best_effort: float
    stopped: str = ""  # why sampling ended early; empty where it did not
    checks: tuple[Array, Array] = field(default=(np.empty(0), np.empty(0)))  # R-hat and effective sizes, (q,) each

    @property
    def r_hat(self) -> float:
        """The largest R-hat over effort and changed marks."""
        return float(np.max(self.checks[0], initial=1.0))

    @property
    def effective_size(self) -> float:
        """The least effective sample size over effort and changed marks; that of independent draws where all agree."""
        return float(np.min(self.checks[1], initial=float(self.effort[..., 0].size)))

    @property
    def has_converged(self) -> bool:
        """Whether R-hat is as low, and the effective sample size as large, as was asked for."""
        return self.r_hat <= self.max_r_hat and self.effective_size >= self.wanted

    def flat(self) -> tuple[Array, Array]:
        """All points ``(t c, d)`` and their efforts ``(t c,)``, in the order in which they were drawn."""
        return self.x.reshape(-1, self.x.shape[-1]), self.effort[..., 0].ravel()


def check_draws(effort: Array, is_changed: Mask, shares: tuple[float, float] = (0.02, 0.98)) -> tuple[Array, Array]:
    """R-hat and effective sizes of the effort ``(t, c)`` and of the changed marks ``(t, c, d)``.

    Marks that are nearly always the same, outside ``shares``, are left out; so is an effort that never changes.
    """
    share = is_changed.mean(axis=(0, 1))
    marks = is_changed[..., (share > shares[0]) & (share < shares[1])].astype(np.float64)
    every = np.concatenate([effort[..., None], marks], axis=2) if np.ptp(effort) > 0 else marks
    if not every.shape[2]:
        return np.empty(0), np.empty(0)
    return r_hat(every), effective_size(every)


def choose_burn_in(effort: Array, is_changed: Mask, shares: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5)) -> int:
    """How many of the first draws to throw away: what leaves the largest of the least effective sizes."""
    best, found = -1.0, 0
    for share in shares:
        start = int(share * len(effort))
        size = float(np.min(check_draws(effort[start:], is_changed[start:])[1], initial=np.inf))
        size = min(size, effort[start:].size)
        if size > best * 1.02:
            best, found = size, start
    return found
