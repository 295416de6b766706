"""Trees behind scalers, imputers and encoders: their split points in the row's own columns, to the last bit."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from counterpoise.models.registry import as_model
from counterpoise.models.sklearn.pipeline.last_step import LastStepModel
from counterpoise.models.trees.opened import TreeModel
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

RNG = np.random.default_rng(2)
TABLE = pd.DataFrame(
    {
        "rate": np.where(RNG.random(120) < 0.1, np.nan, RNG.normal(size=120) * 1e3 + 1e6),
        "packets": RNG.integers(0, 20, 120),
        "proto": RNG.choice(["tcp", "udp", "icmp"], 120),
        "ok": RNG.random(120) > 0.5,
    }
)
SCHEMA = Schema.infer(TABLE)
ROWS = encode(SCHEMA, TABLE)
Y = (np.nan_to_num(ROWS[:, 0], nan=1e6) > 1e6).astype(int) + (ROWS[:, 2] == 1)


def draw(count: int) -> Array:
    rows = ROWS[RNG.integers(0, len(ROWS), count)]
    rows[:, 2] = RNG.integers(0, 3, count)
    rows[:, 3] = RNG.integers(0, 2, count)
    return rows


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()], ids=["one hot", "ordinal"])
@pytest.mark.parametrize(
    "last",
    [
        RandomForestClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
    ],
    ids=lambda last: type(last).__name__,
)
def test_the_trees_say_the_same_on_both_sides_of_every_split(last, encoder) -> None:
    blocks = [("n", make_pipeline(SimpleImputer(), StandardScaler()), ["packets", "rate"]), ("c", encoder, ["proto"])]
    own = make_pipeline(ColumnTransformer([*blocks, ("p", "passthrough", ["ok"])]), RobustScaler(), last).fit(TABLE, Y)
    model = as_model(own, SCHEMA, ROWS)
    assert isinstance(model, TreeModel)
    assert isinstance(model.own_model, LastStepModel)
    inner = model.own_model.last_step
    assert isinstance(inner, TreeModel)
    rows = draw(500)
    assert np.array_equal(model.trees.outputs(rows), inner.trees.outputs(model.own_model.first_steps(rows)))
    assert np.array_equal(np.array(model.labels)[model.outputs(rows).argmax(1)], model.predict(rows))
    assert [len(points) > 0 for points in model.thresholds] == [True, len(model.thresholds[1]) > 0, False, False]
    for column in (0, 1):
        points = model.thresholds[column]
        for side in (points, np.nextafter(points, np.inf)):
            at = draw(len(points))
            at[:, column] = side
            assert np.array_equal(model.trees.outputs(at), inner.trees.outputs(model.own_model.first_steps(at)))


@pytest.mark.parametrize("function", [np.log1p, np.log, np.arcsinh])
def test_split_points_come_back_through_curved_functions(function: np.ufunc) -> None:
    x = RNG.exponential(5.0, size=(150, 3))
    own = make_pipeline(FunctionTransformer(function), RandomForestClassifier(5, random_state=0)).fit(x, x.sum(1) > 14)
    model = as_model(own, Schema.infer(x), x)
    assert isinstance(model, TreeModel)
    for column, points in enumerate(model.thresholds):
        for side in (points, np.nextafter(points, np.inf)):
            at = x[RNG.integers(0, len(x), len(points))]
            at[:, column] = side
            assert np.array_equal(model.outputs(at), own.predict_proba(at))


def test_what_is_filled_in_after_a_logarithm_is_left_to_the_pipeline() -> None:
    x = RNG.exponential(5.0, size=(150, 3))
    own = make_pipeline(FunctionTransformer(np.log1p), SimpleImputer(), RandomForestClassifier(5, random_state=0))
    model = as_model(own.fit(x, x.sum(1) > 14), Schema.infer(x), x)
    assert not isinstance(model, TreeModel)


def test_trees_that_split_by_category_are_told_in_the_words_of_the_row() -> None:
    front = ColumnTransformer(
        [("c", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), ["proto"])],
        remainder="passthrough",
    )
    small = {"min_child_samples": 3, "min_data_per_group": 1, "cat_smooth": 0.0, "verbose": -1}
    for last, said in (
        (HistGradientBoostingClassifier(max_iter=5, categorical_features=[0], min_samples_leaf=3), {}),
        (LGBMClassifier(n_estimators=5, **small), {"lgbmclassifier__categorical_feature": [0]}),
    ):
        own = make_pipeline(front, last).fit(TABLE.astype({"ok": float}), Y, **said)
        model = as_model(own, Schema.infer(TABLE.astype({"ok": float})), ROWS)
        assert isinstance(model, TreeModel)
        assert isinstance(model.own_model, LastStepModel)
        inner = model.own_model.last_step
        assert isinstance(inner, TreeModel)
        assert (inner.trees.category >= 0).any()
        rows = draw(500)
        rows[:20, 2] = np.nan
        assert np.array_equal(model.trees.outputs(rows), inner.trees.outputs(model.own_model.first_steps(rows)))
        assert np.array_equal(np.array(model.labels)[model.outputs(rows).argmax(1)], model.predict(rows))


def test_a_last_step_that_wants_other_than_an_array_of_numbers_is_asked_behind_its_front() -> None:
    front = ColumnTransformer([("c", OrdinalEncoder(), ["proto"])], remainder="passthrough")  # an array of objects
    own = make_pipeline(front, HistGradientBoostingClassifier(max_iter=5, categorical_features=[0])).fit(TABLE, Y)
    model = as_model(own, SCHEMA, ROWS)
    assert np.array_equal(model.predict(ROWS), own.predict(TABLE))


def test_a_number_that_is_split_by_category_keeps_its_front() -> None:
    table = TABLE[["packets"]] % 5
    own = make_pipeline(
        ColumnTransformer([("n", "passthrough", ["packets"])]),
        HistGradientBoostingClassifier(max_iter=5, categorical_features=[0], min_samples_leaf=3),
    ).fit(table, Y)
    model = as_model(own, Schema.infer(table), table.to_numpy(dtype=float))
    assert isinstance(model, LastStepModel)
    assert np.array_equal(model.predict(table.to_numpy(dtype=float)), own.predict(table))


def test_trees_answer_without_the_front_when_they_do_so_to_the_bit() -> None:
    own = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(TABLE[["packets"]], Y)
    x = TABLE[["packets"]].to_numpy(dtype=float)
    model = as_model(own, Schema.infer(TABLE[["packets"]]), x)
    assert isinstance(model, TreeModel)
    assert model.fast_outputs == model.trees.outputs
    assert np.array_equal(model.outputs(x), own.predict_proba(TABLE[["packets"]]))


@settings(max_examples=40)
@given(
    center=st.floats(-1e9, 1e9),
    spread=st.floats(1e-6, 1e6),
    scaler=st.sampled_from([StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), MinMaxScaler(clip=True)]),
)
def test_a_split_point_is_the_last_number_that_goes_left(center: float, spread: float, scaler) -> None:
    x = (center + spread * np.linspace(-1, 1, 21))[:, None]
    if len(np.unique(x)) < 21:
        return
    own = make_pipeline(scaler, DecisionTreeRegressor(max_depth=3, random_state=0)).fit(x, np.arange(21.0) ** 2)
    model = as_model(own, Schema.infer(x), x)
    assert isinstance(model, TreeModel)
    (points,) = model.thresholds
    assert len(points)
    left, right = own.predict(points[:, None]), own.predict(np.nextafter(points, np.inf)[:, None])
    assert (left != right).all()
