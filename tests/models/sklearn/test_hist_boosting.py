"""Histogram boosting: native categories, missing cells, and scores that are the library's own to the bit."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from counterpoise.models.registry import as_model
from counterpoise.models.trees.opened import TreeModel
from counterpoise.space.schema.schema import Schema
from edges import KINDS, check_bits, edge_rows, schema_and_rows, table, target


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("categories", [False, True])
def test_scores_and_decisions_are_the_librarys_to_the_bit(kind: str, missing: bool, categories: bool) -> None:
    frame = table(missing=missing, categories=categories)
    schema, x = schema_and_rows(frame)
    make = HistGradientBoostingRegressor if kind == "numbers" else HistGradientBoostingClassifier
    model = make(max_iter=8, categorical_features="from_dtype").fit(frame, target(frame, kind))
    found = as_model(model, schema, x[:20])
    assert isinstance(found, TreeModel)
    assert found.fast_outputs == found.trees.outputs
    check_bits(found, edge_rows(found, schema, x))


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_counts_come_out_on_their_own_scale(loss: str) -> None:
    frame = table()
    schema, x = schema_and_rows(frame)
    model = HistGradientBoostingRegressor(loss=loss, max_iter=8).fit(frame, target(frame, "numbers"))
    found = as_model(model, schema, x[:20])
    assert isinstance(found, TreeModel)
    check_bits(found, edge_rows(found, schema, x))


def test_missing_categories_are_read_as_the_library_reads_them() -> None:
    frame = table(categories=True)
    frame.loc[::5, "service"] = np.nan
    schema, x = schema_and_rows(frame)
    model = HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype")
    found = as_model(model.fit(frame, target(frame, "classes")), schema, x[:20])
    assert isinstance(found, TreeModel)
    rows = edge_rows(found, schema, x)
    rows[::6, 1] = np.nan
    check_bits(found, rows)


def test_a_frame_whose_categories_are_listed_otherwise_is_the_same_frame() -> None:
    frame = table(categories=True)
    model = HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype")
    model.fit(frame, target(frame, "binary"))
    other = frame.assign(service=frame["service"].cat.set_categories(list("uvwxyz")))
    schema, x = schema_and_rows(other)
    found = as_model(model, schema, x[:20])
    assert isinstance(found, TreeModel)
    np.testing.assert_array_equal(found.outputs(x)[:, 1], model.decision_function(frame))


def test_categories_in_an_array_are_its_whole_numbers() -> None:
    rng = np.random.default_rng(0)
    array = np.column_stack([rng.normal(size=300), rng.integers(0, 5, 300).astype(float)])
    wanted = (array[:, 0] > 0) ^ np.isin(array[:, 1], [1, 4])
    model = HistGradientBoostingClassifier(max_iter=8, categorical_features=[1]).fit(array, wanted)
    found = as_model(model, Schema.infer(array), array[:20])
    assert isinstance(found, TreeModel)
    assert not len(found.thresholds[1])
    check_bits(found, array)


def test_numbers_that_are_not_counted_from_zero_are_left_to_the_library() -> None:
    rng = np.random.default_rng(0)
    array = np.column_stack([rng.normal(size=300), rng.choice([10.0, 25.0, 31.0], 300)])
    model = HistGradientBoostingClassifier(max_iter=8, categorical_features=[1]).fit(array, array[:, 1] == 25)
    found = as_model(model, Schema.infer(array), array[:20])
    assert not isinstance(found, TreeModel)
    np.testing.assert_array_equal(found.outputs(array)[:, 1], model.decision_function(array))
