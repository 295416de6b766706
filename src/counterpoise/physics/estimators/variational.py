"""The free energy from above: the best normal law in place of the Boltzmann law (Gibbs and Bogoliubov)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterpoise.errors import InputError
from counterpoise.physics import cloud, decision
from counterpoise.physics.entropy import diagonal_divergence
from counterpoise.physics.fields import Field, Gradient, append_axes
from counterpoise.physics.free_energy import FreeEnergy, check_temperature, require_noise
from counterpoise.types import Array

ActionsWithGradients = tuple[Array, Array | None]
"""Actions ``(..., m)`` of a cloud and, where the model gives them, their gradients ``(..., m, d)``."""

MeasureActions = Callable[[Array], ActionsWithGradients]


@dataclass(frozen=True)
class Variational:
    """Upper bound ``<E>_q + T KL(q || cloud) >= F`` by the best q = N(x + mean, diag), fitted and then judged apart.

    q follows the natural gradient of the bound for ``steps`` steps of size ``rate``, on the first half of the noise;
    the bound is then measured on the second half, so that it is not flattered by the fit: it lies above F but for the
    sampling error of a mean. Model rows a point: ``samples / 2 * (steps + 1)``.

    >>> estimator = Variational(samples=40_000)
    >>> noise = estimator.draw(np.random.default_rng(0), 1)
    >>> F = estimator.full_form(lambda x: np.abs(x[..., 0]), np.zeros(1), 1.0, 1.0, noise=noise)
    >>> float(F.value.round(3))  # the free energy itself, by quadrature, is 0.648
    0.658
    """

    samples: int = 128
    steps: int = 20
    rate: float = 0.5

    def draw(self, rng: np.random.Generator, d: int) -> Array:
        """Antithetic noise ``(samples, d)`` for one row; both halves are made of whole pairs.

        >>> Variational(samples=8).draw(np.random.default_rng(0), 3).shape
        (8, 3)
        """
        if self.samples % 4:
            raise InputError(
                "samples must be a multiple of 4", f"it is {self.samples}", "two halves of pairs are needed"
            )
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
        """Eq. (6) bounded from above, full form; the entropy is that of Eq. (21), ``-KL(q || cloud)``.

        >>> noise = Variational(8).draw(np.random.default_rng(0), 2)
        >>> Variational(8).full_form(lambda x: 0 * x[..., 0] + 3.0, np.zeros((5, 2)), 1.0, 1.0, noise=noise).value
        array([3., 3., 3., 3., 3.])
        """
        check_temperature(T, zero=False)
        scale = append_axes(T, x.ndim - 1)[..., None]

        def measure(points: Array) -> ActionsWithGradients:
            return energy(points) / scale, None if gradient is None else gradient(points) / scale[..., None]

        return self._upper_bound(measure, x, sigma, require_noise(noise, "Variational"), hessian).in_energy_units(T)

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
        """Eq. (6) bounded from above, decision form; kappa must be finite.

        A normal law reaches everywhere, so an infinite kappa would make every bound infinite.

        >>> noise = Variational(40_000).draw(np.random.default_rng(0), 1)
        >>> F = Variational(40_000).decision_form(lambda x: x[..., 0], np.zeros(1), 1.0, 1.0, 1.0, noise=noise)
        >>> float(F.value.round(3))  # the free energy itself is 0.272
        0.276
        """
        check_temperature(T, zero=True)
        if not np.isfinite(kappa):
            raise InputError(
                "kappa must be finite here", f"it is {kappa}", "use MonteCarlo or ClosedForm, which take infinity"
            )

        def measure(points: Array) -> ActionsWithGradients:
            f = score(points)
            action = decision.action(f, kappa, low, high)
            if gradient is None:
                return action, None
            return action, kappa * decision.shortfall_slope(f, low, high)[..., None] * gradient(points)

        return self._upper_bound(measure, x, sigma, require_noise(noise, "Variational"), hessian).in_energy_units(T)

    def _upper_bound(
        self, measure: MeasureActions, x: Array, sigma: Array | float, noise: Array, hessian: bool
    ) -> FreeEnergy:
        """The bound in units of T; q has mean ``x + sigma * mean`` and standard deviation ``sigma * width``."""
        half = noise.shape[-2] // 2
        mean, width = self._fit_normal(measure, x, sigma, noise[..., :half, :])
        judge = mean[..., None, :] + width[..., None, :] * noise[..., half:, :]
        actions, slopes = measure(cloud.points(x, sigma, judge))
        energy, entropy = actions.mean(axis=-1), -_divergence_from_cloud(mean, width)
        inverse = np.divide(1.0, sigma, out=np.zeros(x.shape), where=np.broadcast_to(np.asarray(sigma) > 0, x.shape))
        # At the best q the pull of the energy and the pull back to the centre are in balance: either is the gradient.
        slope = -mean * inverse if slopes is None else slopes.mean(axis=-2)
        bend = ((1 - width**2) * inverse**2)[..., None] * np.eye(x.shape[-1]) if hessian else None
        return FreeEnergy(energy - entropy, slope, energy, entropy, bend)

    def _fit_normal(self, measure: MeasureActions, x: Array, sigma: Array | float, noise: Array) -> tuple[Array, Array]:
        """The mean and width ``(..., d)``, in units of sigma, of the lowest bound seen on this noise."""
        noisy = np.asarray(sigma) > 0  # a feature without noise must keep mean 0 and width 1, not follow sampling error
        mean, width = np.zeros(x.shape), np.ones(x.shape)
        best_mean, best_width, best = mean, width, np.full(x.shape[:-1], np.inf)
        for _ in range(self.steps):
            actions, slopes = measure(cloud.points(x, sigma, mean[..., None, :] + width[..., None, :] * noise))
            bound = actions.mean(axis=-1) + _divergence_from_cloud(mean, width)
            better = (bound < best)[..., None]
            best = np.minimum(bound, best)
            best_mean, best_width = np.where(better, mean, best_mean), np.where(better, width, best_width)
            if slopes is None:
                centred = (actions - actions.mean(axis=-1, keepdims=True)) / actions.shape[-1]
                force = noisy * cloud.weighted_mean(centred, noise) / width
                stiffness = noisy * cloud.weighted_mean(centred, noise**2) / width**2
            else:
                pull = sigma * slopes
                force, stiffness = pull.mean(axis=-2), (pull * noise).mean(axis=-2) / width
            # Natural gradient in the precision; the quadratic term keeps it positive whatever the step.
            change = self.rate * np.clip((1 + stiffness) * width**2 - 1, -1.0, 10.0)
            width = width / np.sqrt(1 + change + 0.5 * change**2)
            mean = mean - self.rate * width**2 * (force + mean)
        return best_mean, best_width


def _divergence_from_cloud(mean: Array, width: Array) -> Array:
    """From the standard normal law, which the cloud is in units of sigma."""
    return diagonal_divergence(mean, width, np.zeros_like(mean), np.ones_like(width))
