"""Proofs: for each row of a model whose leaves are known, the least effort of an answer, or a bound of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from counterpoise.methods.trees.branch_and_bound import Search
from counterpoise.methods.trees.cell_costs import CellCosts, is_separable
from counterpoise.methods.trees.conditions import Asked, conditions
from counterpoise.methods.trees.leaf_walls import LeafWalls, walls_of
from counterpoise.methods.trees.reduction import reduce_to_row
from counterpoise.methods.trees.row_leaves import RowLeaves
from counterpoise.methods.trees.settings import ProofSettings
from counterpoise.models.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


class Proof(NamedTuple):
    """What is known of the least effort of n rows.

    No answer costs less than ``bound``; where a row is ``exhausted`` its answer is the least there is, or, where it has
    none, no legal point meets its goal.
    """

    bound: Array  # (n,)
    x: Array  # (n, d) the nearest answer found here; NaN where none is nearer than the incumbent
    effort: Array  # (n,) of the nearest answer, the incumbent's where none is nearer; infinite where there is none
    exhausted: Mask  # (n,)
    nodes: Index  # (n,) boxes opened
    visits: Index  # (n,) trees of boxes looked at


@dataclass(eq=False)
class _Row:
    """One row: points of its cells, shown to the model."""

    problem: Problem  # of this row alone
    leaves: Leaves
    costs: CellCosts
    number: int
    reduced: RowLeaves | None = None
    effort: float = np.inf
    x: Array = field(default_factory=lambda: np.empty(0))

    def points(self, cells: Index) -> Array:
        """Points ``(1, p, d)`` in local cells ``(p, columns)``."""
        reduced, costs, row = self.reduced, self.costs, self.number
        assert reduced is not None
        split = len(self.leaves.feature)
        x = np.empty((1, len(cells), self.problem.x0.shape[1]))
        x[:, :, costs.column[split:]] = costs.value[row, split:]
        x[:, :, self.leaves.columns] = costs.value[row, costs.start[row]]
        x[0][:, self.leaves.columns[reduced.column]] = costs.value[row, reduced.cell[cells]]
        return x

    def verdict(self, cells: Index) -> tuple[Array, Mask]:
        """The efforts of the answers that points are or lead to, and which points the model refuses."""
        x, region = self.points(cells), self.problem.region
        legal = region.contains(x)
        refused = ~self.problem.score(x).reached
        if not legal.all():
            other, inside = region.settle(x)
            x = np.where(legal[..., None], x, other)
            legal |= inside & region.contains(x)
        reached = self.problem.score(x).reached
        effort = np.where(reached & legal, self.problem.energy.effort(x, self.problem.x0), np.inf)[0]
        best = int(effort.argmin())
        if effort[best] < self.effort:
            self.effort, self.x = float(effort[best]), x[0, best]
        return effort, refused[0]


def prove(problem: Problem, incumbent: Array, settings: ProofSettings | None = None) -> Proof | None:
    """Bounds and nearer answers for the rows of a problem; ``incumbent`` ``(n,)`` are the efforts of known answers.

    None where the model's leaves, or the goal and the effort in terms of them, are not known.
    """
    settings = settings or ProofSettings()
    leaves: Leaves | None = getattr(problem.model, "leaves", None)
    if leaves is None or problem.cloud is not None or not is_separable(problem.energy):
        return None
    walls = walls_of(leaves, getattr(problem.model, "trees", None))
    asked = None if walls is None else conditions(problem, leaves, walls)
    if walls is None or asked is None:
        return None
    costs = CellCosts.of(problem, leaves)
    parts = [
        _prove_row(problem.take([row]), leaves, walls, costs, asked, row, float(incumbent[row]), settings)
        for row in range(len(problem))
    ]
    bound, x, effort, exhausted, nodes, visits = zip(*parts, strict=True) if parts else ((),) * 6
    d = problem.x0.shape[1]
    return Proof(
        np.array(bound, dtype=np.float64),
        np.array(x, dtype=np.float64).reshape(len(problem), d),
        np.array(effort, dtype=np.float64),
        np.array(exhausted, dtype=bool),
        np.array(nodes, dtype=np.intp),
        np.array(visits, dtype=np.intp),
    )


def _prove_row(
    problem: Problem,
    leaves: Leaves,
    walls: LeafWalls,
    costs: CellCosts,
    asked: Asked,
    number: int,
    incumbent: float,
    settings: ProofSettings,
) -> tuple[float, Array, float, bool, int, int]:
    row = _Row(problem, leaves, costs, number, effort=incumbent, x=np.full(problem.x0.shape[1], np.nan))
    most = np.inf if problem.region.max_changes is None else float(problem.region.max_changes)
    bound, exhausted, nodes, visits = np.inf, True, 0, 0
    for wanted in asked.rows[number]:
        limit = row.effort * (1 - settings.tolerance)
        reduced = reduce_to_row(leaves, walls, costs, number, wanted, asked.slack, limit, most)
        if reduced is None:
            bound = min(bound, limit)
            continue
        row.reduced = reduced
        search = Search(reduced, costs, row.verdict, limit, most, settings.tolerance)
        found = search.run(settings.nodes - nodes, settings.together)
        bound, exhausted = min(bound, found.bound), exhausted and found.exhausted
        nodes, visits = nodes + found.nodes, visits + found.visits
    return min(bound, row.effort), row.x, row.effort, exhausted, nodes, visits
