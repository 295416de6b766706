"""Chart: the score and the energy of each row as fields over its numbers in feature scales.

The physics differentiates fields over plain coordinates. A chart maps such coordinates ``z`` to rows: cells that are
fixed, missing or no numbers keep what the row has, and a coordinate that is not moved gives the row's value to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class CoordinateChart:
    """Coordinates around points ``origin`` ``(n, d)``, the rows themselves or their answers.

    ``level`` ``(n,)`` is added to the threshold c. With ``probability`` the score is ``1 / (1 + exp(-margin))``, the
    target's probability against its strongest rival, and c one half.
    """

    problem: Problem
    origin: Array
    threshold_shift: Array
    probability: bool = False

    @classmethod
    def of(cls, problem: Problem, origin: Array | None = None, *, probability: bool = False) -> CoordinateChart:
        """The chart of a problem, around its rows unless other points are given."""
        at = problem.x0 if origin is None else origin
        return cls(problem, at, np.zeros(len(problem)), probability)

    def take(self, rows: Index | Sequence[int]) -> CoordinateChart:
        """The chart of some of the rows."""
        index = np.asarray(rows, dtype=np.intp)
        problem = self.problem.take(index)
        return replace(self, problem=problem, origin=self.origin[index], threshold_shift=self.threshold_shift[index])

    @property
    def is_movable(self) -> Mask:
        """Which cells have a coordinate, ``(n, d)``."""
        return self.problem.numeric & self.problem.region.free & ~np.isnan(self.origin)

    @property
    def origin_coordinates(self) -> Array:
        """The coordinates ``(n, d)`` of the origin; 0 where a cell has none."""
        return np.where(self.is_movable, self.origin / self.problem.scales, 0.0)

    def to_rows(self, z: Array) -> Array:
        """Rows ``(n, ..., d)`` at coordinates ``(n, ..., d)``."""
        spread = (len(z), *(1,) * (z.ndim - 2), z.shape[-1])
        still = ~self.is_movable.reshape(spread) | (z == self.origin_coordinates.reshape(spread))
        x = np.where(still, self.origin.reshape(spread), z * self.problem.scales)
        return self.problem.region.system.compute_derived(x.reshape(len(z), -1, z.shape[-1])).reshape(z.shape)

    def to_coordinates(self, x: Array) -> Array:
        """The coordinates ``(n, d)`` of rows ``x`` ``(n, d)``."""
        return np.where(self.is_movable & (x != self.origin), x / self.problem.scales, self.origin_coordinates)

    def reflect_into_box(self, z: Array) -> Array:
        """Coordinates ``(n, d)`` of the same points mirrored into the region's box."""
        return self.to_coordinates(self.problem.region.reflect(self.to_rows(z)[:, None, :])[:, 0])

    def margin(self, z: Array) -> Array:
        """``f - c`` at coordinates ``(n, ..., d)``, ``(n, ...)``."""
        flat = self.to_rows(z).reshape(len(z), -1, z.shape[-1])
        return self._shift_margin(self.problem.score(flat).margin).reshape(z.shape[:-1])

    def margin_and_gradient(self, z: Array) -> tuple[Array, Array]:
        """``f - c`` and its gradient, ``(n, ...)`` and ``(n, ..., d)``, for a model that gives gradients."""
        flat = self.to_rows(z).reshape(len(z), -1, z.shape[-1])
        margin, gradient = self._margin_and_raw_gradient(flat)
        return margin.reshape(z.shape[:-1]), self._scale_gradient(flat, gradient).reshape(z.shape)

    def energy_and_margin(self, z: Array) -> tuple[Array, Array]:
        """The energy E at coordinates ``(n, ..., d)``, and ``f - c``, both ``(n, ...)``."""
        flat = self.to_rows(z).reshape(len(z), -1, z.shape[-1])
        margin = self._shift_margin(self.problem.score(flat).margin)
        energy = self.problem.energy(flat, self.problem.x0, margin)
        return energy.reshape(z.shape[:-1]), margin.reshape(z.shape[:-1])

    def energy_margin_and_gradient(self, z: Array) -> tuple[Array, Array, Array]:
        """E, ``f - c`` and the gradient of E, for a model that gives gradients."""
        flat = self.to_rows(z).reshape(len(z), -1, z.shape[-1])
        margin, gradient = self._margin_and_raw_gradient(flat)
        energy = self.problem.energy(flat, self.problem.x0, margin)
        slope = self._scale_gradient(flat, self.problem.energy.gradient(flat, self.problem.x0, margin, gradient))
        return energy.reshape(z.shape[:-1]), margin.reshape(z.shape[:-1]), slope.reshape(z.shape)

    def _margin_and_raw_gradient(self, x: Array) -> tuple[Array, Array]:
        """``f - c`` ``(n, k)`` and its raw gradient at rows ``x`` ``(n, k, d)``."""
        (margin, *_), gradient = self.problem.gradient(x)
        if self.probability:
            p = expit(margin)
            gradient = gradient * (p * (1 - p))[..., None]
        return self._shift_margin(margin), gradient

    def _scale_gradient(self, x: Array, gradient: Array) -> Array:
        """A raw gradient at rows ``x`` ``(n, k, d)`` in coordinates; derived features pass theirs on."""
        pulled = self.problem.region.project_gradient(x, gradient)
        return np.where(self.is_movable[:, None, :], pulled * self.problem.scales, 0.0)

    def _shift_margin(self, margin: Array) -> Array:
        """Margins ``(n, k)`` as this chart's score counts them."""
        score = expit(margin) - 0.5 if self.probability else margin
        return np.asarray(score - self.threshold_shift[:, None])
