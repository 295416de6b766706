"""Sweeps: every feature tried alone at a few values, then the most promising changes put together.

The margin is expanded to first order in single-feature changes, the Eq. (2) of models without a slope: what each
candidate value adds to the margin, and what to the effort. For every multiplier of a grid each feature takes the value
that is worth most, and the combinations are tried on the model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.cells import Cells
from counterpoise.methods.starts import Points, joined, scored
from counterpoise.problem import Problem
from counterpoise.types import Array, Index

MULTIPLIERS = 16
LONGEST = 24  # levels of a category tried in one sweep


def sweep(problem: Problem, cells: Cells | None, points: Points, reach: Array, width: int) -> Points:
    """New points around ``points`` ``(n, q, d)``: all single changes, then the best combinations of them.

    ``reach`` ``(n,)`` bounds how far from the row a value is worth trying; ``width`` is the number of values each way.
    """
    n, q, d = points.x.shape
    tries = candidates(problem, cells, points.x, reach, width)
    count = len(tries.column)
    if not count:
        return points
    free = problem.region.free[:, None, tries.column]
    single = np.repeat(points.x[:, :, None, :], count, axis=2)
    every = np.arange(count)
    single[:, :, every, tries.column] = np.where(free, tries.value, points.x[..., tries.column])
    alone = scored(problem, single.reshape(n, q * count, d))
    gain = additive(problem, alone.margin).reshape(n, q, count) - additive(problem, points.margin)[..., None]
    held = alone.x.reshape(n, q, count, d)[:, :, every, tries.column]
    combos = _combined(points, tries, held, gain, _price(problem, points.x, tries.column, held))
    return joined(alone, scored(problem, combos.reshape(n, -1, d)))


class Tries(NamedTuple):
    """Single changes to try: column ``(t,)`` and value ``(n, q, t)`` of each, and those of each feature ``(f, w)``.

    Features have different numbers of values: places beyond a feature's own repeat its last one.
    """

    column: Index
    value: Array
    grouped: Index


def candidates(problem: Problem, cells: Cells | None, x: Array, reach: Array, width: int) -> Tries:
    """The changes worth trying around the points ``x`` ``(n, q, d)``."""
    parts: list[tuple[Index, Array]] = []  # columns (f,) and values (n, q, f, w)
    if cells is None:
        parts.append(_ladder(problem, x, reach, width))
    elif len(cells.columns):
        parts.append((cells.columns, _hops(problem, cells, x, reach, width)))
    for column, values in problem.region.lattice.choices:
        if not problem.numeric[column] and len(values) > 1:
            few = values[np.linspace(0, len(values) - 1, min(len(values), LONGEST)).astype(np.intp)]
            own = np.broadcast_to(problem.x0[:, None, None, None, column], (*x.shape[:2], 1, 1))
            tried = np.broadcast_to(few, (*x.shape[:2], 1, len(few)))
            parts.append((np.array([column]), np.concatenate([tried, own], axis=-1)))
    widest = max((values.shape[-1] for _, values in parts), default=0)
    columns, flat, grouped, start = [np.empty(0, dtype=np.intp)], [np.empty((*x.shape[:2], 0))], [], 0
    for numbers, values in parts:
        f, w = values.shape[2:]
        columns.append(np.repeat(numbers, w))
        flat.append(values.reshape(*x.shape[:2], f * w))
        grouped.append(start + np.arange(f)[:, None] * w + np.minimum(np.arange(widest), w - 1))
        start += f * w
    places = np.concatenate(grouped) if grouped else np.empty((0, 1), dtype=np.intp)
    return Tries(np.concatenate(columns), np.concatenate(flat, axis=2), places)


def _hops(problem: Problem, cells: Cells, x: Array, reach: Array, width: int) -> Array:
    """Values at split points, near ones densely and far ones sparsely, on both sides; the row's own value last."""
    start, span = problem.x0[:, cells.columns], reach[:, None] * problem.scales[cells.columns]
    home = cells.place(start)
    first = cells.place(np.fmax(problem.region.lower[:, cells.columns], start - span))[:, None, :]
    last = cells.place(np.fmin(problem.region.upper[:, cells.columns], start + span))[:, None, :]
    here = cells.locate(x)
    down, up = np.maximum(here - first, 0)[..., None], np.maximum(last - here, 0)[..., None]
    power = np.linspace(0, 1, width)
    below = here[..., None] - np.rint(np.maximum(down, 1) ** power) * (down > 0)
    above = here[..., None] + np.rint(np.maximum(up, 1) ** power) * (up > 0)
    own = np.broadcast_to(home[:, None, :, None], (*here.shape, 1))
    cell = np.concatenate([below, above, own], axis=-1).astype(np.intp)
    return np.moveaxis(cells.values(np.moveaxis(cell, -1, 2), home, start), 2, -1)


