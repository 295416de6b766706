"""Proofs: for each row of a model whose leaves are known, the least effort of an answer, or a bound of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.trees.answers import Answers
from counterpoise.methods.trees.branch_and_bound import Search, Spent
from counterpoise.methods.trees.cell_costs import CellCosts, is_separable
from counterpoise.methods.trees.conditions import Asked, conditions
from counterpoise.methods.trees.leaf_walls import LeafWalls, walls_of
from counterpoise.methods.trees.row_leaves import reduce_to_row
from counterpoise.methods.trees.settings import ProofSettings
from counterpoise.models.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


class Proof(NamedTuple):
    """What is known of the least effort of n rows.

    No answer costs less than ``bound``. Where a row is ``exhausted``, nothing is left to look for: its answer, or the
    incumbent where none is nearer, is the least there is (within the gap that was asked for), or, where it has neither,
    no legal point meets its goal.
    """

    bound: Array  # (n,)
    exhausted: Mask  # (n,)
    x: Array  # (n, k, d) answers below the incumbent, the least effort first; NaN where there are no more
    effort: Array  # (n, k) infinite where there are no more
    exact: Mask  # (n, k) answers of which it is proven that they are the next best
    nodes: Index  # (n,) boxes opened
    visits: Index  # (n,) trees of boxes looked at


def prove(
    problem: Problem, incumbent: Array, settings: ProofSettings | None = None, alternatives: int = 1
) -> Proof | None:
    """Bounds and nearer answers for the rows of a problem; ``incumbent`` ``(n,)`` are efforts of known answers, or inf.

    With several ``alternatives`` these are the answers of least effort with distinct sets of changed features, none a
    superset of a better one's, as far as they cost less than the incumbent. None where the leaves of the model, or the
    goal and the effort in terms of them, are not known.
    """
    settings = settings or ProofSettings()
    leaves: Leaves | None = getattr(problem.model, "leaves", None)
    if leaves is None or problem.cloud is not None or not is_separable(problem.energy):
        return None
    walls = walls_of(leaves, getattr(problem.model, "trees", None))
    asked = None if walls is None else conditions(problem, leaves, walls)
    if walls is None or asked is None:
        return None
    costs, (n, d) = CellCosts.of(problem, leaves), problem.x0.shape
    bound, exhausted = np.full(n, np.inf), np.ones(n, dtype=bool)
    x, effort = np.full((n, alternatives, d), np.nan), np.full((n, alternatives), np.inf)
    nodes, visits = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
    for row in range(n):
        share = (1 - settings.tolerance) / (1 + settings.gap)
        answers = Answers(problem.take([row]), leaves, costs, row, float(incumbent[row]), alternatives, share)
        bound[row], exhausted[row], spent = _prove_row(answers, walls, asked, settings)
        for place, answer in enumerate(answers.found[:alternatives]):
            x[row, place], effort[row, place] = answer.x, answer.effort
        nodes[row], visits[row] = spent.nodes, spent.visits
    exact = np.isfinite(effort) & (effort * (1 - settings.tolerance) <= bound[:, None])
    return Proof(bound, exhausted, x, effort, exact, nodes, visits)


def _prove_row(answers: Answers, walls: LeafWalls, asked: Asked, settings: ProofSettings) -> tuple[float, bool, Spent]:
    """A bound of one row, whether nothing is left to look for, and what that took."""
    ceiling = answers.problem.region.max_changes
    most_changes = np.inf if ceiling is None else float(ceiling)
    searches, spent = [], Spent()
    for wanted in asked.rows[answers.number]:
        reduced = reduce_to_row(
            answers.leaves, walls, answers.costs, answers.number, wanted, asked.slack, answers.limit, most_changes
        )
        if reduced is None:
            continue
        search = Search(reduced, answers, most_changes, spent)
        search.run(settings)
        searches.append(search)
        spent = search.spent
    bound = min([answers.limit, *(search.bound for search in searches)])
    return bound, all(search.is_exhausted for search in searches), spent
