"""Cooling schedules: ``(step, T, info) -> T``, the temperature of the next step from that of this one.

``T`` is a scalar or ``(n,)``, one temperature per row, and no row looks at another. Schedules with a set course scale
the temperature they are given, so rows may start at temperatures of their own, such as those of
`initial_temperature`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from counterpoise.errors import InputError
from counterpoise.physics.metropolis import MetropolisInfo
from counterpoise.types import Array


class Cooling(Protocol):
    """Gives the temperature after ``step`` (0, 1, ...), from the one at that step, ``T``, and what it did, ``info``."""

    def __call__(self, step: int, T: Array | float, info: MetropolisInfo) -> Array: ...


def initial_temperature(energies: Array, acceptance: float = 0.8) -> Array:
    """Temperatures ``(n,)`` at which a typical uphill move in the starting cloud ``(n, k)`` is taken that often.

    The typical size is the mean difference between two energies of the row; infinite energies are left out. A row
    whose energies are all equal shows no scale and gets 0, which is plain descent.

    >>> initial_temperature(np.array([[0.0, 1.0], [2.0, 2.0]]), acceptance=np.exp(-1))
    array([1., 0.])
    """
    if not 0 < acceptance < 1:
        raise InputError("an acceptance must lie between 0 and 1", f"it is {acceptance}", "give a share such as 0.8")
    k = energies.shape[-1]
    ordered = np.sort(np.where(np.isfinite(energies), energies, np.inf), axis=-1)
    count = np.isfinite(ordered).sum(axis=-1)
    # The i-th of c sorted values is the larger one in i pairs and the smaller one in c - 1 - i.
    factor = 2 * np.arange(k) - (count[..., None] - 1)
    total = (factor * np.where(np.isfinite(ordered), ordered, 0.0)).sum(axis=-1)
    return np.asarray(total / np.maximum(count * (count - 1) / 2, 1) / -np.log(acceptance))


@dataclass(frozen=True)
class LinearCooling:
    """From the first temperature to the share ``end`` of it in equal differences, over ``steps`` steps.

    >>> float(LinearCooling(steps=4)(0, 2.0)), float(LinearCooling(steps=4)(2, 1.0))
    (1.5, 0.5)
    """

    steps: int
    end: float = 0.0

    def __post_init__(self) -> None:
        _check_steps(self.steps)

    def __call__(self, step: int, T: Array | float, info: MetropolisInfo | None = None) -> Array:
        now, then = (1 - (1 - self.end) * min(t / self.steps, 1.0) for t in (step, step + 1))
        return np.asarray(T) * (then / now if now > 0 else 0.0)


@dataclass(frozen=True)
class GeometricCooling:
    """From the first temperature to the share ``end`` of it by one factor a step, over ``steps`` steps, then constant.

    >>> GeometricCooling(steps=2, end=0.25)(0, np.array([2.0, 4.0]))
    array([1., 2.])
    """

    steps: int
    end: float = 1e-3

    def __post_init__(self) -> None:
        _check_steps(self.steps)

    def __call__(self, step: int, T: Array | float, info: MetropolisInfo | None = None) -> Array:
        return np.asarray(T) * (self.end ** (1 / self.steps) if step < self.steps else 1.0)


@dataclass(frozen=True)
class ConstantSpeed:
    """Constant thermodynamic speed (Salamon et al. 1988; Nourani and Andresen 1998): ``dT/T = -v / (tau sqrt(C))``.

    ``C = Var(E) / T**2`` is the heat capacity over the chains of a row, ``tau`` the time they need to relax, taken as
    one over the share of moves they accept: cooling slows where the energy has much to lose or the chains are slow to
    follow, and hurries through the rest. The speed v is ``length / steps``; a longer way ends colder. No step cools
    by more than the share ``limit``.

    >>> info = MetropolisInfo(np.ones((1, 1), dtype=bool), np.ones(1), np.zeros(1), np.ones(1))
    >>> ConstantSpeed(steps=1000)(0, np.ones(1), info).round(4)
    array([0.9048])
    """

    steps: int
    length: float = 100.0
    limit: float = 0.5

    def __post_init__(self) -> None:
        _check_steps(self.steps)

    def __call__(self, step: int, T: Array | float, info: MetropolisInfo) -> Array:
        T = np.asarray(T, dtype=np.float64)
        spread = np.sqrt(info.variance)
        most = -np.log1p(-self.limit)
        hurry = self.length / self.steps * T * info.acceptance
        # Compared before dividing: a row of equal energies has no spread to divide by.
        rate = np.where(hurry < most * spread, hurry / np.where(spread > 0, spread, 1.0), most)
        return np.asarray(T * np.exp(-rate))


@dataclass(frozen=True)
class LamDelosme:
    """Acceptance target (Lam and Delosme 1988, in the form with a set number of steps): 0.44 for most of the run.

    The target falls from 1 to ``target`` in the first 15 % of ``steps``, stays there until 65 %, then falls to a
    thousandth of it. T rises where a row accepts less than that and falls where it accepts more: ln T changes by the
    difference times ``gain / steps``, or times 1 in runs shorter than ``gain``.

    >>> info = MetropolisInfo(np.ones((1, 1), dtype=bool), np.ones(1), np.zeros(1), np.ones(1))
    >>> LamDelosme(steps=1000)(500, np.ones(1), info).round(4)
    array([0.9455])
    """

    steps: int
    target: float = 0.44
    gain: float = 100.0

    def __post_init__(self) -> None:
        _check_steps(self.steps)

    def target_acceptance(self, step: int) -> float:
        """The share of moves that should be accepted at ``step``.

        >>> LamDelosme(steps=100).target_acceptance(40)
        0.44
        """
        t = min(step / self.steps, 1.0)
        if t < 0.15:
            return float(self.target + (1 - self.target) * 1000 ** (-t / 0.15))
        return float(self.target * 1000 ** (-max(t - 0.65, 0.0) / 0.35))

    def __call__(self, step: int, T: Array | float, info: MetropolisInfo) -> Array:
        gain = min(self.gain / self.steps, 1.0)
        return np.asarray(np.asarray(T) * np.exp(gain * (self.target_acceptance(step) - info.acceptance)))


def _check_steps(steps: int) -> None:
    if steps < 1:
        raise InputError(
            "a schedule needs at least one step", f"steps is {steps}", "give the number of steps of the run"
        )
