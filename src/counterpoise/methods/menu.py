"""Menu: of every cell between the split points of trees, the value nearest to a row, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpoise.methods.cells import down, sides
from counterpoise.models.leaves import Leaves
from counterpoise.models.paths import Window
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask

ROUNDING = 1e-9
LISTED = 1_000_000  # cells of all rows: more are not listed, but looked up when they are asked for


class Offer(NamedTuple):
    """What cells offer to rows: the value nearest to the row, how far that is, and whether it may be taken."""

    value: Array
    far: Array  # in units of distance
    open: Mask

    def at(self, rows: Index) -> Offer:
        """What is offered to some of the rows."""
        return Offer(self.value[rows], self.far[rows], self.open[rows])


class Ends(NamedTuple):
    """The values that a lattice leaves of cells, each ``(c,)``; outside of the cell where there is none."""

    column: Index  # of each cell
    largest: Array
    smallest: Array
    downwards: Array  # the value nearest to a row above: the largest, where it is finite
    beyond: tuple[Index, Index] | None  # the next cell at or above, and at or below, with a value; None: each has one


@dataclass(frozen=True, eq=False)
class Menu:
    """What the cells of a model's leaves offer to the rows of a problem.

    Cells are numbered through, feature after feature. Trees say the same of all values of a cell, so that no other
    value of it is worth a try.
    """

    problem: Problem
    leaves: Leaves
    ends: Ends
    own: Index  # (n, f) the cells that the rows are in
    home: Index  # (n, f) the allowed ones that are nearest to these
    listed: Offer | None  # (n, c) all there is, if it is not much

    @classmethod
    def of(cls, problem: Problem, leaves: Leaves) -> Menu:
        """The menu of the rows of a problem."""
        ends = _ends(problem, leaves)
        own = leaves.cells(problem.x0)
        home = leaves.cells(problem.region.boxed) if problem.region.strays else own
        menu = cls(problem, leaves, ends, own, home, None)
        return replace(menu, listed=menu.every) if len(own) * len(ends.column) <= LISTED else menu

    @property
    def column(self) -> Index:
        """The column of each cell, ``(c,)``."""
        return self.ends.column

    @property
    def every(self) -> Offer:
        """What every cell offers to every row, ``(n, c)``."""
        if self.listed is not None:
            return self.listed
        return self._offered(np.arange(len(self.own))[:, None], np.arange(len(self.column)), slice(None))

    def at(self, problem: Problem, rows: Index) -> Menu:
        """The menu of some rows, whose problem is given."""
        listed = None if self.listed is None else self.listed.at(rows)
        return replace(self, problem=problem, own=self.own[rows], home=self.home[rows], listed=listed)

    def window(self, reach: Array) -> Window:
        """The cells ``(n, f)`` that numbers within ``reach`` ``(n,)`` of each row are in, its own one among them.

        Of a category, and of a cell that is missing, all; of what may not change, the row's own.
        """
        problem, leaves, distance = self.problem, self.leaves, self.problem.energy.distance
        far = reach[:, None] * (1 + ROUNDING) * distance.unit
        down, up = far, far
        if distance.prices is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                down, up = far / distance.prices[0], far / distance.prices[1]
        ends = np.maximum(problem.x0 - down, problem.region.lower), np.minimum(problem.x0 + up, problem.region.upper)
        both = np.concatenate(ends)
        if len(leaves.coded):  # between levels there is nothing
            both[:, leaves.columns[leaves.coded]] = np.nan
        first, last = leaves.cells(both).reshape(2, *self.home.shape)
        first, end = np.minimum(first, self.home), np.maximum(last, self.home) + 1
        if self._whole is not None:
            first, end = np.where(self._whole, leaves.first[:-1], first), np.where(self._whole, leaves.first[1:], end)
        if not problem.region.all_free:
            held = ~problem.region.free[:, leaves.columns]
            first, end = np.where(held, self.home, first), np.where(held, self.home + 1, end)
        return Window(first.astype(np.int32), end.astype(np.int32))

    @cached_property
    def _whole(self) -> Mask | None:
        """Where the window is all there is, ``(n, f)``; None: nowhere."""
        every = np.isnan(self.problem.x0[:, self.leaves.columns])
        every[:, self.leaves.coded] = True
        return every if every.any() else None

    def settled(self, x: Array) -> tuple[Array, Mask]:
        """Points ``(n, k, d)`` made of values of the menu, settled in the region, and which of them are inside.

        What is on the menu is in the box and on the lattice: as long as nothing else binds, points stay as they are.
        """
        region = self.problem.region
        if region.strays or region.max_changes is not None or len(region.system) or not region.lattice.from_zero:
            return region.settle(x)
        return x, region.feasible[:, None].repeat(x.shape[1], axis=1)

    def look(self, row: Index, cell: Index) -> Offer:
        """What cells ``(e,)`` offer to a row ``(e,)`` each."""
        if self.listed is None:
            return self._offered(row, cell, cell)
        place, listed = row * len(self.column) + cell, self.listed
        return Offer(listed.value.take(place), listed.far.take(place), listed.open.take(place))

    def nearest(self, up: Mask, first: Index, last: Index) -> tuple[Index, Mask | None]:
        """Of the cells from ``first`` to ``last`` ``(e,)`` the one nearest to a row below them (``up``), or above.

        Cells without a value that the column can hold are passed by; the mask says where there are others, None: all.
        """
        if self.ends.beyond is None:
            return np.where(up, first, last), None
        above, below = self.ends.beyond
        found = np.where(up, above.take(first), below.take(last))
        return found, (found >= first) & (found <= last)

    def _offered(self, row: Index, cell: Index, some: Index | slice) -> Offer:
        """What cells offer to rows, for indices that broadcast; ``some`` are the same cells, among all."""
        problem, leaves, ends = self.problem, self.leaves, self.ends
        region, distance = problem.region, problem.energy.distance
        column, largest, smallest = ends.column[some], ends.largest[some], ends.smallest[some]
        low, high = leaves.below[some], leaves.above[some]
        at = row * problem.x0.shape[1] + column
        start, kept = problem.x0.take(at), region.boxed.take(at)
        home = self.own.take(row * self.own.shape[1] + leaves.feature[some])
        # a missing value is in a cell above all others: the nearest value of theirs is as good as any
        value = np.where(cell < home, ends.downwards[some], smallest)
        own, gone = cell == home, np.isnan(start)
        # where the row's own value may not be kept, another one of its cell may do
        there = (kept > low) & (kept <= high)
        other = np.where(np.abs(largest - start) < np.abs(smallest - start), largest, smallest)
        value = np.where(own, np.where(there | gone, kept, other), value)
        value = np.minimum(np.maximum(value, region.lower.take(at)), region.upper.take(at))
        inside = (value > low) & (value <= high) & np.isfinite(value)
        far = np.abs(value - start)
        far /= distance.unit[column]
        if distance.mixed or gone.any():
            inside |= gone & own
            far = np.where(distance.nominal[column] | gone, ~own, far)
        if distance.prices is not None:
            far = far * np.where(value > start, distance.prices[1][column], distance.prices[0][column])
        return Offer(value, far, region.free.take(at) & inside)


def _ends(problem: Problem, leaves: Leaves) -> Ends:
    """What the lattice of a problem leaves of the cells; kept with the leaves for the next one."""
    key = problem.region.lattice.key
    found = leaves.ends.get(key)
    if found is None:
        column = leaves.columns[leaves.feature]
        largest, smallest = _made_ends(problem, leaves, column)
        downwards = np.where(np.isfinite(largest), largest, smallest)
        found = Ends(column, largest, smallest, downwards, _beyond(leaves, largest, smallest))
        leaves.ends.clear()
        leaves.ends[key] = found
    return found


def _beyond(leaves: Leaves, largest: Array, smallest: Array) -> tuple[Index, Index] | None:
    """The next cell at or above each, and at or below it, with a value to hold; None where all of them have."""
    number = np.arange(len(largest))
    held = np.where(np.isinf(leaves.below), largest > leaves.below, smallest <= leaves.above)
    held |= np.isnan(leaves.above)
    if held.all():
        return None
    above = np.minimum.accumulate(np.where(held, number, len(number))[::-1])[::-1]
    return np.minimum(above, len(number) - 1), np.maximum.accumulate(np.where(held, number, 0))


def _made_ends(problem: Problem, leaves: Leaves, column: Index) -> tuple[Array, Array]:
    lattice = problem.region.lattice
    step, parts = np.zeros(problem.x0.shape[1]), np.ones(problem.x0.shape[1])
    step[lattice.columns], parts[lattice.columns] = lattice.step, lattice.parts
    largest, beyond = sides(leaves.above, step[column], parts[column])
    smallest = np.concatenate([[-np.inf], beyond[:-1]])  # of a column's first cell it is of no use to anybody
    for dtype in {dtype for _, dtype in lattice.narrow}:
        held = np.isin(column, [number for number, kind in lattice.narrow if kind == dtype])
        largest[held], smallest[held] = down(largest[held], dtype), -down(-smallest[held], dtype)
    for number, listed in lattice.choices:
        mine = np.flatnonzero(column == number)
        padded = np.concatenate([[-np.inf], listed, [np.inf]])
        largest[mine] = padded[np.searchsorted(listed, leaves.above[mine], side="right")]
        smallest[mine] = padded[np.searchsorted(listed, leaves.below[mine], side="right") + 1]
    return largest, smallest
