"""The bench on which points are repaired: their cells, column by column, and all there is to know about each point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from counterpoise.space.expressions import Columns
from counterpoise.space.relations import Clause
from counterpoise.types import Array, Index, Mask


class Grid(Protocol):
    """What repair needs of a lattice."""

    def snap(self, column: int, values: Array, rows: Index) -> Array:
        """Values ``(p,)`` of one column, of these rows ``(p,)``, on the lattice and in the box."""
        ...

    def unit(self, column: int) -> float:
        """The distance between neighbouring values of a column; 0 where there is none."""
        ...


class Picked:
    """Some of the points of a table of columns, gathered column by column when they are asked for."""

    def __init__(self, table: Columns, points: Index) -> None:
        self.table, self.points = table, points
        self.seen: dict[int, Any] = {}

    def __getitem__(self, column: int, /) -> Any:
        if column not in self.seen:
            self.seen[column] = self.table[column][self.points]
        return self.seen[column]


@dataclass
class Bench:
    """p points under repair, column by column, and all there is to know about each."""

    x: dict[int, Array]  # the columns that rules read, (p,) each; changed in place
    given: Columns  # 3 width columns: the row, the lower and the upper end of its box
    free: Columns
    active: Mask | None  # (r, p) which relations bind; None: all
    rows: Index  # (p,)
    width: int
    scales: Array  # (width,)
    numeric: Mask  # (width,)
    grid: Grid

    def part(self, points: Index) -> Bench:
        """A copy of some of the points."""
        return replace(
            self,
            x={column: cells[points] for column, cells in self.x.items()},
            given=Picked(self.given, points),
            free=Picked(self.free, points),
            active=None if self.active is None else self.active[:, points],
            rows=self.rows[points],
        )

    def broken(self, clause: Clause) -> Index:
        """The points that break a clause which binds them."""
        wrong = ~clause.formula.holds(self.x, self.given)
        if self.active is not None:
            wrong = wrong & self.active[clause.source]
        return np.flatnonzero(np.broadcast_to(wrong, self.rows.shape))

    def ends(self, column: int, points: Index) -> tuple[Array, Array]:
        """The box of a column, ``(p,)`` each."""
        return self.given[self.width + column][points], self.given[2 * self.width + column][points]

    def placed(self, column: int, values: Array, points: Index) -> Array:
        """Values of a column of some points, in the box and on the lattice."""
        low, high = self.ends(column, points)
        inside = np.minimum(np.maximum(values, low), high)
        return self.grid.snap(column, inside, self.rows[points])

    def held(self, clause: Clause, points: Index) -> Mask:
        """Whether some of the points obey a clause, or are not bound by it, ``(p,)``."""
        holds = clause.formula.holds(Picked(self.x, points), Picked(self.given, points))
        holds = np.broadcast_to(holds, points.shape)
        return holds if self.active is None else holds | ~self.active[clause.source, points]

    def write(self, column: int, values: Array, points: Index) -> None:
        """Give cells that may move these values, where they are numbers."""
        may = self.free[column][points] & ~np.isnan(values)
        self.x[column][points] = np.where(may, values, self.x[column][points])
