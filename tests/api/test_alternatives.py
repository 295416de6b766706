"""Alternatives: as many as were asked for where there are so many, each without something that a better one needs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import counterpoise as cp
from counterpoise import telemetry

TABLE, TARGET = load_breast_cancer(return_X_y=True, as_frame=True)
MODELS = {
    "linear": make_pipeline(StandardScaler(), LogisticRegression()).fit(TABLE, TARGET),
    "kernel": make_pipeline(StandardScaler(), SVC()).fit(TABLE, TARGET),
    "trees": HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(TABLE, TARGET),
}


@pytest.mark.parametrize("distance", ["l2", "l1", "l0"])
@pytest.mark.parametrize("kind", MODELS)
def test_every_row_has_as_many_answers_as_were_asked_for(kind: str, distance: str) -> None:
    model, rows = MODELS[kind], TABLE[:12]
    asking = {"reference": TABLE, "distance": distance, "relations": None}
    found = cp.explain(model, rows, alternatives=3, **asking)
    alone = cp.explain(model, rows, **asking)
    assert (found.count == 3).all()
    before = model.predict(rows)
    for place in range(3):
        answers = pd.DataFrame(found.answers[:, place], columns=TABLE.columns)
        assert (model.predict(answers) != before).all()
    assert (found.energy["total"] <= alone.energy["total"] + 1e-9).all(), "the best is no farther for the others"
    changed = found.answers != found.x0[:, None, :]
    for row in changed:
        for better, worse in ((0, 1), (0, 2), (1, 2)):
            assert (row[better] & ~row[worse]).any(), "an alternative leaves something out"


@settings(max_examples=15)
@given(st.sets(st.sampled_from(list("abcd")), min_size=1, max_size=3), st.integers(0, 30))
def test_alternatives_stay_inside_the_constraints(fixed: set[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(table, table.sum(axis=1) > 0)
    rows = table[:4]
    found = cp.explain(model, rows, reference=table, constraints=[cp.Immutable(*fixed)], alternatives=3)
    held = [table.columns.get_loc(name) for name in fixed]
    real = ~np.isnan(found.answers).any(axis=2)
    assert (found.answers[..., held] == found.x0[:, None, held])[real].all()


def test_where_one_feature_decides_there_is_one_answer() -> None:
    table = pd.DataFrame({"a": np.linspace(0, 1, 50), "b": np.linspace(5, 9, 50) % 2})
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(table[["a", "b"]], table["a"] > 0.5)
    found = cp.explain(model, table[:3], reference=table, alternatives=3)
    assert (found.count == 1).all()
    assert (found.changes["feature"] == "a").all()


def test_what_has_to_change_anyway_is_not_held_back() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, table.sum(axis=1) > 0)
    row = pd.DataFrame({"a": [5.0], "b": [-3.0], "c": [-3.0], "d": [-3.0]})
    found = cp.explain(model, row, reference=table, constraints=[cp.Range("a", -1, 1)], distance="l1", alternatives=3)
    assert found.count[0] >= 2
    assert (found.answers[0, : found.count[0], 0] <= 1).all()


def test_the_best_answer_and_its_proof_are_the_same_with_and_without_alternatives() -> None:
    train, label, _ = telemetry.simulate(rows=1500, seed=0)
    model = HistGradientBoostingClassifier(random_state=0).fit(train, label)
    ask = cp.Explainer(model, reference=train)
    rows = train[label == "alert"][:10]
    alone, several = (ask(rows, target="benign", alternatives=count) for count in (1, 3))
    assert list(several.status) == list(alone.status)
    assert (several.effort <= alone.effort * (1 + 1e-9)).all()
    assert (several.bound >= alone.bound * (1 - 1e-9)).all()
    assert (several.count > 1).any()


def test_rows_that_lack_alternatives_keep_a_regulariser_of_their_own() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 4)).round(2), columns=list("abcd"))
    score = table @ [2.0, 0.3, 0.0, 0.0]
    model = LogisticRegression().fit(table, pd.qcut(score, 3, labels=["low", "middle", "high"]).astype(str))
    found = cp.explain(model, table[:12], reference=table, regularizers=[cp.NearTarget()], alternatives=3)
    assert found.valid.all()
    assert (found.count < 3).any()
    assert (found.count > 1).any()
