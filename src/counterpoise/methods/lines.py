"""Lines: every feature moved alone, to either edge of its box, as far as it takes; then the best moves together.

What a few features can do is not in the slope at one point. A line is looked at on a ladder of steps first, then
between the last step that did not reach the target and the first one that did. The steps of all lines are also an
expansion of the margin, Eq. (2), in changes of single features: what they promise together is tried as in a sweep.
"""

from __future__ import annotations

import numpy as np

from counterpoise.methods.starts import Points, joined, scored
from counterpoise.methods.sweep import FARTHEST, MULTIPLIERS, additive, combined, costs, room_of
from counterpoise.methods.switches import single, switchable
from counterpoise.problem import Problem
from counterpoise.types import Array, Index

RUNGS = np.geomspace(0.004, 1.0, 8)  # shares of the way to the edge
BETWEEN = np.arange(1, 8) / 8
SWITCHES = 256  # of categories
CELLS = 4_000_000  # numbers in the points tried at once


def lines(problem: Problem, alone: int, together: int) -> Points:
    """The best points of each row that change one feature, and several, and the row itself, ``(n, k, d)``.

    At most one for every feature, ``alone`` of them, and ``together`` that change more.
    """
    n, d = problem.x0.shape
    columns = np.flatnonzero(problem.numeric & problem.region.free.any(axis=0))
    size = max(1, CELLS // (d * max(2 * len(RUNGS) * len(columns), _levels(problem), 1)))
    parts = [
        _lines(problem.take(rows), columns, alone, together) for rows in np.split(np.arange(n), range(size, n, size))
    ]
    return Points(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _lines(problem: Problem, columns: Index, alone: int, together: int) -> Points:
    region, home = problem.region, problem.region.home
    trial = single(problem, home)
    some = np.linspace(0, trial.shape[1] - 1, min(trial.shape[1], SWITCHES)).astype(np.intp)
    own, switched = scored(problem, home[:, None, :]), scored(problem, trial[:, some])
    if not len(columns):
        return joined(switched.best(alone), own)
    n, f, w = len(home), len(columns), 2 * len(RUNGS)
    start, farthest = home[:, columns], FARTHEST * problem.scales[columns]
    down = np.maximum(region.lower[:, columns], start - farthest) - start
    up = np.minimum(region.upper[:, columns], start + farthest) - start
    way = np.where(region.free[:, columns, None], np.stack([down, up], axis=2), 0.0)
    ladder = _tried(problem, columns, way[..., None] * RUNGS)
    reached = ladder.valid.reshape(n, f, 2, -1)
    first = reached.argmax(axis=-1)
    near, far = np.where(first > 0, RUNGS[first - 1], 0.0), RUNGS[first]
    share = near[..., None] + (far - near)[..., None] * BETWEEN
    closer = _tried(problem, columns, np.where(reached.any(axis=-1), way, 0.0)[..., None] * share)
    best = joined(_by_line(ladder, f), _by_line(closer, f)).best(1)
    best = Points(*(array.reshape(n, f, *array.shape[2:]) for array in best))
    # what all steps of all lines promise together
    column = np.broadcast_to(np.repeat(columns, w), (n, f * w))
    held = np.take_along_axis(ladder.x, column[:, :, None], axis=2).reshape(n, 1, f * w)
    gain = additive(problem, ladder.margin) - additive(problem, own.margin)
    cost, shape = costs(problem, own.x, column, held), (n, 1, f, w)
    values, gains, prices = held.reshape(shape), gain.reshape(shape), cost.reshape(shape)
    trial = combined(own, column[:, ::w], values, gains, prices, room_of(problem, own.x))
    several = scored(problem, trial[:, 0])
    few = np.count_nonzero(region.changed(several.x), axis=-1) < 2
    several = several._replace(effort=np.where(few, np.inf, several.effort))
    return joined(joined(best, switched).best(alone), several.best(together), own)


def most_asked(problem: Problem) -> int:
    """How many model rows the lines of a row take at most."""
    steps = 2 * (len(RUNGS) + len(BETWEEN)) * int(problem.numeric.sum())
    return steps + min(_levels(problem), SWITCHES) + MULTIPLIERS + 1


def _levels(problem: Problem) -> int:
    return sum(len(values) for _, values in switchable(problem))


def _tried(problem: Problem, columns: Index, moved: Array) -> Points:
    """Points ``(n, f * 2 * w, d)``: the row with one of ``columns`` ``(f,)`` ``moved`` by so much ``(n, f, 2, w)``."""
    n, f, _, w = moved.shape
    home = problem.region.home
    x = np.repeat(home[:, None, :], f * 2 * w, axis=1)
    place, column = np.arange(f * 2 * w), np.repeat(columns, 2 * w)
    x[:, place, column] += moved.reshape(n, -1)
    return scored(problem, x)


def _by_line(points: Points, lines: int) -> Points:
    """The points of n rows as those of n x lines rows."""
    return Points(*(array.reshape(len(array) * lines, -1, *array.shape[2:]) for array in points))
