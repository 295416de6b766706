"""Plausibility: how far a point lies from real rows of the target, as regularisers R of the energy.

Each is a setting that ``fit_to`` turns into a regulariser, given the target's rows and the coordinates distances are
taken in. Its penalty is multiplied by ``weight`` and by lam, as every regulariser is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.spatial import KDTree

from counterpoise.errors import InputError
from counterpoise.objective.regularizers import Regularizer
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rows embedded in a Euclidean space: numbers in feature scales, different categories at distance 1.

    ``unit`` ``(d,)`` is the raw length of one unit, ``category_counts`` ``(d,)`` the number of categories (0: a number
    or a rank), ``fill_values`` ``(d,)`` what a missing cell counts as.

    >>> space = Coordinates(np.array([2.0, 1.0]), np.array([0, 3]), np.zeros(2))
    >>> a, b = space.embed(np.array([[4.0, 0.0], [4.0, 2.0]]))
    >>> float(np.linalg.norm(a - b).round(9))
    1.0
    """

    unit: Array
    category_counts: Index
    fill_values: Array

    def embed(self, x: Array) -> Array:
        """Points ``(..., e)`` of rows ``(..., d)``: the numbers first, then a column for each category."""
        known = np.where(np.isnan(x), self.fill_values, x)
        parts = [known[..., self.has_slope] / self.unit[self.has_slope]]
        for column in np.flatnonzero(~self.has_slope):
            parts.append((known[..., column, None] == np.arange(self.category_counts[column])) * np.sqrt(0.5))
        return np.concatenate(parts, axis=-1)

    def gradient_to_raw_units(self, gradient: Array, x: Array) -> Array:
        """A gradient ``(..., e)`` in these coordinates as one in raw units ``(..., d)``; 0 for categories and gaps."""
        out = np.zeros(x.shape)
        out[..., self.has_slope] = gradient[..., : np.count_nonzero(self.has_slope)] / self.unit[self.has_slope]
        return np.where(np.isnan(x), 0.0, out)

    @property
    def has_slope(self) -> Mask:
        """Which columns have a slope, ``(d,)``."""
        return np.asarray(self.category_counts == 0)


@runtime_checkable
class Fittable(Protocol):
    """A regulariser that must first see real rows of the target."""

    def fit_to(self, rows: Array, space: Coordinates) -> Regularizer:
        """The regulariser for a target whose reference rows ``(r, d)`` these are."""
        ...


@dataclass(frozen=True)
class NearTarget:
    """``R`` = the mean distance to the k nearest reference rows of the target.

    neighbours: how many nearest rows are looked at; 5 by default.
    weight: how much it counts beside the other terms; 1 by default.

    >>> space = Coordinates(np.ones(1), np.zeros(1, dtype=int), np.zeros(1))
    >>> penalty = NearTarget(neighbours=2).fit_to(np.array([[0.0], [1.0], [9.0]]), space)
    >>> x = np.array([[[3.0]]])
    >>> penalty(x, x[:, 0], x), penalty.gradient(x, x[:, 0], x)
    (array([[2.5]]), array([[[1.]]]))
    """

    neighbours: int = 5
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_settings(self, self.neighbours, self.weight)

    def fit_to(self, rows: Array, space: Coordinates) -> Regularizer:
        """The regulariser for a target whose reference rows ``(r, d)`` these are."""
        return _NearTargetPenalty(self.weight, min(self.neighbours, len(rows)), KDTree(space.embed(rows)), space)


@dataclass(frozen=True)
class Mahalanobis:
    """``R`` = the Mahalanobis distance to the target's rows: in units of their spread, along their correlations.

    ``shrinkage`` of the covariance towards its diagonal keeps it invertible where features depend on each other.

    shrinkage: between 0 and 1; 0.1 by default.
    weight: how much it counts beside the other terms; 1 by default.

    >>> space = Coordinates(np.ones(1), np.zeros(1, dtype=int), np.zeros(1))
    >>> penalty = Mahalanobis().fit_to(np.array([[-2.0], [2.0]]), space)
    >>> float(penalty(np.array([[[6.0]]]), np.zeros((1, 1)), np.zeros((1, 1, 1)))[0, 0].round(6))
    3.0
    """

    shrinkage: float = 0.1
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_settings(self, 1, self.weight)
        if not 0 < self.shrinkage <= 1:
            raise InputError("shrinkage must be above 0 and at most 1", f"{self!r}", "for instance 0.1")

    def fit_to(self, rows: Array, space: Coordinates) -> Regularizer:
        """The regulariser for a target whose reference rows ``(r, d)`` these are."""
        points = space.embed(rows)
        centre = points.mean(axis=0)
        covariance = (points - centre).T @ (points - centre) / len(points)
        variances = np.diag(covariance)
        # a coordinate in which the rows do not differ: a thousandth of the typical spread, or of the unit
        floor = 1e-6 * (np.median(variances[variances > 0]) if (variances > 0).any() else 1.0)
        diagonal = np.maximum(variances, floor)
        covariance = (1 - self.shrinkage) * covariance + self.shrinkage * np.diag(diagonal)
        covariance[np.diag_indices(len(diagonal))] = diagonal
        return _MahalanobisPenalty(self.weight, centre, np.linalg.inv(covariance), space)


