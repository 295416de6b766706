"""Taylor steps under relations: a linear model within orders and sums is solved to its optimum."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import counterpoise as cp
from counterpoise.methods.smooth.tangent_with_relations import solve_nearest_step
from counterpoise.space.rules.tangent_planes import TangentPlanes

ORDERS = ["low <= mid", "mid <= high"]
SUM = "total == low + high"


def flows(seed: int) -> tuple[pd.DataFrame, LogisticRegression]:
    """Rows that obey the relations, and a linear model whose slopes pull against them."""
    rng = np.random.default_rng(seed)
    three = np.sort(rng.gamma(2.0, size=(300, 3)), axis=1)
    table = pd.DataFrame(three, columns=["low", "mid", "high"])
    table["total"], table["other"] = table["low"] + table["high"], rng.normal(size=300)
    score = table.to_numpy() @ rng.normal(size=5) * 2
    return table, LogisticRegression().fit(table, score > np.median(score))


def least_l1(model: LogisticRegression, row: np.ndarray, scales: np.ndarray, *, total: bool) -> float:
    """The least L1 distance to the other class where the relations hold: a linear program over u = p - q."""
    start = model.coef_[0] @ row + model.intercept_[0]
    h = -np.sign(start) * model.coef_[0] * scales
    order = np.zeros((2, 5))
    order[[0, 0, 1, 1], [0, 1, 1, 2]] = [1.0, -1.0, 1.0, -1.0]
    wrong = np.vstack([-h, order * scales])
    room = np.array([-abs(start), row[1] - row[0], row[2] - row[1]])
    sums = np.array([[-1.0, 0.0, -1.0, 1.0, 0.0]]) * scales if total else np.zeros((1, 5))
    found = linprog(np.ones(10), np.hstack([wrong, -wrong]), room, np.hstack([sums, -sums]), np.zeros(1))
    assert found.success
    return float(found.fun)


def least_l2(model: LogisticRegression, row: np.ndarray, scales: np.ndarray, *, total: bool) -> float:
    """The least L2 distance to the other class where the relations hold."""
    slope, start = model.coef_[0], model.coef_[0] @ row + model.intercept_[0]
    side = -np.sign(start)
    limits = [
        {"type": "ineq", "fun": lambda u: side * (start + slope @ (u * scales))},
        {"type": "ineq", "fun": lambda u: (row + u * scales)[1] - (row + u * scales)[0]},
        {"type": "ineq", "fun": lambda u: (row + u * scales)[2] - (row + u * scales)[1]},
    ]
    if total:
        limits.append({"type": "eq", "fun": lambda u: (row + u * scales)[3] - (row + u * scales)[[0, 2]].sum()})
    first = side * slope * scales
    found = minimize(lambda u: u @ u, first, constraints=limits, options={"ftol": 1e-12, "maxiter": 500})
    assert found.success
    return float(np.sqrt(found.fun))


@pytest.mark.parametrize(
    ("total", "sums"),
    [(False, []), (True, [cp.Rule(SUM)]), (True, [cp.Derived("total", "low + high")])],
    ids=["orders", "orders and a sum", "orders and a derived column"],
)
@pytest.mark.parametrize("blind", [False, True], ids=["slopes", "black box"])
@pytest.mark.parametrize(("distance", "optimum"), [("l2", least_l2), ("l1", least_l1)])
def test_a_linear_model_within_relations_is_solved_to_its_optimum(
    distance, optimum, total: bool, sums: list, blind: bool
) -> None:
    ratios = []
    for seed in range(4):
        table, model = flows(seed)
        words = [*map(cp.Rule, ORDERS), *sums]
        asked = (lambda rows, model=model: model.predict_proba(rows)) if blind else model
        asking = {"constraints": words, "bounds": None, "lam": 0.0, "distance": distance, "relations": None}
        explanation = cp.explain(asked, table[:8], reference=table, **asking)
        assert explanation.valid.all()
        for row, far in zip(table[:8].to_numpy(), explanation.energy["distance"], strict=True):
            ratios.append(far / optimum(model, row, explanation.schema.scales, total=total))
    assert min(ratios) > 1 - 1e-3  # a relation holds within its tolerance
    assert np.median(ratios) < 1.003
    assert np.mean(ratios) < 1.01


@settings(deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_step_reaches_the_boundary_and_is_the_shortest_one_where_no_facet_is_in_its_way(
    seed: int, equal: bool
) -> None:
    rng = np.random.default_rng(seed)
    p, d = 5, 6
    h, need = rng.normal(size=(p, d)), rng.uniform(0.1, 2.0, p)
    columns, slope, zero = np.array([[0, 1], [2, 3]]), rng.normal(size=(p, 2, 2)), np.zeros((p, 2))
    faces = TangentPlanes(columns, slope, zero, zero + 1e-9, np.array([equal, False]))
    far = np.full((p, d), np.inf)
    free = h * (need / (h * h).sum(axis=1))[:, None]
    u = solve_nearest_step(h, need, -far, far, h, [faces])
    fine = ~faces.is_broken(free)
    np.testing.assert_allclose(np.einsum("pd,pd->p", h, u), need, rtol=1e-6)
    np.testing.assert_allclose(u[fine], free[fine], rtol=1e-9, atol=1e-12)
    assert (np.linalg.norm(u, axis=1) >= np.linalg.norm(free, axis=1) * (1 - 1e-9)).all()


@pytest.mark.parametrize("distance", ["l2", "l1", "l0", "gower"])
def test_a_category_of_one_level_and_columns_that_are_all_bound_leave_a_search(distance: str) -> None:
    table, _ = flows(0)
    table = table[["low", "mid", "high"]].assign(kind="tcp")
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder=StandardScaler())
    model = make_pipeline(encoder, SVC()).fit(table, table["low"] + table["high"] > 2 * table["mid"])
    words = [cp.Rule(rule) for rule in ORDERS]
    found = cp.explain(model, table[:6], reference=table, constraints=words, distance=distance)
    assert found.valid.all()
    assert (found.frame["low"] <= found.frame["mid"] + 1e-6).all()
