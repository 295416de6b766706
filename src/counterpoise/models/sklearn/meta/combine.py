"""How models made of models combine their members' outputs: means, calibration, a last model, a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from counterpoise.models.links import as_two_outputs, softmax
from counterpoise.models.sklearn.thresholds import outputs_beyond_threshold
from counterpoise.types import Array, Link, Model

MemberOutputs = list[tuple[Array, Link]]
"""The outputs ``(p, c)`` of each member, with their link."""


def as_probabilities(outputs: Array, link: Link) -> Array:
    """Probabilities ``(p, c)`` from a member's outputs."""
    if link == "log":
        return outputs
    if outputs.shape[1] == 2:  # as the library does, to the bit
        second = expit(outputs[:, 1] - outputs[:, 0])
        return np.stack([1.0 - second, second], axis=1)
    return softmax(outputs)


def read_as_method(part: tuple[Array, Link], method: str) -> Array:
    """The values of one of a member's methods; of two classes, the score of the second alone ``(p, 1)``."""
    outputs, link = part
    if method == "predict_proba":
        found = as_probabilities(outputs, link)
        return found[:, 1:] if found.shape[1] == 2 else found
    pair = method == "decision_function" and outputs.shape[1] == 2
    return outputs[:, 1:] - outputs[:, :1] if pair else outputs


def score_method_of(member: Any) -> str:
    """The method by which scikit-learn asks a classifier for its scores."""
    return "decision_function" if hasattr(member, "decision_function") else "predict_proba"


@dataclass(frozen=True, eq=False)
class MeanCombiner:
    """The mean of probabilities, or of numbers."""

    weights: Array | None
    is_classifier: bool

    def __call__(self, parts: MemberOutputs) -> Array:
        outputs = [as_probabilities(*part) if self.is_classifier else part[0] for part in parts]
        return np.asarray(np.average(outputs, axis=0, weights=self.weights))


@dataclass(frozen=True, eq=False)
class CalibratedMeanCombiner:
    """The mean of probabilities that calibrators make of scores, class by class."""

    calibrators: tuple[tuple[str, Any], ...]  # of each member, with the method that they were fitted on
    class_count: int

    def __call__(self, parts: MemberOutputs) -> Array:
        return np.asarray(
            np.mean([self._calibrate_member(*pair) for pair in zip(parts, self.calibrators, strict=True)], axis=0)
        )

    def _calibrate_member(self, part: tuple[Array, Link], fitted: tuple[str, Any]) -> Array:
        method, calibrators = fitted
        scores = read_as_method(part, method).T
        found = np.stack([_calibrate(*pair) for pair in zip(calibrators, scores, strict=True)], axis=1)
        if self.class_count == 2:
            return np.hstack([1.0 - found, found])
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(found, total, out=np.full_like(found, 1 / self.class_count), where=total != 0))


def _calibrate(calibrator: Any, scores: Array) -> Array:
    """Calibrated scores ``(p,)``; a sigmoid is computed by its formula, in a tenth of the time."""
    if type(calibrator).__name__ == "_SigmoidCalibration":
        return np.asarray(expit(-(calibrator.a_ * scores + calibrator.b_)))
    return np.asarray(calibrator.predict(scores))


@dataclass(frozen=True, eq=False)
class StackingCombiner:
    """The outputs of a last model that reads the members' answers."""

    final_model: Model
    methods: tuple[str, ...]

    def __call__(self, parts: MemberOutputs) -> Array:
        return np.asarray(self.final_model.outputs(stack_answers(parts, self.methods)))


def stack_answers(parts: MemberOutputs, methods: Sequence[str]) -> Array:
    """The members' answers ``(p, q)`` side by side."""
    return np.hstack([read_as_method(part, method) for part, method in zip(parts, methods, strict=True)])


@dataclass(frozen=True, eq=False)
class OneVsRestCombiner:
    """Each member's score of its own class; probabilities add up to 1."""

    method: str

    def __call__(self, parts: MemberOutputs) -> Array:
        found = stack_answers(parts, [self.method] * len(parts))
        if self.method == "decision_function":
            return found if found.shape[1] > 1 else as_two_outputs(found[:, 0])
        found = found if found.shape[1] > 1 else np.hstack([1.0 - found, found])
        total = found.sum(axis=1, keepdims=True)  # 0 where no member claims the row
        return np.asarray(np.divide(found, total, out=np.zeros_like(found), where=total != 0))


@dataclass(frozen=True, eq=False)
class InverseTransformCombiner:
    """A number brought back from the scale on which the member was fitted."""

    transformer: Any

    def __call__(self, parts: MemberOutputs) -> Array:
        return np.asarray(self.transformer.inverse_transform(parts[0][0]), dtype=np.float64).reshape(-1, 1)


@dataclass(frozen=True, eq=False)
class ThresholdCombiner:
    """How far the score of one class is beyond a threshold; at the threshold the class is predicted."""

    column: int  # of the class
    threshold: float
    probability: bool  # whether the score is a probability

    def __call__(self, parts: MemberOutputs) -> Array:
        outputs, link = parts[0]
        score = as_probabilities(outputs, link) if self.probability else outputs - outputs[:, ::-1]
        return outputs_beyond_threshold(score[:, self.column], self.threshold, self.column)
