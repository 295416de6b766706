"""Entropies: of a law on a grid, of a normal law, from samples, from a surrogate; the paper's misprints stay reachable.

Where the text of the paper cannot be followed the function computes the corrected form; ``literal=True`` gives the
printed one.
"""

from __future__ import annotations

import numpy as np

from counterpoise.physics.cloud import weighted_mean
from counterpoise.physics.fields import append_axes
from counterpoise.types import Array


def grid_entropy(log_density: Array, volume: Array | float) -> Array:
    """Eq. (7): ``-integral p ln p`` of a law on a grid, ``(..., m) -> (...)``; ``volume`` is that of a cell.

    >>> float(grid_entropy(np.full(10, -np.log(2.0)), volume=0.2).round(6))  # uniform on a length of 2
    0.693147
    """
    return grid_cross_entropy(log_density, log_density, volume)


def grid_cross_entropy(log_p: Array, log_q: Array, volume: Array | float) -> Array:
    """``-integral p ln q``, the upper bound on the entropy of p that any q gives; equal where q is p.

    The corrected Eq. (23): ``S(p) <= -E_p[ln q]``, which is what Jensen's inequality proves.

    >>> uniform = np.full(10, -np.log(2.0))
    >>> float(grid_cross_entropy(uniform, uniform, 0.2).round(6))
    0.693147
    """
    p = np.exp(log_p) * volume
    return np.asarray(-np.where(p > 0, p * np.where(p > 0, log_q, 0.0), 0.0).sum(axis=-1))


def grid_divergence(log_p: Array, log_q: Array, volume: Array | float) -> Array:
    """Eq. (21): ``KL(p || q) = integral p ln(p / q)`` on a grid, ``(..., m) -> (...)``; never negative.

    >>> uniform = np.full(10, -np.log(2.0))
    >>> abs(float(grid_divergence(uniform, uniform, 0.2).round(6)))
    0.0
    """
    return np.asarray(grid_cross_entropy(log_p, log_q, volume) - grid_entropy(log_p, volume))


def surrogate_entropy(cross_entropy: Array, divergence: Array, *, literal: bool = False) -> Array:
    """Eq. (20): the entropy of p from a surrogate q, ``S = -E_p[ln q] - KL(p || q)``.

    The paper prints plus before the divergence, which overstates S by twice as much; ``literal=True`` computes that.

    >>> surrogate_entropy(np.array(2.0), np.array(0.5)), surrogate_entropy(np.array(2.0), np.array(0.5), literal=True)
    (array(1.5), array(2.5))
    """
    return np.asarray(cross_entropy + divergence if literal else cross_entropy - divergence)


def printed_entropy_bound(surrogate_entropy: Array, divergence: Array) -> Array:
    """Eq. (23) as printed: ``-E_q[ln q] - KL(p || q)``, called an upper bound, written as a lower one, and neither.

    A wide q makes it larger than the entropy of p, a narrow one smaller. `grid_cross_entropy` and
    `moment_matched_entropy_bound` are bounds.

    >>> printed_entropy_bound(np.array(2.0), np.array(0.5))
    array(1.5)
    """
    return np.asarray(surrogate_entropy - divergence)


def moment_matched_entropy_bound(covariance: Array) -> Array:
    """Corrected Eq. (23), moment-matched: the most entropy that a law with this covariance ``(..., d, d)`` can have.

    >>> bool(moment_matched_entropy_bound(np.eye(1) / 12) > 0.0)  # uniform on [0, 1]: variance 1/12, entropy 0
    True
    """
    return gaussian_entropy(covariance)


def gaussian_entropy(covariance: Array, *, literal: bool = False) -> Array:
    """Eq. (22): ``ln det(2 pi e C) / 2`` of a normal law with covariance C ``(..., d, d)``, O(d^3).

    ``literal=True`` is Eq. (13), ``ln det(C) / 2``: the same up to a constant, so good for differences only.

    >>> float(gaussian_entropy(np.eye(2)).round(4)), float(gaussian_entropy(np.eye(2), literal=True))
    (2.8379, 0.0)
    """
    log_det = np.linalg.slogdet(covariance)[1]
    return np.asarray(0.5 * log_det + (0.0 if literal else _STANDARD_NORMAL_ENTROPY * covariance.shape[-1]))