def _ladder(problem: Problem, x: Array, reach: Array, width: int) -> tuple[Index, Array]:
    """Steps that grow geometrically on both sides, and shares of the way back to the row."""
    columns = np.flatnonzero(problem.numeric)
    here = x[..., columns][..., None]
    start = problem.x0[:, None, columns, None]
    start = np.where(np.isnan(start), here, start)
    step = (reach[:, None, None] * problem.scales[columns])[..., None] * np.geomspace(1e-3, 1.0, width)
    back = start + (here - start) * np.linspace(0, 1, width, endpoint=False)[::-1]
    return columns, np.concatenate([here - step[:, None, 0], here + step[:, None, 0], back], axis=-1)


def additive(problem: Problem, margin: Array) -> Array:
    """The margin on the scale where votes add up: probabilities for a forest, decision values otherwise."""
    return np.tanh(margin / 2) if problem.model.link == "log" else margin


def _price(problem: Problem, x: Array, column: Index, held: Array) -> Array:
    """What each change to ``held`` ``(n, q, t)`` adds to the effort, to first order around the points."""
    distance = problem.energy.distance
    before = distance.differences(x, problem.x0)
    total = np.sqrt(np.einsum("nqd,nqd->nq", before, before))[..., None]
    before = before[..., column]
    start = problem.x0[:, None, column]
    after = np.abs(held - start) / distance.unit[column]
    nominal = distance.nominal[column] | np.isnan(start)
    after = np.where(nominal, np.where(np.isnan(held) & np.isnan(start), 0.0, held != start), after)
    price = distance.weight("l2") * (after**2 - before**2) / (2 * np.where(total > 0, total, 1.0))
    gower = distance.weight("gower") * (distance.unit / distance.span)[column] / x.shape[-1]
    price += (distance.weight("l1") + problem.energy.lam + gower) * (after - before)
    price += distance.weight("l0") * ((after > 0).astype(np.float64) - (before > 0))
    return np.asarray(price)


def _combined(points: Points, tries: Tries, held: Array, gain: Array, price: Array) -> Array:
    """Combinations ``(n, q, g, d)``, one per multiplier: each feature takes the change that is worth most."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gain / price
    ratio = np.where(np.isfinite(ratio) & (ratio > 0), ratio, 0.0)
    ratio.sort(axis=-1)
    useful = np.maximum(np.count_nonzero(ratio, axis=-1), 1)[..., None]
    rank = np.minimum(np.rint(useful ** np.linspace(0, 1, MULTIPLIERS)), useful).astype(np.intp)
    multipliers = np.take_along_axis(ratio, ratio.shape[-1] - rank, axis=-1) * (1 - 1e-9)
    gain, price, held = gain[..., tries.grouped], price[..., tries.grouped], held[..., tries.grouped]
    columns = tries.column[tries.grouped[:, 0]]
    here = points.x[..., columns]
    combos = np.repeat(points.x[:, :, None, :], MULTIPLIERS, axis=2)
    for number in range(MULTIPLIERS):
        worth = gain - multipliers[..., number, None, None] * price
        best = worth.argmax(axis=-1)[..., None]
        chosen = np.take_along_axis(worth, best, axis=-1)[..., 0] > 0
        combos[:, :, number, columns] = np.where(chosen, np.take_along_axis(held, best, axis=-1)[..., 0], here)
    return combos
