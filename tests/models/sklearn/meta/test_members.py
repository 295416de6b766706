"""Models made of models: where their members are trees, the trees are known, and say what the whole says."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.models.registry import as_model
from counterpoise.models.trees.opened import TreeModel
from counterpoise.space.schema.schema import Schema

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(240, 4)), columns=["rate", "load", "size", "age"])
SUM = TABLE["rate"] + TABLE["load"] * TABLE["size"]
TWO = np.where(SUM > 0, "alert", "benign")
THREE = np.select([SUM > 0.7, SUM < -0.7], ["alert", "benign"], "watch")
MIXED = TABLE.assign(proto=RNG.choice(["tcp", "udp", "icmp"], 240))


def forest(trees: int = 8) -> RandomForestClassifier:
    return RandomForestClassifier(trees, max_depth=5, random_state=0)


def boosted() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=8, random_state=0)


def both() -> list[tuple[str, object]]:
    return [("forest", forest()), ("boosted", boosted())]


def numbers() -> list[tuple[str, object]]:
    return [
        ("forest", RandomForestRegressor(6, random_state=0)),
        ("boosted", HistGradientBoostingRegressor(max_iter=6)),
    ]


CLASSIFIERS = {
    "voting": lambda: VotingClassifier(both(), voting="soft"),
    "weighted votes": lambda: VotingClassifier([*both(), ("none", "drop")], voting="soft", weights=np.array([2, 1, 5])),
    "calibrated forest": lambda: CalibratedClassifierCV(forest(), cv=2),
    "calibrated in steps": lambda: CalibratedClassifierCV(boosted(), cv=2, method="isotonic"),
    "stacked": lambda: StackingClassifier(both(), final_estimator=LogisticRegression(), cv=2),
    "stacked under trees": lambda: StackingClassifier(both(), final_estimator=forest(4), cv=2),
    "one against the rest": lambda: OneVsRestClassifier(forest()),
    "one against the rest, boosted": lambda: OneVsRestClassifier(boosted()),
    "adaboost": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, random_state=0),
}
OF_TWO = {
    "threshold": lambda: FixedThresholdClassifier(forest(), threshold=0.3),
    "threshold that votes meet": lambda: FixedThresholdClassifier(
        RandomForestClassifier(20, random_state=0), threshold=0.4
    ),
    "threshold of the first class": lambda: FixedThresholdClassifier(boosted(), threshold=0.7, pos_label="alert"),
    "threshold of decision values": lambda: FixedThresholdClassifier(
        boosted(), threshold=0.4, pos_label="alert", response_method="decision_function"
    ),
    "tuned": lambda: TunedThresholdClassifierCV(
        forest(), cv=2, scoring=make_scorer(f1_score, pos_label="alert"), random_state=0
    ),
}
REGRESSORS = {
    "voting": lambda: VotingRegressor(numbers()),
    "stacked": lambda: StackingRegressor(numbers(), cv=2),
    "transformed": lambda: TransformedTargetRegressor(numbers()[0][1], func=np.arcsinh, inverse_func=np.sinh),
}


@pytest.mark.parametrize(
    ("kind", "wanted"), [*((k, w) for k in CLASSIFIERS for w in ("two", "three")), *((k, "two") for k in OF_TWO)]
)
def test_the_trees_say_what_the_classifier_says(kind: str, wanted: str) -> None:
    model = (CLASSIFIERS | OF_TWO)[kind]().fit(TABLE, TWO if wanted == "two" else THREE)
    schema = Schema.infer(TABLE)
    x = TABLE.to_numpy()
    found = as_model(model, schema, x[:30])
    assert isinstance(found, TreeModel)
    np.testing.assert_allclose(found.trees.outputs(x), found.own_model.outputs(x), rtol=1e-9, atol=1e-9)
    more = RNG.normal(size=(2000, 4))  # among them, shares of votes that are a threshold
    said = np.array(found.labels)[found.outputs(more).argmax(axis=1)]
    assert np.array_equal(said, model.predict(pd.DataFrame(more, columns=TABLE.columns)))
    assert found.leaves is not None
    explanation = cp.explain(model, TABLE[:4], reference=TABLE)
    assert explanation.valid.all()
    assert (model.predict(explanation.frame) != model.predict(TABLE[:4])).all()


@pytest.mark.parametrize("kind", REGRESSORS)
def test_the_trees_say_what_the_regressor_says(kind: str) -> None:
    model = REGRESSORS[kind]().fit(TABLE, SUM)
    x = TABLE.to_numpy()
    found = as_model(model, Schema.infer(TABLE), x[:30])
    assert isinstance(found, TreeModel)
    np.testing.assert_allclose(found.trees.outputs(x)[:, 0], model.predict(TABLE), rtol=1e-9, atol=1e-9)
    explanation = cp.explain(model, TABLE[:3], reference=TABLE, target=(1.0, None))
    assert (model.predict(explanation.frame)[explanation.valid] >= 1.0).all()
    assert explanation.valid.all()


def test_members_behind_an_encoder_are_opened_in_the_rows_own_columns() -> None:
    encoder = make_column_transformer((OneHotEncoder(), ["proto"]), remainder="passthrough")
    said = np.where((SUM > 0) | (MIXED["proto"] == "udp"), "alert", "benign")
    model = CalibratedClassifierCV(make_pipeline(encoder, forest()), cv=2).fit(MIXED, said)
    explainer = cp.Explainer(model, reference=MIXED)
    found = explainer(MIXED[:5])
    assert found.valid.all()
    assert found.model_rows < 5 * 1500, "the leaves are read, not asked for"
    again = pickle.loads(pickle.dumps(explainer))(MIXED[:5])
    pd.testing.assert_frame_equal(again.frame, found.frame)


@pytest.mark.parametrize("last", [forest(), LogisticRegression()], ids=["forest", "line"])
def test_a_threshold_at_the_end_of_a_pipeline_is_searched_by_what_is_beyond_it(last: object) -> None:
    model = make_pipeline(StandardScaler(), FixedThresholdClassifier(last, threshold=0.2)).fit(TABLE, TWO)
    x = TABLE.to_numpy()
    found = as_model(model, Schema.infer(TABLE), x[:30])
    assert isinstance(found, TreeModel) == isinstance(last, RandomForestClassifier)
    chance = model[-1].predict_proba(model[:-1].transform(TABLE))[:, 1]
    outputs = found.outputs(x)
    np.testing.assert_allclose(outputs[:, 1] - outputs[:, 0], chance - 0.2, atol=1e-12)
    assert np.array_equal(np.array(found.labels)[outputs.argmax(axis=1)], model.predict(TABLE))


def test_rows_that_no_member_claims_have_no_chances() -> None:
    model = OneVsRestClassifier(DecisionTreeClassifier(random_state=0)).fit(TABLE, THREE)
    more = pd.DataFrame(RNG.normal(size=(2000, 4)), columns=TABLE.columns)
    odd = more[model.predict_proba(more).sum(axis=1) == 0]
    assert len(odd)
    found = as_model(model, Schema.infer(TABLE), TABLE.to_numpy()[:30])
    assert isinstance(found, TreeModel)
    assert (found.outputs(odd.to_numpy()) == 0).all()
    assert cp.explain(model, odd[:3], reference=TABLE, target="watch").valid.all()


def test_a_frozen_member_is_the_one_inside() -> None:
    model = CalibratedClassifierCV(FrozenEstimator(forest().fit(TABLE, TWO))).fit(TABLE, TWO)
    assert isinstance(as_model(model, Schema.infer(TABLE), TABLE.to_numpy()[:30]), TreeModel)


@pytest.mark.parametrize(
    "model",
    [
        VotingClassifier(both()),  # votes, not probabilities
        VotingClassifier([*both(), ("line", LogisticRegression())], voting="soft"),
        StackingClassifier(both(), passthrough=True, cv=2),
        StackingClassifier(both(), stack_method="predict", cv=2),
        CalibratedClassifierCV(LogisticRegression(), cv=2),
        FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_not_trees_alone_is_asked_itself(model: object) -> None:
    fitted = model.fit(TABLE, TWO)  # type: ignore[attr-defined]
    x = TABLE.to_numpy()
    found = as_model(fitted, Schema.infer(TABLE), x[:30])
    assert not isinstance(found, TreeModel)
    assert np.array_equal(np.array(found.labels)[found.outputs(x).argmax(axis=1)], fitted.predict(TABLE))


@pytest.mark.parametrize("name", ["StackingClassifier", "VotingClassifier", "FixedThresholdClassifier"])
def test_a_model_of_the_users_own_with_the_same_name_is_asked_itself(name: str) -> None:
    class Own(ClassifierMixin, BaseEstimator):
        def fit(self, x: object, y: np.ndarray) -> Own:
            self.classes_, self.inner_ = np.unique(y), forest().fit(x, y)
            return self

        def predict(self, x: object) -> np.ndarray:
            return self.inner_.predict(x)

    Own.__name__ = name
    assert cp.explain(Own().fit(TABLE, TWO), TABLE[:2], reference=TABLE).valid.all()
