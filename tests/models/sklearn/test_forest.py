"""scikit-learn's trees and forests: the scores are its own to the bit, without its overhead."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from counterpoise.errors import InputError
from counterpoise.models.registry import as_model
from counterpoise.models.sklearn import forest
from counterpoise.models.trees.opened import TreeModel
from counterpoise.space.schema.schema import Schema
from edges import check_bits, edge_rows, schema_and_rows, table, target

PLAIN, HOLES = table(), table(missing=True)
few = {"n_estimators": 7, "random_state": 0}
MODELS = [
    (DecisionTreeClassifier(random_state=0), "classes"),
    (ExtraTreeClassifier(random_state=0), "binary"),
    (DecisionTreeRegressor(random_state=0), "numbers"),
    (RandomForestClassifier(**few), "binary"),
    (RandomForestClassifier(**few), "classes"),
    (RandomForestRegressor(**few), "numbers"),
    (ExtraTreesClassifier(**few), "classes"),
    (BaggingClassifier(DecisionTreeClassifier(), max_features=0.6, **few), "classes"),
    (BaggingRegressor(**few), "numbers"),
    (GradientBoostingClassifier(**few), "binary"),
    (GradientBoostingClassifier(init="zero", **few), "classes"),
    (GradientBoostingRegressor(**few), "numbers"),
    (IsolationForest(max_features=2, **few), "binary"),
]


def adapted(model: Any, frame: Any) -> TreeModel:
    schema, x = schema_and_rows(frame)
    found = as_model(model, schema, x[:20])
    assert isinstance(found, TreeModel)
    return found


@pytest.mark.parametrize(("model", "kind"), MODELS, ids=lambda value: getattr(value, "__class__", value).__name__)
def test_scores_and_decisions_are_the_librarys_to_the_bit(model: Any, kind: str) -> None:
    schema, x = schema_and_rows(PLAIN)
    found = adapted(model.fit(PLAIN, target(PLAIN, kind)), PLAIN)
    assert found.fast_outputs == found.trees.outputs
    check_bits(found, edge_rows(found, schema, x))


@pytest.mark.parametrize("model", [DecisionTreeClassifier(random_state=0), RandomForestClassifier(**few)])
def test_missing_cells_go_where_the_library_sends_them(model: Any) -> None:
    schema, x = schema_and_rows(HOLES)
    found = adapted(model.fit(HOLES, target(HOLES, "classes")), HOLES)
    check_bits(found, edge_rows(found, schema, x))


def test_a_forest_that_adds_up_in_parallel_is_the_same_up_to_rounding() -> None:
    schema, x = schema_and_rows(PLAIN)
    found = adapted(RandomForestClassifier(n_jobs=2, **few).fit(PLAIN, target(PLAIN, "classes")), PLAIN)
    rows = edge_rows(found, schema, x, 500)
    np.testing.assert_allclose(found.outputs(rows), found.own_model.outputs(rows), rtol=0, atol=1e-14)


def test_columns_may_stand_in_another_order() -> None:
    turned = PLAIN[PLAIN.columns[::-1]]
    model = RandomForestClassifier(**few).fit(turned, target(PLAIN, "binary"))
    schema, x = schema_and_rows(PLAIN)
    check_bits(adapted(model, PLAIN), edge_rows(adapted(model, PLAIN), schema, x))


def test_truth_values_and_numbered_categories_are_read_as_numbers() -> None:
    frame = PLAIN.assign(sure=PLAIN["age"] > 1, grade=PLAIN["packets"].mul(10).astype("category"))
    schema, x = schema_and_rows(frame)
    found = adapted(RandomForestClassifier(**few).fit(frame, target(PLAIN, "classes")), frame)
    check_bits(found, edge_rows(found, schema, x))
    assert [len(points) for points in found.thresholds[-2:]] == [0, 0]


def test_labels_and_probabilities_are_the_users_own() -> None:
    names = np.array(["scan", "benign", "flood"])[target(PLAIN, "classes")]
    model = RandomForestClassifier(**few).fit(PLAIN, names)
    found = adapted(model, PLAIN)
    _, x = schema_and_rows(PLAIN)
    assert found.labels == ("benign", "flood", "scan")
    assert found.link == "log"
    np.testing.assert_array_equal(found.probabilities(x), model.predict_proba(PLAIN))
    np.testing.assert_array_equal(found.predict(x), model.predict(PLAIN))


def test_boosting_gives_decision_values() -> None:
    found = adapted(GradientBoostingClassifier(**few).fit(PLAIN, target(PLAIN, "binary")), PLAIN)
    _, x = schema_and_rows(PLAIN)
    assert found.link == "identity"
    assert (found.outputs(x)[:, 0] == 0).all()


def test_an_isolation_forest_calls_a_score_of_zero_an_inlier() -> None:
    model = IsolationForest(**few).fit(PLAIN)
    _, x = schema_and_rows(PLAIN)
    model.offset_ = model.score_samples(PLAIN).min()
    found = adapted(model, PLAIN)
    np.testing.assert_array_equal(np.array(found.labels)[found.outputs(x).argmax(axis=1)], found.predict(x))
    assert (found.predict(x) == "inlier").all()


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(init=LogisticRegression(), **few),
        BaggingClassifier(LogisticRegression(), **few),
        LogisticRegression(),
    ],
    ids=["starts from another model", "bags of lines", "no trees"],
)
def test_what_is_not_trees_alone_is_not_called_so(model: Any) -> None:
    schema, x = schema_and_rows(PLAIN)
    model.fit(PLAIN, target(PLAIN, "binary"))
    assert not isinstance(forest.adapt(model, schema, x[:20]), TreeModel)


def test_a_reference_with_other_names_is_refused() -> None:
    model = RandomForestClassifier(**few).fit(PLAIN, target(PLAIN, "binary"))
    other = PLAIN.rename(columns={"age": "years"})
    with pytest.raises(InputError, match="'age'"):
        as_model(model, Schema.infer(other))
