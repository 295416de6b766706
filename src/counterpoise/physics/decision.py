"""The decision term: how far a score is from where it should be, and its average over noise in closed form.

A score should lie in ``[low, high]``: ``(c, inf)`` is the one-sided target, ``(c, c)`` the paper's ``|f - c|``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr

from counterpoise.physics.fields import append_axes
from counterpoise.types import Array


def shortfall(f: Array, low: Array | float = 0.0, high: Array | float = np.inf) -> Array:
    """``phi = max(0, low - f, f - high)`` of scores ``(...)``.

    >>> shortfall(np.array([-1.0, 0.5, 3.0]), 0.0, 2.0)
    array([1., 0., 1.])
    """
    return np.maximum(0.0, np.maximum(append_axes(low, f.ndim) - f, f - append_axes(high, f.ndim)))


def shortfall_slope(f: Array, low: Array | float = 0.0, high: Array | float = np.inf) -> Array:
    """Derivative of `shortfall` by f, 0 on a kink; with low = high = c the sign in Eq. (17).

    >>> shortfall_slope(np.array([-1.0, 0.5, 3.0]), 0.0, 2.0)
    array([-1.,  0.,  1.])
    """
    return np.asarray((f > append_axes(high, f.ndim)).astype(np.float64) - (f < append_axes(low, f.ndim)))


def action(f: Array, kappa: float, low: Array | float = 0.0, high: Array | float = np.inf) -> Array:
    """``kappa * phi``, where infinite kappa means 0 for a score in its place and infinity for any other.

    >>> action(np.array([-1.0, 0.0]), np.inf)
    array([inf,  0.])
    """
    phi = shortfall(f, low, high)
    return np.asarray(kappa * phi if np.isfinite(kappa) else np.where(phi > 0, np.inf, 0.0))


class HingeMean(NamedTuple):
    """``ln <exp(-kappa phi(f))>`` of a normal f, its derivatives, and the mean action in the Boltzmann law."""

    log_mean: Array
    derivative_by_mean: Array
    derivative_by_spread: Array
    second_derivative_by_mean: Array
    mean_action: Array


def hinge_mean(f: Array, s: Array, kappa: float, low: Array | float = 0.0, high: Array | float = np.inf) -> HingeMean:
    """The decision average of a score that is normal with mean ``f`` and standard deviation ``s`` over the cloud.

    With m = f - low and no upper end: ``Phi(m/s) + exp(kappa m + kappa**2 s**2 / 2) Phi(-(m + kappa s**2) / s)``.
    ``action`` is the mean of kappa phi under the Boltzmann law. Safe for any kappa, infinity included, and for s = 0.

    >>> float(hinge_mean(np.array(1.0), np.array(0.5), np.inf).log_mean.round(4))  # ln Phi(2)
    -0.023
    """
    low, high = append_axes(low, f.ndim), append_axes(high, f.ndim)
    f, s, low, high = np.broadcast_arrays(f, s, low, high)
    still = s <= 1e-60 * np.maximum(1.0, np.abs(f))  # divided by so small a spread, nothing would be finite
    spread = np.where(still, 1.0, s)
    ends = np.clip(np.stack([f - low, high - f]) / spread, -_MAX_END_IN_SPREADS, _MAX_END_IN_SPREADS)
    with np.errstate(over="ignore"):
        reach = np.asarray(kappa * spread)
    parts = _average_in_spreads(ends, np.where(reach > _MAX_END_IN_SPREADS, np.inf, reach))
    by_mean = (parts.first_derivatives[0] - parts.first_derivatives[1]) / spread
    by_spread = parts.second_derivatives.sum(axis=0) / spread  # the average solves the heat equation: d/ds = s d2/dm2
    # A log-concave function smeared by noise stays one and bends by at most 1/s**2; rounding must not say otherwise.
    twice = np.clip(by_spread / spread - by_mean**2, -(spread**-2.0), 0.0)
    rest = action(f, kappa, low, high)
    turn = -kappa * shortfall_slope(f, low, high) if np.isfinite(kappa) else np.zeros_like(f)
    zero = np.zeros_like(f)
    moving = HingeMean(parts.log_mean, by_mean, by_spread, twice, parts.mean_actions.sum(axis=0))
    fixed = HingeMean(-rest, turn, zero, zero, np.where(np.isinf(rest), 0.0, rest))
    return HingeMean(*(np.where(still, at_rest, average) for at_rest, average in zip(fixed, moving, strict=True)))


_MAX_END_IN_SPREADS = 1e60
"""Ends further off than this, infinite ones included, have tails of exactly zero, and squares that do not overflow."""

_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)


class _ScaledAverage(NamedTuple):
    """The logarithm ``(...)``, and what either end ``(2, ...)`` adds to derivatives by the mean and to the action."""

    log_mean: Array
    first_derivatives: Array
    second_derivatives: Array
    mean_actions: Array


def _average_in_spreads(ends: Array, b: Array) -> _ScaledAverage:
    """The average in units of s: ``ends`` ``(2, ...)`` are how far the mean lies inside either, b = kappa s the slope.

    Each end a has a tail ``exp(a b + b**2 / 2) Phi(-t)``, t = a + b, which is density(a) * mills(t). All terms are
    taken relative to the largest one, by name: 1 with the mean inside, the density at the end that it has passed, or
    the tail's exponential far outside. The textbook form leaves this to cancellation and loses every digit.
    """
    hard = np.isinf(b)
    b = np.where(hard, 0.0, b)
    near, far = ends.min(axis=0), ends.max(axis=0)
    t = ends + b
    outside = (near < 0) & ~hard & (near + b <= 0)
    offset = np.where(outside, b * (near + 0.5 * b), np.where(near < 0, _normal_log_density(near), 0.0))
    base = np.where(outside, _normal_log_density(near + b), np.where(near < 0, 0.0, _normal_log_density(near)))
    density = base - 0.5 * (ends - near) * (ends + near)
    tail = np.where(t > 0, density + np.log(_mills_ratio(t)), log_ndtr(-np.minimum(t, 0.0)))
    tail = np.where(hard, -np.inf, tail)
    # The chance to stay inside, Phi(near) - Phi(-far), likewise.
    with np.errstate(divide="ignore"):
        passed = base + np.log(_mills_ratio(-near))
        top = np.where(near < 0, passed, log_ndtr(near))
        bottom = np.where(
            near < 0, base - 0.5 * (far - near) * (far + near) + np.log(_mills_ratio(far)), log_ndtr(-far)
        )
        inside = top + np.log(-np.expm1(np.minimum(bottom - top, 0.0)))
    whole = np.logaddexp(inside, np.logaddexp(tail[0], tail[1]))
    log = offset + whole
    whole = np.where(np.isneginf(whole), np.inf, whole)  # a chance of exactly zero has no direction: all shares are 0
    density, mass = np.exp(density - whole), np.exp(tail - whole)
    # 1 - t mills(t) is a difference of nearly equal numbers for large t; its asymptotic series is not.
    u = np.maximum(t, 50.0) ** -2
    short = np.where(t > 50, u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u))), 1 - t * _mills_ratio(t))
    second = np.where(t > 0, -(short + ends * _mills_ratio(t)) * density, b * mass - density)
    cost = np.where(t > 0, short * density, density - t * mass)
    return _ScaledAverage(
        log,
        np.where(hard, density, b * mass),
        np.where(hard, -ends * density, b * second),
        np.where(hard, 0.0, b * cost),
    )


def _normal_log_density(a: Array) -> Array:
    return np.asarray(-0.5 * a**2 - _HALF_LOG_TAU)


def _mills_ratio(t: Array) -> Array:
    """Mills ratio ``Phi(-t) / density(t)``, its value at 0 for negative t, where it is not used."""
    return np.asarray(np.sqrt(np.pi / 2) * erfcx(np.maximum(t, 0.0) / np.sqrt(2)))
