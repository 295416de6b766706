"""The Boltzmann law over the samples of a cloud or the cells of a grid, safe for any energies and temperatures."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from counterpoise.errors import InputError
from counterpoise.physics.fields import append_axes
from counterpoise.types import Array


def weights(energies: Array, T: Array | float) -> Array:
    """Eq. (4) over a finite set: weights ``(..., m)`` proportional to ``exp(-E / T)``, summing to one.

    ``T`` is a scalar or has leading axes of ``energies``, one temperature per row. T = 0 shares the weight among the
    lowest energies; where every energy is infinite none is better than another and the weights are equal.

    >>> weights(np.array([0.0, np.log(3.0), np.inf]), 1.0)
    array([0.75, 0.25, 0.  ])
    """
    low = energies.min(axis=-1, keepdims=True)
    # An infinite minimum would make inf - inf; with zero in its place those rows are exactly all-infinite ones.
    above = np.where(np.isinf(low), 0.0, energies - np.where(np.isinf(low), 0.0, low))
    raw = np.exp(-_divide_by_temperature(above, T))
    return np.asarray(raw / raw.sum(axis=-1, keepdims=True))


def log_mean_exp(a: Array) -> Array:
    """``ln mean exp(a)`` along the last axis ``(..., m) -> (...)``, without overflow.

    >>> log_mean_exp(np.array([1000.0, 1000.0])).item()
    1000.0
    """
    return np.asarray(logsumexp(a, axis=-1) - np.log(a.shape[-1]))


def log_partition(energies: Array, T: Array | float, volume: Array | float | None = None) -> Array:
    """Eq. (5): ``ln Z``, of a grid whose cells have ``volume``, or of a cloud (a mean over its samples) without one.

    ``energies`` ``(..., m)``; ``volume`` a scalar or ``(m,)``; returns ``(...)``. Over a grid Z is the paper's
    integral; over a cloud it is ``<exp(-E / T)>``, so that ``-T ln Z`` is the free energy of the point the cloud is
    around.

    >>> grid = np.linspace(-8, 8, 401)
    >>> z = np.exp(log_partition(grid**2 / 2, 1.0, volume=grid[1] - grid[0]))
    >>> bool(np.isclose(z, np.sqrt(2 * np.pi)))
    True
    """
    _check_positive_temperature(T)
    action = _divide_by_temperature(energies, T)
    if volume is None:
        return log_mean_exp(-action)
    return np.asarray(logsumexp(-action, axis=-1, b=volume))


def log_density(energies: Array, T: Array | float, volume: Array | float) -> Array:
    """Eq. (4) on a grid: the logarithm of the normalised density ``(..., m)`` of every cell.

    >>> log_density(np.zeros(4), 1.0, volume=0.5).round(4)  # uniform on a length of 2
    array([-0.6931, -0.6931, -0.6931, -0.6931])
    """
    log_z = log_partition(energies, T, volume)
    return np.asarray(-_divide_by_temperature(energies, T) - log_z[..., None])


def _divide_by_temperature(energies: Array, T: Array | float) -> Array:
    """``E / T`` with ``0 / 0 = 0``: at T = 0 the lowest energy, counted from itself, has no action."""
    T = append_axes(T, energies.ndim)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.where(energies == 0, 0.0, energies / T))


def _check_positive_temperature(T: Array | float) -> None:
    if not np.all(np.asarray(T) > 0):
        raise InputError("a temperature must be positive", f"T is {T!r}", "give T > 0; T = 0 has no partition function")
