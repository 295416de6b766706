"""Steps of a pipeline that mix columns: projections, such as principal components, and products of columns.

A column that comes out of them has no column of the row behind it, so no split point can be carried back; a slope can.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Products of columns, as many factors as ``factors`` ``(r, k)`` names; beyond the last column is a 1.

    >>> Products(np.array([[0, 2], [0, 1]]))(np.array([[3.0, 5.0]]))
    array([[ 3., 15.]])
    """

    factors: Index
    bent: bool = True

    def __call__(self, z: Array) -> Array:
        return np.asarray(self._taken(z).prod(axis=2))

    def pull(self, z: Array, slopes: Array) -> Array:
        """Factor by factor: what the others multiply to is its slope."""
        taken, out = self._taken(z), np.zeros((z.shape[1] + 1, len(z)))
        for factor in range(taken.shape[2]):
            others = np.delete(taken, factor, axis=2).prod(axis=2)
            np.add.at(out, self.factors[:, factor], (slopes * others).T)
        return out[:-1].T

    def push(self, z: Array, v: Array) -> Array:
        """The sum of what each factor's direction does beside the others."""
        taken, moved = self._taken(z), self._taken(v, 0.0)
        others = [np.delete(taken, factor, axis=2).prod(axis=2) for factor in range(taken.shape[2])]
        return np.asarray(sum(moved[..., factor] * rest for factor, rest in enumerate(others)))

    def _taken(self, z: Array, beyond: float = 1.0) -> Array:
        return np.column_stack([z, np.full(len(z), beyond)])[:, self.factors]


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

    A projection is measured: it is what the step does to one column after the other, and has to be that on ``z`` too.
    """
    if z.shape[1] > WIDEST or not np.isfinite(z).all():
        return None
    found = _products(step.powers_) if type(step).__name__ == "PolynomialFeatures" else _projection(step, z)
    if found is None:
        return None
    said = dense(step.transform(z))
    return found if np.abs(found(z) - said).max() <= STRAIGHT * max(np.abs(said).max(), 1e-300) else None


def _projection(step: Any, z: Array) -> Projection:
    centre, length = z.mean(axis=0), np.maximum(z.std(axis=0), 1e-12)
    moved = dense(step.transform(np.vstack([centre, centre + np.diag(length)])))
    return Projection(centre, (moved[1:] - moved[0]) / length[:, None], moved[0])


def _products(powers: Index) -> Products | None:
    if len(powers) > WIDEST:
        return None
    most, beyond = max(int(powers.sum(axis=1).max()), 1), powers.shape[1]
    factors: Sequence[Index] = [np.repeat(np.arange(beyond), line) for line in powers]
    return Products(np.array([np.append(line, np.full(most - len(line), beyond)) for line in factors], dtype=np.intp))
