"""Whole numbers, and decimals beside which an answer is near: which of their values to take decides the rest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import counterpoise as cp


@pytest.mark.parametrize("blind", [False, True], ids=["slopes", "black box"])
@pytest.mark.parametrize("spread", [1.5, 6.0], ids=["few values", "many"])
def test_beside_one_whole_number_a_linear_model_is_solved_to_its_optimum(blind: bool, spread: float) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 4)), columns=["a", "b", "k", "c"])
    table["k"] = np.rint(spread * table["k"]).astype(int)
    says = (table["a"] + 0.5 * table["b"] + 1.2 * table["k"] / spread - 0.3 * table["c"] > 0.2).astype(int)
    model = LogisticRegression().fit(table, says)
    asked = (lambda rows: model.predict_proba(rows)) if blind else model
    rows, scale = table[:40], table.std(ddof=0).to_numpy()
    found = cp.Explainer(asked, reference=table, bounds=None)(rows, lam=0.0)
    steep, margin = model.coef_[0] * scale, model.decision_function(rows)
    best = np.full(len(rows), np.inf)
    for step in range(-40, 41):  # of k; the others then go straight to the boundary
        left = margin + model.coef_[0, 2] * step
        rest = np.where(left * margin > 0, np.abs(left) / np.linalg.norm(steep[[0, 1, 3]]), 0.0)
        best = np.minimum(best, np.hypot(rest, step / scale[2]))
    length = np.linalg.norm((found.frame.to_numpy(dtype=float) - rows.to_numpy(dtype=float)) / scale, axis=1)
    assert found.valid.all()
    np.testing.assert_allclose(length, best, rtol=1e-3, atol=1e-4)


def test_answers_in_whole_numbers_are_near_the_best_of_all() -> None:
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({name: rng.integers(0, 7, 80) for name in "abc"})
        score = table.to_numpy() @ rng.normal(size=3)
        model = LogisticRegression(C=10).fit(table, score > np.median(score))
        explanation = cp.explain(model, table[:6], reference=table, lam=0.0)
        grid = pd.DataFrame(list(product(range(7), repeat=3)), columns=list("abc"))
        says, unit = model.predict(grid), explanation.schema.scales
        told = zip(table[:6].to_numpy(), model.predict(table[:6]), explanation.energy["distance"], strict=True)
        for row, said, distance in told:
            far = np.sqrt((((grid.to_numpy() - row) / unit) ** 2).sum(axis=1))
            ratios.append(distance / far[says != said].min())
    assert min(ratios) > 1 - 1e-9
    assert np.mean(ratios) < 1.02
    assert np.mean(np.array(ratios) < 1 + 1e-9) > 0.7


@pytest.mark.parametrize(
    ("last", "distance"), [(LogisticRegression(), "l2"), (LogisticRegression(), "l1"), (SVC(), "l2")], ids=str
)
def test_near_the_boundary_no_decimal_is_changed_where_less_will_do(last, distance: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=800), "b": rng.exponential(2, 800).round(2), "d": rng.normal(size=800)})
    model = make_pipeline(StandardScaler(), last).fit(table, table["a"] + 0.4 * table["b"] + 0.5 * table["d"] > 1)
    asked = cp.Explainer(model, reference=table, values="any")
    odds = asked(table, distance=distance).energy["distance"]
    rows = table.iloc[np.argsort(odds.to_numpy())[:25]]
    free, held = (
        asked(rows, distance=distance),
        cp.explain(model, rows, reference=table, distance=distance, values="any", constraints=[cp.Immutable("b")]),
    )
    far, near = free.terms.total, held.terms.total
    assert (far <= 1.02 * near).all()
    one_by_one = np.concatenate([asked(rows[k : k + 1], distance=distance).x for k in range(5)])
    np.testing.assert_allclose(one_by_one, free.x[:5], rtol=0, atol=1e-12)
