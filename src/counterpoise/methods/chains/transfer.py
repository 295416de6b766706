"""A search move that keeps equations: what one part of a sum gives another takes."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.chains.ground import MoveContext
from counterpoise.space.rules.expressions import BinaryOperation
from counterpoise.streams import Streams
from counterpoise.types import Array, Mask


def transfer(ground: MoveContext, streams: Streams, x: Array, size: Array) -> Array:
    """Two features of one equation moved against each other, so that it still holds to first order.

    Each chain draws an equation, a feature of it to move (one that already differs from the row, if there is any) and
    another one to take up the difference. ``x`` is ``(r, k, d)``, ``size`` ``(r, k)``.
    """
    draws = streams.uniform((4, x.shape[1]))
    balances = ground.balances
    chosen = np.minimum((draws[:, 0] * len(balances)).astype(np.intp), len(balances) - 1)
    start = np.broadcast_to(ground.x0[:, None, :], x.shape)
    length = np.where(ground.numeric, np.abs(x - start) / ground.scales, 0.0)
    total = np.sqrt(np.nansum(length**2, axis=-1))
    y = x.copy()
    for number, balance in enumerate(balances):
        rows, chains = np.nonzero(chosen == number)
        if not len(rows):
            continue
        columns = np.array([column for column in sorted(balance.columns) if ground.numeric[column]])
        given = np.concatenate([ground.x0, ground.lower, ground.upper], axis=1)[rows].T
        here = x[rows, chains]
        _, slopes = BinaryOperation("-", balance.left, balance.right).value_and_slopes(here.T, given)
        slope = np.stack([np.broadcast_to(slopes[column], rows.shape) for column in columns], axis=1)
        slope = slope * ground.scales[columns]  # per unit of distance
        may = ground.free[rows][:, columns] & np.isfinite(slope) & (slope != 0)
        changed = may & (here[:, columns] != start[rows, chains][:, columns])
        giver = _drawn(np.where(changed.any(axis=1, keepdims=True), changed, may), draws[rows, 1, chains])
        taker = _drawn(may & ~giver, draws[rows, 2, chains])
        able = giver.any(axis=1) & taker.any(axis=1)
        gives, takes = np.where(giver, slope, 0.0).sum(axis=1), np.where(taker, slope, 0.0).sum(axis=1)
        ratio = np.divide(-gives, takes, out=np.zeros(len(rows)), where=able)
        reach = size[rows, chains] * (2 * draws[rows, 3, chains] - 1) * total[rows, chains]
        reach = np.where(able, reach / np.maximum(np.abs(ratio), 1.0), 0.0)  # neither moves farther than the reach
        step = np.where(giver, reach[:, None], 0.0) + np.where(taker, (reach * ratio)[:, None], 0.0)
        y[rows[:, None], chains[:, None], columns] = here[:, columns] + step * ground.scales[columns]
    return y


def _drawn(allowed: Mask, draws: Array) -> Mask:
    """One allowed place of each line ``(q, c)``, by a uniform draw ``(q,)``, as a mask."""
    count = allowed.sum(axis=1)
    rank = np.cumsum(allowed, axis=1) - 1
    wanted = np.minimum((draws * count).astype(np.intp), count - 1)
    return np.asarray(allowed & (rank == wanted[:, None]))
