"""Free energies of one-dimensional clouds by adaptive quadrature: the answers that the estimators are held against."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from counterpoise.physics.cloud import whiten


def integrate(function: Callable[[float], float], kinks: tuple[float, ...] = ()) -> float:
    """Integral over the standard normal law, split at the kinks of the integrand."""
    cuts = sorted({-12.0, 12.0, *(k for k in kinks if -12 < k < 12)})
    weighted = [quad(lambda z: function(z) * norm.pdf(z), a, b, epsabs=1e-13)[0] for a, b in pairwise(cuts)]
    return float(sum(weighted))


def free_energy(action: Callable[[float], float], kinks: tuple[float, ...] = ()) -> tuple[float, float, float, float]:
    """``-ln <exp(-action(z))>`` over standard normal z; mean action, mean and variance of z in the Boltzmann law."""
    total = integrate(lambda z: np.exp(-action(z)), kinks)
    moments = [
        integrate(lambda z, g=g: g(z) * np.exp(-action(z)) / total, kinks)
        for g in (action, lambda z: z, lambda z: z * z)
    ]
    return -np.log(total), moments[0], moments[1], moments[2] - moments[1] ** 2


def quantile_noise(m: int) -> np.ndarray:
    """Noise ``(m, 1)`` without randomness: the mid-quantiles of the normal law, with its exact variance."""
    return whiten(norm.ppf((np.arange(m) + 0.5) / m)[:, None])
