"""Plausibility and importance as a user asks for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import LocalOutlierFactor

import counterpoise as cp

RNG = np.random.default_rng(0)
# two clouds along a diagonal: the shortest way across leaves it
BENIGN = RNG.normal(size=(150, 1)) * [3.0, 3.0] + RNG.normal(0, 0.3, (150, 2)) + [0, 2]
ALERT = RNG.normal(size=(150, 1)) * [3.0, 3.0] + RNG.normal(0, 0.3, (150, 2)) + [4, -2]
TABLE = pd.DataFrame(np.concatenate([BENIGN, ALERT]), columns=["a", "b"])
LABELS = np.repeat(["benign", "alert"], 150)
MODEL = LogisticRegression().fit(TABLE, LABELS)
ROWS = TABLE[150:158]


def distance_to_benign(answers: pd.DataFrame) -> np.ndarray:
    scaled = (answers.to_numpy()[:, None] - BENIGN) / TABLE.std().to_numpy()
    return np.sort(np.linalg.norm(scaled, axis=2), axis=1)[:, :5].mean(axis=1)


def test_answers_lie_nearer_to_real_rows_of_the_target_where_that_is_asked_for() -> None:
    explainer = cp.Explainer(MODEL, reference=TABLE)
    plain = explainer(ROWS, target="benign")
    near = explainer(ROWS, target="benign", lam=1.0, regularizers=[cp.NearTarget(weight=5.0)])
    assert near.valid.all()
    assert distance_to_benign(near.frame).mean() < 0.5 * distance_to_benign(plain.frame).mean()
    assert "NearTarget" in near.settings["regularizers"]
    inlier = explainer(ROWS, target="benign", lam=1.0, regularizers=[cp.LocalOutlier(weight=5.0)])
    judge = LocalOutlierFactor(novelty=True).fit(BENIGN)
    assert judge.score_samples(inlier.x).mean() > judge.score_samples(plain.x).mean()
    inside = explainer(ROWS, target="benign", lam=1.0, regularizers=[cp.Mahalanobis(weight=5.0)])
    assert (inside.energy["regularizer"] < near.energy["regularizer"].max() * 10).all()
    assert inside.valid.all()


def test_each_row_is_drawn_to_its_own_target() -> None:
    iris = load_iris()
    model = LogisticRegression(max_iter=500).fit(iris.data, iris.target)
    explainer = cp.Explainer(model, reference=iris.data)
    words = {"lam": 1.0, "regularizers": [cp.NearTarget(neighbours=3, weight=3.0)]}
    rows, targets = iris.data[[0, 1, 60]], np.array([1, 2, 0])
    together = explainer(rows, target=targets, **words)
    for row in range(3):
        alone = explainer(rows[row : row + 1], target=targets[row : row + 1], **words)
        np.testing.assert_array_equal(alone.x[0], together.x[row])


def test_without_rows_of_the_target_plausibility_is_a_wrong_question() -> None:
    explainer = cp.Explainer(MODEL, reference=TABLE[150:][MODEL.predict(TABLE[150:]) == "alert"])
    with pytest.raises(cp.InputError, match="reference rows of the target"):
        explainer(ROWS[:1], target="benign", regularizers=[cp.NearTarget()])


def test_what_is_no_regulariser_is_refused() -> None:
    with pytest.raises(cp.InputError, match="regularizers"):
        cp.Explainer(MODEL, reference=TABLE)(ROWS, regularizers=["near"])


def test_weights_from_the_model_make_important_features_dear() -> None:
    table = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["x", "y", "idle"])
    model = LogisticRegression().fit(table, table["x"] * 3 + table["y"] > 0)
    explainer = cp.Explainer(model, reference=table, weights="permutation")
    weights = explainer.weights
    assert weights["x"] > 2 * weights["y"] > weights["idle"]
    assert np.mean(list(weights.values())) == pytest.approx(1.0)
    plain = cp.explain(model, table[:10], reference=table, lam=0.0)
    dear = explainer(table[:10], lam=3.0, penalty="l1")
    price = np.array(list(weights.values())) / explainer.schema.scales
    paid = [(np.abs(found.x - found.x0) * price).sum(axis=1) for found in (plain, dear)]
    assert (paid[1] <= paid[0] * (1 + 1e-3)).all()  # the columns' own grid allows no less
    assert paid[1].sum() < paid[0].sum()
    with pytest.raises(cp.InputError, match="'permutation' or 'shap'"):
        cp.Explainer(model, reference=table, weights="lime")  # type: ignore[arg-type]
