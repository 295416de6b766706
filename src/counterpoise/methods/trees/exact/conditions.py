"""What a goal asks of the sums of leaves: linear conditions that every answer meets.

Where trees add up to one number, or to one number a class, the conditions are the goal itself, but for rounding. Where
probabilities are a softmax of the sums they only follow from it: they may let through a point that is no answer, and
never shut one out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.methods.trees.exact.open_cells import LeafWalls
from counterpoise.models.goals import ClassGoal, Goal, RangeGoal, ThresholdGoal
from counterpoise.models.leaf_sum_outputs import affine_outputs, is_monotone
from counterpoise.models.links import SoftmaxToOutputs
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Mask

BISECTIONS = 60
SINGLE, DOUBLE = 2.0**-24, 2.0**-52  # relative rounding of a sum, in the precision in which the library adds up


class Conditions(NamedTuple):
    """All of m sums ``directions @ sums`` must be at least ``least``, up to a slack that rounding explains."""

    directions: Array  # (m, s)
    least: Array  # (m,)


@dataclass(frozen=True, eq=False)
class Asked:
    """For each row the alternatives that meet its goal, of which one is enough; and the slack of a unit direction."""

    rows: tuple[tuple[Conditions, ...], ...]
    slack: Array  # (s,)


def conditions(problem: Problem, leaves: Leaves, walls: LeafWalls) -> Asked | None:
    """The conditions of every row, or None where the goal is not known to be one on sums of leaves."""
    if len(leaves.base) == 1:
        rows = _of_one_sum(problem.goal, leaves, walls, len(problem))
    else:
        rows = _of_many_sums(problem.goal, leaves)
    return None if rows is None else Asked(rows, rounding(problem, leaves, walls))


def rounding(problem: Problem, leaves: Leaves, walls: LeafWalls) -> Array:
    """How far the model's own sums ``(s,)`` may be from exact ones, adding up in its own precision and order."""
    trees = problem.model.trees
    unit = SINGLE if getattr(trees, "single_sums", True) else DOUBLE
    largest = np.maximum(np.abs(walls.low), np.abs(walls.high)).sum(axis=0)
    return np.asarray(unit * (leaves.tree_count + 4) * (largest + np.abs(leaves.base)))


def _of_one_sum(goal: Goal, leaves: Leaves, walls: LeafWalls, n: int) -> tuple[tuple[Conditions, ...], ...] | None:
    up, down = np.ones((1, 1)), -np.ones((1, 1))
    if leaves.has_one_margin and isinstance(goal, ClassGoal) and goal.wanted_signs is not None:
        zero = np.zeros(1)
        return tuple((Conditions(up if side > 0 else down, zero),) for side in goal.wanted_signs.tolist())
    if not is_monotone(leaves.to_outputs):
        return None
    if isinstance(goal, RangeGoal):
        never = np.full(n, np.inf)
        low = _find_sum_limits(RangeGoal(goal.low, never, goal.members_needed), leaves, walls, n)
        high = _find_sum_limits(RangeGoal(-never, goal.high, goal.members_needed), leaves, walls, n)
    else:
        low, high = _find_sum_limits(goal, leaves, walls, n), (np.full(n, -np.inf), np.full(n, np.inf))
    return tuple((_within(max(low[0][row], high[0][row]), min(low[1][row], high[1][row])),) for row in range(n))


def _within(low: float, high: float) -> Conditions:
    """One sum from ``low`` to ``high``."""
    ends = [(sign, end) for sign, end in ((1.0, low), (-1.0, -high)) if end > -np.inf]
    return Conditions(np.array([[sign] for sign, _ in ends]).reshape(-1, 1), np.array([end for _, end in ends]))


