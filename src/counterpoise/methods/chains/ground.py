"""Ground: the little of a problem that search moves look at, so that taking some of its rows costs next to nothing."""

from __future__ import annotations

from typing import NamedTuple

from counterpoise.problem import Problem
from counterpoise.space.rules.formulas import Compare
from counterpoise.types import Array, Index, Mask


class MoveContext(NamedTuple):
    """Where chains of n rows move: the rows, what of them may move, how far a unit is, and what else there is."""

    x0: Array  # (n, d)
    free: Mask  # (n, d)
    lower: Array  # (n, d)
    upper: Array  # (n, d)
    numeric: Mask  # (d,)
    scales: Array  # (d,)
    choices: tuple[tuple[int, Array], ...]  # columns with listed values
    balances: tuple[Compare, ...]  # equations between numbers
    donors: Array  # (r, d)

    @classmethod
    def of(cls, problem: Problem) -> MoveContext:
        """The ground of a problem."""
        region = problem.region
        return cls(
            problem.x0,
            region.free,
            region.lower,
            region.upper,
            problem.numeric,
            problem.scales,
            region.lattice.choices_to_draw,
            region.system.balance_equations,
            problem.reference_rows.x,
        )

    def take(self, rows: Index) -> MoveContext:
        """The ground of some of the rows."""
        return MoveContext(self.x0[rows], self.free[rows], self.lower[rows], self.upper[rows], *self[4:])
