"""The free energy of a neighbourhood: what every estimator returns, and the two forms that it can be asked for.

Taken over all of space the paper's entropy is one constant. Over a cloud ``eta ~ N(0, sigma**2)`` around x it is a
property of x, with p the Boltzmann law of that cloud:

full form       ``F(x) = -T ln <exp(-E(x + eta) / T)>  =  <E>_p - T S``,  ``S = -KL(p || cloud) <= 0``
decision form   ``F(x) = -T ln <exp(-kappa phi(f(x + eta)))>``, the full form of the energy ``T kappa phi``

The decision form is the term that joins distance and penalty in the search: noise is on the world, not on the plan.
For infinite kappa it is ``-T ln P(the flip survives the noise)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.errors import InputError
from counterpoise.physics.fields import append_axes
from counterpoise.types import Array


@dataclass(frozen=True)
class FreeEnergy:
    """Eq. (6): a free energy and what it is made of; ``value = energy - T * entropy`` holds in every row.

    ``value``, ``energy`` (the mean over p) and ``entropy`` ``(...)``, ``gradient`` ``(..., d)``, ``hessian``
    ``(..., d, d)`` where it was asked for.
    """

    value: Array
    gradient: Array
    energy: Array
    entropy: Array
    hessian: Array | None = None

    def in_energy_units(self, T: Array | float) -> FreeEnergy:
        """This free energy, taken to be in units of T, in units of energy.

        >>> one = np.ones(1)
        >>> FreeEnergy(one, one[:, None], one, 0 * one).in_energy_units(0.5).value
        array([0.5])
        """
        T = append_axes(T, self.value.ndim)
        return FreeEnergy(
            _multiply_by_temperature(T, self.value),
            _multiply_by_temperature(T[..., None], self.gradient),
            _multiply_by_temperature(T, self.energy),
            self.entropy,
            None if self.hessian is None else _multiply_by_temperature(T[..., None, None], self.hessian),
        )


def check_temperature(T: Array | float, *, zero: bool) -> None:
    """Refuse a temperature that is negative or not a number, or zero where the form divides by it.

    >>> check_temperature(0.0, zero=True)
    """
    T = np.asarray(T)
    if not np.all(T >= 0 if zero else T > 0):
        least = "at least 0" if zero else "above 0"
        raise InputError(f"a temperature must be {least}", f"T is {T}", "give another; the decision form takes T = 0")


def require_noise(noise: Array | None, estimator: str) -> Array:
    """The noise, or the error that says who needs it.

    >>> require_noise(np.zeros((2, 1)), "MonteCarlo").shape
    (2, 1)
    """
    if noise is None:
        raise InputError(f"{estimator} averages over noise", "none was given", "pass noise=estimator.draw(rng, d)")
    return noise


def _multiply_by_temperature(T: Array, values: Array) -> Array:
    """``T * values`` with 0 * inf = 0: at T = 0 the decision form is not there, however fragile the point."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(T == 0, 0.0, T * values))
