"""Regularisers: the R of Eq. (3), what makes a change unwelcome beyond its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from counterpoise.types import Array, Index


@runtime_checkable
class Regularizer(Protocol):
    """A penalty on points ``x`` ``(n, k, d)`` given ``x0`` ``(n, d)`` and the scaled differences ``(n, k, d)``."""

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        """The penalty, ``(n, k)``."""
        ...

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        """Its gradient in raw units, ``(n, k, d)``; 0 where it has none."""
        ...


@dataclass(frozen=True, eq=False)
class WeightedL1:
    """``R = sum_i w_i |delta_i|`` over the critical features, Eq. (9); ``weights`` ``(d,)``, 0 where uncritical.

    ``unit`` ``(d,)`` is the raw length of one unit of difference; 0 marks columns without a slope (categories).

    >>> penalty = WeightedL1(np.array([1.0, 10.0]), np.array([1.0, 1.0]))
    >>> delta = np.array([[[2.0, 0.5]]])
    >>> float(penalty(delta, np.zeros((1, 2)), delta)[0, 0])
    7.0
    """

    weights: Array
    unit: Array

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        return np.asarray(delta @ self.weights)

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        slope = np.divide(self.weights, self.unit, out=np.zeros_like(self.weights), where=self.unit > 0)
        return np.nan_to_num(np.sign(x - x0[:, None, :])) * slope


@dataclass(frozen=True)
class Sparsity:
    """``R`` = the number of changed features.

    >>> delta = np.array([[[2.0, 0.0, 0.1]]])
    >>> float(Sparsity()(delta, np.zeros((1, 3)), delta)[0, 0])
    2.0
    """

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        return np.asarray(np.count_nonzero(delta, axis=-1), dtype=np.float64)

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        return np.zeros_like(x)


@dataclass(frozen=True, eq=False)
class ChangeCount:
    """``R = sum_i w_i [delta_i > 0]``: the number of changed features, each counted by its weight, ``(d,)``.

    A weight of 0 marks what nobody has to change by hand, such as a feature that is computed from others.

    >>> delta = np.array([[[2.0, 0.0, 0.1]]])
    >>> float(ChangeCount(np.array([1.0, 1.0, 0.5]))(delta, np.zeros((1, 3)), delta)[0, 0])
    1.5
    """

    weights: Array

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        return np.asarray((delta != 0) @ self.weights)

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        return np.zeros_like(x)


@dataclass(frozen=True, eq=False)
class RegularizerByRow:
    """One regulariser for some rows, another for others, as where rows have different targets.

    ``part_of_row`` ``(n,)`` is the place of each row's regulariser among ``parts``.

    >>> wide = np.ones((2, 1, 3))
    >>> both = RegularizerByRow((Sparsity(), WeightedL1(np.ones(3), np.ones(3))), np.array([0, 1]))
    >>> both(wide, np.zeros((2, 3)), 2 * wide)
    array([[3.],
           [6.]])
    """

    parts: tuple[Regularizer, ...]
    part_of_row: Index

    def take(self, rows: Index | Sequence[int]) -> RegularizerByRow:
        """The regularisers of some of the rows."""
        return replace(self, part_of_row=self.part_of_row[np.asarray(rows, dtype=np.intp)])

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        total = np.zeros(x.shape[:-1])
        for number, part in enumerate(self.parts):
            mine = np.flatnonzero(self.part_of_row == number)
            if len(mine):
                total[mine] = part(x[mine], x0[mine], delta[mine])
        return total

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        total = np.zeros(x.shape)
        for number, part in enumerate(self.parts):
            mine = np.flatnonzero(self.part_of_row == number)
            if len(mine):
                total[mine] = part.gradient(x[mine], x0[mine], delta[mine])
        return total
