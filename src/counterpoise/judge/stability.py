"""Stability: how sharply the energy and the free energy change around the answers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.replay import Constraints, replay_valid_rows
from counterpoise.explanation.explanation import Explanation, check_explanation
from counterpoise.judge.robustness import DEFAULT_ASCENT, AscentSettings, check_positive
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.physics import boltzmann, cloud
from counterpoise.physics import robustness as bounds
from counterpoise.physics.estimators.monte_carlo import cloud_free_energy
from counterpoise.physics.free_energy import FreeEnergy
from counterpoise.physics.stability import (
    gradient_norm,
    largest_eigenvalue,
    least_norm_subgradient,
    lipschitz_constant,
)
from counterpoise.streams import StreamKey
from counterpoise.types import Array, split_rows


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How sharply the free energy changes around the valid answers; ``table`` has a line for each row.

    All in standard deviations. slope: norm of the shortest subgradient of E at the answer, 0 at a kink that is a
    minimum; NaN where the model gives no gradient, as trees do not. The rest is of the free energy of a cloud of width
    ``sigma`` at temperature ``T``, Eq. (6), which every model has. gradient: its norm, Eq. (24). lipschitz: the
    steepest slope found within ``xi``, Eq. (25). curvature: the largest eigenvalue of its Hessian, Eq. (26). rise: by
    how much the worst perturbation found within ``xi`` raises it, Eq. (29), and bound: what a parabola would allow,
    Eq. (30). stable: whether that stays within ``delta``, the condition of Eq. (31) that is not void at a minimum;
    printed: the condition as printed.
    """

    table: pd.DataFrame
    has_gradient: bool
    T: float
    sigma: float
    xi: float
    delta: float

    def __repr__(self) -> str:
        seen = self.table.dropna(subset=["gradient"])
        middle = seen[["gradient", "curvature", "lipschitz", "rise", "bound"]].median()
        slope = (
            f"least slope of E {seen['slope'].median():.3g}"
            if self.has_gradient
            else "slope of E: not applicable, the model has no gradient; the cloud answers for it"
        )
        return (
            f"{len(seen)} answer{'s' if len(seen) > 1 else ''}, T = {self.T:g}, cloud of {self.sigma:g}"
            f"{' (medians)' if len(seen) > 1 else ''}\n{slope}\n"
            f"free energy: gradient {middle['gradient']:.3g}, largest curvature {middle['curvature']:.3g}, "
            f"Lipschitz {middle['lipschitz']:.3g}\n"
            f"worst rise within {self.xi:g}: {middle['rise']:.3g} found, {middle['bound']:.3g} in the parabola; "
            f"{int(seen['stable'].sum())} of {len(seen)} within {self.delta:g}"
        )


