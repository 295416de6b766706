"""Metropolis chains: the acceptance rule and one pure step. Proposals are symmetric; the randomness is the caller's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.physics.fields import Field, append_axes
from counterpoise.types import Array, Mask


class MetropolisState(NamedTuple):
    """Where the chains are, ``(n, k, d)``, and their energies, ``(n, k)``."""

    x: Array
    energy: Array


class MetropolisInfo(NamedTuple):
    """What a step did: which chains moved ``(n, k)``; per row ``(n,)`` their share, mean energy and its variance."""

    accepted: Mask
    acceptance: Array
    energy: Array
    variance: Array


def accept(delta: Array, T: Array | float, u: Array) -> Mask:
    """Metropolis rule: downhill and level always, uphill with probability ``exp(-delta / T)``.

    ``delta`` and uniforms ``u`` in [0, 1) ``(n, k)``, ``T`` a scalar or ``(n,)``. At T = 0 nothing goes uphill. A
    NaN, as from one infinite energy to another, is refused.

    >>> accept(np.array([-1.0, 0.0, 1.0, 1.0]), 1.0, np.array([0.9, 0.9, 0.9, 0.1]))
    array([ True,  True, False,  True])
    """
    T = append_axes(T, delta.ndim)
    # Compared as logarithms nothing overflows, and T = 0 needs no case of its own.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((delta <= 0) | (delta < -T * np.log(u)))


def summarise(accepted: Mask, energy: Array) -> MetropolisInfo:
    """Info ``(n,)`` over the chains of each row, from what they did and the energies ``(n, k)`` they have now.

    Chains of infinite energy are left out of mean and variance.

    >>> summarise(np.array([[True, False]]), np.array([[1.0, 3.0]])).variance
    array([1.])
    """
    finite, share = np.isfinite(energy), accepted.sum(axis=-1) / accepted.shape[-1]
    count = np.maximum(finite.sum(axis=-1), 1)
    mean = np.where(finite, energy, 0.0).sum(axis=-1) / count
    spread = np.where(finite, energy - mean[..., None], 0.0)
    return MetropolisInfo(accepted, share, mean, np.einsum("...k,...k->...", spread, spread) / count)


def init(x: Array, energy: Field) -> MetropolisState:
    """The state of chains that stand at ``x`` ``(n, k, d)``.

    >>> init(np.ones((1, 2, 3)), lambda x: x.sum(axis=-1)).energy
    array([[3., 3.]])
    """
    return MetropolisState(x, energy(x))


def step(
    state: MetropolisState, proposal: Array, energy: Field, u: Array, T: Array | float
) -> tuple[MetropolisState, MetropolisInfo]:
    """One Metropolis step to ``proposal`` ``(n, k, d)`` with uniforms ``u`` ``(n, k)``; keeps the law of Eq. (4).

    >>> state = init(np.ones((1, 2, 1)), lambda x: x[..., 0] ** 2)
    >>> state, info = step(state, np.array([[[0.5], [2.0]]]), lambda x: x[..., 0] ** 2, np.full((1, 2), 0.5), T=0.0)
    >>> state.x[..., 0], info.acceptance
    (array([[0.5, 1. ]]), array([0.5]))
    """
    proposed = energy(proposal)
    with np.errstate(invalid="ignore"):
        accepted = accept(proposed - state.energy, T, u)
    state = MetropolisState(
        np.where(accepted[..., None], proposal, state.x), np.where(accepted, proposed, state.energy)
    )
    return state, summarise(accepted, state.energy)
