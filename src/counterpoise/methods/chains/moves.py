"""Moves of the chains: each proposes new points for all chains of some rows; the region settles them afterwards.

A move sees the chains ``x`` ``(r, k, d)`` of the rows it works on, what it may move there (`MoveContext`), the rows'
streams, and the step size of each chain ``(r, k)``. Shifts, stretches, swaps and transfers go both ways alike; resets,
crossings and donations do not, so that chains search and do not sample the Boltzmann law.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterpoise.methods.chains.ground import MoveContext
from counterpoise.methods.chains.transfer import transfer
from counterpoise.streams import Streams
from counterpoise.types import Array, Mask

Move = Callable[[MoveContext, Streams, Array, Array], Array]


def shift_one(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """One free number moved by a normal step of ``size`` feature scales."""
    free = np.broadcast_to(ground.free[:, None, :] & ground.numeric, x.shape)
    step = streams.normal((x.shape[1],))[..., None] * size[..., None] * ground.scales
    return np.where(_pick(streams.uniform(x.shape[1:]), free), x + step, x)


def shift_all(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """All free numbers moved, together by about ``size`` feature scales."""
    free = ground.free[:, None, :] & ground.numeric
    each = size / np.sqrt(np.maximum(free.sum(axis=-1), 1))
    return np.where(free, x + streams.normal(x.shape[1:]) * each[..., None] * ground.scales, x)


def stretch(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """All changes of numbers made longer or shorter by one factor, ``exp`` of at most ``size`` either way."""
    start = ground.x0[:, None, :]
    start = np.where(np.isnan(start), x, start)  # a missing cell has nothing to be measured from
    factor = np.exp(size * (2 * streams.uniform((x.shape[1],)) - 1))
    return np.where(ground.numeric, start + factor[..., None] * (x - start), x)


def reset(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """About one change set back to the row."""
    start = ground.x0[:, None, :]
    changed = np.maximum(np.count_nonzero(x != start, axis=-1), 1.0)
    return np.where(streams.uniform(x.shape[1:]) < 1.0 / changed[..., None], start, x)


def cross(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """About a third of the features taken from another chain of the same row."""
    chains = x.shape[1]
    draws = streams.uniform((chains, x.shape[2] + 1))
    other = (np.arange(chains) + 1 + (draws[..., 0] * max(chains - 1, 1)).astype(np.intp)) % chains
    partner = np.take_along_axis(x, other[..., None], axis=1)
    return np.where(draws[..., 1:] < 0.3, partner, x)


def swap(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """One category drawn anew among those allowed."""
    draws = streams.uniform((2, *x.shape[1:]))
    free = np.broadcast_to(ground.free[:, None, :] & ~ground.numeric, x.shape)
    picked = _pick(draws[:, 0], free)
    y = x.copy()
    for column, values in ground.choices:
        drawn = values[(draws[:, 1, :, column] * len(values)).astype(np.intp)]
        y[..., column] = np.where(picked[..., column], drawn, x[..., column])
    return y


def donate(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """About one feature taken from a random reference row."""
    draws = streams.uniform((x.shape[1], x.shape[2] + 1))
    if not len(ground.donors):
        return x
    giver = ground.donors[(draws[..., 0] * len(ground.donors)).astype(np.intp)]
    picked = (draws[..., 1:] < 1.0 / x.shape[2]) & ~np.isnan(giver)
    return np.where(picked, giver, x)


def mixture(ground: MoveContext) -> tuple[Move, ...]:
    """The moves that the problem has a use for."""
    names: tuple[Move, ...] = (reset, cross, donate)
    if ground.numeric.any():
        names = (shift_one, shift_all, stretch, *names)
    names = (*names, transfer) if ground.balances else names
    return names if ground.numeric.all() else (*names, swap)


def _pick(draws: Array, allowed: Mask) -> Mask:
    """One allowed column of each chain, at random, as a mask; none where nothing is allowed."""
    best = np.where(allowed, draws, -1.0).argmax(axis=-1)[..., None]
    picked = np.zeros(allowed.shape, dtype=bool)
    np.put_along_axis(picked, best, True, axis=-1)
    return picked & allowed
