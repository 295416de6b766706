"""CatBoost: raw values to the bit where it splits numbers, its own methods where it has statistics of categories."""

from typing import Any

import catboost
import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.models.registry import as_model
from counterpoise.models.trees.opened import TreeModel
from edges import KINDS, check_bits, edge_rows, schema_and_rows, table, target

few: dict[str, Any] = {
    "iterations": 8, "depth": 4, "verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 0,
}  # fmt: skip


def fitted(frame: Any, kind: str, **settings: Any) -> Any:
    make = catboost.CatBoostRegressor if kind == "numbers" else catboost.CatBoostClassifier
    return make(**{**few, **settings}).fit(frame, target(frame, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_scores_and_decisions_are_the_librarys_to_the_bit(kind: str, missing: bool, policy: str) -> None:
    frame = table(missing=missing)
    schema, x = schema_and_rows(frame)
    found = as_model(fitted(frame, kind, grow_policy=policy), schema, x[:20])
    assert isinstance(found, TreeModel)
    rows = edge_rows(found, schema, x)
    check_bits(found, rows)
    np.testing.assert_array_equal(found.trees.outputs(rows), found.outputs(rows))


@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_missing_cells_are_below_or_above_all(mode: str) -> None:
    frame = table(missing=True)
    schema, x = schema_and_rows(frame)
    found = as_model(fitted(frame, "binary", nan_mode=mode), schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


def test_counts_come_out_on_their_own_scale() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    found = as_model(fitted(frame, "numbers", loss_function="Poisson"), schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hot", [2, 20], ids=["statistics", "one at a time"])
def test_splits_by_category_are_left_to_the_library(kind: str, hot: int) -> None:
    frame = table(categories=True)
    schema, x = schema_and_rows(frame)
    model = fitted(frame, kind, cat_features=["service", "state"], one_hot_max_size=hot)
    found = as_model(model, schema, x[:20])
    assert not isinstance(found, TreeModel)
    assert found.thresholds is None
    np.testing.assert_array_equal(found.predict(x), model.predict(frame).reshape(-1))
    if kind != "numbers":
        np.testing.assert_array_equal(np.array(found.labels)[found.outputs(x).argmax(axis=1)], found.predict(x))


def test_labels_and_probabilities_are_the_models_own() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    names = np.array(["scan", "benign", "flood"])[target(frame, "classes")]
    model = catboost.CatBoostClassifier(**few).fit(frame, names)
    found = as_model(model, schema, x[:20])
    assert found.labels == ("benign", "flood", "scan")
    assert found.link == "identity"
    np.testing.assert_array_equal(found.predict(x), model.predict(frame).reshape(-1))
    np.testing.assert_array_equal(found.probabilities(x), model.predict_proba(frame))


def test_a_threshold_of_the_users_own_is_respected() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    model = fitted(frame, "binary")
    model.set_probability_threshold(0.8)
    found = as_model(model, schema, x[:20])
    np.testing.assert_array_equal(np.array(found.labels)[found.outputs(x).argmax(axis=1)], model.predict(frame))


def test_a_model_must_be_fitted() -> None:
    schema, x = schema_and_rows(table())
    with pytest.raises(InputError, match="fitted"):
        as_model(catboost.CatBoostClassifier(), schema, x[:20])
