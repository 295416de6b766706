"""Outputs of a scikit-learn estimator: its decision values, its probabilities, or the class that it predicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from counterpoise.errors import CapabilityError, ModelError
from counterpoise.models.links import as_two_outputs
from counterpoise.models.sklearn.formulas.svm import favour_first_of_equals, score_pair_votes
from counterpoise.models.sklearn.thresholds import has_threshold, make_threshold_outputs
from counterpoise.types import Array, Link

OutputFunction = Callable[[Any], Array]
"""The model's input to outputs ``(p, c)``."""

CLASSES_ASKED_BY_PREDICT = {
    "GaussianProcessClassifier",  # of more than two classes: by probabilities of each against the rest
    "NearestCentroid",  # plain distances where the priors are equal
}
"""Classifiers whose ``predict`` follows neither their decision values nor their probabilities."""


def find_deciding_estimator(model: Any) -> Any:
    """The estimator that decides: the last step of a pipeline, the best one of a parameter search."""
    while True:
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model


def has_probabilities(model: Any) -> bool:
    """True if predict_proba works (one-vs-one Gaussian processes define it and raise)."""
    return (
        hasattr(model, "predict_proba") and getattr(find_deciding_estimator(model), "multi_class", None) != "one_vs_one"
    )


def list_output_functions(model: Any, classes: NDArray[Any]) -> list[tuple[Link, OutputFunction]]:
    """The ways to ask a classifier, the finest first; the last one always agrees with its ``predict``."""
    inner = find_deciding_estimator(model)
    name = type(inner).__name__
    found: list[tuple[Link, OutputFunction]] = []
    if hasattr(model, "predict_joint_log_proba"):  # naive Bayes: finer than probabilities near 0 and 1
        found.append(("identity", lambda rows: np.asarray(model.predict_joint_log_proba(rows), dtype=np.float64)))
    if hasattr(model, "decision_function"):
        found.append(("identity", _make_decision_outputs(model, inner, len(classes))))
    if has_probabilities(model):
        found.append(("log", lambda rows: _check_columns(model.predict_proba(rows), len(classes), "probabilities")))
    if has_threshold(inner):
        found = [("identity", _make_last_step_outputs(model, make_threshold_outputs))]
    if name == "BaggingClassifier":  # its predict follows the probabilities, not the averaged decision values
        found.reverse()
    if name == "GaussianProcessClassifier" and len(classes) == 2:
        return [
            ("identity", _make_last_step_outputs(model, _make_latent_outputs)),
            ("identity", _make_label_outputs(model, classes, None)),
        ]
    score = found[0][1] if found else None
    last: tuple[Link, OutputFunction] = ("identity", _make_label_outputs(model, classes, score))
    return [last] if name in CLASSES_ASKED_BY_PREDICT else [*found, last]


def _make_last_step_outputs(model: Any, way: Callable[[Any], OutputFunction]) -> OutputFunction:
    """A way to ask an estimator, for a pipeline that ends in it."""
    if hasattr(model, "best_estimator_"):
        return _make_last_step_outputs(model.best_estimator_, way)
    if not isinstance(model, Pipeline):
        return way(model)
    last = _make_last_step_outputs(model.steps[-1][1], way)
    return lambda rows: last(model[:-1].transform(rows))


def _make_decision_outputs(model: Any, inner: Any, count: int) -> OutputFunction:
    machine = type(inner).__name__ in ("SVC", "NuSVC")
    pairs = machine and inner.decision_function_shape == "ovo" and count > 2
    by_index = machine and count > 2 and not inner.break_ties

    def raw(rows: Any) -> Array:
        values = np.asarray(model.decision_function(rows), dtype=np.float64)
        if values.ndim == 1 and count == 2:
            return as_two_outputs(values)
        if pairs:
            return score_pair_votes(values, count, ties=by_index)
        values = _check_columns(values, count, "decision values")
        return favour_first_of_equals(values, values) if by_index else values

    return raw


def _make_latent_outputs(process: Any) -> OutputFunction:
    """The latent mean of a Gaussian process of two classes, whose sign decides: finer than the probabilities."""
    fitted = process.base_estimator_
    weights = fitted.y_train_ - fitted.pi_
    return lambda rows: as_two_outputs(fitted.kernel_(fitted.X_train_, np.asarray(rows, dtype=np.float64)).T @ weights)


def _make_label_outputs(model: Any, classes: NDArray[Any], score: OutputFunction | None) -> OutputFunction:
    def raw(rows: Any) -> Array:
        predicted = np.asarray(model.predict(rows))
        out: Array = (predicted[:, None] == classes).astype(np.float64)
        if score is not None:  # a slope to follow, too small to change which output is the largest
            values = score(rows)
            out += 0.5 * values / (1.0 + np.abs(values).max(axis=1, keepdims=True)) if len(values) else 0.0
        return out

    return raw


def make_regression_outputs(model: Any) -> OutputFunction:
    """The number that a regressor predicts."""

    def raw(rows: Any) -> Array:
        return _check_columns(
            np.asarray(model.predict(rows), dtype=np.float64).reshape(len(rows), -1), 1, "predictions"
        )

    return raw


def make_detection_outputs(model: Any) -> OutputFunction:
    """The decision values of an outlier detector."""
    if not hasattr(model, "decision_function"):
        raise CapabilityError(
            "an outlier detector must be able to judge rows that it has not seen",
            f"this {type(model).__name__} has no decision_function",
            "fit LocalOutlierFactor with novelty=True",
        )
    zero_is_outlier = type(find_deciding_estimator(model)).__name__ == "OneClassSVM"  # others call zero an inlier
    at_zero = 0.0 if zero_is_outlier else np.finfo(np.float64).tiny

    def raw(rows: Any) -> Array:
        values = np.asarray(model.decision_function(rows), dtype=np.float64).reshape(len(rows))
        return as_two_outputs(np.where(values == 0, at_zero, values))

    return raw


def _check_columns(values: Any, count: int, what: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != count:
        raise ModelError(
            f"a model's {what} must have {count} column{'s' * (count > 1)}",
            f"their shape is {array.shape}",
            "give a model of one target, or a callable: lambda rows: model.predict(rows)[:, 0]",
        )
    return array
