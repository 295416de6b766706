"""Gradients and curvature of scikit-learn models, against differences; the formulas repeat the models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA, FastICA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
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
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

from counterpoise.models.registry import as_model
from counterpoise.models.sklearn.formulas.formula import FormulaModel
from counterpoise.space.schema.schema import Schema
from slopes import BINARY, NETWORKS, RNG, SCHEMA, THREE, X, check_slopes, fitted, name

KERNELS = [SVC(kernel=kernel) for kernel in ("linear", "rbf", "poly", "sigmoid")]
CLASSIFIERS = [
    LogisticRegression(), LinearSVC(), SGDClassifier(random_state=0), RidgeClassifier(), Perceptron(),
    LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), GaussianNB(), *KERNELS,
    SVC(gamma=0.3, break_ties=True), SVC(decision_function_shape="ovo"), NuSVC(nu=0.1), *NETWORKS,
    make_pipeline(StandardScaler(), MLPClassifier((5,), activation="tanh", max_iter=20, random_state=0)),
    make_pipeline(RobustScaler(), MinMaxScaler(), MaxAbsScaler(), SelectKBest(k=2), SVC()),
    make_pipeline(SimpleImputer(), "passthrough", make_pipeline(StandardScaler(with_mean=False), LogisticRegression())),
    make_pipeline(StandardScaler(), PCA(3, whiten=True), SVC()),
    make_pipeline(make_pipeline(StandardScaler(), TruncatedSVD(2)), StandardScaler(), NETWORKS[2]),
    make_pipeline(StandardScaler(), GaussianRandomProjection(3, random_state=0), LogisticRegression()),
]  # fmt: skip
NUMBERS = [
    LinearRegression(), RidgeCV(), PoissonRegressor(), GammaRegressor(), TweedieRegressor(),
    TweedieRegressor(power=1.5), SVR(), NuSVR(kernel="poly", degree=2), make_pipeline(StandardScaler(), SVR()),
    MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0),
    make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", random_state=0)),
    make_pipeline(StandardScaler(), FastICA(3, random_state=0), LinearRegression()),
    GaussianProcessRegressor(2.0 * RBF([1.0, 2.0, 3.0, 40.0]) + WhiteKernel(), optimizer=None, normalize_y=True),
]  # fmt: skip


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
        assert isinstance(model, FormulaModel)
        assert model.has_softmax_probabilities
        powers = np.exp(model.outputs(X) - model.outputs(X).max(1, keepdims=True))
        assert np.allclose(powers / powers.sum(1, keepdims=True), own.predict_proba(X), atol=1e-9)
    assert not as_model(LinearSVC().fit(X, BINARY), SCHEMA, X).has_softmax_probabilities


def test_a_large_machine_is_read_in_parts() -> None:
    model = as_model(SVC().fit(X, THREE), SCHEMA, X)
    weights, v = RNG.normal(size=(80, 3)), RNG.normal(size=X.shape)
    whole = model.outputs(X), model.gradient(X, weights), model.hvp(X, weights, v)
    apart = replace(model, formula=replace(model.formula, max_kernel_values=200))
    for one, other in zip(whole, (apart.outputs(X), apart.gradient(X, weights), apart.hvp(X, weights, v)), strict=True):
        assert np.allclose(one, other, rtol=1e-12)


def test_a_model_that_counts_in_single_precision_is_asked_itself() -> None:
    table = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
    schema = Schema.infer(table)
    own = LogisticRegression(max_iter=1000).fit(table, BINARY)
    rows = table.to_numpy(dtype=np.float64)
    model = as_model(own, schema, rows)
    assert model.gradient is not None
    assert np.array_equal(model.outputs(rows)[:, 1], own.decision_function(table))


@pytest.mark.parametrize("kernel", [None, RBF(2.0), WhiteKernel() + RBF([1.0, 2.0, 3.0, 9.0]) * 2.0], ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_a_gaussian_process_of_two_classes_is_asked_for_its_latent_mean(kernel, scaled: bool) -> None:
    process = GaussianProcessClassifier(kernel, optimizer=None)
    own = fitted(make_pipeline(StandardScaler(), process) if scaled else process, BINARY)
    model = as_model(own, SCHEMA, X)
    check_slopes(model, X)
    rows = np.vstack([X[::-1] + 0.5, X * 1.5])
    assert np.array_equal(np.array(model.labels)[model.outputs(rows).argmax(1)], own.predict(rows))
    np.testing.assert_allclose(model.probabilities(rows), own.predict_proba(rows), rtol=1e-12)


def test_other_gaussian_processes_are_asked_as_they_are() -> None:
    for own in (
        fitted(GaussianProcessClassifier(Matern(), optimizer=None), BINARY),
        fitted(GaussianProcessClassifier(RBF() + RBF(3.0), optimizer=None), BINARY),
        fitted(GaussianProcessClassifier(RBF(), optimizer=None), THREE),
    ):
        model = as_model(own, SCHEMA, X)
        assert model.gradient is None
        assert np.array_equal(np.array(model.labels)[model.outputs(X).argmax(1)], own.predict(X))


def test_models_that_lack_what_their_like_have_are_asked_as_they_are() -> None:
    pairs = fitted(GaussianProcessClassifier(RBF(), optimizer=None, multi_class="one_vs_one"), THREE)
    assert as_model(pairs, SCHEMA, X).probabilities(X) is None  # though it has the method
    flat = fitted(SVR(epsilon=100.0), X[:, 0])  # no vector supports it
    assert np.ptp(as_model(flat, SCHEMA, X).outputs(X)) == 0
