"""The free energy in closed form: Laplace's parabola for the full form, a linear score for the decision form.

Without a model's gradients they come from differences of values, or, where noise is given, from the cloud: for a
forest, whose differences are zero almost everywhere, only the latter is of use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from counterpoise.errors import InputError
from counterpoise.physics import cloud, taylor
from counterpoise.physics.decision import hinge_mean
from counterpoise.physics.fields import Field, Gradient, append_axes
from counterpoise.physics.free_energy import FreeEnergy, check_temperature
from counterpoise.types import Array


@dataclass(frozen=True)
class ClosedForm:
    """Closed-form free energy, exact for a linear score (decision form) and for a parabola whose Hessian is as asked.

    ``covariance`` is that of the Boltzmann law of the full form: "diagonal", O(d) once the curvatures are known, or
    "full", O(d^3). The linear score of the decision form has one direction only and needs neither. With ``samples``
    above 0, `draw` gives noise, and slopes are taken from the cloud where the model has no gradients.

    >>> F = ClosedForm().full_form(lambda x: 0.5 * (x**2).sum(axis=-1), np.array([1.0, 2.0]), 1.0, 1.0)
    >>> float(F.value.round(4))  # 5/4 + ln 2
    1.9431
    """

    covariance: Literal["diagonal", "full"] = "diagonal"
    samples: int = 0

    def __post_init__(self) -> None:
        if self.covariance not in ("diagonal", "full"):
            raise InputError(
                'covariance must be "diagonal" or "full"', f"it is {self.covariance!r}", "choose one of them"
            )

    def draw(self, rng: np.random.Generator, d: int) -> Array | None:
        """Antithetic noise ``(samples, d)`` for one row, or None where slopes are not taken from a cloud.

        >>> ClosedForm().draw(np.random.default_rng(0), 3) is None
        True
        """
        return cloud.draw_antithetic(rng, self.samples, d) if self.samples else None

    def full_form(
        self,
        energy: Field,
        x: Array,
        sigma: Array | float,
        T: Array | float,
        *,
        noise: Array | None = None,
        gradient: Gradient | None = None,
        curvature: Gradient | None = None,
        hessian: bool = False,
    ) -> FreeEnergy:
        """Eq. (6) with the covariance of Eq. (13): ``E - (beta/2) g' C g + (1/2 beta) ln det(I + beta sigma**2 H)``.

        ``C = (beta H + 1/sigma**2)^-1``, the covariance of the Boltzmann law. NaN in the rows where I + beta sigma**2
        H is not positive definite: there the parabola opens downward faster than the cloud thins out. The gradient
        leaves out third derivatives, so it is exact where the value is. ``curvature`` gives the Hessian ``(..., d,
        d)``, or its diagonal ``(..., d)`` for covariance "diagonal"; without it both come from differences of the
        gradient.

        >>> F = ClosedForm().full_form(lambda x: -2 * (x**2).sum(axis=-1), np.array([1.0]), 1.0, 1.0)
        >>> float(F.value)
        nan
        """
        check_temperature(T, zero=False)
        full = self.covariance == "full"
        if gradient is None and noise is not None:
            values = energy(cloud.points(x, sigma, noise))
            g, H = cloud.mean_gradient(values, noise, sigma), cloud.mean_hessian(values, noise, sigma)
            H = H if full else np.diagonal(H, axis1=-2, axis2=-1)
        else:
            g = taylor.gradient(energy, x, sigma) if gradient is None else gradient(x)
            if curvature is not None:
                H = curvature(x)
            elif full:
                H = taylor.hessian(energy, x, gradient, scale=sigma)
            else:
                H = taylor.hessian_diagonal(energy, x, gradient, sigma)
        T = append_axes(T, x.ndim - 1)
        u, g = energy(x) / T, g / T[..., None]
        if full:
            return _laplace_full(u, g, H / T[..., None, None], sigma, hessian).in_energy_units(T)
        return _laplace_diagonal(u, g, H / T[..., None], sigma, hessian).in_energy_units(T)

    def decision_form(
        self,
        score: Field,
        x: Array,
        sigma: Array | float,
        T: Array | float,
        kappa: float,
        *,
        low: Array | float = 0.0,
        high: Array | float = np.inf,
        noise: Array | None = None,
        gradient: Gradient | None = None,
        hessian: bool = False,
    ) -> FreeEnergy:
        """Eq. (6), decision form, for a score taken as normal over the cloud, by `decision.hinge_mean`.

        With gradients (or their differences) mean ``f(x)`` and spread ``|sigma * grad f|``, the linearised score;
        from noise the moments that the cloud has. The Hessian leaves out the curvature of the score.

        >>> F = ClosedForm().decision_form(lambda x: x[..., 0], np.array([1.0]), 0.5, 1.0, np.inf)
        >>> float(np.exp(-F.value).round(4))  # Phi(2)
        0.9772
        """
        check_temperature(T, zero=True)
        mean, slope, spread, spread_slope = (
            _cloud_score_moments(score, x, sigma, noise)
            if gradient is None and noise is not None
            else _linearised_score_moments(score, x, sigma, gradient)
        )
        average = hinge_mean(mean, spread, kappa, low, high)
        by_x = average.derivative_by_mean[..., None] * slope + average.derivative_by_spread[..., None] * spread_slope
        lost = np.isneginf(average.log_mean)
        bend = (
            average.second_derivative_by_mean[..., None, None] * slope[..., :, None] * slope[..., None, :]
            if hessian
            else None
        )
        return FreeEnergy(
            -average.log_mean,
            -by_x,
            np.where(lost, np.inf, average.mean_action),
            np.where(lost, 0.0, average.mean_action + np.where(lost, 0.0, average.log_mean)),
            None if bend is None else -bend,
        ).in_energy_units(T)


def _linearised_score_moments(
    score: Field, x: Array, sigma: Array | float, gradient: Gradient | None
) -> tuple[Array, ...]:
    slope = taylor.gradient(score, x, sigma) if gradient is None else gradient(x)
    spread = np.linalg.norm(sigma * slope, axis=-1)
    unit = np.divide(sigma**2 * slope, spread[..., None], out=np.zeros_like(slope), where=spread[..., None] > 0)
    return score(x), slope, spread, taylor.hvp(score, x, unit, gradient, sigma)


def _cloud_score_moments(score: Field, x: Array, sigma: Array | float, noise: Array) -> tuple[Array, ...]:
    f = score(cloud.points(x, sigma, noise))
    spread = f.std(axis=-1)
    squares = (f - f.mean(axis=-1, keepdims=True)) ** 2
    twice = 2 * spread[..., None]
    by_x = cloud.mean_gradient(squares, noise, sigma)
    return (
        f.mean(axis=-1),
        cloud.mean_gradient(f, noise, sigma),
        spread,
        np.divide(by_x, twice, out=np.zeros_like(by_x), where=twice > 0),
    )


def _laplace_diagonal(u: Array, g: Array, h: Array, sigma: Array | float, hessian: bool) -> FreeEnergy:
    """In units of T, with the noise as unit of length: a = 1 + sigma**2 h is the precision of the Boltzmann law."""
    a = 1 + sigma**2 * h
    exists = np.all(a > 0, axis=-1)
    a = np.where(exists[..., None], a, np.nan)
    shift = sigma * g / a
    value = u - 0.5 * (shift**2 * a).sum(axis=-1) + 0.5 * np.log(a).sum(axis=-1)
    entropy = -0.5 * (shift**2 + 1 / a - 1 + np.log(a)).sum(axis=-1)
    bend = (h / a)[..., None] * np.eye(a.shape[-1]) if hessian else None
    return FreeEnergy(value, g / a, value + entropy, entropy, bend)


def _laplace_full(u: Array, g: Array, H: Array, sigma: Array | float, hessian: bool) -> FreeEnergy:
    d = g.shape[-1]
    width = np.broadcast_to(np.asarray(sigma, dtype=np.float64), g.shape)
    a, axes = np.linalg.eigh(np.eye(d) + width[..., :, None] * H * width[..., None, :])
    a = np.where(np.all(a > 0, axis=-1, keepdims=True), a, np.nan)
    along = (np.swapaxes(axes, -1, -2) @ (width * g)[..., None])[..., 0]
    shift = along / a
    value = u - 0.5 * (shift**2 * a).sum(axis=-1) + 0.5 * np.log(a).sum(axis=-1)
    entropy = -0.5 * (shift**2 + 1 / a - 1 + np.log(a)).sum(axis=-1)
    moved = width * (axes @ shift[..., None])[..., 0]
    slope = g - (H @ moved[..., None])[..., 0]
    bend = None
    if hessian:
        root = (width[..., :, None] * axes) / np.sqrt(a)[..., None, :]
        reach = H @ root
        bend = H - reach @ np.swapaxes(reach, -1, -2)
    return FreeEnergy(value, slope, value + entropy, entropy, bend)
