"""What single changes cost, and what they change of the effort."""

from __future__ import annotations

import numpy as np

from counterpoise.problem import Problem
from counterpoise.types import Array, Index


def first_order_costs(problem: Problem, x: Array, column: Index, held: Array) -> Array:
    """What each change of a column ``(n, t)`` to ``held`` ``(n, q, t)`` adds to the effort, to first order."""
    distance = problem.energy.distance
    before = distance.differences(x, problem.x0)
    square = np.einsum("nqd,nqd->nq", before, before)[..., None]
    before = np.take_along_axis(before, column[:, None, :], axis=2)
    start = np.take_along_axis(problem.x0, column, axis=1)[:, None, :]
    after = np.abs(held - start) / distance.unit[column][:, None, :]
    nominal = distance.nominal[column][:, None, :] | np.isnan(start)
    after = np.where(nominal, np.where(np.isnan(held) & np.isnan(start), 0.0, held != start), after)
    return price_changes(problem, column[:, None, :], before, after, square)[0]


def price_changes(problem: Problem, column: Index, old: Array, new: Array, square: Array) -> tuple[Array, Array]:
    """What changes of single columns from ``old`` to ``new`` differences add to the effort, and the effort after them.

    The first to first order, so that it adds up over columns; ``square`` is that of the length before. Any shapes that
    broadcast to that of the changes.
    """
    l2 = problem.energy.distance.length_weight
    rest, rise = split_effort_change(problem, column, old, new)
    if not l2:
        return rest, rest
    slope = l2 / (2 * np.sqrt(np.where(square > 0, square, 1.0)))
    return rest + rise * slope, rest + l2 * np.sqrt(np.maximum(square + rise, 0.0))


def split_effort_change(problem: Problem, column: Index, old: Array, new: Array) -> tuple[Array, Array]:
    """What changes of columns from ``old`` to ``new`` differences add to the effort, L2 aside, and to its square.

    Both add up over columns.
    """
    distance, rate = problem.energy.distance, problem.energy.l1_weights
    if distance.unit_prices is not None:
        rate = rate + distance.unit_prices
    rest = (rate[column] if isinstance(rate, np.ndarray) else rate) * (new - old)
    if problem.energy.counts_changes:
        rest = rest + problem.energy.change_prices[column] * ((new > 0).astype(np.float64) - (old > 0))
    return rest, new * new - old * old
