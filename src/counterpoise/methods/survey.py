"""Surveys: what every change of a single feature does, read off the leaves of trees, and the changes put together.

For a model whose leaves are known, the expansion of the margin in single-feature changes, the Eq. (2) of trees, is
exact and complete, and the model is asked only about combinations of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.jumping import jumps
from counterpoise.methods.menu import Menu
from counterpoise.methods.sweep import additive, priced
from counterpoise.models.leaves import Leaves, Survey
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask

MULTIPLIERS = 16
SHARES = np.linspace(0, 1, MULTIPLIERS)
ALONE = 3  # single changes of a point that are tried
LEAST = np.finfo(np.float64).tiny
WORST = -10.0  # a change that loses more than this, times what the point has to do, is as bad as any other
GRAIN = 1e-9  # and a gain of less is none
AT_ONCE = 1_000_000  # numbers that surveys hold at once,
PIECES = 32  # and how many each tree is taken to add to those of a point


class Changes(NamedTuple):
    """Single changes worth a thought, point after point and feature after feature; each array is ``(e,)``."""

    point: Index
    feature: Index  # its place among those that are split
    column: Index
    value: Array
    gain: Array  # of the margin, on the scale where it adds up
    price: Array  # what it adds to the effort, to first order
    rank: Array  # the effort after it, where it reaches the target by itself; else infinite


def survey(problem: Problem, leaves: Leaves, menu: Menu, x: Array, reach: Array, price: Array | None = None) -> Array:
    """Points ``(n, t, d)`` that changes of the points ``x`` ``(n, q, d)`` promise most of.

    ``reach`` ``(n,)`` bounds how far from the row a value is worth trying. For every multiplier of a grid each feature
    takes the value that is worth most, gain of margin against rise of effort; the cheapest single changes that reach
    the target are tried by themselves. With a ``price`` ``(n,)`` of margin each point is also moved into the leaves
    that promise most at that price.
    """
    n, q, d = x.shape
    jumping = 0 if price is None or leaves.walls is None else max(len(leaves.value), len(leaves.walls.place))
    pieces = min(len(leaves.feature), PIECES * leaves.trees)
    size = max(1, AT_ONCE // (q * max(pieces, jumping) * len(leaves.base)))
    if size < n:  # rows know nothing of each other
        each = []
        for rows in np.split(np.arange(n), range(size, n, size)):
            some = problem.take(rows)
            part = some, leaves, menu.at(some, rows), x[rows], reach[rows]
            each.append(survey(*part, None if price is None else price[rows]))
        return np.concatenate(each)
    cells = leaves.cells(x.reshape(n * q, d))
    seen = leaves.survey(cells, np.repeat(menu.home, q, axis=0))
    changes = _changes(problem, leaves, menu, x, seen, reach)
    spot = _spots(changes, n * q)
    tried = [_combined(problem, changes, spot, x), _alone(changes, spot, x.reshape(n * q, d))]
    if price is not None:
        tried.append(jumps(problem, leaves, menu, x, cells, seen, price))
    every = np.concatenate(tried, axis=1).reshape(n, -1, d)
    system = problem.region.system
    return system.carried(every, np.repeat(x, every.shape[1] // q, axis=1)) if len(system) else every


def _changes(problem: Problem, leaves: Leaves, menu: Menu, x: Array, seen: Survey, reach: Array) -> Changes:
    """The single changes to cells within reach ``(n,)`` of the row, without those that another one beats.

    Of cells that the trees do not tell apart, the one nearest to the row is enough.
    """
    n, q, d = x.shape
    point, feature = seen.point, leaves.feature.take(seen.cell)
    row = point // q
    home = menu.home.take(row * len(leaves.columns) + feature)
    up = seen.cell >= home
    cell, there = menu.nearest(up, seen.cell, seen.last)
    value, far, allowed = menu.look(row, cell)
    kept = np.flatnonzero(there & allowed & (far <= reach.take(row)))
    point, row, cell, feature = (array.take(kept) for array in (point, row, cell, feature))
    own, up, far, value = cell == home.take(kept), up.take(kept), far.take(kept), value.take(kept)
    now = problem.goal.margin(leaves.finish(seen.sums).reshape(n, q, -1)).reshape(-1)
    moved = leaves.finish(seen.sums.take(point, axis=0) + seen.added.take(kept, axis=0))
    margin = problem.goal.take(row).margin(moved[:, None, :])[:, 0]
    gain = additive(problem, margin) - additive(problem, now).take(point)
    # measured by what each point has to do: no other point's gains say what is slight in its own
    largest = np.abs(additive(problem, now))
    np.maximum.at(largest, point, gain)
    with np.errstate(over="ignore"):  # a point on the boundary has nothing to do, and every change may lose
        slight = np.maximum(gain / np.maximum(largest, LEAST).take(point), WORST)
    best = np.flatnonzero(_records(point * len(leaves.columns) + feature, slight, own, up))
    point, feature, far, value, gain = point[best], feature[best], far[best], value[best], gain[best]
    column = leaves.columns.take(feature)
    before = problem.energy.distance.differences(x, problem.x0).reshape(n * q, d)
    square = np.einsum("pd,pd->p", before, before)
    price, effort = priced(problem, column, before[point, column], far, square[point])
    rank = np.where(margin.take(best) >= 0, effort, np.inf)
    return Changes(point, feature, column, value, gain, price, rank)


def _records(group: Index, gain: Array, own: Mask, up: Mask) -> Mask:
    """Changes that gain more than all that are nearer to the row, feature by feature, on either side of it.

    Gains are from `WORST` to 1, and more is more by `GRAIN`: all groups share one running maximum, and its rounding.
    """
    if not len(gain):
        return up
    apart = np.zeros(len(gain))
    np.cumsum(group[1:] != group[:-1], out=apart[1:])
    apart *= 1 - 2 * WORST
    above = np.maximum.accumulate(np.where(up, gain, WORST) + apart)
    below = np.maximum.accumulate((np.where(up & ~own, WORST, gain) - apart)[::-1])[::-1]
    found = up.copy()
    found[1:] &= above[1:] > above[:-1] + GRAIN
    found[:-1] |= ~up[:-1] & (below[:-1] > below[1:] + GRAIN)
    found[-1] |= ~up[-1]
    return found


class Spots(NamedTuple):
    """Where changes stand: in a table ``(p, w)`` of those of each point, and in groups of those of one feature."""

    column: Index  # (e,) in the table
    width: int  # of the table
    begin: Index  # (g,) the first change of each group
    size: Index  # (g,)


def _spots(changes: Changes, points: int) -> Spots:
    point = changes.point
    count = np.bincount(point, minlength=points)
    first = np.cumsum(count) - count
    apart = np.ones(len(point) + 1, dtype=bool)  # where a group begins, or all of them end
    np.not_equal(changes.feature[1:], changes.feature[:-1], out=apart[1:-1])
    apart[1:-1] |= point[1:] != point[:-1]
    ends = np.flatnonzero(apart)
    column = np.arange(len(point)) - first[point]
    return Spots(column, max(ALONE, int(count.max(initial=0))), ends[:-1], np.diff(ends))


def _combined(problem: Problem, changes: Changes, spot: Spots, x: Array) -> Array:
    """Combinations ``(p, m, d)``, one per multiplier: each feature takes the change worth most."""
    n, q, d = x.shape
    combos = np.repeat(x.reshape(n * q, 1, d), MULTIPLIERS, axis=1)
    point, gain, price = changes.point, changes.gain, changes.price
    if not len(point):
        return combos
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = gain / price
    ratio = np.zeros((n * q, spot.width))
    ratio[point, spot.column] = np.where((slope > 0) & (slope < np.inf), slope, 0.0)
    ratio.sort(axis=-1)
    count = np.maximum(np.count_nonzero(ratio, axis=-1), 1)[:, None]
    order = np.minimum(np.rint(count**SHARES), count).astype(np.intp)
    multipliers = np.take_along_axis(ratio, spot.width - order, axis=-1) * (1 - 1e-9)  # (p, m)
    worth = gain - multipliers.T[:, point] * price  # (m, e)
    most = np.maximum(np.maximum.reduceat(worth, spot.begin, axis=1), LEAST)
    m, entry = np.divmod(np.flatnonzero(worth >= np.repeat(most, spot.size, axis=1)), len(point))
    if problem.region.max_changes is not None:
        room = problem.region.max_changes - np.count_nonzero(problem.region.changed(x), axis=-1).reshape(-1)
        m, entry = _fewest(m, entry, point, worth, room)
    combos[point[entry], m, changes.column[entry]] = changes.value[entry]
    return combos


def _fewest(m: Index, entry: Index, point: Index, worth: Array, room: Index) -> tuple[Index, Index]:
    """Of the changes of each combination, those worth most: as many as a point has room for, and one at least."""
    owner = m * len(room) + point[entry]
    order = np.lexsort((-worth[m, entry], owner))
    first = np.searchsorted(owner[order], owner[order], side="left")
    kept = order[np.arange(len(order)) - first < np.maximum(room, 1)[point[entry][order]]]
    return m[kept], entry[kept]


def _alone(changes: Changes, spot: Spots, x: Array) -> Array:
    """Points ``(p, s, d)`` with one change each: the cheapest that reach the target so, of different features."""
    out = np.repeat(x[:, None, :], ALONE, axis=1)
    enough = np.flatnonzero(np.isfinite(changes.rank))
    if not len(enough):
        return out
    group = np.repeat(np.arange(len(spot.size)), spot.size)[enough]
    order = np.lexsort((changes.rank[enough], group))
    entry, group = enough[order], group[order]
    entry = entry[np.diff(group, prepend=-1) > 0]  # the cheapest of each feature
    entry = entry[np.lexsort((changes.rank[entry], changes.point[entry]))]
    point = changes.point[entry]
    slot = np.arange(len(entry)) - np.searchsorted(point, point)
    entry, point, slot = entry[slot < ALONE], point[slot < ALONE], slot[slot < ALONE]
    out[point, slot, changes.column[entry]] = changes.value[entry]
    return out
