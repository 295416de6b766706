"""Rows, classes and a check of slopes against differences, for models that have slopes."""

import warnings

import numpy as np
from sklearn.neural_network import MLPClassifier

from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Model

RNG = np.random.default_rng(1)
X = RNG.normal(size=(80, 4)) * [1, 2, 3, 4] + [0, 1, 2, 100]
BINARY = X[:, 0] + 0.2 * X[:, 1] > 0.2
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.3, 0.7])
SCHEMA = Schema.infer(X)
STEP = 1e-5
NETWORKS = [
    MLPClassifier((6, 5), activation=activation, max_iter=20, random_state=0)
    for activation in ("identity", "relu", "tanh", "logistic")
]


def fitted(own, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that were not given the time to converge
        return own.fit(X, y)


def check_gradient(model: Model, x: Array, columns: list[int] | None = None) -> float:
    """The gradient is what differences show, alone and with the outputs; the size of the differences."""
    assert model.gradient is not None
    weights = RNG.normal(size=model.outputs(x).shape)
    differences = np.zeros_like(x)
    for j in range(x.shape[1]) if columns is None else columns:
        move = STEP * np.eye(x.shape[1])[j]
        differences[:, j] = (weights * (model.outputs(x + move) - model.outputs(x - move))).sum(1) / (2 * STEP)
    size = float(np.abs(differences).max())
    assert size > 0
    assert np.abs(model.gradient(x, weights) - differences).max() < 1e-6 * size
    assert model.outputs_and_pullback is not None  # what the search asks: both from one pass
    outputs, pull = model.outputs_and_pullback(x)
    np.testing.assert_array_equal(outputs, model.outputs(x))
    np.testing.assert_array_equal(pull(weights), model.gradient(x, weights))
    return size


def check_slopes(model: Model, x: Array, columns: list[int] | None = None) -> None:
    """The same, and the curvature is what differences of the gradient show."""
    size = check_gradient(model, x, columns)
    assert model.hvp is not None
    weights = RNG.normal(size=model.outputs(x).shape)
    moved = list(range(x.shape[1]) if columns is None else columns)
    v = np.zeros_like(x)
    v[:, moved] = RNG.normal(size=(len(x), len(moved)))
    bent = (model.gradient(x + STEP * v, weights) - model.gradient(x - STEP * v, weights)) / (2 * STEP)
    assert np.abs(model.hvp(x, weights, v) - bent).max() < 1e-6 * max(np.abs(bent).max(), size)


def name(own) -> str:
    return "-".join(type(step).__name__ for _, step in own.steps) if hasattr(own, "steps") else str(own)
