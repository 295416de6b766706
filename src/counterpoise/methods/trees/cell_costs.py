"""What it costs a row to be in each cell between the split points of trees, and the legal value that costs least.

Between two split points trees do not tell values apart, so that of each cell only the legal value nearest to the row
matters. Its difference from the row decides all terms of the effort: the square that L2 adds up, and the rest, which
adds up as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.leaves import Leaves
from counterpoise.physics.energy import Energy
from counterpoise.physics.regularizers import Sparsity, WeightedL1
from counterpoise.problem import Problem
from counterpoise.space.lattice import EXACT, Lattice
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class CellCosts:
    """For n rows and all cells: those of the split columns first, as `Leaves` numbers them, then one a further column.

    A cell that holds no legal value of a row is not ``open`` to it.
    """

    column: Index  # (cells,) of the table
    value: Array  # (n, cells) the legal value of least cost
    open: Mask  # (n, cells)
    square: Array  # (n, cells) what it adds under the root of L2
    rest: Array  # (n, cells) what it adds to the effort besides
    changed: Mask  # (n, cells) whether it differs from the row
    root: float  # the weight of L2 in the effort
    start: Index  # (n, f) the cheapest open cell of each split column
    start_terms: Array  # (n, 3) square, rest and changes of the point that is there in every column
    feasible: Mask  # (n,) whether every column has an open cell
    missing: Mask  # (n, f) whether the row misses a number there

    @classmethod
    def of(cls, problem: Problem, leaves: Leaves) -> CellCosts:
        """The costs of all cells to the rows of a problem whose effort `is_separable`."""
        d = problem.x0.shape[1]
        whole = np.setdiff1d(np.arange(d), leaves.columns)
        column = np.concatenate([leaves.columns[leaves.feature], whole])
        below = np.concatenate([np.nextafter(leaves.below, np.inf), np.full(len(whole), -np.inf)])
        above = np.concatenate([leaves.above, np.full(len(whole), np.inf)])
        gone = np.isnan(above)  # the cells of missing values
        region, x0 = problem.region, problem.x0[:, column]
        low, high = np.fmax(region.lower[:, column], below), np.fmin(region.upper[:, column], above)
        up, down = _legal_ends(region.lattice, column, np.fmax(low, x0), np.fmin(high, x0), low, high)
        stays = region.boxed[:, column] == x0
        own = (x0 >= low) & (x0 <= high) & ~gone
        held = stays & own  # the row's own value is in the cell, and legal
        may_move = ~region.fixed[:, column] & ~gone
        forced = region.fixed[:, column] & own & ~held
        pair = np.stack([np.where(held | forced, x0, up), np.where(held | forced, x0, down)])
        inside = (pair >= low) & (pair <= high) & np.isfinite(pair) & (may_move | held | forced)
        delta = np.stack([_differences(problem, column, np.where(inside[k], pair[k], x0)) for k in range(2)])
        delta[~inside] = np.inf
        best = (delta[1] < delta[0])[None].astype(np.intp)
        value, delta = np.take_along_axis(pair, best, 0)[0], np.take_along_axis(delta, best, 0)[0]
        stays_missing = np.isnan(x0) & (gone | (np.arange(len(column)) >= len(leaves.feature)))
        value, delta = np.where(stays_missing, np.nan, value), np.where(stays_missing, 0.0, delta)
        allowed = np.isfinite(delta)
        delta = np.where(allowed, delta, 0.0)
        square, rest = effort_terms(problem, column, delta)
        changed = allowed & (value != x0) & ~stays_missing
        price = np.where(allowed, square + rest, np.inf)
        start = _cheapest(price + np.where(changed, np.finfo(np.float64).tiny, 0.0), leaves.first)
        rows, split = np.arange(len(x0))[:, None], len(leaves.feature)
        terms = [
            term[rows, start].sum(axis=1) + term[:, split:].sum(axis=1) for term in (square, rest, changed * 1.0)
        ]
        feasible = problem.region.feasible & allowed[rows, start].all(axis=1) & allowed[:, split:].all(axis=1)
        gaps = np.isnan(problem.x0[:, leaves.columns])
        root = problem.energy.distance.weight("l2")
        return cls(
            column, value, allowed, square, rest, changed, root, start, np.stack(terms, axis=1), feasible, gaps
        )

    def effort(self, square: Array, rest: Array) -> Array:
        """The effort of points whose cells add up to these terms."""
        return rest + self.root * np.sqrt(square) if self.root else rest


def _cheapest(price: Array, first: Index) -> Index:
    """The cell of least price of each column, ``(n, f)``; the first of equals."""
    least = np.minimum.reduceat(price[:, : first[-1]], first[:-1], axis=1)
    hit = price[:, : first[-1]] == np.repeat(least, np.diff(first), axis=1)
    place = np.where(hit, np.arange(first[-1]), first[-1])
    return np.minimum.reduceat(place, first[:-1], axis=1)


def is_separable(energy: Energy) -> bool:
    """Whether the effort is a sum over columns, apart from the root of L2, and grows with each difference."""
    parts = energy.regularizers if energy.lam else ()
    return energy.lam >= 0 and all(isinstance(part, (WeightedL1, Sparsity)) for part in parts)


def effort_terms(problem: Problem, column: Index, delta: Array) -> tuple[Array, Array]:
    """What scaled differences ``(n, cells)`` of these columns add under the root of L2, and besides."""
    energy, distance = problem.energy, problem.energy.distance
    changed = delta != 0
    rest = (distance.weight("l0")) * changed + distance.weight("l1") * delta
    gower = distance.weight("gower")
    if gower:
        shares = np.where(np.isnan(problem.x0), 1.0, distance.unit / distance.span) / problem.x0.shape[1]
        rest = rest + gower * delta * shares[:, column]
    for part in energy.regularizers if energy.lam else ():
        if isinstance(part, WeightedL1):
            rest = rest + energy.lam * part.weights[column] * delta
        else:
            rest = rest + energy.lam * changed
    return (delta**2 if distance.weight("l2") else np.zeros_like(delta)), rest


def _differences(problem: Problem, column: Index, value: Array) -> Array:
    """Scaled differences ``(n, cells)`` of values of these columns from the rows."""
    distance = problem.energy.distance
    x0 = problem.x0[:, column]
    delta = np.abs(value - x0) / distance.unit[column]
    if distance.mixed:
        delta = np.where(distance.nominal[column], value != x0, delta)
    missing = np.isnan(x0)
    if missing.any():
        delta = np.where(missing, ~np.isnan(value), delta)
    if distance.prices is not None:
        delta = delta * np.where(value > x0, distance.prices[1][column], distance.prices[0][column])
    return np.asarray(delta, dtype=np.float64)


def _legal_ends(
    lattice: Lattice, column: Index, least: Array, most: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """The smallest legal value from ``least`` to ``high``, and the largest from ``low`` to ``most``, ``(n, cells)``.

    Where there is none, what comes back lies outside.
    """
    up, down = least.copy(), most.copy()
    up, down = np.where(np.isfinite(up), up, high), np.where(np.isfinite(down), down, low)
    nowhere = ~np.isfinite(up) & ~np.isfinite(down)
    up, down = np.where(nowhere, 0.0, up), np.where(nowhere, 0.0, down)
    for number, dtype in lattice.narrow:
        mine = np.flatnonzero(column == number)
        up[:, mine], down[:, mine] = _rounded_up(up[:, mine], dtype), -_rounded_up(-down[:, mine], dtype)
    place = lattice.places[column]
    mine = np.flatnonzero(place >= 0)
    if len(mine):
        narrow = {number: dtype for number, dtype in lattice.narrow}
        grid = _Grid.of(lattice, place[mine], [narrow.get(number) for number in column[mine].tolist()])
        up[:, mine], down[:, mine] = grid.up(up[:, mine]), grid.down(down[:, mine])
    for number, listed in lattice.choices:
        mine = np.flatnonzero(column == number)
        padded = np.concatenate([[-np.inf], listed, [np.inf]])
        up[:, mine] = padded[np.searchsorted(listed, up[:, mine], side="left") + 1]
        down[:, mine] = padded[np.searchsorted(listed, down[:, mine], side="right")]
    return up, down


def _rounded_up(values: Array, dtype: np.dtype[Any]) -> Array:
    """The smallest number of a narrow dtype that is at least each of the values."""
    with np.errstate(over="ignore"):
        near: NDArray[Any] = values.astype(dtype)
        less = near.astype(np.float64) < values
        return np.where(less, np.nextafter(near, dtype.type(np.inf)), near).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Grid:
    """Columns of cells whose values are counted in steps: whole numbers, decimals, steps from the row's own value."""

    step: Array  # (g,)
    parts: Array  # (g,)
    origin: Array  # (n, g)
    binds: Mask  # (n, g) whether the box holds a count, so that values off the grid are not legal
    dtypes: list[np.dtype[Any] | None]

    @classmethod
    def of(cls, lattice: Lattice, place: Index, dtypes: list[np.dtype[Any] | None]) -> _Grid:
        bound = (lattice.first <= lattice.last) | lattice.binds[lattice.columns]
        return cls(lattice.step[place], lattice.parts[place], lattice.origin[:, place], bound[:, place], dtypes)

    def up(self, values: Array) -> Array:
        """The smallest values on the grid that are at least each of the values ``(n, g)``."""
        return self._beyond(values, 1.0)

    def down(self, values: Array) -> Array:
        """The largest values on the grid that are at most each of the values ``(n, g)``."""
        return self._beyond(values, -1.0)

    def _beyond(self, values: Array, sign: float) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            count = np.rint((values - self.origin) * self.parts / self.step)
            for _ in range(2):  # a count is at most one off by rounding, two in a dtype that rounds again
                before = count - sign
                count = np.where(sign * (self._value(before) - values) >= 0, before, count)
            for _ in range(3):
                count = np.where(sign * (self._value(count) - values) < 0, count + sign, count)
            on_grid = self.binds & (np.abs(count) < EXACT)
            return np.where(on_grid, self._value(count), values)

    def _value(self, count: Array) -> Array:
        value = count * self.step / self.parts + self.origin
        for dtype in {dtype for dtype in self.dtypes if dtype is not None}:
            mine = [place for place, own in enumerate(self.dtypes) if own == dtype]
            value[:, mine] = value[:, mine].astype(dtype)
        return value
