"""From the sum of a model's leaves ``(p, c)`` to its outputs: one short function for each kind of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterpoise.models.machine import two_columns
from counterpoise.types import Array

Finish = Callable[[Array], Array]


def softmax(values: Array) -> Array:
    """The probabilities ``(..., c)`` that decision values ``(..., c)`` stand for.

    >>> softmax(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def as_is(sums: Array) -> Array:
    """Regressions, probabilities, and the margins of three classes or more."""
    return sums


def first_and_second(sums: Array) -> Array:
    """One margin ``(p, 1)`` as two outputs; zero goes to the first class."""
    return two_columns(sums[:, 0])


def zero_is_second(sums: Array) -> Array:
    """One margin ``(p, 1)`` as two outputs; zero goes to the second class."""
    return two_columns(np.where(sums[:, 0] == 0, np.finfo(np.float64).tiny, sums[:, 0]))


def exponential(sums: Array) -> Array:
    """Predictions of a model fitted on logarithms: counts, gamma, tweedie."""
    return np.exp(sums)


def logistic(sums: Array) -> Array:
    """Predictions of a model fitted on log-odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-sums)))


@dataclass(frozen=True, eq=False)
class Softmax:
    """The probabilities that belong to outputs which are decision values."""

    finish: Finish

    def __call__(self, sums: Array) -> Array:
        return softmax(self.finish(sums))
