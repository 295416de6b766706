"""Checks of answers: against closed forms of a linear model, and on what has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.judge.robustness import robustness
from counterpoise.judge.stability import stability
from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.objective.noise import Gaussian, RankNoise

DATA = load_breast_cancer()
X = DATA.data[:, :6]
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, DATA.target)
FOREST = RandomForestClassifier(20, random_state=0).fit(X, DATA.target)
SLOPE = float(np.linalg.norm(LOGISTIC[-1].coef_))
FRAME = pd.DataFrame(X[:8], index=list("abcdefgh"), columns=[f"f{place}" for place in range(6)])


def deep() -> cp.Explanation:
    """Answers some way inside the target, without bounds: there the closed forms hold."""
    explainer = cp.Explainer(LOGISTIC, reference=X, bounds=None)
    return explainer(X[:8], lam=0.0, mu=1.0, method=Algorithm1(xi=0.3))


def test_of_a_linear_model_share_worst_case_and_radius_are_known() -> None:
    explanation = deep()
    margin = explanation.scores["margin_after"].to_numpy()
    table = robustness(explanation, LOGISTIC, noise=0.25, xi=0.2, copies=4000, confidence=0.9999).table
    wanted = norm.cdf(margin / (0.25 * SLOPE))
    assert ((table["low"] <= wanted) & (wanted <= table["high"])).all()
    np.testing.assert_allclose(table["worst"], margin - 0.2 * SLOPE, atol=1e-6)
    np.testing.assert_allclose(table["radius"], margin / SLOPE / norm.ppf(0.9), rtol=0.3)
    more = robustness(explanation, LOGISTIC, noise=0.25, share=0.99).table
    assert (more["radius"] < table["radius"]).all()
    assert (robustness(explanation, LOGISTIC, noise=0.25, xi=0.4).table["worst"] < 0).all()


def test_held_features_get_no_noise() -> None:
    only = LogisticRegression().fit(X[:, :1] / 3, DATA.target)

    def model(frame: pd.DataFrame) -> np.ndarray:
        return only.predict_proba(np.asarray(frame)[:, :1] / 3)

    black = cp.Function(model, labels=[0, 1])
    explanation = cp.explain(black, FRAME, reference=pd.DataFrame(X, columns=FRAME.columns), target=[0, 1][:1])
    assert explanation.valid.all()
    kwargs = {"noise": 1.0, "copies": 200}
    assert (robustness(explanation, black, **kwargs).table["kept"] < 1).any()
    held = cp.explain(
        black, FRAME, reference=pd.DataFrame(X, columns=FRAME.columns), target=[1], constraints=[cp.Immutable("f0")]
    )
    kept = robustness(held, black, **kwargs).table["kept"]
    assert (kept[held.valid] == 1).all()


def test_the_shortest_subgradient_vanishes_at_the_optimum_and_not_elsewhere() -> None:
    best = cp.explain(LOGISTIC, X[:8], reference=X, bounds=None, lam=0.0)
    at = stability(best, LOGISTIC, weights=None).table
    assert at["slope"].median() < 0.05
    aside = stability(deep(), LOGISTIC).table
    np.testing.assert_allclose(aside["slope"], 1.0, atol=1e-3)  # inside the target only the distance pulls
    assert (at["gradient"] <= at["lipschitz"]).all()


def test_at_a_kinked_optimum_the_penalty_of_unchanged_features_takes_up_the_slope() -> None:
    explanation = cp.explain(LOGISTIC, X[:8], reference=X, bounds=None, distance="l1", lam=0.5)
    changed = (explanation.x != explanation.x0).sum(axis=1)
    assert changed.min() < 4
    assert stability(explanation, LOGISTIC).table["slope"].median() < 0.2


@pytest.mark.parametrize("model", [LOGISTIC, FOREST], ids=["logistic", "forest"])
def test_no_curvature_exceeds_what_a_cloud_can_have(model: Any) -> None:
    explanation = cp.explain(model, X[:6], reference=X)
    for T, sigma in ((0.1, 0.1), (0.5, 0.3)):
        table = stability(explanation, model, T=T, sigma=sigma).table
        assert (table["curvature"] <= T / sigma**2 + 1e-9).all()
        assert np.isfinite(table.drop(columns="slope").to_numpy(dtype=float)).all()


def test_for_trees_the_slope_is_not_applicable_and_the_cloud_answers() -> None:
    explanation = cp.explain(FOREST, X[:6], reference=X)
    found = stability(explanation, FOREST)
    assert not found.has_gradient
    assert found.table["slope"].isna().all()
    assert "not applicable" in repr(found)
    assert (found.table["gradient"] > 0).all()
    lost = robustness(explanation, FOREST, xi=0.5, noise=0.2)
    assert (lost.table["worst"] < 0).mean() > 0.5
    assert "6 answers" in repr(lost)


def test_rows_without_an_answer_are_left_out_and_the_index_is_kept() -> None:
    frame = pd.DataFrame(X, columns=FRAME.columns)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, DATA.target)
    words = [cp.Mutable("f0"), cp.Range("f0", 8, None)]
    explanation = cp.explain(model, FRAME, reference=frame, constraints=words)
    assert 0 < explanation.valid.sum() < 8
    table = robustness(explanation, model).table
    assert table.index.tolist() == list("abcdefgh")
    np.testing.assert_array_equal(table["kept"].isna(), ~explanation.valid)


def test_several_targets_in_one_explanation() -> None:
    iris = load_iris()
    model = LogisticRegression(max_iter=500).fit(iris.data, iris.target)
    rows = iris.data[[0, 60, 120]]
    explanation = cp.explain(model, rows, reference=iris.data)
    together = robustness(explanation, model, noise=0.1).table
    for row in range(3):
        alone = robustness(explanation[row], model, noise=0.1).table
        np.testing.assert_allclose(together.iloc[[row]], alone, rtol=1e-6, atol=1e-9)
    one = cp.explain(model, rows[:2], reference=iris.data, target=np.array([1, 2]))
    assert np.isfinite(stability(one, model).table["gradient"]).all()


def test_a_number_in_a_range_can_be_checked() -> None:
    model = LinearRegression().fit(X, X @ np.arange(6.0))
    explanation = cp.explain(model, X[:3], reference=X, target=(1000, 2000))
    table = robustness(explanation, model, noise=0.1).table
    assert ((table["kept"] > 0.2) & (table["kept"] < 0.9)).all()


def test_noise_is_calibrated_where_there_is_a_reference() -> None:
    explanation = cp.explain(FOREST, X[:3], reference=X)
    plain = robustness(explanation, FOREST)
    assert plain.noise.startswith("Gaussian(sigma=0.2")
    calibrated = robustness(explanation, FOREST, reference=X)
    assert calibrated.noise.startswith("rank noise")
    given = robustness(explanation, FOREST, reference=X, noise=RankNoise(0.02))
    assert "RankNoise(level=0.02" in given.noise
    same = robustness(explanation, FOREST, noise=Gaussian(0.2))
    pd.testing.assert_frame_equal(same.table, plain.table)


def test_one_answer_reads_as_a_sentence() -> None:
    said = repr(robustness(deep()[0], LOGISTIC, noise=0.1))
    assert said.startswith("kept in ")
    assert "of 1000 noisy copies" in said
    assert "T = 0.1" in repr(stability(deep()[0], LOGISTIC))


def test_without_an_answer_there_is_nothing_to_check() -> None:
    words = [cp.Mutable("f4"), cp.Range("f4", 0.11, 0.12)]
    explanation = cp.explain(LOGISTIC, X[:1], reference=X, constraints=words)
    assert not explanation.valid.any()
    with pytest.raises(InputError, match="answer to check"):
        robustness(explanation, LOGISTIC)


@pytest.mark.parametrize(
    ("check", "settings"),
    [
        (robustness, {"xi": 0}),
        (robustness, {"noise": "loud"}),
        (robustness, {"noise": RankNoise(0.1)}),
        (robustness, {"copies": 0}),
        (stability, {"T": 0}),
        (stability, {"sigma": -1}),
        (stability, {"samples": 1}),
    ],
)
def test_wrong_questions(check: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        check(deep()[0], LOGISTIC, **settings)
