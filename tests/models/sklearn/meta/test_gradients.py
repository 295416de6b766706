"""Models made of models with slopes: the whole has the slopes that differences show, and repeats the model."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import counterpoise as cp
from counterpoise.models.registry import as_model
from counterpoise.models.sklearn.meta.gradients import DifferentiableMetaModel
from slopes import BINARY, NETWORKS, SCHEMA, THREE, X, check_gradient, fitted

SMOOTH = [("a", LogisticRegression()), ("b", GaussianNB()), ("c", make_pipeline(StandardScaler(), NETWORKS[2]))]
WHOLES = [
    VotingClassifier(SMOOTH, voting="soft", weights=[1, 2, 3]),
    StackingClassifier(SMOOTH, LogisticRegression()),
    StackingClassifier(SMOOTH, SVC()),
    CalibratedClassifierCV(make_pipeline(StandardScaler(), LinearSVC())),
    CalibratedClassifierCV(GaussianNB(), ensemble=False),
    OneVsRestClassifier(make_pipeline(StandardScaler(), SVC())),
    OneVsRestClassifier(GaussianNB()),
]


@pytest.mark.parametrize("classes", ["two", "three"])
@pytest.mark.parametrize("own", WHOLES, ids=lambda own: type(own).__name__)
def test_the_whole_has_the_slopes_that_differences_show(own, classes: str) -> None:
    fitted(own, BINARY if classes == "two" else THREE)
    model = as_model(own, SCHEMA, X)
    assert isinstance(model, DifferentiableMetaModel)
    check_gradient(model, X)
    rows = X[::-1] + 0.5
    assert np.array_equal(np.array(model.labels)[model.outputs(rows).argmax(1)], own.predict(rows))
    if hasattr(own, "predict_proba"):
        np.testing.assert_array_equal(model.probabilities(rows), own.predict_proba(rows))
    found = cp.explain(own, rows[:5], reference=X, bounds=None)
    np.testing.assert_array_equal(found.scores["after"].to_numpy() != found.scores["before"].to_numpy(), found.valid)
    assert found.valid.all()


def test_a_threshold_and_numbers_have_slopes() -> None:
    line = make_pipeline(StandardScaler(), LogisticRegression())
    at = fitted(FixedThresholdClassifier(line, threshold=0.3), BINARY)
    check_gradient(as_model(at, SCHEMA, X), X)
    for own in (
        VotingRegressor([("a", LinearRegression()), ("b", make_pipeline(StandardScaler(), SVR()))]),
        TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
    ):
        model = as_model(fitted(own, np.exp(X[:, 0] / 3)), SCHEMA, X)
        assert isinstance(model, DifferentiableMetaModel)
        check_gradient(model, X)
        np.testing.assert_allclose(model.outputs(X)[:, 0], own.predict(X), rtol=1e-12)


def test_what_has_no_slope_in_part_has_none() -> None:
    trees = [*SMOOTH, ("d", RandomForestClassifier(5, random_state=0))]
    for own in (
        VotingClassifier(trees, voting="soft"),
        VotingClassifier(SMOOTH, voting="hard"),
        CalibratedClassifierCV(LogisticRegression(), method="isotonic"),
        StackingClassifier(SMOOTH, RandomForestClassifier(5, random_state=0)),
    ):
        model = as_model(fitted(own, BINARY), SCHEMA, X)
        assert model.gradient is None
        assert np.array_equal(np.array(model.labels)[model.outputs(X).argmax(1)], own.predict(X))


def test_steps_of_a_transformed_target_are_no_slope() -> None:
    own = TransformedTargetRegressor(Ridge(), transformer=KBinsDiscretizer(5, encode="ordinal", strategy="uniform"))
    assert as_model(fitted(own, X[:, 0]), SCHEMA, X).gradient is None


def test_a_machine_of_many_classes_is_not_taken_for_its_votes() -> None:
    own = fitted(CalibratedClassifierCV(SVC(), ensemble=False), THREE)
    assert not isinstance(
        as_model(own, SCHEMA, X), DifferentiableMetaModel
    )  # its scores are, and where votes tie they are others
