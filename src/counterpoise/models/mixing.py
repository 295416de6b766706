"""Steps of a pipeline that mix columns: projections, such as principal components, and products of columns.

A column that comes out of them has no column of the row behind it, so no split point can be carried back; a slope can.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from counterpoise.models.feeding import dense
from counterpoise.models.front import Front
from counterpoise.types import Array, Index

PROJECTIONS = (
    "PCA", "IncrementalPCA", "TruncatedSVD", "FastICA", "FactorAnalysis", "LinearDiscriminantAnalysis",
    "GaussianRandomProjection", "SparseRandomProjection",
)  # fmt: skip
STRAIGHT = 1e-9  # of the largest value: what rounding may make of a projection
WIDEST = 2000  # columns that come in, and products that come out


class Mixture(Protocol):
    """What a step makes of columns ``(p, q)``, with its derivatives."""

    @property
    def bent(self) -> bool:
        """Whether it is more than a linear map."""
        ...

    def __call__(self, z: Array) -> Array: ...

    def pull(self, z: Array, slopes: Array) -> Array:
        """A gradient by the columns that come out ``(p, r)`` as one by those that went in ``(p, q)``."""
        ...

    def push(self, z: Array, v: Array) -> Array:
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
    bent: bool = False

    def __call__(self, z: Array) -> Array:
        return (z - self.centre) @ self.matrix + self.offset

    def pull(self, z: Array, slopes: Array) -> Array:
        """The same everywhere."""
        return slopes @ self.matrix.T

    def push(self, z: Array, v: Array) -> Array:
        """The same everywhere."""
        return v @ self.matrix


@dataclass(frozen=True, eq=False)
class Products:
    """Products of two columns each, ``one`` and ``other`` ``(r,)``; beyond the last column is a 1.

    >>> Products(np.array([0, 0]), np.array([2, 1]))(np.array([[3.0, 5.0]]))
    array([[ 3., 15.]])
    """

    one: Index
    other: Index
    bent: bool = True

    def __call__(self, z: Array) -> Array:
        every = _with(z, 1.0)
        return every[:, self.one] * every[:, self.other]

    def pull(self, z: Array, slopes: Array) -> Array:
        """The slope of a factor is the other one."""
        every, out = _with(z, 1.0), np.zeros((z.shape[1] + 1, len(z)))
        np.add.at(out, self.one, (slopes * every[:, self.other]).T)
        np.add.at(out, self.other, (slopes * every[:, self.one]).T)
        return out[:-1].T

    def push(self, z: Array, v: Array) -> Array:
        """What each factor's direction does beside the other."""
        every, moved = _with(z, 1.0), _with(v, 0.0)
        return moved[:, self.one] * every[:, self.other] + every[:, self.one] * moved[:, self.other]


def _with(z: Array, beyond: float) -> Array:
    return np.column_stack([z, np.full(len(z), beyond)])


@dataclass(frozen=True, eq=False)
class Mixed:
    """A front, then a step that mixes its columns."""

    front: Front
    mixture: Mixture

    def __call__(self, x: Array) -> Array:
        return self.mixture(self.front(x))

    @cached_property
    def bent(self) -> bool:
        """Whether some of it is more than piecewise linear."""
        return self.front.bent or self.mixture.bent

    def push(self, x: Array, v: Array) -> Array:
        """A direction ``(p, d)`` of the row as one of the columns ``(p, r)``."""
        return self.mixture.push(self.front(x), self.front.push(x, v))

    def pull(self, x: Array, slopes: Array) -> Array:
        """A gradient ``(p, r)`` by the columns as one by the row ``(p, d)``."""
        return self.front.pull(x, self.mixture.pull(self.front(x), slopes))


def mixes(step: Any) -> bool:
    """Whether a step of a pipeline is one that `read_mixture` knows."""
    return type(step).__name__ in (*PROJECTIONS, "PolynomialFeatures")


def read_mixture(step: Any, z: Array) -> Mixture | None:
    """What a fitted step that mixes columns does, from what it makes of columns ``z`` ``(p, q)``; None: another thing.

    A projection is measured: it is what the step does to one column after the other, and has to be that elsewhere too.
    """
    if z.shape[1] > WIDEST or not len(z) or not np.isfinite(z).all():
        return None
    # of a column that is the same in all rows, a short step would be lost in rounding
    length = np.maximum(np.maximum(z.std(axis=0), np.abs(z).max(axis=0)), 1.0)
    elsewhere = np.vstack([z, z + length])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a step that was fitted on columns with names
        powers = getattr(step, "powers_", None)
        found = _projection(step, z, length) if powers is None else _products(powers)
        said = dense(step.transform(elsewhere))
    if found is None or found(elsewhere).shape != said.shape:
        return None
    away = np.abs(found(elsewhere) - said).max(initial=0.0)
    return found if away <= STRAIGHT * max(np.abs(said).max(initial=0.0), 1e-300) else None


def _projection(step: Any, z: Array, length: Array) -> Projection:
    centre = z.mean(axis=0)
    moved = dense(step.transform(np.vstack([centre, centre + np.diag(length)])))
    return Projection(centre, (moved[1:] - moved[0]) / length[:, None], moved[0])


def _products(powers: Index) -> Products | None:
    """Products of at most two factors: of more, the step itself is as quick."""
    if len(powers) > WIDEST or powers.sum(axis=1).max(initial=0) > 2:
        return None
    beyond = powers.shape[1]
    factors = [[*np.repeat(np.arange(beyond), line).tolist(), beyond, beyond][:2] for line in powers]
    one, other = np.array(factors, dtype=np.intp).reshape(-1, 2).T
    return Products(one, other)
