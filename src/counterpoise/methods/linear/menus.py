"""What each column may become and what that costs: the numbers of a range or a grid, the levels of a category."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from counterpoise.methods.trees.exact.legal_values import legal_ends
from counterpoise.models.affine import AffineOutputs
from counterpoise.problem import Problem
from counterpoise.space.known_distances import NormMixture
from counterpoise.space.region.lattice import MAX_EXACT_COUNT, Lattice
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class Menus:
    """For n rows: ``numbers`` are columns of numbers that matter, f of them; ``coded`` are t columns of categories.

    The effort of a point is ``root * sqrt(sum of squares of its differences) + the rest``, where each changed column
    adds ``unit_price`` times its difference and ``change_price`` to the rest.
    """

    numbers: Index  # (f,)
    coded: Index  # (t,)
    x0: Array  # (n, f), 0 where missing
    low: Array  # (n, f) the least and the greatest legal value; low > high: it cannot move
    high: Array  # (n, f)
    can_stay: Mask  # (n, f + t)
    levels: Mask  # (n, t, l) legal levels other than the row's own
    level_difference: Array  # (n, t, l)
    step: Array  # (n, f) of the grid, 0 where there is none
    origin: Array  # (n, f)
    listed: tuple[tuple[int, Array], ...]  # places among the numbers, and their listed values
    rate: Array  # (2, f) difference per raw unit, downwards and upwards
    root: float
    unit_price: Array  # (f + t,)
    change_price: Array  # (f + t,)
    counted: Mask  # (f + t,) columns whose changes are counted: those that cannot change at no cost
    settled: Mask  # (n,) rows of which all that matters is known

    @classmethod
    def of(cls, problem: Problem, affine: AffineOutputs, bound: Mask | None = None) -> Menus:
        """The menus of a problem whose effort `is_separable`; columns that are ``bound`` ``(d,)`` matter besides."""
        region, distance, x0 = problem.region, problem.energy.distance, problem.x0
        d = x0.shape[1]
        coded = np.array([column for column, _ in affine.tables], dtype=np.intp)
        stays = (region.fixed | (region.row_in_box == x0) | np.isnan(x0)) & ~_is_outside(problem)
        matters = (affine.weights != 0).any(axis=0) | ~stays.all(axis=0)
        if bound is not None:
            matters |= bound
        matters[coded] = False
        numbers = np.flatnonzero(matters)
        low, high, step, origin = _legal_ranges(problem, numbers)
        levels, difference, known = _levels(problem, affine, coded)
        prices = np.ones((2, d)) if distance.prices is None else distance.prices
        missing = np.isnan(x0[:, numbers])
        lost = (missing & ((low <= high) | (affine.missing is None))).any(axis=1)  # a number that may come to be
        unit, change = _prices(problem)
        counted = (prices > 0).all(axis=0) & ((change > 0) | ~change.any())
        listed = tuple((int(np.flatnonzero(numbers == c)[0]), v) for c, v in region.lattice.choices if c in numbers)
        columns = np.concatenate([numbers, coded])
        return cls(
            numbers,
            coded,
            np.where(missing, 0.0, x0[:, numbers]),
            np.where(missing, np.inf, low),
            np.where(missing, -np.inf, high),
            stays[:, columns],
            levels,
            difference,
            step,
            origin,
            listed,
            (prices / distance.unit)[:, numbers],
            distance.length_weight,
            unit[columns],
            change[columns],
            counted[columns],
            known & ~lost & region.feasible,
        )

    def take(self, rows: Index) -> Menus:
        """The menus of some rows."""
        names = ("x0", "low", "high", "can_stay", "levels", "level_difference", "step", "origin", "settled")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def snapped(self, row: Index, values: Array, *, upwards: bool) -> Array:
        """Values ``(k, f)`` of numbers of rows ``(k,)`` on the grid: the next one up, or down; others as they are."""
        return self.beside(row, values)[1 if upwards else 0]

    def beside(self, row: Index, values: Array) -> tuple[Array, Array]:
        """The next values down and up on the grid, ``(k, f)`` each, beside values of numbers of rows ``(k,)``."""
        down, up = values, values
        step, origin = self.step[row], self.origin[row]
        has_grid = step > 0
        if has_grid.any():
            size = np.where(has_grid, step, 1.0)
            count = (values - origin) / size
            near, below = np.rint(count), np.floor(count)
            with np.errstate(invalid="ignore"):  # without a bound, there is nothing to round
                close = np.abs(count - near) <= 1e-9 * np.maximum(1.0, np.abs(count))
            above = np.where(close, near, np.ceil(count))
            below = np.where(close, near, below)
            down = np.where(has_grid, origin + below * size, values)
            up = np.where(has_grid, origin + above * size, values)
        if not self.listed:
            return down, up
        down, up = down.copy(), up.copy()
        places, table = self._short_lists
        if len(places):
            x = values[:, places]
            line, ends = np.arange(len(places)), np.isfinite(table).sum(axis=1) - 1
            count = np.minimum((table <= x[:, :, None]).sum(axis=2), ends + 1)
            down[:, places] = low = table[line, np.maximum(count - 1, 0)]
            up[:, places] = np.where(low < x, table[line, np.minimum(count, ends)], low)
        for place, listed in self.listed:
            if place not in places:
                x = values[:, place]
                down[:, place] = listed[np.maximum(np.searchsorted(listed, x, "right") - 1, 0)]
                up[:, place] = listed[np.minimum(np.searchsorted(listed, x, "left"), len(listed) - 1)]
        return down, up

    @cached_property
    def _short_lists(self) -> tuple[Index, Array]:
        """Listed values of columns that have few of them, in one table."""
        return _tabulate_short_lists(self.listed)

    @cached_property
    def one_change_price(self) -> float | None:
        """What each change costs, if all that are counted cost the same."""
        prices = self.change_price[self.counted]
        return float(prices[0]) if len(prices) and (prices == prices[0]).all() else None

    def price_changes(self, can_stay: Mask, changes: Array) -> Array:
        """The least price ``(b,)`` of so many changes ``(b,)``, where some columns ``(b, f + t)`` cannot stay."""
        if not self.change_price.any():
            return np.zeros(len(changes))
        if self.one_change_price is not None:
            return self.one_change_price * changes
        forced = ~can_stay & self.counted
        prices = np.sort(np.where(can_stay & self.counted, self.change_price, np.inf), axis=1)
        total = np.concatenate([np.zeros((len(changes), 1)), np.cumsum(prices, axis=1)], axis=1)
        left = np.clip(changes - np.count_nonzero(forced, axis=1), 0, prices.shape[1]).astype(np.intp)
        return np.asarray(forced @ self.change_price + np.take_along_axis(total, left[:, None], axis=1)[:, 0])

    @property
    def has_grid(self) -> bool:
        """Whether some number cannot take every value."""
        return bool(self.listed) or bool((self.step > 0).any())


def _tabulate_short_lists(listed: tuple[tuple[int, Array], ...], most: int = 64) -> tuple[Index, Array]:
    """The places ``(c,)`` of columns of at most so many values, and these in lines filled up with infinities."""
    short = [(place, values) for place, values in listed if len(values) <= most]
    table = np.full((len(short), max((len(values) for _, values in short), default=0)), np.inf)
    for line, (_, values) in enumerate(short):
        table[line, : len(values)] = values
    return np.array([place for place, _ in short], dtype=np.intp), table


def _is_outside(problem: Problem) -> Mask:
    """Cells ``(n, d)`` whose own value no constraint allows."""
    region = problem.region
    return (
        region.is_broken(problem.x0[:, None, :])[:, 0, :]
        if region.has_row_outside
        else np.zeros(region.x0.shape, dtype=bool)
    )


def _legal_ranges(problem: Problem, numbers: Index) -> tuple[Array, Array, Array, Array]:
    """The least and greatest legal values ``(n, f)``, and the step and origin of each grid."""
    region, lattice = problem.region, problem.region.lattice
    low, high = region.lower[:, numbers], region.upper[:, numbers]
    least, most = legal_ends(lattice, numbers, low, high, low, high) if len(numbers) else (low, high)
    least, most = np.where(np.isfinite(low), least, low), np.where(np.isfinite(high), most, high)
    shut = region.fixed[:, numbers] | (least > high) | (most < low)
    step, origin = grids_of(lattice, numbers)
    return np.where(shut, np.inf, least), np.where(shut, -np.inf, most), step, origin


def grids_of(lattice: Lattice, numbers: Index) -> tuple[Array, Array]:
    """Step and origin of the grid that each row has in some columns, ``(n, f)`` each; 0 where there is none."""
    place = lattice.place_by_column[numbers]
    on_grid = place >= 0
    step, origin = np.zeros((len(lattice.origin), len(numbers))), np.zeros((len(lattice.origin), len(numbers)))
    if on_grid.any():
        at = place[on_grid]
        binds = (lattice.first_count <= lattice.last_count) | lattice.binds_unchanged[lattice.columns]
        counted = np.maximum(np.abs(lattice.first_count), np.abs(lattice.last_count)) < MAX_EXACT_COUNT
        size = lattice.step / lattice.divisor
        step[:, on_grid] = np.where(binds & counted, size, 0.0)[:, at]
        origin[:, on_grid] = lattice.origin[:, at]
    return step, origin


def _levels(problem: Problem, affine: AffineOutputs, coded: Index) -> tuple[Mask, Array, Mask]:
    """Legal levels ``(n, t, l)``, their differences, and rows ``(n,)`` whose own levels the tables know."""
    n, distance, x0 = len(problem), problem.energy.distance, problem.x0
    count = max((len(table) - 1 for _, table in affine.tables), default=0)
    legal, difference = np.zeros((n, len(coded), count), dtype=bool), np.zeros((n, len(coded), count))
    known = np.ones(n, dtype=bool)
    for place, (column, table) in enumerate(affine.tables):
        size = len(table) - 1
        x = np.repeat(x0[:, None, :], size, axis=1)
        x[:, :, column] = np.arange(size)
        row_values = x0[:, column]
        legal[:, place, :size] = ~problem.region.is_broken(x)[..., column] & (x[..., column] != row_values[:, None])
        legal[:, place, :size] &= np.isfinite(table[:-1]).all(axis=1)
        difference[:, place, :size] = distance.differences(x, x0)[..., column]
        codes = np.where(np.isnan(row_values), -1, row_values).astype(np.intp)
        known &= (codes < size) & np.isfinite(table[np.minimum(codes, size)]).all(axis=1)
    return legal, difference, known


def _prices(problem: Problem) -> tuple[Array, Array]:
    """What a unit of each difference costs beside the root, and what a change costs beside its size, each ``(d,)``."""
    energy, distance = problem.energy, problem.energy.distance
    assert isinstance(distance, NormMixture), "`is_separable` said so"
    unit = np.zeros(len(distance.unit)) if distance.unit_prices is None else distance.unit_prices.copy()
    return unit + energy.l1_weights, energy.change_prices
