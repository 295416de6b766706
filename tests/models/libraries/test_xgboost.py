"""XGBoost: margins to the bit, native categories, boosters without an estimator around them."""

from typing import Any

import numpy as np
import pytest
import xgboost

from counterpoise.errors import InputError
from counterpoise.models.registry import as_model
from counterpoise.models.trees.opened import TreeModel
from counterpoise.space.schema.schema import Schema
from edges import KINDS, check_bits, edge_rows, schema_and_rows, table, target

few: dict[str, Any] = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1}


def fitted(frame: Any, kind: str, **settings: Any) -> Any:
    make = xgboost.XGBRegressor if kind == "numbers" else xgboost.XGBClassifier
    return make(enable_categorical=True, **{**few, **settings}).fit(frame, target(frame, kind))


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
    found = as_model(model.get_booster() if bare else model, schema, x[:20])
    assert isinstance(found, TreeModel)
    rows = edge_rows(found, schema, x)
    check_bits(found, rows)
    np.testing.assert_array_equal(found.trees.outputs(rows), found.outputs(rows))


@pytest.mark.parametrize("seed", range(6))
def test_the_starting_margin_is_the_librarys_to_the_bit(seed: int) -> None:
    frame = table(seed=seed)
    schema, x = schema_and_rows(frame)
    share = np.random.default_rng(seed).uniform(0.1, 0.9)
    labels = (frame["age"] > np.quantile(frame["age"], share)).astype(int)
    found = as_model(xgboost.XGBClassifier(**few).fit(frame, labels), schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x, 2000))


@pytest.mark.parametrize(
    "settings",
    [
        {"booster": "dart", "rate_drop": 0.5},
        {"num_parallel_tree": 3, "subsample": 0.7},
        {"objective": "binary:hinge"},
        {"objective": "binary:logistic", "scale_pos_weight": 3.0},
    ],
    ids=["dart", "forest", "hinge", "weighted"],
)
def test_other_ways_of_boosting_are_read_as_well(settings: dict[str, Any]) -> None:
    frame = table(missing=True)
    schema, x = schema_and_rows(frame)
    found = as_model(fitted(frame, "binary", **settings), schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


def test_rounds_after_the_best_are_not_read() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    labels = target(frame, "binary")
    model = xgboost.XGBClassifier(early_stopping_rounds=2, **{**few, "n_estimators": 60})
    model.fit(frame[:200], labels[:200], eval_set=[(frame[200:], labels[200:])], verbose=False)
    found = as_model(model, schema, x[:20])
    assert isinstance(found, TreeModel)
    assert len(found.trees.roots) == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    check_bits(found, edge_rows(found, schema, x))


@pytest.mark.parametrize("objective", ["count:poisson", "reg:gamma", "reg:logistic"])
def test_predictions_come_out_on_their_own_scale(objective: str) -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    wanted = target(frame, "numbers")
    model = xgboost.XGBRegressor(objective=objective, **few).fit(frame, wanted / wanted.max())
    found = as_model(model, schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


def test_probabilities_are_the_models_own() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    model = fitted(frame, "binary")
    for given in (model, model.get_booster()):
        found = as_model(given, schema, x[:20])
        assert found.labels == (0, 1)
        assert found.link == "identity"
        np.testing.assert_allclose(found.probabilities(x), model.predict_proba(frame), rtol=1e-6)


def test_a_booster_of_plain_classes_says_the_likeliest() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    data = xgboost.DMatrix(frame, target(frame, "classes"))
    booster = xgboost.train({"objective": "multi:softmax", "num_class": 3, "nthread": 1}, data, 5)
    found = as_model(booster, schema, x[:20])
    assert found.labels == (0, 1, 2)
    np.testing.assert_array_equal(found.predict(x), booster.predict(data).astype(int))


def test_categories_are_known_by_name_not_by_place() -> None:
    frame = table(categories=True)
    model = fitted(frame, "binary")
    turned = frame.assign(service=frame["service"].cat.set_categories(list("tuvwxyz")))
    schema, x = schema_and_rows(turned)
    np.testing.assert_array_equal(
        as_model(model, schema, x[:20]).outputs(x)[:, 1], model.predict(frame, output_margin=True)
    )


def test_a_category_that_the_model_does_not_know_is_refused() -> None:
    frame = table(categories=True)
    model = fitted(frame, "binary")
    other = frame.assign(service=frame["service"].cat.rename_categories({"u": "telnet"}))
    with pytest.raises(InputError, match="'telnet'"):
        as_model(model, Schema.infer(other))
    wider = frame.assign(service=frame["service"].cat.add_categories(["telnet"]))  # in no row
    schema, x = schema_and_rows(wider)
    assert isinstance(as_model(model, schema, x[:20]), TreeModel)


def test_a_reference_with_other_names_is_refused() -> None:
    frame = table()
    with pytest.raises(InputError, match="'age'"):
        as_model(fitted(frame, "binary"), Schema.infer(frame.rename(columns={"age": "years"})))


def test_what_is_not_trees_over_the_columns_has_no_thresholds() -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    labels = target(frame, "binary")
    line = xgboost.XGBClassifier(booster="gblinear", n_estimators=3, n_jobs=1).fit(frame, labels)
    coded = xgboost.XGBClassifier(missing=0.0, **few).fit(frame, labels)
    for model in (line, coded):
        found = as_model(model, schema, x[:20])
        assert found.thresholds is None
        np.testing.assert_array_equal(found.outputs(x).argmax(axis=1), model.predict(frame))
    np.testing.assert_array_equal(found.outputs(x)[:, 1], coded.predict(frame, output_margin=True))


def test_an_estimator_must_be_fitted() -> None:
    schema, x = schema_and_rows(table())
    with pytest.raises(InputError, match="fitted"):
        as_model(xgboost.XGBClassifier(), schema, x[:20])
