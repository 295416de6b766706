"""Every way to say a target, from the call to the verified answer; and labels come back as they are."""

import enum

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import counterpoise as cp

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(150, 3)), columns=["rate", "load", "size"])
NUMBER = (X["rate"] + 0.7 * X["load"]).to_numpy()
ANIMALS = np.array(["cat", "dog", "fox"])[np.digitize(NUMBER, [-0.4, 0.5])]
MODELS = {
    "smooth": LogisticRegression().fit(X, ANIMALS),
    "trees": RandomForestClassifier(15, random_state=0).fit(X, ANIMALS),
}


def asked(model, target, rows=X[:6], **settings):
    e = cp.explain(model, rows, reference=X, target=target, **settings)
    assert e.valid.all(), e.reason[~e.valid]
    return e, model.predict(e.frame)


@pytest.mark.parametrize("name", MODELS)
def test_classes(name):
    model = MODELS[name]
    before = model.predict(X[:6])
    e, after = asked(model, "opposite")
    assert (after != before).all()
    assert e.target.tolist() == [f"anything but {label}" for label in before]
    _, after = asked(model, "dog")
    assert (after == "dog").all()
    _, after = asked(model, ["cat", "fox"])
    assert np.isin(after, ["cat", "fox"]).all()
    _, after = asked(model, cp.AnythingBut("cat", "dog"))
    assert (after == "fox").all()
    wanted = np.array(["fox", "cat", "dog"] * 2)
    for each in (wanted, pd.Series(wanted)):
        e, after = asked(model, each)
        assert after.tolist() == e.target.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", ["fox", ["dog", "fox"]], ids=str)
def test_a_class_with_a_probability(name, target):
    e, _ = asked(MODELS[name], target, threshold=0.8)
    columns = np.isin(MODELS[name].classes_, target)
    likely = MODELS[name].predict_proba(e.frame)[:, columns].sum(1)
    assert (likely >= 0.8).all()
    np.testing.assert_allclose(e.scores["probability_after"], likely)


@pytest.mark.parametrize(
    "model",
    [LinearRegression().fit(X, NUMBER), RandomForestRegressor(15, random_state=0).fit(X, NUMBER)],
    ids=["smooth", "trees"],
)
@pytest.mark.parametrize("target", [(0.8, 1.2), (1.0, None), (None, -1.0), (0.9, np.inf)], ids=str)
def test_ranges_of_a_regression(model, target):
    e, after = asked(model, target)
    low, high = (-np.inf if target[0] is None else target[0]), (np.inf if target[1] is None else target[1])
    assert ((after >= low) & (after <= high)).all()
    np.testing.assert_allclose(e.scores["after"].astype(float), after)


def test_a_score_of_any_callable():
    def suspicion(frame):
        return 1 / (1 + np.exp(-2 * frame["rate"] - frame["load"]))

    e = cp.explain(suspicion, X[:4], reference=X, target=(0.9, None))
    assert e.valid.all()
    assert (suspicion(e.frame) >= 0.9).all()
    assert set(e.target) == {"at least 0.9"}


@pytest.mark.parametrize(
    "detector",
    [
        IsolationForest(random_state=0),
        OneClassSVM(nu=0.1),
        LocalOutlierFactor(novelty=True),
        EllipticEnvelope(random_state=0),
        make_pipeline(StandardScaler(), IsolationForest(random_state=0)),
    ],
    ids=lambda detector: type(detector).__name__,
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # when LocalOutlierFactor itself is asked
def test_outliers_become_inliers_and_back(detector):
    own = detector.fit(X)
    far = X[:3] + 7
    e = cp.explain(own, far, reference=X, target="inlier")
    assert e.valid.all()
    assert (own.predict(e.frame) == 1).all()
    assert e.scores["before"].tolist() == ["outlier"] * 3
    inliers = X[own.predict(X) == 1][:2]
    back = cp.explain(own, inliers, reference=pd.concat([X, far], ignore_index=True), target="outlier")
    assert back.valid.all()
    assert (own.predict(back.frame) == -1).all()


def test_an_outlier_detector_that_loses_its_names_is_explained_without_a_warning():
    assert cp.explain(LocalOutlierFactor(novelty=True).fit(X), X[:1] + 7, reference=X, target="inlier").valid.all()


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [0, 1], [-1, 1], [False, True], [1.0, 2.0], [10, 7]],
    ids=str,
)
@pytest.mark.parametrize("make", [LogisticRegression, lambda: RandomForestClassifier(5, random_state=0)])
def test_labels_come_back_as_they_are(labels, make):
    own = make().fit(X, np.array(labels)[(NUMBER > 0).astype(int)])
    rows = X[own.predict(X) == labels[0]][:2]
    e = cp.explain(own, rows, reference=X, target=labels[1])
    assert e.valid.all()
    for column, label in (("before", labels[0]), ("after", labels[1])):
        assert e.scores[column].tolist() == [label] * 2
        assert {type(value) for value in e.scores[column]} == {type(label)}
    assert {type(value) for value in e.target} == {type(labels[1])}


class Verdict(enum.Enum):
    BENIGN = "benign"
    ATTACK = "attack"


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (Verdict.BENIGN, Verdict.ATTACK),
        (("tcp", 80), ("udp", 53)),
        (pd.Timestamp("2024-01-01"), pd.Timestamp("2025-01-01")),
    ],
    ids=["enum", "tuples", "dates"],
)
def test_labels_of_a_callable_may_be_anything(low, high):
    def judge(frame):
        said = np.empty(len(frame), dtype=object)
        said[:] = [high if value > 0 else low for value in frame["rate"]]
        return said

    model = cp.Function(judge, labels=[low, high])
    rows = X[X["rate"] > 0][:2]
    for target in ("opposite", low):
        e = cp.explain(model, rows, reference=X, target=target)
        assert e.valid.all()
        assert e.scores["before"].tolist() == [high, high]
        assert e.scores["after"].tolist() == [low, low]
        assert (e.frame["rate"] <= 0).all()
