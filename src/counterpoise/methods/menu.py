"""Menu: of every cell between the split points of trees, the value nearest to a row, and how far that is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.cells import down, sides
from counterpoise.models.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


class Menu(NamedTuple):
    """For each row, what every cell offers: the value nearest to the row, how far that is, and whether it may be taken.

    Cells are numbered through, feature after feature. Trees say the same of all values of a cell, so that no other
    value of it is worth a try.
    """

    feature: Index  # (c,) the place of each cell's feature among those that are split
    column: Index  # (c,) and its column
    value: Array  # (n, c)
    far: Array  # (n, c) in units of distance
    open: Mask  # (n, c)
    own: Mask  # (n, c) whether the row itself is there
    up: Mask  # (n, c) the same, or above that

    @classmethod
    def of(cls, problem: Problem, leaves: Leaves) -> Menu:
        """What the cells of a model's leaves offer to the rows of a problem."""
        region, distance = problem.region, problem.energy.distance
        column, cell = leaves.columns[leaves.feature], np.arange(len(leaves.feature))
        largest, smallest = _ends(problem, leaves, column)
        start, home = problem.x0[:, column], leaves.cells(problem.x0)[:, leaves.feature]
        gone = np.isnan(start)
        # a missing value is in a cell above all others: the nearest value of theirs is as good as any
        value = np.where(cell < home, np.where(np.isfinite(largest), largest, smallest), smallest)
        value = np.minimum(np.maximum(value, region.lower[:, column]), region.upper[:, column])
        own, kept = cell == home, region.boxed[:, column]
        # where the row's own value may not be kept, another one of its cell may do
        there = (kept > leaves.below) & (kept <= leaves.above)
        other = np.where(np.abs(largest - start) < np.abs(smallest - start), largest, smallest)
        value = np.where(own, np.where(there | gone, kept, other), value)
        inside = (value > leaves.below) & (value <= leaves.above) & np.isfinite(value) | (gone & own)
        far = np.abs(value - start)
        far /= distance.unit[column]
        odd = distance.nominal[column] | gone
        if odd.any():
            far = np.where(odd, ~own, far)
        if distance.prices is not None:
            far = far * np.where(value > start, distance.prices[1][column], distance.prices[0][column])
        return cls(leaves.feature, column, value, far, region.free[:, column] & inside, own, cell >= home)

    def at(self, rows: Index) -> Menu:
        """The menu of some rows."""
        mine = self.value[rows], self.far[rows], self.open[rows], self.own[rows], self.up[rows]
        return Menu(self.feature, self.column, *mine)


def _ends(problem: Problem, leaves: Leaves, column: Index) -> tuple[Array, Array]:
    """The largest and the smallest value of each cell that its column can hold, ``(c,)``; outside it where none is."""
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
