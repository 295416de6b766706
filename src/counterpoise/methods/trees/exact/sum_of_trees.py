"""Proofs: for each row of a model whose leaves are known, the least effort of an answer, or a bound of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.methods.trees.exact.answers import KnownAnswers
from counterpoise.methods.trees.exact.branch_and_bound import BoxSearch, Spent
from counterpoise.methods.trees.exact.cell_costs import CellCosts, is_separable
from counterpoise.methods.trees.exact.conditions import Asked, Conditions, conditions
from counterpoise.methods.trees.exact.joined_trees import join_trees
from counterpoise.methods.trees.exact.open_cells import LeafWalls, walls_of
from counterpoise.methods.trees.exact.row_leaves import RowLeaves, reduce_to_row
from counterpoise.models.trees.leaves import Leaves
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
    problem: Problem,
    incumbent: Array,
    settings: ProofSettings | None = None,
    alternatives: int = 1,
) -> Proof | None:
    """Bounds and nearer answers for the rows of a problem; ``incumbent`` ``(n,)`` are efforts of known answers, or inf.

    With several ``alternatives`` these are the answers of least effort with distinct sets of changed features, none a
    superset of a better one's, as far as they cost less than the incumbent. None where the leaves of the model, or the
    goal and the effort in terms of them, are not known.
    """
    settings = settings or ProofSettings()
    leaves: Leaves | None = problem.model.leaves
    if leaves is None or problem.cloud is not None or not is_separable(problem.energy):
        return None
    walls = walls_of(leaves, problem.model.trees)
    asked = None if walls is None else conditions(problem, leaves, walls)
    if walls is None or asked is None:
        return None
    costs, (n, d) = CellCosts.of(problem, leaves), problem.x0.shape
    share = (1 - settings.tolerance) / (1 + settings.gap)
    rows = [
        KnownAnswers(problem, leaves, costs, row, float(incumbent[row]), alternatives, share, problem.deadline)
        for row in range(n)
    ]
    known = _prove_rows(rows, walls, asked, settings, problem.deadline)
    bound = np.array([each.bound for each in known])
    exhausted = np.array([each.exhausted for each in known], dtype=bool)
    x, effort = np.full((n, alternatives, d), np.nan), np.full((n, alternatives), np.inf)
    for row, answers in enumerate(rows):
        for place, answer in enumerate(answers.found[:alternatives]):
            x[row, place], effort[row, place] = answer.x, answer.effort
    exact = np.isfinite(effort) & (effort * (1 - settings.tolerance) <= bound[:, None])
    spent = np.array([each.spent for each in known], dtype=np.intp).reshape(n, 3)
    return Proof(bound, exhausted, x, effort, exact, spent[:, 0], spent[:, 1])


class _Known(NamedTuple):
    """What is known of one row, or of one of the alternatives that meet its goal."""

    bound: float
    exhausted: bool
    spent: Spent


def _prove_rows(
    rows: list[KnownAnswers], walls: LeafWalls, asked: Asked, settings: ProofSettings, deadline: float
) -> list[_Known]:
    """What is known of each row: all get the same first share of work, and then the hard ones more."""
    quick = replace(settings, nodes=min(settings.nodes, settings.nodes_at_first))
    known = [_prove_row(answers, walls, asked, quick) for answers in rows]
    hard = [row for row, each in enumerate(known) if not each.exhausted] if quick.nodes < settings.nodes else []
    for place, row in enumerate(hard):  # what is left of the time is shared among the rows that take long
        now = time.perf_counter()
        rows[row].deadline = now + max(deadline - now, 0.0) / (len(hard) - place)
        again = _prove_row(rows[row], walls, asked, settings)
        known[row] = again._replace(bound=max(known[row].bound, again.bound))
    return known


def _prove_row(answers: KnownAnswers, walls: LeafWalls, asked: Asked, settings: ProofSettings) -> _Known:
    """What a search for each of the alternatives comes to together."""
    known = _Known(np.inf, True, Spent())
    for wanted in asked.rows[answers.number]:
        one = _prove_alternative(answers, walls, wanted, asked.slack, settings, known.spent)
        known = _Known(min(known.bound, one.bound), known.exhausted and one.exhausted, one.spent)
    return known._replace(bound=min(known.bound, answers.limit))


def _prove_alternative(
    answers: KnownAnswers, walls: LeafWalls, wanted: Conditions, slack: Array, settings: ProofSettings, spent: Spent
) -> _Known:
    """BoxSearch with the trees as they are; where that takes long, again with trees joined by twos, then by fours.

    Every search gives a bound, and the greatest one counts.
    """
    ceiling, bound, before = answers.rows.region.max_changes, 0.0, spent.nodes
    most_changes = np.inf if ceiling is None else float(ceiling)
    reduced = reduce_to_row(
        answers.leaves, walls, answers.costs, answers.number, wanted, slack, answers.limit, most_changes
    )
    if reduced is None:
        return _Known(answers.limit, True, spent)
    search = BoxSearch(reduced, answers, most_changes, spent)
    for until in settings.joins:
        search.run(settings, before + until)
        if search.has_ended(settings):
            break
        joined: RowLeaves | None = search.reduced
        if len(search.reduced.votes.leaf) <= settings.joinable:
            joined = join_trees(
                search.reduced,
                answers.costs,
                answers.limit,
                most_changes,
                settings.joint_leaves,
                settings.worth_joining,
            )
        bound = max(bound, search.bound)
        if joined is None:
            return _Known(max(bound, answers.limit), True, search.spent)
        if joined is not search.reduced:
            search = BoxSearch(joined, answers, most_changes, search.spent)
    search.run(settings, settings.nodes)
    return _Known(max(bound, search.bound), search.is_exhausted, search.spent)
