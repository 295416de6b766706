"""Steps of a pipeline that mix columns: projections, such as principal components, and products of columns.

A column that comes out of them has no column of the row behind it, so no split point can be carried back; a slope can.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from counterpoise.models.inputs import to_dense
from counterpoise.models.sklearn.pipeline.columnwise import ColumnwiseSteps
from counterpoise.types import Array, Index

PROJECTION_CLASSES = (
    "PCA", "IncrementalPCA", "TruncatedSVD", "FastICA", "FactorAnalysis", "LinearDiscriminantAnalysis",
    "GaussianRandomProjection", "SparseRandomProjection",
)  # fmt: skip


class MixingStep(Protocol):
    """A step as a function of columns ``(p, q)``, with its derivatives."""

    @property
    def is_curved(self) -> bool:
        """Whether it is more than a linear map."""
        ...

    def __call__(self, z: Array) -> Array: ...

    def pull_gradient(self, z: Array, slopes: Array) -> Array:
        """A gradient by the columns that come out ``(p, r)`` as one by those that went in ``(p, q)``."""
        ...

    def push_direction(self, z: Array, v: Array) -> Array:
        """A direction ``(p, q)`` as one of the columns that come out ``(p, r)``."""
        ...


@dataclass(frozen=True, eq=False)
class Projection:
    """``(z - centre) @ matrix + offset``.

    >>> Projection(np.zeros(2), np.array([[1.0], [2.0]]), np.array([0.5]))(np.array([[1.0, 1.0]]))
    array([[3.5]])
    """

    centre: Array  # (q,)
    matrix: Array  # (q, r)
    offset: Array  # (r,)
    is_curved: bool = False

    def __call__(self, z: Array) -> Array:
        return (z - self.centre) @ self.matrix + self.offset

    def pull_gradient(self, z: Array, slopes: Array) -> Array:
        """The same everywhere."""
        return slopes @ self.matrix.T

    def push_direction(self, z: Array, v: Array) -> Array:
        """The same everywhere."""
        return v @ self.matrix


@dataclass(frozen=True, eq=False)
class PairProducts:
    """Products of two columns each, ``one`` and ``other`` ``(r,)``; beyond the last column is a 1.

    >>> PairProducts(np.array([0, 0]), np.array([2, 1]))(np.array([[3.0, 5.0]]))
    array([[ 3., 15.]])
    """

    first_factor: Index
    second_factor: Index
    is_curved: bool = True

    def __call__(self, z: Array) -> Array:
        every = _append_column(z, 1.0)
        return every[:, self.first_factor] * every[:, self.second_factor]

    def pull_gradient(self, z: Array, slopes: Array) -> Array:
        """The slope of a factor is the other one."""
        every, out = _append_column(z, 1.0), np.zeros((z.shape[1] + 1, len(z)))
        np.add.at(out, self.first_factor, (slopes * every[:, self.second_factor]).T)
        np.add.at(out, self.second_factor, (slopes * every[:, self.first_factor]).T)
        return out[:-1].T

    def push_direction(self, z: Array, v: Array) -> Array:
        """By the product rule: the direction of each factor times the other factor."""
        every, moved = _append_column(z, 1.0), _append_column(v, 0.0)
        return (
            moved[:, self.first_factor] * every[:, self.second_factor]
            + every[:, self.first_factor] * moved[:, self.second_factor]
        )


def _append_column(z: Array, beyond: float) -> Array:
    return np.column_stack([z, np.full(len(z), beyond)])


@dataclass(frozen=True, eq=False)
class ColumnwiseThenMixing:
    """Columnwise steps, then a step that mixes their columns."""

    columnwise_steps: ColumnwiseSteps
    mixing_step: MixingStep

    def __call__(self, x: Array) -> Array:
        return self.mixing_step(self.columnwise_steps(x))

    @cached_property
    def is_curved(self) -> bool:
        """Whether some of it is more than piecewise linear."""
        return self.columnwise_steps.is_curved or self.mixing_step.is_curved

    def push_direction(self, x: Array, v: Array) -> Array:
        """A direction ``(p, d)`` of the row as one of the columns ``(p, r)``."""
        return self.mixing_step.push_direction(self.columnwise_steps(x), self.columnwise_steps.push_direction(x, v))

    def pull_gradient(self, x: Array, slopes: Array) -> Array:
        """A gradient ``(p, r)`` by the columns as one by the row ``(p, d)``."""
        return self.columnwise_steps.pull_gradient(x, self.mixing_step.pull_gradient(self.columnwise_steps(x), slopes))


def is_mixing_step(step: Any) -> bool:
    """Whether a step of a pipeline is one that `read_mixing_step` knows."""
    return type(step).__name__ in (*PROJECTION_CLASSES, "PolynomialFeatures")


def read_mixing_step(
    step: Any, z: Array, *, max_columns: int = 2000, max_difference: float = 1e-9
) -> MixingStep | None:
    """The arithmetic of a fitted step that mixes columns, read on columns ``z`` ``(p, q)``; None if it is not known.

    A projection is measured by moving one column after the other, then compared with the step elsewhere: it may differ
    by ``max_difference`` of the largest value, which is rounding. ``max_columns`` may come in, and products come out.
    """
    if z.shape[1] > max_columns or not len(z) or not np.isfinite(z).all():
        return None
    # a column may be the same in all rows: a step of its spread would be lost in rounding
    length = np.maximum(np.maximum(z.std(axis=0), np.abs(z).max(axis=0)), 1.0)
    elsewhere = np.vstack([z, z + length])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the step was fitted on columns with names
        powers = getattr(step, "powers_", None)
        found = _measure_projection(step, z, length) if powers is None else _read_products(powers, max_columns)
        transformed = to_dense(step.transform(elsewhere))
    if found is None or found(elsewhere).shape != transformed.shape:
        return None
    away = np.abs(found(elsewhere) - transformed).max(initial=0.0)
    return found if away <= max_difference * max(np.abs(transformed).max(initial=0.0), 1e-300) else None


def _measure_projection(step: Any, z: Array, length: Array) -> Projection:
    centre = z.mean(axis=0)
    moved = to_dense(step.transform(np.vstack([centre, centre + np.diag(length)])))
    return Projection(centre, (moved[1:] - moved[0]) / length[:, None], moved[0])


def _read_products(powers: Index, max_products: int) -> PairProducts | None:
    """Products of at most two factors: of more, the step itself is as quick."""
    if len(powers) > max_products or powers.sum(axis=1).max(initial=0) > 2:
        return None
    beyond = powers.shape[1]
    factors = [[*np.repeat(np.arange(beyond), line).tolist(), beyond, beyond][:2] for line in powers]
    one, other = np.array(factors, dtype=np.intp).reshape(-1, 2).T
    return PairProducts(one, other)
