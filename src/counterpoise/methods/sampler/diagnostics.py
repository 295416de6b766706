"""Whether chains have converged: rank-normalised split R-hat and effective sample size (Vehtari et al., 2021)."""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from counterpoise.types import Array


def split_chains(draws: Array) -> Array:
    """Each chain of ``draws`` ``(t, c, q)`` as two: ``(t // 2, 2 c, q)``; of an odd number the first is left out."""
    half = len(draws) // 2
    start = len(draws) - 2 * half
    return np.concatenate([draws[start : start + half], draws[start + half :]], axis=1)


def normalise_ranks(draws: Array) -> Array:
    """Draws ``(t, c, q)`` replaced by the normal quantiles of their ranks among all draws of a quantity."""
    t, c, q = draws.shape
    ranks = rankdata(draws.reshape(t * c, q), axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (t * c + 0.25))).reshape(t, c, q)


def r_hat(draws: Array) -> Array:
    """Rank-normalised split R-hat ``(q,)`` of draws ``(t, c, q)``: 1 where chains agree; 1 for a constant.

    >>> rng = np.random.default_rng(0)
    >>> bool(r_hat(rng.normal(size=(500, 4, 1)))[0] < 1.01)
    True
    >>> bool(r_hat(rng.normal(size=(500, 4, 1)) + np.arange(4)[:, None])[0] > 1.5)
    True
    """
    parts = split_chains(normalise_ranks(draws))
    t = len(parts)
    within = parts.var(axis=0, ddof=1).mean(axis=0)
    between = parts.mean(axis=0).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt((t - 1) / t + between / within)
    return np.where(within > 0, found, np.where(between > 0, np.inf, 1.0))


def effective_size(draws: Array, *, ranks: bool = True) -> Array:
    """Effective sample size ``(q,)`` of draws ``(t, c, q)``, over split chains; NaN for a constant.

    ``ranks``: of the rank-normalised draws, as for R-hat; else of the draws themselves, whose mean then has the
    standard error ``sd / sqrt(size)``.

    >>> rng = np.random.default_rng(0)
    >>> bool(1800 < effective_size(rng.normal(size=(500, 4, 1)))[0] < 2300)
    True
    """
    if len(draws) < 8:  # too short to see how draws depend on each other: one a chain
        return np.where(np.ptp(draws, axis=(0, 1)) > 0, float(draws.shape[1]), np.nan)
    parts = split_chains(normalise_ranks(draws) if ranks else draws)
    t, c, q = parts.shape
    centred = parts - parts.mean(axis=0)
    size = 1 << (2 * t - 1).bit_length()
    spectrum = rfft(centred, n=size, axis=0)
    covariance = irfft(np.abs(spectrum) ** 2, n=size, axis=0)[:t].mean(axis=1) / t  # (t, q)
    within = covariance[0] * t / (t - 1)
    total = covariance[0] + (parts.mean(axis=0).var(axis=0, ddof=1) if c > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - covariance * (t / (t - 1))) / total
    rho[0] = 1.0
    pairs = rho[: 2 * (t // 2)].reshape(-1, 2, q).sum(axis=1)
    pairs = np.minimum.accumulate(np.where(np.cumsum(pairs <= 0, axis=0) > 0, 0.0, pairs), axis=0)
    tau = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(max(t * c, 10)))
    return np.where(total > 0, t * c / np.where(np.isfinite(tau), tau, np.inf), np.nan)