def diagonal_entropy(std: Array, *, literal: bool = False) -> Array:
    """Eq. (22) for independent features with standard deviations ``(..., d)``, O(d); ``literal=True`` is Eq. (13).

    >>> float(diagonal_entropy(np.ones(2)).round(4))
    2.8379
    """
    return np.asarray(np.log(std).sum(axis=-1) + (0.0 if literal else _STANDARD_NORMAL_ENTROPY * std.shape[-1]))


_STANDARD_NORMAL_ENTROPY = 0.5 * np.log(2 * np.pi * np.e)


def gaussian_divergence(mean_p: Array, covariance_p: Array, mean_q: Array, covariance_q: Array) -> Array:
    """Eq. (21) between two normal laws, means ``(..., d)`` and covariances ``(..., d, d)``, O(d^3).

    >>> gaussian_divergence(np.zeros(2), np.eye(2), np.array([2.0, 0.0]), np.eye(2))
    array(2.)
    """
    gap = (mean_q - mean_p)[..., None]
    trace = np.trace(np.linalg.solve(covariance_q, covariance_p), axis1=-2, axis2=-1)
    square = (gap * np.linalg.solve(covariance_q, gap)).sum(axis=(-2, -1))
    log_ratio = np.linalg.slogdet(covariance_q)[1] - np.linalg.slogdet(covariance_p)[1]
    return np.asarray(0.5 * (trace + square - mean_p.shape[-1] + log_ratio))


def diagonal_divergence(mean_p: Array, std_p: Array, mean_q: Array, std_q: Array) -> Array:
    """Eq. (21) between two normal laws with independent features, all ``(..., d)``, O(d).

    >>> diagonal_divergence(np.zeros(2), np.ones(2), np.array([2.0, 0.0]), np.ones(2))
    array(2.)
    """
    ratio = std_p / std_q
    shift = (mean_q - mean_p) / std_q
    return np.asarray(0.5 * (ratio**2 + shift**2 - 1 - 2 * np.log(ratio)).sum(axis=-1))


def sampled_entropy(log_density: Array, *, literal: bool = False) -> Array:
    """Eq. (14): ``-mean ln p`` over samples of p, log densities ``(..., m)`` to ``(...)``.

    The paper leaves out the minus, which gives the negative entropy; ``literal=True`` computes that.

    >>> float(sampled_entropy(np.log(np.full(5, 0.25))).round(4))
    1.3863
    """
    return np.asarray((1.0 if literal else -1.0) * log_density.mean(axis=-1))


def entropy_gradient(log_density: Array, gradients: Array, *, literal: bool = False) -> Array:
    """Eq. (19): gradient ``(..., d)`` of the entropy of a law by what the law depends on, from its own samples.

    ``log_density`` ``(..., m)``, ``gradients`` ``(..., m, d)`` of the log density by those parameters at fixed
    samples: ``-E_p[grad ln p (ln p + 1)]``. The paper sums densities over samples drawn from that very density, so
    each is weighted by p twice and nothing is divided by their number; ``literal=True`` computes that.

    >>> entropy_gradient(np.array([-1.0, -3.0]), np.array([[1.0], [-1.0]]))
    array([-1.])
    """
    m = log_density.shape[-1]
    factor = np.exp(log_density) if literal else np.full(log_density.shape, 1 / m)
    return weighted_mean(-factor * (log_density + 1), gradients)


def cloud_entropy_gradient(weights: Array, energies: Array, gradients: Array, T: Array | float) -> Array:
    """Eq. (19) for the entropy of a cloud, ``S = -KL(p || cloud)``: ``-Cov_p(E, grad E) / T**2``, ``(..., d)``.

    Boltzmann ``weights`` and ``energies`` ``(..., m)``, ``gradients`` of the energy ``(..., m, d)``.

    >>> cloud_entropy_gradient(np.array([0.5, 0.5]), np.array([0.0, 2.0]), np.array([[0.0], [1.0]]), 1.0)
    array([-0.5])
    """
    centred = energies - (weights * energies).sum(axis=-1, keepdims=True)
    covariance = weighted_mean(weights * centred, gradients)
    return np.asarray(-covariance / append_axes(T, covariance.ndim) ** 2)
