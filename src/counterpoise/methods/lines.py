"""Lines: every feature moved alone, to either edge of its box, as far as it takes; then the best moves together.

What a few features can do is not in the slope at one point. A line is looked at on a ladder of steps first, then
between the last step that did not reach the target and the first one that did. The steps of all lines are also an
expansion of the margin, Eq. (2), in changes of single features: what they promise together is tried as in a sweep.
"""

from __future__ import annotations

import numpy as np

from counterpoise.methods.points import Points, joined, scored
from counterpoise.methods.starts import across, ranged, underneath
from counterpoise.methods.sweep import FARTHEST, MULTIPLIERS, additive, combined, costs, room_of
from counterpoise.methods.switches import single, switchable
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask

RUNGS = np.geomspace(0.004, 1.0, 8)  # shares of the way to the edge
BETWEEN = np.arange(1, 8) / 8  # of the way from one rung to the next
HALVINGS = 24
FINER = 2  # times that a line is looked at again where relations take other cells along
SWITCHES = 256  # of categories
CELLS = 500_000  # numbers in the points tried at once: more do not stay near the processor


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
    n, f, w = len(home), len(columns), 2 * len(RUNGS)
    way = _ways(problem, columns, home)
    seen = scored(problem, np.concatenate([_moved(home, columns, way[..., None] * RUNGS), _few(problem)], axis=1))
    own, switched, ladder = _part(seen, -1, None), _part(seen, f * w, -1), _part(seen, 0, f * w)
    if not f:
        return joined(switched.best(alone), own)
    below = underneath(problem) if ranged(problem) else None
    reached = (ladder.valid if below is None else across(problem, ladder.x, below)).reshape(n, f, 2, -1)
    first = reached.argmax(axis=-1)
    near, far = np.where(first > 0, RUNGS[first - 1], 0.0), RUNGS[first]
    way = np.where(reached.any(axis=-1), way, 0.0)
    for _ in range(FINER if len(region.system) and below is None else 0):  # Taylor steps may not stay on the line
        near, far = _narrowed(problem, columns, way, near, far)
    share = near[..., None] + (far - near)[..., None] * BETWEEN
    if below is not None:  # a ladder steps over a narrow range
        share = _halved(problem, columns, way, near, far, below)[..., None]
    between = _moved(home, columns, way[..., None] * share)
    seen = scored(problem, np.concatenate([between, _together(problem, columns, own, ladder)], axis=1))
    closer, several = _part(seen, 0, between.shape[1]), _part(seen, between.shape[1], None)
    best = joined(_by_line(ladder, f), _by_line(closer, f)).best(1)
    best = Points(*(array.reshape(n, f, *array.shape[2:]) for array in best))
    single_change = np.count_nonzero(region.changed(several.x), axis=-1) < 2
    several = several._replace(effort=np.where(single_change, np.inf, several.effort))
    found = joined(joined(best, switched).best(alone), several.best(together), own)
    if not len(region.system) or np.array_equal(home, region.boxed, equal_nan=True):
        return found
    # a row that breaks a relation itself: what mends it by one change may also turn the decision
    itself = scored(problem, _moved(region.boxed, columns, _ways(problem, columns, region.boxed)[..., None] * RUNGS))
    return joined(found, itself.best(alone))


def _ways(problem: Problem, columns: Index, start: Array) -> Array:
    """How far each of ``columns`` may go down and up from points ``(n, d)``, ``(n, f, 2)``; 0 where it may not move."""
    region, here, farthest = problem.region, start[:, columns], FARTHEST * problem.scales[columns]
    down = np.maximum(region.lower[:, columns], here - farthest) - here
    up = np.minimum(region.upper[:, columns], here + farthest) - here
    return np.where(region.free[:, columns, None], np.stack([down, up], axis=2), 0.0)


def _moved(home: Array, columns: Index, by: Array) -> Array:
    """Rows ``home`` ``(n, d)`` with one of ``columns`` ``(f,)`` moved ``by`` so much ``(n, f, 2, w)``, one each."""
    n, each = len(home), by.shape[2] * by.shape[3]
    x = np.repeat(home[:, None, :], len(columns) * each, axis=1)
    x[:, np.arange(x.shape[1]), np.repeat(columns, each)] += by.reshape(n, -1)
    return x


def _narrowed(problem: Problem, columns: Index, way: Array, near: Array, far: Array) -> tuple[Array, Array]:
    """Shares ``(n, f, 2)`` of each way that the target is first reached between, eight times as near to each other."""
    share = near[..., None] + (far - near)[..., None] * np.append(0.0, np.append(BETWEEN, 1.0))
    tried = scored(problem, _moved(problem.region.home, columns, way[..., None] * share[..., 1:-1]))
    reached = np.concatenate([tried.valid.reshape(*way.shape, -1), np.ones((*way.shape, 1), dtype=bool)], axis=-1)
    first = reached.argmax(axis=-1)[..., None]
    low, high = (np.take_along_axis(share, first + place, axis=-1)[..., 0] for place in (0, 1))
    return low, high


def _halved(problem: Problem, columns: Index, way: Array, near: Array, far: Array, below: Mask) -> Array:
    """The share ``(n, f, 2)`` of each way at which numbers come into a range, between ``near`` and ``far`` ones."""
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        x, _ = problem.region.settle(_moved(problem.region.home, columns, (way * middle)[..., None]))
        past = across(problem, x, below).reshape(way.shape)
        near, far = np.where(past, near, middle), np.where(past, middle, far)
    return far


def _few(problem: Problem) -> Array:
    """The rows with one category switched, at most `SWITCHES` of all switches, and the rows themselves, last."""
    home = problem.region.home
    every = single(problem, home)
    some = np.linspace(0, every.shape[1] - 1, min(every.shape[1], SWITCHES)).astype(np.intp)
    return np.concatenate([every[:, some], home[:, None, :]], axis=1)


def _together(problem: Problem, columns: Index, own: Points, ladder: Points) -> Array:
    """What all steps of all lines promise together, ``(n, m, d)``."""
    n, steps = ladder.margin.shape
    w = steps // len(columns)
    column = np.broadcast_to(np.repeat(columns, w), (n, steps))
    held = np.take_along_axis(ladder.x, column[:, :, None], axis=2).reshape(n, 1, steps)
    gain = additive(problem, ladder.margin) - additive(problem, own.margin)
    cost, shape = costs(problem, own.x, column, held), (n, 1, len(columns), w)
    values, gains, prices = held.reshape(shape), gain.reshape(shape), cost.reshape(shape)
    return combined(own, column[:, ::w], values, gains, prices, room_of(problem, own.x))[:, 0]


def most_asked(problem: Problem) -> int:
    """How many model rows the lines of a row take at most."""
    finer = FINER * len(BETWEEN) + len(RUNGS) if len(problem.region.system) else 0
    each = len(RUNGS) + len(BETWEEN) + finer + (HALVINGS + len(RUNGS) + 1 if ranged(problem) else 0)
    steps = 2 * each * int(problem.numeric.sum())
    return steps + min(_levels(problem), SWITCHES) + MULTIPLIERS + 1


def _levels(problem: Problem) -> int:
    return sum(len(values) for _, values in switchable(problem))


def _part(points: Points, first: int, last: int | None) -> Points:
    return Points(*(array[:, first:last] for array in points))


def _by_line(points: Points, lines: int) -> Points:
    """The points of n rows as those of n x lines rows."""
    return Points(*(array.reshape(len(array) * lines, -1, *array.shape[2:]) for array in points))
