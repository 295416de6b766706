"""A model asked for its probabilities: outputs that a threshold can be held against."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

import counterpoise as cp
from counterpoise.errors import CapabilityError
from counterpoise.models.probability import ProbabilityModel, as_probability_model
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Schema

TRAIN = pd.DataFrame({"a": [0.0, 1.0, 2.5, 3.0]})
SAYS = ["no", "no", "yes", "yes"]
X = TRAIN.to_numpy()
WIDE = np.random.default_rng(0).normal(size=(90, 3))
THREE = np.digitize(WIDE[:, 0] + WIDE[:, 1] ** 2, [0.0, 1.2])


def test_outputs_are_the_users_own_probabilities():
    fitted = LogisticRegression().fit(TRAIN, SAYS)
    model = ProbabilityModel(as_model(fitted, Schema.infer(TRAIN), X))
    np.testing.assert_allclose(model.outputs(X), fitted.predict_proba(TRAIN))
    np.testing.assert_array_equal(model.outputs(X), model.probabilities(X))
    assert model.predict(X).tolist() == fitted.predict(TRAIN).tolist()
    assert model.labels == ("no", "yes")
    assert model.link == "log"


def test_a_model_without_probabilities_cannot_be_asked():
    model = ProbabilityModel(as_model(RidgeClassifier().fit(TRAIN, SAYS), Schema.infer(TRAIN), X))
    with pytest.raises(CapabilityError, match="needs a model with probabilities"):
        model.outputs(X)


SLOPED = {
    "logistic": LogisticRegression().fit(WIDE, THREE),
    "two classes": LogisticRegression().fit(WIDE, THREE > 0),
    "network": MLPClassifier((5,), activation="tanh", solver="lbfgs", random_state=0).fit(WIDE, THREE),
    "naive Bayes": GaussianNB().fit(WIDE, THREE),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(WIDE, THREE),
    "probabilities": cp.Function(
        lambda x: 1 / (1 + np.exp(-x[:, 0])),
        gradient=lambda x: np.outer(np.exp(-x[:, 0]) / (1 + np.exp(-x[:, 0])) ** 2, [1, 0, 0]),
        labels=["no", "yes"],
    ),
}


@pytest.mark.parametrize("name", SLOPED)
def test_slopes_of_probabilities_against_differences(name):
    model = as_probability_model(as_model(SLOPED[name], Schema.infer(WIDE), WIDE))
    assert model.gradient is not None
    rows, step = WIDE[:30], 1e-6
    weights = np.random.default_rng(1).normal(size=model.outputs(rows).shape)
    for column, move in enumerate(step * np.eye(3)):
        slope = (weights * (model.outputs(rows + move) - model.outputs(rows - move))).sum(1) / (2 * step)
        np.testing.assert_allclose(model.gradient(rows, weights)[:, column], slope, atol=1e-7)


def test_there_is_no_gradient_where_probabilities_have_none():
    forest = as_model(RandomForestClassifier(3, random_state=0).fit(WIDE, THREE), Schema.infer(WIDE), WIDE)
    machine = as_model(SVC().fit(WIDE, THREE), Schema.infer(WIDE), WIDE)
    assert machine.gradient is not None
    assert as_probability_model(machine).gradient is None
    assert as_probability_model(forest).gradient is None
    assert as_probability_model(machine).thresholds is None


@pytest.mark.parametrize("two", [True, False], ids=["two classes", "three"])
@pytest.mark.parametrize("kind", [HistGradientBoostingClassifier, GradientBoostingClassifier, XGBClassifier])
def test_leaves_of_boosted_trees_say_how_likely_a_class_is(kind: type, two: bool) -> None:
    fitted = kind(random_state=0).fit(WIDE, np.minimum(THREE, 1) if two else THREE)
    model = as_probability_model(as_model(fitted, Schema.infer(WIDE), WIDE[:30]))
    leaves = model.leaves
    sums = leaves.sums_at(leaves.find_cells(WIDE))
    np.testing.assert_allclose(leaves.to_outputs(sums), fitted.predict_proba(WIDE), atol=1e-6)
    found = cp.explain(fitted, WIDE[:5], reference=WIDE, target=1, threshold=0.8)
    assert (fitted.predict_proba(found.frame.to_numpy())[found.valid, 1] >= 0.8).all()
    assert found.valid.all()


def test_leaves_whose_sums_are_other_than_decision_values_are_not_taken_for_them() -> None:
    fitted = GradientBoostingClassifier(loss="exponential", random_state=0).fit(WIDE, np.minimum(THREE, 1))
    assert as_probability_model(as_model(fitted, Schema.infer(WIDE), WIDE[:30])).leaves is None


def test_trees_keep_their_split_points():
    forest = as_model(RandomForestClassifier(3, random_state=0).fit(WIDE, THREE), Schema.infer(WIDE), WIDE)
    assert as_probability_model(forest).thresholds is forest.thresholds


@pytest.mark.parametrize(
    "model", [SLOPED["logistic"], RandomForestClassifier(20, random_state=0).fit(WIDE, THREE)], ids=["smooth", "trees"]
)
def test_a_threshold_is_reached_by_the_users_own_probabilities(model):
    rows = WIDE[model.predict(WIDE) == 0][:3]
    e = cp.explain(model, rows, reference=WIDE, target=2, threshold=0.8)
    assert e.valid.all()
    assert (model.predict_proba(np.asarray(e.frame))[:, 2] >= 0.8).all()
