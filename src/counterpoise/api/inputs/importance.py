"""Importance: weights of the regulariser in Eq. (9) from how much the model depends on each feature.

The more the model's outputs depend on a feature, the more a change of it weighs: the mean weight is 1, so that lam
keeps its meaning.
"""

from __future__ import annotations

import warnings
from functools import partial
from importlib import import_module
from typing import Literal, get_args

import numpy as np

from counterpoise.errors import InputError, MissingExtra
from counterpoise.model_calls import Tally, model_outputs
from counterpoise.space.nearest_rows import spread_places
from counterpoise.types import Array, Model

ImportanceMethod = Literal["permutation", "shap"]
IMPORTANCE_METHODS: tuple[ImportanceMethod, ...] = get_args(ImportanceMethod)


def importance_weights(way: str, model: Model, x: Array) -> Array:
    """Weights ``(d,)`` from reference rows ``x`` ``(r, d)``: "permutation" or "shap"; the mean is 1.

    Permutation: by how much the outputs change when a feature's values are shuffled. shap: the mean size of a
    feature's Shapley values. A feature that the model does not look at has weight 0.

    >>> from sklearn.linear_model import LinearRegression
    >>> from counterpoise.models.registry import as_model
    >>> from counterpoise.space.schema.schema import Schema
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 2.0]])
    >>> model = as_model(LinearRegression().fit(x, 3 * x[:, 0]), Schema.infer(x), x)
    >>> importance_weights("permutation", model, x).round(6)
    array([2., 0.])
    """
    if way not in IMPORTANCE_METHODS:
        raise InputError(
            "weights must be numbers by feature, 'permutation' or 'shap'", f"{way!r}", "for instance {'age': 2.0}"
        )
    if len(x) < 2:
        raise InputError(
            f"weights={way!r} needs reference rows", f"there are {len(x)}", "give reference=, or weights by feature"
        )
    found = _permutation_weights(model, x) if way == "permutation" else _shapley_weights(model, x)
    found = np.where(found > 1e-12 * max(found.max(), 0.0), found, 0.0)
    total = found.sum()
    return np.asarray(found * len(found) / total if total > 0 else found)


class _ModelAsEstimator:
    """The model in the form that scikit-learn's permutation_importance takes."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def fit(self, x: Array, y: Array) -> _ModelAsEstimator:
        return self


def _permutation_weights(model: Model, x: Array, max_rows: int = 1000, repeats: int = 5) -> Array:
    """Mean absolute change ``(d,)`` of the outputs when a feature is shuffled, in their standard deviations."""
    rows = _spread_rows(x, max_rows)
    before = _reference_outputs(model, rows)
    width = np.maximum(before.std(axis=0), np.finfo(np.float64).tiny)

    def agreement(estimator: _ModelAsEstimator, shuffled: Array, wanted: Array) -> float:
        return -float((np.abs(_reference_outputs(estimator.model, shuffled) - wanted) / width).mean())

    from sklearn.inspection import permutation_importance

    result = permutation_importance(
        _ModelAsEstimator(model),
        rows,
        before,
        scoring=agreement,
        n_repeats=repeats,
        random_state=0,
        n_jobs=1,
    )
    return np.asarray(result.importances_mean, dtype=np.float64)


def _shapley_weights(
    model: Model, x: Array, max_rows: int = 50, background_rows: int = 30, samples_per_feature: int = 20
) -> Array:
    """Mean size ``(d,)`` of the Shapley values of some rows, each from so many orders of the features.

    The values of background rows stand in for a feature that is left out.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of shap's own imports
            shap = import_module("shap")
    except ImportError as error:
        raise MissingExtra("shap") from error
    rows, background, d = _spread_rows(x, max_rows), _spread_rows(x, background_rows), x.shape[1]
    total = np.zeros(d)
    before = np.random.get_state()  # noqa: NPY002 - shap draws from the global stream, which is not ours to move
    np.random.seed(0)  # noqa: NPY002
    try:
        for number in range(_decision_scores(model, rows[:1]).shape[1]):
            explainer = shap.SamplingExplainer(partial(_decision_score, model, number), background)
            total += np.abs(
                np.asarray(explainer.shap_values(rows, nsamples=samples_per_feature * d, silent=True))
            ).mean(axis=0)
    finally:
        np.random.set_state(before)  # noqa: NPY002
    return total


def _decision_score(model: Model, number: int, x: Array) -> Array:
    return _decision_scores(model, x)[:, number]


def _decision_scores(model: Model, x: Array) -> Array:
    """The outputs ``(p, c)``; for two classes their difference, ``(p, 1)``."""
    outputs = _reference_outputs(model, x)
    return outputs[:, 1:] - outputs[:, :1] if outputs.shape[1] == 2 else outputs


def _reference_outputs(model: Model, x: Array) -> Array:
    return model_outputs(model, np.asarray(x, dtype=np.float64), np.arange(len(x)), Tally(), "reference row")


def _spread_rows(x: Array, count: int) -> Array:
    """At most ``count`` of the rows, evenly spread."""
    return x[spread_places(len(x), count)]
