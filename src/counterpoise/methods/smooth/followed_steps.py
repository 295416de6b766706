"""Taylor steps of few changes under relations: columns that follow from others are reckoned with these.

A column that an equation computes adds its slope to those of the columns that it is computed from, and its length to
theirs. So the step sees what a change of one column does with all that moves along, which the slope of that column
alone does not say. An order keeps a column within the other column's value, as if that were an end of its box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.smooth.support import choose_support
from counterpoise.problem import Problem
from counterpoise.space.rules.system import RelationSystem
from counterpoise.types import Array, Mask


@dataclass(frozen=True)
class TangentQuestion:
    """What a Taylor step is to solve, in units of distance from the row: ``(n, k, d)``, and need ``(n, k)``."""

    h: Array  # slopes of the margin
    need: Array  # what the margin lacks at the row
    low: Array
    high: Array
    done: Array  # how far the points are from the row
    scales: Array  # one unit of each column


def follow_relations(
    problem: Problem, x: Array, asked: TangentQuestion, prices: Array, length_weight: float
) -> tuple[TangentQuestion, Array, Array, Mask]:
    """The question in the columns that nothing determines, with their lengths, what follows, and who is to move.

    ``x`` ``(n, k, d)`` are the points of the expansion and ``prices`` ``(n, k, d)`` what each change costs. Lengths
    ``(n, k, d)`` are by how much the distance grows per unit of a column with all that follows it; slopes of followers
    are ``(n, k, f, d)``.
    """
    system = problem.region.system
    follows = system.clause_set.followers
    slopes = expand_followers(system, x, problem.region.free, asked.scales)
    low, high = _keep_orders(system, x, asked, slopes, asked.low, asked.high)
    h, need, length = asked.h, asked.need, np.ones_like(asked.h)
    for place, follower in enumerate(follows):
        slope, column = slopes[:, :, place], follower.column
        # where all others are as the row
        done_alone = asked.done[..., column] - np.einsum("nkd,nkd->nk", slope, asked.done)
        need = need - np.where(slope.any(axis=-1), h[..., column] * done_alone, 0.0)
        h = h + asked.h[..., column, None] * slope
        length = length + np.square(slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [
                np.where(slope != 0, (end[..., column] - asked.done[..., column])[..., None] / slope, np.nan)
                for end in (low, high)
            ]
        # it stays in its own box, each column that it follows taken alone
        low = np.fmax(low, asked.done + np.fmin(*ends))
        high = np.fmin(high, asked.done + np.fmax(*ends))
    for place, follower in enumerate(follows):
        moved_along = slopes[:, :, place].any(axis=-1)
        h[..., follower.column] = np.where(moved_along, 0.0, h[..., follower.column])
    length = np.sqrt(length)
    low, high = np.minimum(low, np.maximum(asked.done, 0.0)), np.maximum(high, np.minimum(asked.done, 0.0))
    h = np.where((low < high) & np.isfinite(h), h / length, 0.0)
    reduced = replace(asked, h=h, need=need, low=low * length, high=high * length)
    used = choose_support(h, need, reduced.low, reduced.high, prices, length_weight)
    return reduced, length, slopes, used


def expand_followers(system: RelationSystem, x: Array, free: Mask, scales: Array) -> Array:
    """By how much each column that follows moves with each that it follows from, ``(n, k, f, d)``, in ``scales``.

    0 where it may not move, or where its equation does not bind the row.
    """
    followers, scales = system.clause_set.followers, np.broadcast_to(scales, x.shape)
    out = np.zeros((*x.shape[:2], len(followers), x.shape[2]))
    places = {follower.column: place for place, follower in enumerate(followers)}
    y, given = np.moveaxis(x, -1, 0), np.concatenate([system.x0] * 3, axis=1).T[:, :, None]
    for place, follower in enumerate(followers):
        may = (free[:, follower.column] & system.is_binding[:, follower.relation_number])[:, None]
        with np.errstate(all="ignore"):
            _, slopes = follower.expression.value_and_slopes(y, given)
            for column, slope in slopes.items():
                share = np.where(may, slope * scales[..., column] / scales[..., follower.column], 0.0)
                share = np.where(np.isfinite(share), share, 0.0)
                source = places.get(column)
                if source is None:
                    out[:, :, place, column] += share
                else:  # it follows others in turn, or is as it is where it may not move
                    out[:, :, place] += share[..., None] * out[:, :, source]
                    out[:, :, place, column] += np.where(out[:, :, source].any(axis=-1), 0.0, share)
    return out


def _keep_orders(
    system: RelationSystem, x: Array, asked: TangentQuestion, slopes: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """The box in which no column takes itself, or what follows it, past an order; each column taken alone."""
    low, high = np.broadcast_to(low, x.shape).copy(), np.broadcast_to(high, x.shape).copy()
    scales = np.broadcast_to(asked.scales, x.shape)
    following = {follower.column: place for place, follower in enumerate(system.clause_set.followers)}

    def narrow(columns: list[int] | slice, rate: Array, gap: Array) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            end = asked.done[..., columns] - gap / rate
        high[..., columns] = np.where(rate > 0, np.fmin(high[..., columns], end), high[..., columns])
        low[..., columns] = np.where(rate < 0, np.fmax(low[..., columns], end), low[..., columns])

    for orders in system.clause_set.orderings:
        left, right = list(orders.left), list(orders.right)
        with np.errstate(invalid="ignore"):
            gap = np.where(system.is_binding[:, None, orders.relation_numbers], x[..., left] - x[..., right], -np.inf)
        gap = np.minimum(gap, 0.0)  # what is past it already is for a repair to mend
        plain = [place for place in range(len(left)) if following.keys().isdisjoint((left[place], right[place]))]
        left, right, gap = [left[place] for place in plain], [right[place] for place in plain], gap[..., plain]
        narrow(left, scales[..., left], gap)
        narrow(right, -scales[..., right], gap)
    for orders in system.clause_set.orderings:
        for place, (left_column, right_column) in enumerate(zip(orders.left, orders.right, strict=True)):
            sides = [(left_column, 1.0), (right_column, -1.0)]
            if following.keys().isdisjoint((left_column, right_column)):
                continue
            rate = np.zeros(x.shape)
            for column, sign in sides:
                if column in following:
                    rate += sign * scales[..., column, None] * slopes[:, :, following[column]]
                rate[..., column] += sign * scales[..., column]
            binds = system.is_binding[:, None, orders.relation_numbers[place]]
            with np.errstate(invalid="ignore"):
                gap = np.where(binds, np.minimum(x[..., left_column] - x[..., right_column], 0.0), -np.inf)
            narrow(slice(None), rate, gap[..., None])
    return low, high
