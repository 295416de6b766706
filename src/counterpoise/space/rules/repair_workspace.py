"""The points under repair: their cells by column, with the box, lattice and row of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from counterpoise.space.rules.expressions import ColumnTable
from counterpoise.space.rules.relations import Clause
from counterpoise.types import Array, Index, Mask


class Grid(Protocol):
    """What repair needs of a lattice."""

    def snap(self, column: int, values: Array, rows: Index) -> Array:
        """Values ``(p,)`` of one column, of these rows ``(p,)``, on the lattice and in the box."""
        ...

    def spacing(self, column: int) -> float:
        """The distance between neighbouring values of a column; 0 for a continuous one."""
        ...


class PointSelection:
    """Some of the points of a table of columns, gathered column by column when they are asked for."""

    def __init__(self, table: ColumnTable, points: Index) -> None:
        self.table, self.points = table, points
        self.gathered_columns: dict[int, Any] = {}

    def __getitem__(self, column: int, /) -> Any:
        if column not in self.gathered_columns:
            self.gathered_columns[column] = self.table[column][self.points]
        return self.gathered_columns[column]


@dataclass(frozen=True)
class RepairSettings:
    """How long a repair tries, and what it avoids."""

    projection_rounds: int = 2
    """Rounds in which broken clauses are projected on."""
    solution_rounds: int = 3
    """Rounds after these, in which a broken clause is solved for one cell."""
    newton_steps: int = 3
    """Newton steps for a cell in which a clause is not linear."""
    broken_clause_penalty: float = 100.0
    """What a solution counts for each other clause that it breaks; the distance moved counts less than 1."""
    new_change_penalty: float = 10.0
    """What it counts for each cell that was as in the row and is changed."""
    max_watched_clauses: int = 100
    """Other clauses that a solution is tried on; what is broken beyond them is left to the next round."""
    strict_overshoot: float = 1e-9
    """How far past equality a strict inequality is brought, relative to its sides."""


DEFAULT_REPAIR_SETTINGS = RepairSettings()


@dataclass
class RepairWorkspace:
    """p points under repair, column by column, with their rows, boxes and the relations that bind them."""

    x: dict[int, Array]  # the columns that rules read, (p,) each; changed in place
    row_and_box: ColumnTable  # 3 width columns: the row, the lower and the upper end of its box
    free: ColumnTable
    is_binding: Mask | None  # (r, p) which relations bind; None: all
    rows: Index  # (p,)
    width: int
    scales: Array  # (width,)
    numeric: Mask  # (width,)
    grid: Grid
    settings: RepairSettings = DEFAULT_REPAIR_SETTINGS

    def take_points(self, points: Index) -> RepairWorkspace:
        """A copy of some of the points."""
        return replace(
            self,
            x={column: cells[points] for column, cells in self.x.items()},
            row_and_box=PointSelection(self.row_and_box, points),
            free=PointSelection(self.free, points),
            is_binding=None if self.is_binding is None else self.is_binding[:, points],
            rows=self.rows[points],
        )

    def find_broken_points(self, clause: Clause) -> Index:
        """The points that break a clause which binds them."""
        wrong = ~clause.formula.holds(self.x, self.row_and_box)
        if self.is_binding is not None:
            wrong = wrong & self.is_binding[clause.relation_number]
        return np.flatnonzero(np.broadcast_to(wrong, self.rows.shape))

    def box_ends(self, column: int, points: Index) -> tuple[Array, Array]:
        """The box of a column, ``(p,)`` each."""
        return self.row_and_box[self.width + column][points], self.row_and_box[2 * self.width + column][points]

    def clip_onto_lattice(self, column: int, values: Array, points: Index) -> Array:
        """Values of a column of some points, in the box and on the lattice."""
        low, high = self.box_ends(column, points)
        inside = np.minimum(np.maximum(values, low), high)
        return self.grid.snap(column, inside, self.rows[points])

    def is_obeyed(self, clause: Clause, points: Index) -> Mask:
        """Whether some of the points obey a clause, or are not bound by it, ``(p,)``."""
        holds = clause.formula.holds(PointSelection(self.x, points), PointSelection(self.row_and_box, points))
        if holds.shape != points.shape:
            holds = np.broadcast_to(holds, points.shape)
        return holds if self.is_binding is None else holds | ~self.is_binding[clause.relation_number, points]

    def write(self, column: int, values: Array, points: Index) -> None:
        """Write values into the cells that may move; a NaN leaves its cell as it is."""
        may = self.free[column][points] & ~np.isnan(values)
        self.x[column][points] = np.where(may, values, self.x[column][points])
