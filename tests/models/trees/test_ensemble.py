"""The common form of trees: split points to the last bit, boxes that tile the space, constancy between split points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from counterpoise.models.registry import as_model
from counterpoise.models.trees.nodes import largest_left, largest_rounded_at_most
from counterpoise.models.trees.opened import TreeModel
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array
from edges import edge_rows, schema_and_rows, table, target

FRAME = table(missing=True, categories=True)
SCHEMA, X = schema_and_rows(FRAME)
MODEL = as_model(
    HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype").fit(FRAME, target(FRAME, "classes")),
    SCHEMA,
    X[:20],
)
assert isinstance(MODEL, TreeModel)

doubles = st.floats(allow_nan=False, allow_infinity=False)


@given(doubles, st.sampled_from([np.float16, np.float32, np.float64]))
def test_the_last_value_at_most_a_limit_is_the_last(limit: float, kind: type) -> None:
    with np.errstate(over="ignore"):
        found = largest_rounded_at_most(np.array([limit]), np.dtype(kind))
        assert float(found.astype(kind)[0]) <= limit
        assert float(np.nextafter(found, np.inf).astype(kind)[0]) > limit


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.booleans(), st.booleans())
def test_either_side_of_a_split_point_is_one_float_apart(threshold: float, strict: bool, single: bool) -> None:
    def goes_left(value: Array) -> bool:
        with np.errstate(over="ignore"):
            read = value.astype(np.float32) if single else value
        return bool(read[0] < threshold if strict else read[0] <= threshold)

    found = largest_left(np.array([threshold]), strict=strict, single=single)
    if np.isfinite(found[0]):
        assert goes_left(found)
        assert not goes_left(np.nextafter(found, np.inf))


def test_a_model_of_trees_says_that_it_is_constant_on_boxes() -> None:
    assert MODEL.thresholds is not None
    for feature, points in zip(SCHEMA, MODEL.thresholds, strict=True):
        assert np.isfinite(points).all()
        assert (np.diff(points) > 0).all()
        assert feature.is_numeric or not len(points)


@given(st.integers(0, 2**32 - 1))
def test_nothing_happens_between_two_split_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = X[rng.integers(0, len(X), 1)]
    moved = x.copy()
    for place, points in enumerate(MODEL.thresholds):
        if SCHEMA.features[place].kind == "continuous" and not np.isnan(x[0, place]):
            low = np.searchsorted(points, x[0, place])
            left = np.nextafter(points[low - 1], np.inf) if low else x[0, place] - 1.0
            right = points[low] if low < len(points) else x[0, place] + 1.0
            moved[0, place] = rng.choice([left, right])
    np.testing.assert_array_equal(MODEL.outputs(moved), MODEL.outputs(x))


def test_the_leaves_of_a_tree_tile_the_space_and_hold_its_values() -> None:
    trees = MODEL.trees
    rows = edge_rows(MODEL, SCHEMA, X, 500)
    sums = np.tile(trees.base, (len(rows), 1))
    for number, column in enumerate(trees.first_sum):
        boxes = trees.boxes(number)
        gone = np.isnan(rows)[:, None, :]
        with np.errstate(invalid="ignore"):
            inside = (rows[:, None, :] > boxes.lower) & (rows[:, None, :] <= boxes.upper)
        inside = np.where(gone, boxes.allows_missing, inside)
        for place, levels in boxes.levels.items():
            codes = np.where(np.isnan(rows[:, place]), levels.shape[1] - 1, rows[:, place]).astype(int)
            inside[:, :, place] = levels[:, codes].T
        here = inside.all(axis=2)
        assert (here.sum(axis=1) == 1).all()
        sums[:, column] += boxes.value[here.argmax(axis=1), 0]
    np.testing.assert_array_equal(sums, trees.sums(rows))


def test_a_split_by_category_is_a_set_of_codes() -> None:
    assert set(MODEL.trees.boxes(0).levels) | set(MODEL.trees.boxes(1).levels) <= {1, 5}
    assert (MODEL.trees.category >= 0).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_reference_in_single_precision_moves_the_split_points(dtype: type) -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(size=(200, 3)).astype(dtype)
    model = HistGradientBoostingClassifier(max_iter=5).fit(array, array[:, 0] > array[:, 1])
    schema, x = Schema.infer(array), array.astype(np.float64)
    found = as_model(model, schema, x[:20])
    assert isinstance(found, TreeModel)
    rows = edge_rows(found, schema, x)
    np.testing.assert_array_equal(found.outputs(rows), found.own_model.outputs(rows))


def test_trees_without_a_split_have_no_split_points() -> None:
    array = np.arange(20.0).reshape(10, 2)
    model = RandomForestClassifier(3, max_depth=1, min_samples_leaf=10).fit(array, [0, 1] * 5)
    found = as_model(model, Schema.infer(array), array)
    assert isinstance(found, TreeModel)
    assert [len(points) for points in found.thresholds] == [0, 0]
    np.testing.assert_array_equal(found.outputs(array), model.predict_proba(array))
    np.testing.assert_array_equal(found.trees.boxes(0).upper, [[np.inf, np.inf]])