def _find_sum_limits(goal: Goal, leaves: Leaves, walls: LeafWalls, n: int) -> tuple[Array, Array]:
    """From where to where the one sum meets a goal that is met from some sum on, up or down: two ``(n,)``.

    Each end lies on the outer side, so that no sum that meets the goal is left out.
    """
    low, high = (np.full(n, float(leaves.base[0] + ends.sum())) for ends in (walls.low, walls.high))
    pad = 1e-6 * (1.0 + np.abs(np.stack([low, high])).max())
    low, high = low - pad, high + pad
    below, above = _meets(goal, leaves, low), _meets(goal, leaves, high)
    start, end = bisect(low, high, lambda sums: _meets(goal, leaves, sums) == above, BISECTIONS)
    infinite = np.full(n, np.inf)
    first = np.where(below, -infinite, np.where(above, start, infinite))
    last = np.where(above, infinite, np.where(below, end, -infinite))
    return first, last


def _meets(goal: Goal, leaves: Leaves, sums: Array) -> Mask:
    return goal.is_reached(leaves.to_outputs(sums[:, None])[:, None, :])[:, 0]


def _of_many_sums(goal: Goal, leaves: Leaves) -> tuple[tuple[Conditions, ...], ...] | None:
    affine = affine_outputs(leaves)
    if affine is None:
        return None
    asked = conditions_on_outputs(goal, len(affine[0]), soft=isinstance(leaves.to_outputs, SoftmaxToOutputs))
    return None if asked is None else tuple(tuple(_of_sums(one, *affine) for one in row) for row in asked)


def _of_sums(asked: Conditions, matrix: Array, offset: Array) -> Conditions:
    """Conditions on outputs as conditions on sums."""
    return Conditions(asked.directions @ matrix, asked.least - asked.directions @ offset)


def conditions_on_outputs(goal: Goal, count: int, *, soft: bool) -> tuple[tuple[Conditions, ...], ...] | None:
    """Conditions on so many outputs, or, where the model's own are their softmax, on what that is made of."""
    one = np.eye(count)
    if isinstance(goal, RangeGoal) and count == 1 and not soft:
        return tuple((_within(*ends),) for ends in zip(goal.low.tolist(), goal.high.tolist(), strict=True))
    if isinstance(goal, ClassGoal) and goal.wanted_classes.shape[1] == count:
        return tuple(_beats(one, wanted, 0.0) for wanted in goal.wanted_classes)
    if isinstance(goal, ThresholdGoal) and goal.wanted_classes.shape[1] == count:
        if soft:
            return tuple(
                _likely(one, wanted, p)
                for wanted, p in zip(goal.wanted_classes, goal.min_probability.tolist(), strict=True)
            )
        pairs = zip(goal.wanted_classes.astype(np.float64), goal.min_probability.tolist(), strict=True)
        return tuple((Conditions(wanted[None], np.array([p])),) for wanted, p in pairs)
    return None


def _beats(one: Array, wanted: Mask, by: float) -> tuple[Conditions, ...]:
    """One of the wanted classes is ahead of every rival by so much."""
    mine, rivals = np.flatnonzero(wanted), np.flatnonzero(~wanted)
    return tuple(Conditions(one[k] - one[rivals], np.full(len(rivals), by)) for k in mine.tolist())


def _likely(one: Array, wanted: Mask, p: float) -> tuple[Conditions, ...]:
    """What follows from a softmax that gives the wanted classes at least ``p``: the best of them is that far ahead."""
    if not 0 < p < 1:
        return tuple(Conditions(one[:0], np.zeros(0)) for _ in range(1)) if p <= 0 else _beats(one, wanted, 0.0)
    ahead = float(np.log(p) - np.log1p(-p) - np.log(np.count_nonzero(wanted)))
    found = _beats(one, wanted, ahead)
    rivals = np.flatnonzero(~wanted)
    if len(rivals) < 2:
        return found
    mean = one[rivals].mean(axis=0)  # a sum of exponentials is at least that of their mean exponent
    return tuple(
        replace_conditions(each, one[k] - mean, ahead + float(np.log(len(rivals))))
        for each, k in zip(found, np.flatnonzero(wanted).tolist(), strict=True)
    )


def replace_conditions(given: Conditions, direction: Array, least: float) -> Conditions:
    """The same conditions and one more."""
    return Conditions(np.vstack([given.directions, direction]), np.append(given.least, least))
