"""Links from the sum of a model's leaves ``(p, c)`` to its outputs: one short function for each kind of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterpoise.types import Array

ToOutputs = Callable[[Array], Array]


def softmax(values: Array) -> Array:
    """The probabilities ``(..., c)`` that decision values ``(..., c)`` stand for.

    >>> softmax(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def keep_sums(sums: Array) -> Array:
    """Regressions, probabilities, and the margins of three classes or more."""
    return sums


def two_outputs_zero_first(sums: Array) -> Array:
    """One margin ``(p, 1)`` as two outputs; zero goes to the first class."""
    return as_two_outputs(sums[:, 0])


def two_outputs_zero_second(sums: Array) -> Array:
    """One margin ``(p, 1)`` as two outputs; zero goes to the second class."""
    return as_two_outputs(np.where(sums[:, 0] == 0, np.finfo(np.float64).tiny, sums[:, 0]))


def exponential(sums: Array) -> Array:
    """Predictions of a model fitted on logarithms: counts, gamma, tweedie."""
    return np.exp(sums)


def logistic(sums: Array) -> Array:
    """Predictions of a model fitted on log-odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-sums)))


@dataclass(frozen=True, eq=False)
class SoftmaxToOutputs:
    """The probabilities that belong to outputs which are decision values."""

    to_outputs: ToOutputs

    def __call__(self, sums: Array) -> Array:
        return softmax(self.to_outputs(sums))


def as_two_outputs(decision: Array) -> Array:
    """One decision value ``(p,)`` as two outputs ``(p, 2)``: zero goes to the first class."""
    out = np.zeros((len(decision), 2), dtype=decision.dtype)
    out[:, 1] = decision
    return out
