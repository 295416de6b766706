"""LightGBM: raw scores to the bit, native categories, boosters without an estimator around them."""

from typing import Any

import lightgbm
import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.models.registry import as_model
from counterpoise.models.trees.opened import TreeModel
from counterpoise.space.schema.schema import Schema
from edges import KINDS, check_bits, edge_rows, schema_and_rows, table, target

few: dict[str, Any] = {"n_estimators": 8, "num_leaves": 9, "n_jobs": 1, "verbose": -1}


def fitted(frame: Any, kind: str, **settings: Any) -> Any:
    make = lightgbm.LGBMRegressor if kind == "numbers" else lightgbm.LGBMClassifier
    return make(**{**few, **settings}).fit(frame, target(frame, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("bare", [False, True], ids=["estimator", "booster"])
def test_scores_and_decisions_are_the_librarys_to_the_bit(
    kind: str, missing: bool, categories: bool, bare: bool
) -> None:
    frame = table(missing=missing, categories=categories)
    schema, x = schema_and_rows(frame)
    model = fitted(frame, kind)
    found = as_model(model.booster_ if bare else model, schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


@pytest.mark.parametrize(
    "settings",
    [
        {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
        {"boosting_type": "dart"},
        {"objective": "multiclassova"},
    ],
    ids=["forest", "dart", "one against all"],
)
def test_other_ways_of_boosting_are_read_as_well(settings: dict[str, Any]) -> None:
    frame = table(missing=True)
    schema, x = schema_and_rows(frame)
    found = as_model(fitted(frame, "classes", **settings), schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


@pytest.mark.parametrize("objective", ["poisson", "gamma", "tweedie"])
def test_predictions_come_out_on_their_own_scale(objective: str) -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    found = as_model(fitted(frame, "numbers", objective=objective), schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


def test_a_forests_predictions_are_means() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    settings = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    found = as_model(fitted(frame, "numbers", **settings), schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


def test_values_next_to_zero_go_where_the_library_sends_them() -> None:
    rng = np.random.default_rng(0)
    array = np.where(rng.random((300, 2)) < 0.3, 0.0, rng.normal(size=(300, 2)))
    labels = (array[:, 0] > 0) ^ (array[:, 1] < 0)
    found = as_model(lightgbm.LGBMClassifier(**few).fit(array, labels), Schema.infer(array), array[:20])
    assert isinstance(found, TreeModel)
    near = np.concatenate([points[np.abs(points) < 1e-30] for points in found.thresholds])
    assert len(near), "LightGBM cuts beside zero"
    rows = np.tile(array[0], (6 * len(near), 1))
    rows[:, 0] = np.concatenate(
        [near, np.nextafter(near, np.inf), -near, np.nextafter(-near, np.inf), 0 * near, near / 2]
    )
    check_bits(found, rows)


def test_whole_numbers_may_be_categories() -> None:
    rng = np.random.default_rng(0)
    array = np.column_stack([rng.normal(size=300), rng.integers(0, 6, 300).astype(float)])
    labels = (array[:, 0] > 0) ^ np.isin(array[:, 1], [1, 4])
    model = lightgbm.LGBMClassifier(**few).fit(array, labels, categorical_feature=[1])
    found = as_model(model, Schema.infer(array), array[:20])
    assert isinstance(found, TreeModel)
    assert not len(found.thresholds[1])
    check_bits(found, np.repeat(array, 2, axis=0))


@pytest.mark.parametrize(
    "settings",
    [{"linear_tree": True}, {"zero_as_missing": True}],
    ids=["lines in the leaves", "zeros that are missing"],
)
def test_what_is_not_constant_on_boxes_has_no_thresholds(settings: dict[str, Any]) -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    model = fitted(frame, "binary", **settings)
    found = as_model(model, schema, x[:20])
    assert not isinstance(found, TreeModel)
    np.testing.assert_array_equal(found.outputs(x)[:, 1], model.predict(frame, raw_score=True))


def test_labels_and_probabilities_are_the_models_own() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    names = np.array(["benign", "scan"])[target(frame, "binary")]
    model = lightgbm.LGBMClassifier(**few).fit(frame, names)
    found = as_model(model, schema, x[:20])
    assert found.labels == ("benign", "scan")
    np.testing.assert_array_equal(found.predict(x), model.predict(frame))
    np.testing.assert_array_equal(found.probabilities(x), model.predict_proba(frame))
    booster = as_model(model.booster_, schema, x[:20])
    assert booster.labels == (0, 1)
    np.testing.assert_allclose(booster.probabilities(x), model.predict_proba(frame), rtol=1e-12)


def test_a_reference_with_other_names_or_another_width_is_refused() -> None:
    frame = table()
    model = fitted(frame, "binary")
    with pytest.raises(InputError, match="'age'"):
        as_model(model, Schema.infer(frame.rename(columns={"age": "years"})))
    with pytest.raises(InputError, match="4 columns"):
        as_model(model, Schema.infer(np.eye(3)))


def test_an_estimator_must_be_fitted() -> None:
    schema, x = schema_and_rows(table())
    with pytest.raises(InputError, match="fitted"):
        as_model(lightgbm.LGBMClassifier(), schema, x[:20])
