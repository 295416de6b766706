"""Gradients and curvature of scikit-learn models, against differences; the formulas repeat the models."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from counterpoise.models import machine
from counterpoise.models.adapt import as_model
from counterpoise.models.front import CURVED
from counterpoise.models.smooth import Smooth
from counterpoise.models.staged import CurvedStaged, SlopedStaged, Staged
from counterpoise.space.encoding import encode
from counterpoise.space.features import Schema
from counterpoise.types import Array, Differentiable, Expanding, Model, TwiceDifferentiable

RNG = np.random.default_rng(1)
X = RNG.normal(size=(80, 4)) * [1, 2, 3, 4] + [0, 1, 2, 100]
BINARY = X[:, 0] + 0.2 * X[:, 1] > 0.2
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.3, 0.7])
SCHEMA = Schema.infer(X)
STEP = 1e-5

KERNELS = [SVC(kernel=kernel) for kernel in ("linear", "rbf", "poly", "sigmoid")]
NETWORKS = [
    MLPClassifier((6, 5), activation=activation, max_iter=20, random_state=0)
    for activation in ("identity", "relu", "tanh", "logistic")
]
CLASSIFIERS = [
    LogisticRegression(), LinearSVC(), SGDClassifier(random_state=0), RidgeClassifier(), Perceptron(),
    LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB(), *KERNELS,
    SVC(gamma=0.3, break_ties=True), SVC(decision_function_shape="ovo"), NuSVC(nu=0.1), *NETWORKS,
    make_pipeline(StandardScaler(), MLPClassifier((5,), activation="tanh", max_iter=20, random_state=0)),
    make_pipeline(RobustScaler(), MinMaxScaler(), MaxAbsScaler(), SelectKBest(k=2), SVC()),
    make_pipeline(SimpleImputer(), "passthrough", make_pipeline(StandardScaler(with_mean=False), LogisticRegression())),
]  # fmt: skip
NUMBERS = [
    LinearRegression(), RidgeCV(), PoissonRegressor(), GammaRegressor(), TweedieRegressor(),
    TweedieRegressor(power=1.5), SVR(), NuSVR(kernel="poly", degree=2), make_pipeline(StandardScaler(), SVR()),
    MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
    make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", random_state=0)),
]  # fmt: skip


def fitted(own, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that were not given the time to converge
        return own.fit(X, y)


def check_slopes(model: Model, x: Array, columns: list[int] | None = None) -> None:
    assert isinstance(model, TwiceDifferentiable)
    weights = RNG.normal(size=model.outputs(x).shape)
    moved = range(x.shape[1]) if columns is None else columns
    v = np.zeros_like(x)
    v[:, list(moved)] = RNG.normal(size=(len(x), len(list(moved))))
    differences = np.zeros_like(x)
    for j in moved:
        move = STEP * np.eye(x.shape[1])[j]
        differences[:, j] = (weights * (model.outputs(x + move) - model.outputs(x - move))).sum(1) / (2 * STEP)
    size = np.abs(differences).max()
    assert size > 0
    assert np.abs(model.gradient(x, weights) - differences).max() < 1e-6 * size
    assert isinstance(model, Expanding)  # what the search asks: both from one pass
    outputs, pull = model.expanded(x)
    np.testing.assert_array_equal(outputs, model.outputs(x))
    np.testing.assert_array_equal(pull(weights), model.gradient(x, weights))
    bent = (model.gradient(x + STEP * v, weights) - model.gradient(x - STEP * v, weights)) / (2 * STEP)
    assert np.abs(model.hvp(x, weights, v) - bent).max() < 1e-6 * max(np.abs(bent).max(), size)


def name(own) -> str:
    return "-".join(type(step).__name__ for _, step in own.steps) if hasattr(own, "steps") else str(own)


@pytest.mark.parametrize("classes", ["two", "three"])
@pytest.mark.parametrize("own", CLASSIFIERS, ids=name)
def test_classifiers_have_the_slopes_that_differences_show(own, classes: str) -> None:
    fitted(own, BINARY if classes == "two" else THREE)
    model = as_model(own, SCHEMA, X)
    check_slopes(model, X)
    rows = X[::-1] + 0.5
    assert np.array_equal(np.array(model.labels)[model.outputs(rows).argmax(1)], own.predict(rows))


@pytest.mark.parametrize("own", NUMBERS, ids=name)
def test_regressions_have_the_slopes_that_differences_show(own) -> None:
    fitted(own, np.abs(X[:, 0]) + 0.1)
    model = as_model(own, SCHEMA, X)
    check_slopes(model, X)
    assert np.allclose(model.outputs(X + 0.5)[:, 0], own.predict(X + 0.5), rtol=1e-10)


def test_a_detector_has_slopes() -> None:
    check_slopes(as_model(OneClassSVM(nu=0.2).fit(X), SCHEMA, X), X)


@pytest.mark.parametrize(
    "own", [LogisticRegression(), GaussianNB(), QuadraticDiscriminantAnalysis(), NETWORKS[1]], ids=name
)
def test_outputs_whose_softmax_are_the_probabilities_say_so(own) -> None:
    for y in (BINARY, THREE):
        model = as_model(fitted(own, y), SCHEMA, X)
        assert isinstance(model, Smooth)
        assert model.softmax
        powers = np.exp(model.outputs(X) - model.outputs(X).max(1, keepdims=True))
        assert np.allclose(powers / powers.sum(1, keepdims=True), own.predict_proba(X), atol=1e-9)
    assert not as_model(LinearSVC().fit(X, BINARY), SCHEMA, X).softmax


def test_a_large_machine_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = as_model(SVC().fit(X, THREE), SCHEMA, X)
    weights, v = RNG.normal(size=(80, 3)), RNG.normal(size=X.shape)
    whole = model.outputs(X), model.gradient(X, weights), model.hvp(X, weights, v)
    monkeypatch.setattr(machine, "CELLS", 200)
    for one, other in zip(whole, (model.outputs(X), model.gradient(X, weights), model.hvp(X, weights, v)), strict=True):
        assert np.allclose(one, other, rtol=1e-12)


def test_a_model_that_counts_in_single_precision_is_asked_itself() -> None:
    table = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
    schema = Schema.infer(table)
    own = LogisticRegression(max_iter=1000).fit(table, BINARY)
    rows = table.to_numpy(dtype=np.float64)
    model = as_model(own, schema, rows)
    assert isinstance(model, Differentiable)
    assert np.array_equal(model.outputs(rows)[:, 1], own.decision_function(table))


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
    assert isinstance(model, CurvedStaged)
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
    assert isinstance(model, Staged)
    assert np.array_equal(model.front(encode(schema, table)), own[:-1].transform(table))


@pytest.mark.parametrize("kind", CURVED)
def test_slopes_come_back_through_curved_functions(kind: str) -> None:
    function = FunctionTransformer(CURVED[kind][0])
    own = make_pipeline(function, StandardScaler(), LogisticRegression()).fit(np.abs(X) + 0.5, BINARY)
    model = as_model(own, SCHEMA, np.abs(X) + 0.5)
    assert isinstance(model, SlopedStaged)
    assert not isinstance(model, CurvedStaged), "its curvature is not the last step's alone"
    x, weights, step = np.abs(X[:20]) + 0.5, np.ones((20, 2)) * [-1, 1], 1e-6
    slopes = model.gradient(x, weights)
    for column in range(x.shape[1]):
        moved = [x + sign * step * np.eye(x.shape[1])[column] for sign in (1, -1)]
        up, down = ((model.outputs(each) * weights).sum(axis=1) for each in moved)
        np.testing.assert_allclose(slopes[:, column], (up - down) / (2 * step), atol=1e-6 * np.abs(slopes).max())
    assert np.array_equal(np.array(model.labels)[model.outputs(x).argmax(1)], own.predict(x))


def test_functions_of_the_users_own_are_left_to_the_pipeline() -> None:
    own = make_pipeline(FunctionTransformer(lambda x: x**2), LogisticRegression()).fit(X, BINARY)
    assert not isinstance(as_model(own, SCHEMA, X), Differentiable)


def test_a_clipped_column_is_flat_outside_its_range() -> None:
    own = make_pipeline(MinMaxScaler(clip=True), LogisticRegression()).fit(X, BINARY)
    model = as_model(own, SCHEMA, X)
    outside = np.tile(X.max(axis=0) + 1, (2, 1))
    assert isinstance(model, Differentiable)
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
    assert isinstance(model, Differentiable) == (levels == 10)
    assert np.array_equal(model.predict(encode(schema, table)[:20]), own.predict(table[:20]))
