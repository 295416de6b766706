"""Proofs of models too large for brute force, against an independent solver."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.methods.trees.exact.sum_of_trees import prove
from counterpoise.problem import Problem
from problems import problem_of

WHOLE = 10**8  # the solver counts in whole numbers: costs and leaf values are rounded to this part


def least_effort(problem: Problem, distance: str) -> float:
    """The least L2 or L1 that turns one row's decision, by CP-SAT: one interval a column, one leaf a tree."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    program = cp_model.CpModel()
    trees, x0 = problem.model.trees, problem.x0[0]  # type: ignore[attr-defined]
    unit = problem.energy.distance.unit
    choices, costs = {}, []
    for column in range(len(x0)):
        edges = np.concatenate([[-np.inf], trees.thresholds[column], [np.inf]])
        chosen = [program.new_bool_var("") for _ in range(len(edges) - 1)]
        program.add_exactly_one(chosen)
        choices[column] = edges, chosen
        for literal, (low, high) in zip(chosen, pairwise(edges), strict=True):
            low = max(low, np.nextafter(problem.region.lower[0, column], -np.inf))
            high = min(high, problem.region.upper[0, column])
            if low >= high:
                program.add(literal == 0)
                continue
            step = max(0.0, low - x0[column], x0[column] - high) / unit[column]
            costs.append(round(WHOLE * (step**2 if distance == "l2" else step)) * literal)
    votes: list[Any] = []
    sign = 1 if problem.goal.wanted_classes[0, 1] else -1  # type: ignore[attr-defined]
    for tree in range(len(trees.roots)):
        boxes, literals = trees.boxes(tree), []
        worth = boxes.value[:, -1] - (boxes.value[:, 0] if boxes.value.shape[1] == 2 else 0.0)
        for lower, upper, value in zip(boxes.lower, boxes.upper, worth, strict=True):
            literal = program.new_bool_var("")
            for column, (edges, chosen) in choices.items():
                outside = [
                    each
                    for each, (low, high) in zip(chosen, pairwise(edges), strict=True)
                    if low < lower[column] or high > upper[column]
                ]
                for each in outside:
                    program.add_implication(literal, each.negated())
            votes.append(round(WHOLE * sign * trees.scale * value) * literal)
            literals.append(literal)
        program.add_exactly_one(literals)
    base = 0.0 if trees.averages_leaves else sign * float(trees.base[0])
    program.add(sum(votes) + round(WHOLE * base) >= 1)
    program.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(program) == cp_model.OPTIMAL
    total = solver.objective_value / WHOLE
    return float(np.sqrt(total) if distance == "l2" else total)


@pytest.mark.parametrize("distance", ["l2", "l1"])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=30, max_depth=4, random_state=0),
        RandomForestClassifier(20, max_depth=4, random_state=0),
    ],
    ids=["boosted", "forest"],
)
def test_an_independent_solver_finds_nothing_nearer(model: Any, distance: str) -> None:
    x, y = make_classification(400, 6, n_informative=5, n_redundant=0, random_state=1, flip_y=0.1)
    problem = problem_of(model.fit(x, y), x, x[:3], distance=distance, lam=0)
    proof = prove(problem, np.full(len(problem), np.inf), ProofSettings(nodes=100_000))
    assert proof is not None
    assert proof.exhausted.all()
    oracle = [least_effort(problem.take([row]), distance) for row in range(len(problem))]
    np.testing.assert_allclose(proof.effort[:, 0], oracle, rtol=1e-4)
    np.testing.assert_allclose(proof.bound, proof.effort[:, 0], rtol=1e-6)
