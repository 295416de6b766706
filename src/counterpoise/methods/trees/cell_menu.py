"""Menu: of every cell between the split points of trees, the value nearest to a row, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpoise.methods.cell_values import find_lattice_neighbours, round_down_to_dtype
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.trees.exact.legal_values import legal_ends
from counterpoise.models.trees.leaf_ranges import CellWindow
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


class NearestValues(NamedTuple):
    """What cells offer to rows: the value nearest to the row, how far that is, and whether it may be taken."""

    value: Array
    distance: Array  # in units of distance
    is_allowed: Mask

    def at(self, rows: Index) -> NearestValues:
        """What is offered to some of the rows."""
        return NearestValues(self.value[rows], self.distance[rows], self.is_allowed[rows])


class CellEnds(NamedTuple):
    """The values that a lattice leaves of cells, each ``(c,)``; outside of the cell where there is none."""

    column: Index  # of each cell
    largest: Array
    smallest: Array
    nearest_from_above: Array  # the value nearest to a row above: the largest, where it is finite
    next_cells: (
        tuple[Index, Index] | None
    )  # the next cell at or above, and at or below, with a value; None: each has one


@dataclass(frozen=True, eq=False)
class CellValues:
    """What the cells of a model's leaves offer to the rows of a problem.

    Cells are numbered through, feature after feature. Trees say the same of all values of a cell, so that no other
    value of it is worth a try.
    """

    problem: Problem
    leaves: Leaves
    ends: CellEnds
    row_cells: Index  # (n, f) the cells that the rows are in
    home_cells: Index  # (n, f) the allowed ones that are nearest to these
    low: Array  # (n, d) the least and the greatest value that a changed cell may have, on its lattice
    high: Array  # (n, d)
    value_table: NearestValues | None  # (n, c) all there is, if it is not much

    @classmethod
    def of(cls, problem: Problem, leaves: Leaves, settings: SearchSettings = DEFAULTS) -> CellValues:
        """The menu of the rows of a problem."""
        ends = _get_cell_ends(problem, leaves)
        row_cells = leaves.find_cells(problem.x0)
        home = leaves.find_cells(problem.region.row_in_box) if problem.region.has_row_outside else row_cells
        menu = cls(problem, leaves, ends, row_cells, home, *_legal_box(problem), None)
        return (
            replace(menu, value_table=menu.all_values)
            if len(row_cells) * len(ends.column) <= settings.batches.listed_cells
            else menu
        )

    @property
    def column(self) -> Index:
        """The column of each cell, ``(c,)``."""
        return self.ends.column

    @property
    def all_values(self) -> NearestValues:
        """What every cell offers to every row, ``(n, c)``."""
        if self.value_table is not None:
            return self.value_table
        return self._compute_values(np.arange(len(self.row_cells))[:, None], np.arange(len(self.column)), slice(None))

    def at(self, problem: Problem, rows: Index) -> CellValues:
        """The menu of some rows, whose problem is given."""
        listed = None if self.value_table is None else self.value_table.at(rows)
        return replace(
            self,
            problem=problem,
            row_cells=self.row_cells[rows],
            home_cells=self.home_cells[rows],
            low=self.low[rows],
            high=self.high[rows],
            value_table=listed,
        )

    def window(self, reach: Array) -> CellWindow:
        """The cells ``(n, f)`` that numbers within ``reach`` ``(n,)`` of each row are in, its own one among them.

        Of a category, and of a cell that is missing, all; of what may not change, the row's own.
        """
        problem, leaves, distance = self.problem, self.leaves, self.problem.energy.distance
        far = reach[:, None] * (1 + 1e-9) * distance.unit
        down, up = far, far
        if distance.prices is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                down, up = far / distance.prices[0], far / distance.prices[1]
        ends = np.maximum(problem.x0 - down, problem.region.lower), np.minimum(problem.x0 + up, problem.region.upper)
        both = np.concatenate(ends)
        if len(leaves.categorical_places):  # between levels there is nothing
            both[:, leaves.columns[leaves.categorical_places]] = np.nan
        first, last = leaves.find_cells(both).reshape(2, *self.home_cells.shape)
        first, end = np.minimum(first, self.home_cells), np.maximum(last, self.home_cells) + 1
        if self._has_full_window is not None:
            first, end = (
                np.where(self._has_full_window, leaves.first_cells[:-1], first),
                np.where(self._has_full_window, leaves.first_cells[1:], end),
            )
        if not problem.region.is_all_free:
            held = ~problem.region.free[:, leaves.columns]
            first, end = np.where(held, self.home_cells, first), np.where(held, self.home_cells + 1, end)
        return CellWindow(first.astype(np.int32), end.astype(np.int32))

    @cached_property
    def _has_full_window(self) -> Mask | None:
        """Where the window is all there is, ``(n, f)``; None: nowhere."""
        every = np.isnan(self.problem.x0[:, self.leaves.columns])
        every[:, self.leaves.categorical_places] = True
        return every if every.any() else None

    def settle_in_region(self, x: Array) -> tuple[Array, Mask]:
        """Points ``(n, k, d)`` made of values of the menu, settled in the region, and which of them are inside.

        What is on the menu is in the box and on the lattice: as long as nothing else binds, points stay as they are.
        """
        region = self.problem.region
        if (
            region.has_row_outside
            or region.max_changes is not None
            or len(region.system)
            or not region.lattice.counts_from_zero
        ):
            return region.bring_inside(x)
        return x, region.feasible[:, None].repeat(x.shape[1], axis=1)

    def look_up(self, row: Index, cell: Index) -> NearestValues:
        """What cells ``(e,)`` offer to a row ``(e,)`` each."""
        if self.value_table is None:
            return self._compute_values(row, cell, cell)
        place, listed = row * len(self.column) + cell, self.value_table
        return NearestValues(listed.value.take(place), listed.distance.take(place), listed.is_allowed.take(place))

    def find_nearest_cell(self, up: Mask, first: Index, last: Index) -> tuple[Index, Mask | None]:
        """Of the cells from ``first`` to ``last`` ``(e,)`` the one nearest to a row below them (``up``), or above.

        Cells without a value that the column can hold are passed by; the mask says where there are others, None: all.
        """
        if self.ends.next_cells is None:
            return np.where(up, first, last), None
        above, below = self.ends.next_cells
        found = np.where(up, above.take(first), below.take(last))
        return found, (found >= first) & (found <= last)

    def _compute_values(self, row: Index, cell: Index, places: Index | slice) -> NearestValues:
        """What cells offer to rows, for indices that broadcast; ``places`` are the same cells, among all."""
        problem, leaves, ends = self.problem, self.leaves, self.ends
        region, distance = problem.region, problem.energy.distance
        column, largest, smallest = ends.column[places], ends.largest[places], ends.smallest[places]
        low, high = leaves.lower_ends[places], leaves.upper_ends[places]
        at = row * problem.x0.shape[1] + column
        start, kept = problem.x0.take(at), region.row_in_box.take(at)
        home = self.row_cells.take(row * self.row_cells.shape[1] + leaves.place_of_cell[places])
        # a missing value is in a cell above all others: the nearest value of theirs is as good as any
        value = np.where(cell < home, ends.nearest_from_above[places], smallest)
        is_row_cell, gone = cell == home, np.isnan(start)
        # where the row's own value may not be kept, another one of its cell may do
        there = (kept > low) & (kept <= high)
        other = np.where(np.abs(largest - start) < np.abs(smallest - start), largest, smallest)
        value = np.where(is_row_cell, other, value)
        value = np.minimum(np.maximum(value, self.low.take(at)), self.high.take(at))
        value = np.where(is_row_cell & (there | gone), kept, value)
        inside = (value > low) & (value <= high) & np.isfinite(value)
        far = np.abs(value - start)
        far /= distance.unit[column]
        if distance.has_nominal_columns or gone.any():
            inside |= gone & is_row_cell
            far = np.where(distance.nominal[column] | gone, ~is_row_cell, far)
        if distance.prices is not None:
            far = far * np.where(value > start, distance.prices[1][column], distance.prices[0][column])
        return NearestValues(value, far, region.free.take(at) & inside)


def _legal_box(problem: Problem) -> tuple[Array, Array]:
    """The least and the greatest value ``(n, d)`` of changed cells: the ends of the box, moved in onto its lattice."""
    region = problem.region
    low, high = region.lower, region.upper
    if not (len(region.lattice.columns) or region.lattice.choices or region.lattice.narrow_floats):
        return low, high
    least, most = legal_ends(region.lattice, np.arange(low.shape[1]), low, high, low, high)
    return np.where(np.isfinite(low), least, low), np.where(np.isfinite(high), most, high)


def _get_cell_ends(problem: Problem, leaves: Leaves) -> CellEnds:
    """What the lattice of a problem leaves of the cells; kept with the leaves for the next one."""
    key = problem.region.lattice.cache_key
    found = leaves.lattice_cells_cache.get(key)
    if found is None:
        column = leaves.columns[leaves.place_of_cell]
        largest, smallest = _compute_cell_ends(problem, leaves, column)
        downwards = np.where(np.isfinite(largest), largest, smallest)
        found = CellEnds(column, largest, smallest, downwards, _find_next_cells(leaves, largest, smallest))
        leaves.lattice_cells_cache.clear()
        leaves.lattice_cells_cache[key] = found
    return found


def _find_next_cells(leaves: Leaves, largest: Array, smallest: Array) -> tuple[Index, Index] | None:
    """The next cell at or above each, and at or below it, with a value to hold; None where all of them have."""
    number = np.arange(len(largest))
    held = np.where(np.isinf(leaves.lower_ends), largest > leaves.lower_ends, smallest <= leaves.upper_ends)
    held |= np.isnan(leaves.upper_ends)
    if held.all():
        return None
    above = np.minimum.accumulate(np.where(held, number, len(number))[::-1])[::-1]
    return np.minimum(above, len(number) - 1), np.maximum.accumulate(np.where(held, number, 0))


def _compute_cell_ends(problem: Problem, leaves: Leaves, column: Index) -> tuple[Array, Array]:
    lattice = problem.region.lattice
    step, parts = np.zeros(problem.x0.shape[1]), np.ones(problem.x0.shape[1])
    step[lattice.columns], parts[lattice.columns] = lattice.step, lattice.divisor
    largest, beyond = find_lattice_neighbours(leaves.upper_ends, step[column], parts[column])
    smallest = np.concatenate([[-np.inf], beyond[:-1]])  # of a column's first cell it is of no use to anybody
    for dtype in {dtype for _, dtype in lattice.narrow_floats}:
        held = np.isin(column, [number for number, kind in lattice.narrow_floats if kind == dtype])
        largest[held], smallest[held] = (
            round_down_to_dtype(largest[held], dtype),
            -round_down_to_dtype(-smallest[held], dtype),
        )
    for number, listed in lattice.choices:
        mine = np.flatnonzero(column == number)
        padded = np.concatenate([[-np.inf], listed, [np.inf]])
        largest[mine] = padded[np.searchsorted(listed, leaves.upper_ends[mine], side="right")]
        smallest[mine] = padded[np.searchsorted(listed, leaves.lower_ends[mine], side="right") + 1]
    return largest, smallest
