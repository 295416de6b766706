"""Search moves: each one proposes new points for all chains of some rows. They are asymmetric, for search only.

A move sees the chains ``x`` ``(r, k, d)`` of the rows it works on, the ground of those rows, their streams and a step
size per chain ``(r, k)`` that adapts to what gets accepted. It returns raw proposals; the region settles them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterpoise.methods.chains.ground import MoveContext
from counterpoise.methods.chains.transfer import transfer
from counterpoise.streams import Streams
from counterpoise.types import Array, Mask

Move = Callable[[MoveContext, Streams, Array, Array], Array]


def contract(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """All changes shortened by one factor: straight towards the row."""
    keep = 1.0 - size * streams.uniform((x.shape[1],))
    start = _start(ground, x)
    return np.where(ground.numeric, start + keep[..., None] * (x - start), x)


def shrink(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """About two changes shortened, each by its own factor."""
    start = _start(ground, x)
    chance = 2.0 / np.maximum(_count(ground, x), 2.0)[..., None]
    keep = streams.uniform(x.shape[1:]) / chance  # below 1 for the features picked, and there uniform
    return np.where((keep < 1) & ground.numeric, start + keep * (x - start), x)


def reset(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """About one change set back altogether."""
    picked = streams.uniform(x.shape[1:]) < 1.2 / np.maximum(_count(ground, x), 1.0)[..., None]
    return np.where(picked, ground.x0[:, None, :], x)


def walk(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """Along the boundary: a step across the line to the row, then a little towards it."""
    start = _start(ground, x)
    line = np.where(ground.numeric, (x - start) / ground.scales, 0.0)
    noise = streams.normal(x.shape[1:]) * (ground.numeric & ground.free[:, None, :])
    square = np.einsum("rkd,rkd->rk", line, line)
    along = np.einsum("rkd,rkd->rk", noise, line) / np.maximum(square, 1e-300)
    noise -= along[..., None] * line
    length = np.einsum("rkd,rkd->rk", noise, noise)
    stretch = size * np.sqrt(np.divide(square, length, out=np.zeros_like(square), where=length > 0))
    moved = (line + stretch[..., None] * noise) * (1.0 - 0.5 * size[..., None] ** 2)
    return np.where(ground.numeric, start + moved * ground.scales, x)


def cross(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """Some features taken from another chain of the same row."""
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
    """A few features taken from a random reference row."""
    draws = streams.uniform((x.shape[1], x.shape[2] + 1))
    if not len(ground.donors):
        return x
    giver = ground.donors[(draws[..., 0] * len(ground.donors)).astype(np.intp)]
    picked = (draws[..., 1:] < 1.5 / x.shape[2]) & ~np.isnan(giver)
    return np.where(picked, giver, x)


def mixture(ground: MoveContext) -> tuple[Move, ...]:
    """The moves that the problem has a use for."""
    names = (contract, shrink, reset, walk, cross, donate) if ground.numeric.any() else (reset, cross, donate)
    names = (*names, transfer) if ground.balances else names
    return names if ground.numeric.all() else (*names, swap)


def _start(ground: MoveContext, x: Array) -> Array:
    """The row each chain is measured from; a missing cell is measured from where the chain is."""
    start = ground.x0[:, None, :]
    return np.where(np.isnan(start), x, start) if np.isnan(start).any() else start


def _count(ground: MoveContext, x: Array) -> Array:
    return np.asarray(np.count_nonzero(x != ground.x0[:, None, :], axis=-1), dtype=np.float64)


def _pick(draws: Array, allowed: Mask) -> Mask:
    """One allowed column of each chain, at random, as a mask; none where nothing is allowed."""
    best = np.where(allowed, draws, -1.0).argmax(axis=-1)[..., None]
    picked = np.zeros(allowed.shape, dtype=bool)
    np.put_along_axis(picked, best, True, axis=-1)
    return picked & allowed