@dataclass(frozen=True)
class LocalOutlier:
    """``R`` = the local outlier factor among the target's rows (Breunig et al.), less 1, which is what inliers have.

    It compares how thinly a point's surroundings are peopled with those of its k nearest rows.

    neighbours: how many nearest rows are looked at; 20 by default.
    weight: how much it counts beside the other terms; 1 by default.

    >>> space = Coordinates(np.ones(1), np.zeros(1, dtype=int), np.zeros(1))
    >>> penalty = LocalOutlier(neighbours=2).fit_to(np.arange(8.0)[:, None], space)
    >>> x = np.array([[[3.5], [40.0]]])
    >>> penalty(x, x[:, 0], x).round(1)
    array([[ 0. , 21.3]])
    """

    neighbours: int = 20
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_settings(self, self.neighbours, self.weight)

    def fit_to(self, rows: Array, space: Coordinates) -> Regularizer:
        """The regulariser for a target whose reference rows ``(r, d)`` these are."""
        points = space.embed(rows)
        tree, k = KDTree(points), min(self.neighbours, len(rows) - 1)
        if k < 1:
            raise InputError(
                "a local outlier factor needs at least two rows of the target", f"{len(rows)}", "use NearTarget"
            )
        distance, place = _find_nearest(tree, points, k + 1)
        # the row itself comes first, unless others lie on it: leave one of them out, whichever it is
        is_itself = place == np.arange(len(points))[:, None]
        is_itself[~is_itself.any(axis=1), -1] = True
        distance, place = distance[~is_itself].reshape(-1, k), place[~is_itself].reshape(-1, k)
        reach = distance[:, -1]
        density = 1.0 / (np.maximum(distance, reach[place]).mean(axis=1) + 1e-10)
        return _LocalOutlierPenalty(self.weight, k, tree, reach, density, space)


@dataclass(frozen=True, eq=False)
class _NearTargetPenalty:
    weight: float
    neighbours: int
    tree: KDTree
    space: Coordinates

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        distance, _ = _find_nearest(self.tree, self.space.embed(x), self.neighbours)
        return np.asarray(self.weight * distance.mean(axis=-1))

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        points = self.space.embed(x)
        _, place = _find_nearest(self.tree, points, self.neighbours)
        away = _unit_vectors(points[..., None, :] - np.asarray(self.tree.data)[place])
        return self.space.gradient_to_raw_units(self.weight * away.mean(axis=-2), x)


@dataclass(frozen=True, eq=False)
class _MahalanobisPenalty:
    weight: float
    centre: Array
    precision: Array
    space: Coordinates

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        return self.weight * self._length_and_slope(x)[0]

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        length, slope = self._length_and_slope(x)
        length = length[..., None]
        return self.space.gradient_to_raw_units(
            self.weight * np.divide(slope, length, out=np.zeros_like(slope), where=length > 0), x
        )

    def _length_and_slope(self, x: Array) -> tuple[Array, Array]:
        away = self.space.embed(x) - self.centre
        slope = away @ self.precision
        return np.sqrt(np.maximum((away * slope).sum(axis=-1), 0.0)), slope


@dataclass(frozen=True, eq=False)
class _LocalOutlierPenalty:
    weight: float
    neighbours: int
    tree: KDTree
    reach: Array  # (r,) distance of each row to its k-th neighbour
    density: Array  # (r,) local reachability density of each row
    space: Coordinates

    def __call__(self, x: Array, x0: Array, delta: Array) -> Array:
        distance, place = _find_nearest(self.tree, self.space.embed(x), self.neighbours)
        factor = self.density[place].mean(axis=-1) * np.maximum(distance, self.reach[place]).mean(axis=-1)
        return np.asarray(self.weight * np.maximum(factor - 1.0, 0.0))

    def gradient(self, x: Array, x0: Array, delta: Array) -> Array:
        points = self.space.embed(x)
        distance, place = _find_nearest(self.tree, points, self.neighbours)
        density = self.density[place].mean(axis=-1)
        factor = density * np.maximum(distance, self.reach[place]).mean(axis=-1)
        away = _unit_vectors(points[..., None, :] - np.asarray(self.tree.data)[place])
        away = np.where((distance > self.reach[place])[..., None], away, 0.0).mean(axis=-2)
        slope = np.where(factor > 1.0, self.weight * density, 0.0)
        return self.space.gradient_to_raw_units(slope[..., None] * away, x)


def _find_nearest(tree: KDTree, points: Array, k: int, farthest: float = 1e100) -> tuple[Array, Index]:
    """Distances and places ``(..., k)`` of the k rows nearest to points ``(..., e)``.

    Points farther out than ``farthest`` count as there: squares of what lies beyond leave double precision.
    """
    distance, place = tree.query(np.clip(points, -farthest, farthest), k=range(1, k + 1))
    return np.asarray(distance), np.asarray(place, dtype=np.intp)


def _unit_vectors(v: Array) -> Array:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.asarray(np.divide(v, length, out=np.zeros_like(v), where=length > 0))


def _check_settings(setting: object, neighbours: int, weight: float) -> None:
    if not (isinstance(neighbours, int) and neighbours >= 1):
        raise InputError("neighbours must be a whole number of at least 1", f"{setting!r}", "for instance 5")
    if not (np.isfinite(weight) and weight >= 0):
        raise InputError("the weight of a regulariser must be at least 0", f"{setting!r}", "for instance 1.0")
