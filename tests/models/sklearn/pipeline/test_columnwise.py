"""What pipelines do before their last step: slopes come back through it, and it repeats the pipeline."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.models.registry import as_model
from counterpoise.models.sklearn.pipeline.columnwise import CURVED_FUNCTIONS
from counterpoise.models.sklearn.pipeline.last_step import (
    DifferentiableLastStepModel,
    LastStepModel,
    TwiceDifferentiableLastStepModel,
)
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from slopes import BINARY, NETWORKS, RNG, SCHEMA, STEP, THREE, X, check_gradient, check_slopes, name


def mixed() -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "a": X[:, 0],
            "b": X[:, 1].astype(int),
            "c": RNG.choice(["x", "y", "z"], 80),
            "d": pd.Categorical(RNG.choice(["u", "v"], 80)),
            "e": X[:, 2] > 0,
            "unused": X[:, 3],
        }
    )
    table.loc[3:9, "a"] = np.nan
    table.loc[5:7, "c"] = None
    return table


def through_columns(last, *after):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", drop="first"))
    blocks = [("n", numbers, ["b", "a"]), ("c", words, ["c", "d"]), ("p", "passthrough", ["e"])]
    return make_pipeline(ColumnTransformer(blocks), *after, last)


@pytest.mark.parametrize("last", [LogisticRegression(), SVC(), NETWORKS[2]], ids=name)
def test_slopes_come_back_through_a_column_transformer(last) -> None:
    table = mixed()
    schema = Schema.infer(table)
    x = encode(schema, table)
    own = through_columns(last, MaxAbsScaler())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own.fit(table, THREE)
    model = as_model(own, schema, x)
    assert isinstance(model, TwiceDifferentiableLastStepModel)
    whole = x[~np.isnan(x).any(1)]
    check_slopes(model, whole, [0, 1])
    weights = np.ones((80, 3)) * [1, -1, 0]
    slopes = model.gradient(x, weights)
    assert (slopes[:, 2:] == 0).all()  # no category and no unused column has one
    assert (slopes[np.isnan(x[:, 0]), 0] == 0).all()
    assert np.array_equal(np.array(model.labels)[model.outputs(x).argmax(1)], own.predict(table))


def test_a_front_repeats_the_pipeline_to_the_bit() -> None:
    table = mixed()
    schema = Schema.infer(table)
    own = through_columns(LogisticRegression(), StandardScaler(), MinMaxScaler(clip=True)).fit(table, THREE)
    model = as_model(own, schema, encode(schema, table))
    assert isinstance(model, LastStepModel)
    assert np.array_equal(model.first_steps(encode(schema, table)), own[:-1].transform(table))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("given", [{}, {"interaction_only": True}, {"include_bias": False}], ids=str)
def test_slopes_come_back_through_products(degree: int, given: dict[str, bool]) -> None:
    own = make_pipeline(StandardScaler(), PolynomialFeatures(degree, **given), StandardScaler(), LogisticRegression())
    model = as_model(own.fit(X, THREE), SCHEMA, X)
    assert isinstance(model, DifferentiableLastStepModel)
    assert model.hvp is None  # the products are curved themselves
    np.testing.assert_allclose(model.outputs(X), own.decision_function(X), atol=1e-9)
    check_gradient(model, X)
    move = STEP * np.eye(4)[1]
    pushed = model.first_steps.push_direction(X, move * np.ones_like(X))
    along = (model.first_steps(X + move) - model.first_steps(X - move)) / 2
    np.testing.assert_allclose(pushed, along, atol=1e-4 * STEP)


def test_slopes_come_back_through_projected_categories() -> None:
    table = mixed()
    schema = Schema.infer(table)
    x = encode(schema, table)
    own = through_columns(LogisticRegression(), PCA(3)).fit(table, THREE)
    model = as_model(own, schema, x)
    assert isinstance(model, DifferentiableLastStepModel)
    check_slopes(model, x[~np.isnan(x).any(1)], [0, 1])
    assert np.array_equal(np.array(model.labels)[model.outputs(x).argmax(1)], own.predict(table))


def test_a_projection_is_known_where_a_column_is_the_same_in_all_probing_rows() -> None:
    rare = np.column_stack([X, np.where(np.arange(80) == 7, 20003.0, 20000.0)])
    own = make_pipeline(PCA(), LogisticRegression()).fit(rare, rare[:, 0] + rare[:, 4] > 20000.2)
    probe = np.delete(rare, 7, axis=0)
    model = as_model(own, Schema.infer(rare), probe)
    assert isinstance(model, DifferentiableLastStepModel)
    np.testing.assert_allclose(model.outputs(rare)[:, 1], own.decision_function(rare), rtol=1e-9)


def test_a_projection_fitted_on_names_says_nothing_about_them() -> None:
    table = pd.DataFrame(X, columns=list("abcd"))
    own = make_pipeline(PCA(2), LogisticRegression()).fit(table, BINARY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cp.explain(own, table[:3], reference=table).valid.all()


def test_products_of_many_factors_are_left_to_the_pipeline() -> None:
    own = make_pipeline(StandardScaler(), PolynomialFeatures(3), LogisticRegression()).fit(X, BINARY)
    assert as_model(own, SCHEMA, X).gradient is None


@pytest.mark.parametrize("last", [LogisticRegression(), MLPClassifier((6,), max_iter=5000, random_state=0)], ids=name)
def test_answers_to_rows_in_single_precision_are_as_near_as_those_of_a_black_box(last) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5))
    table = pd.DataFrame(x + 1000, columns=list("abcde")).astype("float32")
    own = make_pipeline(PCA(), StandardScaler(), last).fit(table, x[:, 0] + x[:, 1] > 0)
    opened = cp.explain(own, table[:30], reference=table, lam=0)
    blind = cp.explain(lambda rows: own.predict_proba(rows), table[:30], reference=table, lam=0)
    assert opened.valid.all()
    far, near = (found.energy["distance"].to_numpy() for found in (opened, blind))
    assert (far <= 1.2 * near + 1e-3).all()


class Folding(PCA):
    """Called like a projection, and none."""

    def transform(self, X):
        return np.abs(super().transform(X))


Folding.__name__ = "PCA"


def test_a_mixture_is_read_where_it_is_what_it_is_called() -> None:
    bent = make_pipeline(StandardScaler(), Folding(3), LogisticRegression()).fit(X, BINARY)
    assert as_model(bent, SCHEMA, X).gradient is None
    trees = make_pipeline(PCA(3), DecisionTreeClassifier(max_depth=3)).fit(X, BINARY)
    model = as_model(trees, SCHEMA, X)  # split points of projections are not split points of columns
    assert not isinstance(model, LastStepModel)
    assert model.gradient is None
    assert np.array_equal(np.array(model.labels)[model.outputs(X).argmax(1)], trees.predict(X))


@pytest.mark.parametrize("kind", CURVED_FUNCTIONS)
def test_slopes_come_back_through_curved_functions(kind: str) -> None:
    function = FunctionTransformer(CURVED_FUNCTIONS[kind][0])
    own = make_pipeline(function, StandardScaler(), LogisticRegression()).fit(np.abs(X) + 0.5, BINARY)
    model = as_model(own, SCHEMA, np.abs(X) + 0.5)
    assert isinstance(model, DifferentiableLastStepModel)
    assert not isinstance(model, TwiceDifferentiableLastStepModel), "its curvature is not the last step's alone"
    x, weights, step = np.abs(X[:20]) + 0.5, np.ones((20, 2)) * [-1, 1], 1e-6
    slopes = model.gradient(x, weights)
    for column in range(x.shape[1]):
        moved = [x + sign * step * np.eye(x.shape[1])[column] for sign in (1, -1)]
        up, down = ((model.outputs(each) * weights).sum(axis=1) for each in moved)
        np.testing.assert_allclose(slopes[:, column], (up - down) / (2 * step), atol=1e-6 * np.abs(slopes).max())
    assert np.array_equal(np.array(model.labels)[model.outputs(x).argmax(1)], own.predict(x))


def test_functions_of_the_users_own_are_left_to_the_pipeline() -> None:
    own = make_pipeline(FunctionTransformer(lambda x: x**2), LogisticRegression()).fit(X, BINARY)
    assert as_model(own, SCHEMA, X).gradient is None


def test_a_clipped_column_is_flat_outside_its_range() -> None:
    own = make_pipeline(MinMaxScaler(clip=True), LogisticRegression()).fit(X, BINARY)
    model = as_model(own, SCHEMA, X)
    outside = np.tile(X.max(axis=0) + 1, (2, 1))
    assert model.gradient is not None
    assert (model.gradient(outside, np.ones((2, 2))) == 0).all()


@pytest.mark.parametrize("levels", [10, 1000])
def test_a_wide_category_is_left_to_the_pipeline(levels: int) -> None:
    table = pd.DataFrame({"word": [f"w{number % levels}" for number in range(1000)], "n": np.arange(1000.0)})
    own = make_pipeline(
        ColumnTransformer([("c", OneHotEncoder(), ["word"]), ("n", StandardScaler(), ["n"])]), LogisticRegression()
    )
    own.fit(table, np.arange(1000) % 3)
    schema = Schema.infer(table)
    model = as_model(own, schema, encode(schema, table)[:50])
    assert (model.gradient is not None) == (levels == 10)
    assert np.array_equal(model.predict(encode(schema, table)[:20]), own.predict(table[:20]))


def many_categories(missing_in: str | None) -> pd.DataFrame:
    """Forty columns of eleven categories each; one of them may have missing cells."""
    table = pd.DataFrame({f"c{place:02d}": RNG.permutation(np.arange(88) % 11) for place in range(40)}).astype(str)
    if missing_in is not None:
        table.loc[::7, missing_in] = None
    return table


@pytest.mark.parametrize("missing_in", [None, "c00", "c23", "c39"])
def test_many_categories_are_read_as_the_encoder_has_them(missing_in: str | None) -> None:
    """Missing cells too, in the one column where the encoder takes them: it refuses them in the others."""
    table = many_categories(missing_in)
    label = np.where(np.arange(88) % 2 == 0, "yes", "no")
    encoder = ColumnTransformer([("c", OneHotEncoder(handle_unknown="error"), [*table.columns])])
    model = make_pipeline(encoder, LogisticRegression()).fit(table, label)
    schema = Schema.infer(table)
    opened = as_model(model, schema, encode(schema, table))
    assert opened.gradient is not None
    other = table.apply(lambda column: RNG.permutation(column.to_numpy()))
    assert np.allclose(opened.outputs(encode(schema, other))[:, 1], model.decision_function(other), atol=1e-12)


def test_a_pipeline_of_many_categories_is_opened_in_few_calls_of_its_encoder() -> None:
    calls: list[int] = []

    class CountingEncoder(OneHotEncoder):
        def transform(self, X):
            calls.append(len(X))
            return super().transform(X)

    table = many_categories("c11")
    label = np.where(np.arange(88) % 2 == 0, "yes", "no")
    model = make_pipeline(ColumnTransformer([("c", CountingEncoder(), [*table.columns])]), LogisticRegression()).fit(
        table, label
    )
    calls.clear()
    schema = Schema.infer(table)
    assert as_model(model, schema, encode(schema, table)).gradient is not None
    assert len(calls) < len(table.columns) / 2