def stability(
    explanation: Explanation,
    model: Any,
    *,
    T: float = 0.1,
    sigma: float = 0.1,
    xi: float = 0.1,
    delta: float = 0.1,
    reference: Any = None,
    constraints: Constraints = (),
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer | Fittable] = (),
    samples: int = 256,
    ascent: AscentSettings = DEFAULT_ASCENT,
    max_numbers_together: int = 4_000_000,
    seed: int = 0,
) -> Stability:
    """How sharply the energy and its free energy change around the answers, Eq. (24) to Eq. (31).

    explanation: answers of this model; its question binds.
    model: the model that was explained.
    T: the temperature of the free energy, in units of the energy; 0.1 by default.
    sigma: the width of the cloud, in standard deviations; 0.1 by default.
    xi: the size of the worst perturbation looked for, in standard deviations; 0.1 by default.
    delta: the rise of the free energy that still counts as stable; 0.1 by default.
    reference: the data that plausibility is measured against; needed where the question has such a regulariser.
    constraints, weights, regularizers: those of the explanation, needed only where it was saved and could not hold
        them.
    samples: draws of the cloud around each answer; 256 by default.
    ascent: how the worst perturbation is looked for; from 8 directions by default.
    max_numbers_together: numbers in one batch of copies, which bounds the memory; four million by default.
    seed: of the draws.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> found = stability(explain(model, train[3:], reference=train), model)
    >>> found.has_gradient, bool(found.table["curvature"].iloc[0] <= 0.1 / 0.1**2)  # a cloud's is at most T / sigma**2
    (True, True)
    """
    check_explanation(explanation)
    check_positive(T=T, sigma=sigma, xi=xi, delta=delta, samples=samples // 2)
    columns = ["slope", "gradient", "lipschitz", "curvature", "rise", "bound"]
    cells, flags = np.full((len(explanation), 6), np.nan), np.zeros((len(explanation), 2), dtype=bool)
    smooth = True
    given = {"constraints": constraints, "weights": weights, "regularizers": regularizers}
    for part in replay_valid_rows(explanation, model, reference=reference, **given):
        smooth = part.problem.has_gradient
        per_row = (ascent.directions + 1) * max(ascent.copies, samples // 8) * part.x.shape[1]
        for some in split_rows(len(part.rows), max_numbers_together, per_row):
            chart = CoordinateChart.of(part.problem.take(some), part.x[some])
            near = Neighbourhood.of(chart, T, sigma, samples, seed ^ StreamKey.CHECK)
            z, fewer = chart.origin_coordinates, near.with_fewer_draws(ascent.copies)
            norm, largest = gradient_norm(near.gradient(z)), near.largest_curvature(z)
            steepest = lipschitz_constant(fewer.value, z, xi, fewer.draws[:, : 2 * ascent.directions], fewer.gradient)
            worst = bounds.worst_case(fewer.value, z, xi, fewer.draws[:, : ascent.directions], fewer.gradient, steps=10)
            rows = part.rows[some]
            bound = bounds.worst_case_bound(norm, largest, xi)
            steepest = np.maximum(steepest, norm)
            cells[rows] = np.stack([near.least_slope(z), norm, steepest, largest, worst.rise, bound], axis=1)
            flags[rows, 0] = bounds.is_robust(norm, largest, xi, delta)
            flags[rows, 1] = bounds.is_robust_as_printed(norm, largest, xi)
    table = pd.DataFrame(cells, index=explanation.rows.index, columns=columns)
    return Stability(table.assign(stable=flags[:, 0], printed=flags[:, 1]), smooth, T, sigma, xi, delta)


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
        return cls(chart, T, sigma, draws * chart.is_movable[:, None, :])

    def with_fewer_draws(self, samples: int) -> Neighbourhood:
        """The same with at most so many draws."""
        return replace(self, draws=self.draws[:, :samples])

    def value(self, z: Array) -> Array:
        """F at coordinates ``(n, ..., d)``, ``(n, ...)``."""
        return self._free_energy_at(z, slopes=False).value

    def gradient(self, z: Array) -> Array:
        """Its gradient ``(n, ..., d)``: the model's own over the cloud, or the cloud's weights alone."""
        return self._free_energy_at(z, slopes=True).gradient

    def largest_curvature(self, z: Array, lanczos_steps: int = 12) -> Array:
        """The largest eigenvalue of its Hessian at ``z`` ``(n, d)``, ``(n,)``, Eq. (26).

        From the Boltzmann weights alone, which also see the kinks of the energy; at most ``T / sigma**2``.
        """
        energy, _ = self.chart.energy_and_margin(cloud.points(z, self.sigma, self.draws))
        w = boltzmann.weights(energy, self.T)
        start = np.where(self.chart.is_movable, np.random.default_rng(0).standard_normal(z.shape[1]), 0.0)
        start[~self.chart.is_movable.any(axis=1)] = 1.0

        def product(_: Array, v: Array) -> Array:
            return np.where(self.chart.is_movable, cloud.hvp(w, self.draws, self.sigma, self.T, v), 0.0)

        return largest_eigenvalue(product, z, lanczos_steps, start)

    def least_slope(self, z: Array, kink_distance: float = 0.01) -> Array:
        """Norm ``(n,)`` of the shortest subgradient of E at ``z`` ``(n, d)``; NaN where the model has no gradient.

        An answer within ``kink_distance`` of the boundary, in standard deviations, stands on it.
        """
        chart = self.chart
        if not chart.problem.has_gradient:
            return np.full(len(z), np.nan)
        smooth, box = self._effort_slope(z)
        margin, slope = chart.margin_and_gradient(z)
        pull = chart.problem.energy.mu[:, None] * slope
        kink = np.abs(margin) <= kink_distance * gradient_norm(slope)
        smooth = smooth - np.where((~kink & (margin < 0))[:, None], pull, 0.0)
        segment = np.where(kink[:, None], pull, 0.0)
        return gradient_norm(least_norm_subgradient(smooth, box, segment, -1.0, 0.0))

    def _effort_slope(self, z: Array, difference: float = 1e-6) -> tuple[Array, Array]:
        """Slope of distance and penalty at ``z`` ``(n, d)``, and half its jump at a kink, each ``(n, d)``.

        By differences of so many standard deviations.
        """
        problem = self.chart.problem
        slope, jump = np.zeros(z.shape), np.zeros(z.shape)
        effort = problem.energy.effort(self.chart.to_rows(z)[:, None, :], problem.x0)[:, 0]
        for column in np.flatnonzero(self.chart.is_movable.any(axis=0)):
            step = np.zeros(z.shape[1])
            step[column] = difference
            ahead, behind = (
                problem.energy.effort(self.chart.to_rows(z + sign * step)[:, None, :], problem.x0)[:, 0]
                for sign in (1, -1)
            )
            slope[:, column] = (ahead - behind) / (2 * difference)
            jump[:, column] = np.maximum(ahead + behind - 2 * effort, 0.0) / (2 * difference)
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
        gradient = np.where(self.chart.is_movable[:, None, :], found.gradient, 0.0)
        return replace(found, value=found.value.reshape(z.shape[:-1]), gradient=gradient.reshape(z.shape))
