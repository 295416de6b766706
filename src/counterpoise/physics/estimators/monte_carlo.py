"""The free energy by sampling: log-mean-exp over a cloud, O(md) besides the model; needs nothing but values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.physics import boltzmann, cloud, decision
from counterpoise.physics.fields import Field, Gradient, append_axes
from counterpoise.physics.free_energy import FreeEnergy, check_temperature, require_noise
from counterpoise.types import Array


def cloud_free_energy(
    action: Array,
    noise: Array,
    sigma: Array | float,
    T: Array | float,
    gradients: Array | None = None,
    hessian: bool = False,
) -> FreeEnergy:
    """Eq. (6) over one cloud, from its actions alone: E / T for the full form, kappa phi for the decision form.

    ``action`` ``(..., m)``, ``noise`` ``(..., m, d)`` as drawn, ``gradients`` ``(..., m, d)`` those of the action
    where the model gives them; without, the Boltzmann weights alone give the gradient. An action of infinity
    everywhere has an infinite free energy and a gradient of 0: such a cloud says nothing of where to go.

    >>> noise = np.array([[1.0], [-1.0]])
    >>> F = cloud_free_energy(np.array([0.0, np.inf]), noise, 0.5, T=1.0)
    >>> float(F.value.round(4)), F.gradient  # half of the copies are kept
    (0.6931, array([-2.]))
    """
    w = boltzmann.weights(action, 1.0)
    value = -boltzmann.log_mean_exp(-action)
    energy = np.where(w > 0, w * np.where(w > 0, action, 0.0), 0.0).sum(axis=-1)
    slope = cloud.gradient(w, noise, sigma, 1.0) if gradients is None else cloud.weighted_mean(w, gradients)
    lost = np.isposinf(value)
    return FreeEnergy(
        value,
        np.where(lost[..., None], 0.0, slope),
        np.where(lost, np.inf, energy),
        np.where(lost, 0.0, energy - np.where(lost, 0.0, value)),
        cloud.hessian(w, noise, sigma, 1.0) if hessian else None,
    ).in_energy_units(T)


@dataclass(frozen=True)
class MonteCarlo:
    """Sampled free energy; biased upward by about half its squared standard error over T at a finite number of samples.

    >>> estimator = MonteCarlo(samples=20_000)
    >>> noise = estimator.draw(np.random.default_rng(0), d=1)
    >>> F = estimator.full_form(lambda x: 0.5 * (x**2).sum(axis=-1), np.zeros(1), 1.0, 1.0, noise=noise)
    >>> float(F.value.round(2))  # for this parabola half of ln(1 + sigma**2 / T), 0.3466
    0.35
    """

    samples: int = 256

    def draw(self, rng: np.random.Generator, d: int) -> Array:
        """Antithetic noise ``(samples, d)`` for one row.

        >>> MonteCarlo(samples=8).draw(np.random.default_rng(0), 3).shape
        (8, 3)
        """
        return cloud.draw_antithetic(rng, self.samples, d)

    def full_form(
        self,
        energy: Field,
        x: Array,
        sigma: Array | float,
        T: Array | float,
        *,
        noise: Array | None = None,
        gradient: Gradient | None = None,
        hessian: bool = False,
    ) -> FreeEnergy:
        """Eq. (6), full form, for an energy at ``x`` ``(..., d)``; ``gradient`` is that of the energy.

        >>> noise = cloud.draw_antithetic(np.random.default_rng(0), 4, 2)
        >>> MonteCarlo(4).full_form(lambda x: 0 * x[..., 0] + 3.0, np.zeros((5, 2)), 1.0, 1.0, noise=noise).value
        array([3., 3., 3., 3., 3.])
        """
        check_temperature(T, zero=False)
        noise = require_noise(noise, "MonteCarlo")
        points = cloud.points(x, sigma, noise)
        T = append_axes(T, x.ndim - 1)
        slopes = None if gradient is None else gradient(points) / T[..., None, None]
        return cloud_free_energy(energy(points) / T[..., None], noise, sigma, T, slopes, hessian)

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
        """Eq. (6), decision form; an infinite kappa has no gradient along the paths, so the weights give it.

        >>> noise = np.array([[1.0], [-1.0], [3.0], [-3.0]])
        >>> F = MonteCarlo(4).decision_form(lambda x: x[..., 0], np.array([2.0]), 1.0, 1.0, np.inf, noise=noise)
        >>> float(np.exp(-F.value).round(6))  # three of four noisy copies keep the target
        0.75
        """
        check_temperature(T, zero=True)
        noise = require_noise(noise, "MonteCarlo")
        points = cloud.points(x, sigma, noise)
        f = score(points)
        slopes = None
        if gradient is not None and np.isfinite(kappa):
            slopes = kappa * decision.shortfall_slope(f, low, high)[..., None] * gradient(points)
        return cloud_free_energy(decision.action(f, kappa, low, high), noise, sigma, T, slopes, hessian)
