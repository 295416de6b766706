"""Langevin steps of Algorithm 1: the printed proposal with the noise that its acceptance presupposes.

``x' = x - alpha grad F + sqrt(2 alpha T) xi`` has the density of a normal law about the gradient step. Hastings' ratio
weighs it against the way back, so that at a constant temperature the walker samples ``exp(-F / T)``. As printed, the
same x' follows from the same x every time, and nothing is left for the acceptance to decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.types import Array, Mask


class LangevinProposal(NamedTuple):
    """Where walkers would go, ``(n, d)``, and the normal numbers that led there."""

    z: Array
    normals: Array


def propose(z: Array, gradient: Array, alpha: Array, T: float, normals: Array, movable: Mask) -> LangevinProposal:
    """The step of walkers at ``z`` ``(n, d)`` with step sizes ``alpha`` ``(n,)`` at temperature ``T``.

    >>> here, slope = np.zeros((1, 1)), np.ones((1, 1))
    >>> propose(here, slope, np.array([0.5]), 0.0, np.ones((1, 1)), np.ones((1, 1), dtype=bool)).z
    array([[-0.5]])
    """
    step = alpha[:, None]
    drawn = np.where(movable, normals, 0.0)
    return LangevinProposal(z - step * gradient + np.sqrt(2 * step * T) * drawn, drawn)


def log_hastings(z: Array, gradient: Array, there: Array, gradient_there: Array, alpha: Array, T: float) -> Array:
    """``ln q(z | z') - ln q(z' | z)``, ``(n,)``: how much likelier the way back is than the way there.

    >>> z, there = np.zeros((1, 1)), np.ones((1, 1))
    >>> log_hastings(z, 0 * z, there, 0 * z, np.array([0.5]), 1.0)  # no slope: as likely either way
    array([0.])
    """
    step = alpha[:, None]
    forward, back = there - z + step * gradient, z - there + step * gradient_there
    return np.asarray((np.sum(forward**2, axis=1) - np.sum(back**2, axis=1)) / (4 * alpha * T))
