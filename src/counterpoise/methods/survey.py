"""Surveys: what every change of a single feature does, read off the leaves of trees, and the changes put together.

For a model whose leaves are known, the expansion of the margin in single-feature changes, the Eq. (2) of trees, is
exact and complete, and the model is asked only about combinations of them.
"""

from __future__ import annotations

import numpy as np

from counterpoise.methods.menu import Menu
from counterpoise.methods.sweep import additive
from counterpoise.models.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Index

MULTIPLIERS = 16
SHARES = np.linspace(0, 1, MULTIPLIERS)
ALONE = 3  # single changes of a point that are tried
LEAST = np.finfo(np.float64).tiny


def survey(problem: Problem, leaves: Leaves, menu: Menu, x: Array, reach: Array, *, jumping: bool) -> Array:
    """Points ``(n, t, d)`` that changes of the points ``x`` ``(n, q, d)`` promise most of.

    ``reach`` ``(n,)`` bounds how far from the row a value is worth trying. For every multiplier of a grid each feature
    takes the value that is worth most, gain of margin against rise of effort; the cheapest single changes that reach
    the target are tried by themselves. With ``jumping`` each point is also moved into every leaf of every tree.
    """
    n, q, d = x.shape
    near, kept = menu.within(reach)
    cells = leaves.cells(x.reshape(n * q, d))
    parts = [np.empty((n, q, 0, d))]
    if len(kept):
        sums, shifted = leaves.survey(cells, kept)
        now = problem.goal.margin(leaves.finish(sums).reshape(n, q, -1))
        outputs = leaves.finish(shifted.reshape(-1, shifted.shape[-1])).reshape(n, q * len(kept), -1)
        margin = problem.goal.margin(outputs).reshape(n, q, -1)
        gain = additive(problem, margin) - additive(problem, now)[..., None]
        price, effort = _price(problem, near, x)
        reached = near.open[:, None, :] & (margin >= 0)
        parts += [
            _combined(near, x, gain, price, _room(problem, x)),
            _alone(near, x, np.where(reached, effort, np.inf)),
        ]
    if jumping:
        parts.append(_jumps(leaves, menu, x, cells))
    return np.concatenate(parts, axis=2).reshape(n, -1, d)


def _price(problem: Problem, near: Menu, x: Array) -> tuple[Array, Array]:
    """What each change ``(n, q, c)`` adds to the effort to first order, and by what the effort after it is ranked."""
    distance = problem.energy.distance
    before = distance.differences(x, problem.x0)
    old, new = before[..., near.column], near.far[:, None, :]
    l2, l0, gower = (distance.weight(norm) for norm in ("l2", "l0", "gower"))
    rate = distance.weight("l1") + problem.energy.lam
    rest = (rate + gower * (distance.unit / distance.span)[near.column] / x.shape[-1] if gower else rate) * (new - old)
    if l0:
        rest += l0 * ((new > 0).astype(np.float64) - (old > 0))
    if not l2:
        return rest, rest
    square = np.einsum("nqd,nqd->nq", before, before)[..., None]
    rise, total = new**2 - old**2, np.sqrt(square)
    first = rest + rise * (l2 / (2 * np.where(total > 0, total, 1.0)))
    return first, rest + l2 * np.sqrt(np.maximum(square + rise, 0.0))


def _room(problem: Problem, x: Array) -> Array | None:
    """How many more features of points ``x`` ``(n, q, d)`` may change, ``(n * q,)``; None: all."""
    if problem.region.max_changes is None:
        return None
    return np.asarray(problem.region.max_changes - np.count_nonzero(problem.region.changed(x), axis=-1)).reshape(-1)


def _combined(near: Menu, x: Array, gain: Array, price: Array, room: Array | None) -> Array:
    """Combinations ``(n, q, m, d)``, one per multiplier: each feature takes the change worth most."""
    n, q, d = x.shape
    width = len(near.column)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gain / price
    useful = near.open[:, None, :] & ((gain > 0) | (price < 0))
    ratio = np.where(useful & (ratio > 0) & (ratio < np.inf), ratio, 0.0).reshape(n * q, width)
    ratio.sort(axis=-1)
    count = np.maximum(np.count_nonzero(ratio, axis=-1), 1)[:, None]
    rank = np.minimum(np.rint(count**SHARES), count).astype(np.intp)
    multipliers = np.take_along_axis(ratio, width - rank, axis=-1) * (1 - 1e-9)  # (p, m)
    combos = np.repeat(x.reshape(n * q, 1, d), MULTIPLIERS, axis=1)
    flat = np.flatnonzero(useful)
    if len(flat):
        point, cell = np.divmod(flat, width)
        worth = gain.reshape(-1)[flat] - multipliers.T[:, point] * price.reshape(-1)[flat]  # (m, entries)
        group = point * (near.feature[-1] + 1) + near.feature[cell]
        begin = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        most = np.maximum(np.maximum.reduceat(worth, begin, axis=1), LEAST)
        size = np.diff(np.append(begin, len(flat)))
        m, entry = np.divmod(np.flatnonzero(worth >= np.repeat(most, size, axis=1)), len(flat))
        if room is not None:
            m, entry = _fewest(m, entry, point, worth, room)
        combos[point[entry], m, near.column[cell[entry]]] = near.value[point[entry] // q, cell[entry]]
    return combos.reshape(n, q, MULTIPLIERS, d)


def _fewest(m: Index, entry: Index, point: Index, worth: Array, room: Array) -> tuple[Index, Index]:
    """Of the changes of each combination, those worth most: as many as a point has room for, and one at least."""
    owner = m * len(room) + point[entry]
    order = np.lexsort((-worth[m, entry], owner))
    first = np.searchsorted(owner[order], owner[order], side="left")
    kept = order[np.arange(len(order)) - first < np.maximum(room, 1)[point[entry][order]]]
    return m[kept], entry[kept]


def _alone(near: Menu, x: Array, rank: Array) -> Array:
    """Points ``(n, q, s, d)`` with one change each: those that rank lowest, ``(n, q, c)``."""
    few = min(ALONE, rank.shape[-1])
    best = np.argpartition(rank, few - 1, axis=-1)[..., :few]
    out = np.repeat(x[:, :, None, :], few, axis=2)
    row, point, slot = np.nonzero(np.isfinite(np.take_along_axis(rank, best, axis=-1)))
    cell = best[row, point, slot]
    out[row, point, slot, near.column[cell]] = near.value[row, cell]
    return out


def _jumps(leaves: Leaves, menu: Menu, x: Array, cells: Index) -> Array:
    """Points ``(n, q, l, d)``: each moved to the nearest cells that are open to a leaf, one for every leaf."""
    n, q, d = x.shape
    leaf, feature = leaves.bounds
    here = cells[:, feature]  # (p, e)
    shut = leaves.shut[here, leaf] > 0
    there = np.minimum(np.maximum(here, leaves.low[leaf, feature]), leaves.high[leaf, feature])
    row = np.repeat(np.arange(n), q)[:, None]
    moved = shut & menu.open[row, there]
    point, bound = np.nonzero(moved)
    out = np.repeat(x.reshape(n * q, 1, d), len(leaves.tree), axis=1)
    out[point, leaf[bound], leaves.columns[feature[bound]]] = menu.value[point // q, there[point, bound]]
    return out.reshape(n, q, -1, d)
