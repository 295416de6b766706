"""Classifiers of scikit-learn that decide by a threshold of their own: how far a score is beyond it, as outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from counterpoise.models.links import as_two_outputs
from counterpoise.types import Array


def outputs_beyond_threshold(score: Array, threshold: float, column: int) -> Array:
    """Outputs ``(p, 2)`` for a class in a column that is predicted where its score ``(p,)`` is at least a threshold.

    >>> outputs_beyond_threshold(np.array([0.2, 0.3]), 0.3, 1).argmax(axis=1)
    array([0, 1])
    """
    over = score - threshold
    over = np.where(over == 0, np.finfo(np.float64).tiny, over)
    return as_two_outputs(over if column else -over)


def has_threshold(model: Any) -> bool:
    """Whether an estimator is one of scikit-learn's that decide by a threshold of their own."""
    return is_from_sklearn(model) and type(model).__name__ in ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


def is_from_sklearn(model: Any) -> bool:
    """Whether an estimator is scikit-learn's own, not one of another library that is called the same."""
    return type(model).__module__.startswith("sklearn.")


def read_threshold(model: Any) -> tuple[Any, int, float, bool]:
    """The threshold of an estimator: the scoring estimator, the class column, the value and its unit."""
    inner = getattr(model, "estimator_", model.estimator)
    method = model.response_method
    likely = hasattr(inner, "predict_proba") if method == "auto" else method == "predict_proba"
    tuned = hasattr(model, "best_threshold_")
    given = model.best_threshold_ if tuned else model.threshold
    scorer = getattr(model, "_curve_scorer", None)
    wanted = getattr(scorer, "_get_pos_label", lambda: None)() if tuned else model.pos_label
    column = 1 if wanted is None else int(np.flatnonzero(model.classes_ == wanted)[0])
    return inner, column, float((0.5 if likely else 0.0) if given == "auto" else given), likely


def make_threshold_outputs(model: Any) -> Callable[[Any], Array]:
    """A function from an estimator's input to outputs ``(p, 2)``: how far the score is beyond the threshold."""
    scored, column, threshold, likely = read_threshold(model)

    def raw(rows: Any) -> Array:
        if likely:
            return outputs_beyond_threshold(
                np.asarray(scored.predict_proba(rows), dtype=np.float64)[:, column], threshold, column
            )
        score = np.asarray(scored.decision_function(rows), dtype=np.float64)
        return outputs_beyond_threshold(score if column else -score, threshold, column)

    return raw
