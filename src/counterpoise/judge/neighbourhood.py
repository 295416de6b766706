"""The neighbourhood of answers: the energy's least slope, and the free energy of a cloud with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.physics import boltzmann, cloud
from counterpoise.physics.estimators.monte_carlo import cloud_free_energy
from counterpoise.physics.free_energy import FreeEnergy
from counterpoise.physics.stability import gradient_norm, largest_eigenvalue, least_norm_subgradient
from counterpoise.types import Array

LANCZOS_ITERATIONS = 12  # of Lanczos
DIFFERENCE_STEP = 1e-6  # in feature scales, for the slopes of distance and penalty
KINK_DISTANCE = 0.01  # an answer this near to the boundary, in feature scales, stands on it


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The free energy of Eq. (6) around points of a chart, over a cloud of width ``sigma`` at temperature ``T``.

    ``draws`` ``(n, m, d)`` are in opposite pairs, 0 where a cell has no coordinate, and the same for all points.
    """

    chart: CoordinateChart
    T: float
    sigma: float
    draws: Array

    @classmethod
    def of(cls, chart: CoordinateChart, T: float, sigma: float, samples: int, seed: int) -> Neighbourhood:
        """The neighbourhood with draws of its rows' own streams, whitened where there are enough of them."""
        d = chart.origin.shape[1]
        half = chart.problem.make_streams(seed).normal((samples // 2, d))
        draws = np.stack([half, -half], axis=2).reshape(len(half), -1, d)
        if draws.shape[1] >= 4 * d:
            draws = cloud.whiten(draws)
        return cls(chart, T, sigma, draws * chart.movable[:, None, :])

    def with_fewer_draws(self, samples: int) -> Neighbourhood:
        """The same with at most so many draws."""
        return replace(self, draws=self.draws[:, :samples])

    def value(self, z: Array) -> Array:
        """F at coordinates ``(n, ..., d)``, ``(n, ...)``."""
        return self._free_energy_at(z, slopes=False).value

    def gradient(self, z: Array) -> Array:
        """Its gradient ``(n, ..., d)``: the model's own over the cloud, or the cloud's weights alone."""
        return self._free_energy_at(z, slopes=True).gradient

    def largest_curvature(self, z: Array) -> Array:
        """The largest eigenvalue of its Hessian at ``z`` ``(n, d)``, ``(n,)``, Eq. (26).

        From the Boltzmann weights alone, which also see the kinks of the energy; at most ``T / sigma**2``.
        """
        energy, _ = self.chart.energy_and_margin(cloud.points(z, self.sigma, self.draws))
        w = boltzmann.weights(energy, self.T)
        start = np.where(self.chart.movable, np.random.default_rng(0).standard_normal(z.shape[1]), 0.0)
        start[~self.chart.movable.any(axis=1)] = 1.0

        def product(_: Array, v: Array) -> Array:
            return np.where(self.chart.movable, cloud.hvp(w, self.draws, self.sigma, self.T, v), 0.0)

        return largest_eigenvalue(product, z, LANCZOS_ITERATIONS, start)

    def least_slope(self, z: Array) -> Array:
        """Norm ``(n,)`` of the shortest subgradient of E at ``z`` ``(n, d)``; NaN where the model has no gradient."""
        chart = self.chart
        if not chart.problem.has_gradient:
            return np.full(len(z), np.nan)
        smooth, box = self._effort_slope(z)
        margin, slope = chart.margin_and_gradient(z)
        pull = chart.problem.energy.mu[:, None] * slope
        kink = np.abs(margin) <= KINK_DISTANCE * gradient_norm(slope)
        smooth = smooth - np.where((~kink & (margin < 0))[:, None], pull, 0.0)
        segment = np.where(kink[:, None], pull, 0.0)
        return gradient_norm(least_norm_subgradient(smooth, box, segment, -1.0, 0.0))

    def _effort_slope(self, z: Array) -> tuple[Array, Array]:
        """Slope of distance and penalty at ``z`` ``(n, d)``, and half its jump at a kink, each ``(n, d)``."""
        problem = self.chart.problem
        slope, jump = np.zeros(z.shape), np.zeros(z.shape)
        here = problem.energy.effort(self.chart.to_rows(z)[:, None, :], problem.x0)[:, 0]
        for column in np.flatnonzero(self.chart.movable.any(axis=0)):
            step = np.zeros(z.shape[1])
            step[column] = DIFFERENCE_STEP
            ahead, behind = (
                problem.energy.effort(self.chart.to_rows(z + sign * step)[:, None, :], problem.x0)[:, 0]
                for sign in (1, -1)
            )
            slope[:, column] = (ahead - behind) / (2 * DIFFERENCE_STEP)
            jump[:, column] = np.maximum(ahead + behind - 2 * here, 0.0) / (2 * DIFFERENCE_STEP)
        return slope, np.where(jump > 1e-4, jump, 0.0)

    def _free_energy_at(self, z: Array, *, slopes: bool) -> FreeEnergy:
        flat = z.reshape(len(z), -1, z.shape[-1])
        points = flat[:, :, None, :] + self.sigma * self.draws[:, None]
        gradients = None
        if slopes and self.chart.problem.has_gradient:
            energy, _, slope = self.chart.energy_margin_and_gradient(points)
            gradients = slope / self.T
        else:
            energy, _ = self.chart.energy_and_margin(points)
        found = cloud_free_energy(energy / self.T, self.draws[:, None], self.sigma, self.T, gradients)
        gradient = np.where(self.chart.movable[:, None, :], found.gradient, 0.0)
        return replace(found, value=found.value.reshape(z.shape[:-1]), gradient=gradient.reshape(z.shape))
