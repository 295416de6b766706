"""Optima known exactly: linear models in closed form, small forests by CP-SAT."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from task import Task

WHOLE = 10**9  # CP-SAT counts in whole numbers: costs and leaf values are rounded to this part


def linear(task: Task, rows: np.ndarray, bounded: bool) -> dict[str, np.ndarray]:
    """The least L2, L1 and number of changes that bring rows ``(n, d)`` of a scaled logistic model to its boundary.

    In standard deviations the boundary is |f| = Σ gᵢδᵢ with 0 ≤ δᵢ ≤ rᵢ, the reach of feature i in its helpful
    direction. L2: δᵢ = min(t gᵢ, rᵢ), t the root. L1: the steepest features first, each up to its reach. L0: the
    features that can give most first.
    """
    scaler, regression = task.model[0], task.model[-1]
    slope = regression.coef_[0] / scaler.scale_ * task.scale
    margin = task.model.decision_function(rows)
    lower = np.minimum(task.train.min(axis=0), rows)
    upper = np.maximum(task.train.max(axis=0), rows)
    found = []
    for x0, f, low, high in zip(rows, margin, lower, upper, strict=True):
        helpful = -np.sign(f) * slope
        reach = np.where(helpful > 0, high - x0, x0 - low) / task.scale if bounded else np.full(len(x0), np.inf)
        found.append(nearest(abs(f), np.abs(helpful), reach))
    return dict(zip(("l2", "l1", "changes"), np.array(found).T, strict=True))


def nearest(f: float, g: np.ndarray, reach: np.ndarray) -> tuple[float, float, float]:
    """L2, L1 and L0 of the smallest 0 ≤ δ ≤ reach with g·δ = f; infinite where none is.

    >>> [round(float(size), 3) for size in nearest(5.0, np.array([3.0, 4.0]), np.array([np.inf, np.inf]))]
    [1.0, 1.25, 1.0]
    """
    gives = np.where(g > 0, g * reach, 0.0)
    if gives.sum() < f:
        return np.inf, np.inf, np.inf
    fewest = 1 + int(np.searchsorted(np.cumsum(np.sort(gives)[::-1]), f))
    steep = np.argsort(-g, kind="stable")
    left, l1 = f, 0.0
    for i in steep:
        step = min(reach[i], left / g[i])
        left, l1 = left - step * g[i], l1 + step
        if left <= 0:
            break
    full = np.divide(reach, g, out=np.full(len(g), np.inf), where=g > 0)  # the t at which a feature is used up
    order = np.argsort(full, kind="stable")
    used, curve = 0.0, float((g**2).sum())
    t = f / curve
    for i in order:
        if t <= full[i]:
            break
        used, curve = used + gives[i], curve - g[i] ** 2
        t = (f - used) / curve if curve > 0 else np.inf
    return float(np.linalg.norm(np.minimum(t * g, reach))), l1, float(fewest)


def forest(task: Task, x0: np.ndarray, measure: str = "l2", seconds: float = 20.0) -> tuple[float, bool]:
    """The least distance that turns a forest's decision on a row ``(d,)`` within the observed box, and if it is proven.

    A literal for each split (x ≤ threshold), ordered within a feature; one leaf a tree, whose splits must hold; the
    cost of a feature is that of the interval between two neighbouring splits where it lies.
    """
    from ortools.sat.python import cp_model

    program = cp_model.CpModel()
    trees = [estimator.tree_ for estimator in task.model.estimators_]
    goal = 1 - int(task.predict(x0[None])[0])
    splits = {j: np.unique(np.concatenate([t.threshold[t.feature == j] for t in trees])) for j in range(len(x0))}
    below: dict[tuple[int, float], Any] = {}
    costs = []
    for j, thresholds in splits.items():
        if not len(thresholds):
            continue
        literals = [program.new_bool_var("") for _ in thresholds]
        below |= {(j, float(t)): literal for t, literal in zip(thresholds, literals, strict=True)}
        for smaller, larger in pairwise(literals):
            program.add_implication(smaller, larger)
        costs += _intervals(program, task, x0, j, thresholds, literals, measure)
    votes = []
    for tree in trees:
        leaves = []
        for leaf, path in _paths(tree):
            literal = program.new_bool_var("")
            for j, threshold, left in path:
                split = below[j, threshold]
                program.add_implication(literal, split if left else split.negated())
            share = tree.value[leaf, 0] / tree.value[leaf, 0].sum()
            votes.append(round(WHOLE * (share[goal] - share[1 - goal])) * literal)
            leaves.append(literal)
        program.add_exactly_one(leaves)
    program.add(sum(votes) >= (0 if goal == 0 else 1))  # a tie is the first class's
    program.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(program)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return np.inf, status == cp_model.INFEASIBLE
    total = solver.objective_value / WHOLE
    return float(np.sqrt(total) if measure == "l2" else total), status == cp_model.OPTIMAL


def _intervals(
    program: Any, task: Task, x0: np.ndarray, j: int, thresholds: np.ndarray, literals: list[Any], measure: str
) -> list[Any]:
    """What each interval between neighbouring splits costs; intervals outside the observed box are forbidden."""
    low, high = min(task.train[:, j].min(), x0[j]), max(task.train[:, j].max(), x0[j])
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    terms = []
    for k, (left, right) in enumerate(pairwise(edges)):
        here = program.new_bool_var("")
        if k < len(literals):
            program.add_implication(here, literals[k])
        if k:
            program.add_implication(here, literals[k - 1].negated())
        terms.append((here, left, right))
    program.add_exactly_one([here for here, _, _ in terms])
    costs = []
    for here, left, right in terms:
        if right < low or left >= high:
            program.add(here == 0)
            continue
        step = max(0.0, left - x0[j], x0[j] - right) / task.scale[j]
        cost = {"l2": step**2, "l1": step, "l0": float(not left < x0[j] <= right)}[measure]
        costs.append(round(WHOLE * cost) * here)
    return costs


def _paths(tree: Any) -> list[tuple[int, list[tuple[int, float, bool]]]]:
    """Each leaf with the splits on its way: feature, threshold, whether it lies to the left."""
    found, waiting = [], [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if tree.children_left[node] < 0:
            found.append((node, path))
            continue
        j, threshold = int(tree.feature[node]), float(tree.threshold[node])
        waiting.append((int(tree.children_left[node]), [*path, (j, threshold, True)]))
        waiting.append((int(tree.children_right[node]), [*path, (j, threshold, False)]))
    return found
