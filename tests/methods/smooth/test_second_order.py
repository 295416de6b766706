"""Second-order steps: the nearest point of a quadratic boundary, and answers where slopes lead astray."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

import counterpoise as cp
from counterpoise.methods.points import score_points
from counterpoise.methods.smooth.second_order import _solve_quadratic_step, can_step_second_order, is_not_stationary
from problems import problem_of


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([-1.0, 0.0, 1.0]))
def test_the_nearest_point_of_a_quadratic_boundary_is_on_it_and_stationary(seed: int, sign: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6)) * 10.0 ** rng.uniform(-1, 1, 6)
    hessian = sign * root @ root.T if sign else root + root.T
    b = rng.normal(size=6)
    # so that the boundary is within reach: the score of some point is 0
    there = 0.3 * rng.normal(size=6)
    c = -(b @ there + there @ hessian @ there / 2)
    v = _solve_quadratic_step(hessian[None, None], b[None, None], np.array([[c]]))[0, 0]
    if c >= 0:
        assert not v.any()
        return
    size = abs(c) + abs(b @ v) + abs(v @ hessian @ v)
    assert c + b @ v + v @ hessian @ v / 2 == pytest.approx(0, abs=1e-6 * size)
    slope = b + hessian @ v
    assert v @ slope == pytest.approx(np.linalg.norm(v) * np.linalg.norm(slope), rel=1e-5)
    assert np.linalg.norm(v) <= np.linalg.norm(there) * (1 + 1e-6)


@pytest.fixture(scope="module")
def steep() -> tuple[QuadraticDiscriminantAnalysis, np.ndarray]:
    """A score that falls off thousands of times as fast along some directions as along others."""
    table, labels = load_breast_cancer(return_X_y=True)
    table = table[:, :10]
    return QuadraticDiscriminantAnalysis(reg_param=0.01).fit(table, labels), table


@pytest.mark.parametrize("blind", [False, True])
def test_answers_are_as_near_as_those_of_an_optimiser(steep, blind: bool) -> None:
    model, table = steep
    rows = table[model.predict(table) == 0][:6]
    asked = (lambda x: model.predict_proba(x)) if blind else model
    explanation = cp.explain(asked, rows, reference=table, target=1, lam=0, bounds=None)
    assert explanation.valid.all()
    scales = explanation.schema.scales
    pool = table[model.predict(table) == 1]
    for row, x in zip(rows, explanation.x, strict=True):
        nearest = np.inf
        for start in pool[np.argsort((((pool - row) / scales) ** 2).sum(axis=1))[:3]]:
            found = minimize(
                lambda z: z @ z,
                (start - row) / scales,
                jac=lambda z: 2 * z,
                constraints={"type": "ineq", "fun": lambda z, row=row: model.decision_function([row + z * scales])[0]},
            )
            if found.success:
                nearest = min(nearest, float(np.sqrt(found.fun)))
        assert np.linalg.norm((x - row) / scales) <= nearest * 1.02


def test_only_answers_that_are_not_stationary_are_led_on(steep) -> None:
    model, table = steep
    rows = table[model.predict(table) == 0][:4]
    problem = problem_of(model, table, rows, target=1, lam=0, bounds=None)
    assert can_step_second_order(problem)
    answers = cp.explain(model, rows, reference=table, target=1, lam=0, bounds=None).x
    assert not is_not_stationary(problem, answers[:, None, :]).any()
    elsewhere = table[model.predict(table) == 1][:4]
    assert score_points(problem, elsewhere[:, None, :]).valid.all()
    assert is_not_stationary(problem, elsewhere[:, None, :]).any()


def test_where_changes_are_capped_nothing_is_curved(steep) -> None:
    model, table = steep
    assert not can_step_second_order(problem_of(model, table, table[:2], constraints=[cp.MaxChanges(2)]))


def test_a_black_box_is_not_asked_for_a_hessian_of_many_columns() -> None:
    rng = np.random.default_rng(0)
    for d, can in ((40, True), (60, False)):
        table = rng.normal(size=(200, d))
        asked = problem_of(lambda x: 1 / (1 + np.exp(-x[:, 0] - 0.1 * x[:, 1] ** 2)), table, table[:2], target=(0.9, 1))
        assert can_step_second_order(asked) is can


@given(spoilt=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from([np.nan, np.inf])), max_size=4))
def test_a_curvature_that_is_no_number_spoils_no_other_step(spoilt):
    hessian = np.array([[[[2.0, 0.5], [0.5, -1.0]]] * 3])
    b, c = np.array([[[1.0, 0.0]] * 3]), np.array([[-0.5, -1.0, 0.5]])
    alone = _solve_quadratic_step(hessian, b, c)
    for place, column, value in spoilt:
        hessian[0, place, column, column] = value
    steps = _solve_quadratic_step(hessian, b, c)
    whole = [place for place in range(3) if place not in {each[0] for each in spoilt}]
    assert np.isfinite(steps).all()
    assert np.array_equal(steps[0, whole], alone[0, whole])
