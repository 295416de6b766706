"""What the Gaussian entropy of Section VI saves beside sampling, and what it gets wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterpoise.physics import cloud
from counterpoise.physics.estimators.closed_form import ClosedForm
from counterpoise.physics.estimators.monte_carlo import MonteCarlo
from counterpoise.physics.estimators.variational import Variational
from counterpoise.physics.free_energy import FreeEnergy
from counterpoise.types import Array


@dataclass(frozen=True)
class EntropyCostSettings:
    """The energies and clouds that the estimators are compared on."""

    features: int = 256  # d
    samples: int = 64  # of the sampled and of the fitted entropy
    many_samples: int = 1024  # of the sampled entropy, once more
    reference_samples: int = 16_384  # of the sampled entropy that errors are measured against
    sigma: float = 0.3  # width of the cloud
    T: float = 0.5  # temperature
    kink_distance: float = 0.1  # of the boundary, at the point
    kink_mu: float = 5.0  # energy per unit of score


ENTROPY = EntropyCostSettings()
MANY = f"sampled, K = {ENTROPY.many_samples}"


def measure_estimators(repeats: int) -> pd.DataFrame:
    """Milliseconds of F and its gradient by each entropy, and the error of F as a share of the energy at the point."""
    d, rng = ENTROPY.features, np.random.default_rng(0)
    way, x = np.full(d, 1 / np.sqrt(d)), np.ones(d) / d
    noise = cloud.draw_antithetic(rng, ENTROPY.samples, d)
    wide = cloud.draw_antithetic(rng, ENTROPY.many_samples, d)
    many = cloud.draw_antithetic(rng, ENTROPY.reference_samples, d)

    def smooth(points: Array) -> Array:
        return np.asarray(np.logaddexp(0, points @ way))

    def smooth_slope(points: Array) -> Array:
        return np.asarray((1 / (1 + np.exp(-(points @ way))))[..., None] * way)

    def smooth_bend(points: Array) -> Array:
        share = 1 / (1 + np.exp(-(points @ way)))
        return np.asarray((share * (1 - share))[..., None] * way**2)

    def kink(points: Array) -> Array:
        return np.asarray(ENTROPY.kink_mu * np.maximum(0, ENTROPY.kink_distance - (points - x) @ way))

    def kink_slope(points: Array) -> Array:
        outside = (points - x) @ way < ENTROPY.kink_distance
        return np.asarray(-ENTROPY.kink_mu * outside[..., None] * way)

    def flat(points: Array) -> Array:
        return np.zeros(points.shape)

    scores = {"smooth": (smooth, smooth_slope, smooth_bend), "with a kink": (kink, kink_slope, flat)}
    lines = []
    for name, (energy, slope, bend) in scores.items():
        sampled = MonteCarlo(ENTROPY.samples)
        calls: dict[str, Callable[[], FreeEnergy]] = {
            "closed form, diagonal": lambda e=energy, g=slope, c=bend: ClosedForm().full_form(  # type: ignore[misc]
                e, x, ENTROPY.sigma, ENTROPY.T, gradient=g, curvature=c
            ),
            "sampled": lambda e=energy, g=slope, s=sampled: s.full_form(  # type: ignore[misc]
                e, x, ENTROPY.sigma, ENTROPY.T, noise=noise, gradient=g
            ),
            MANY: lambda e=energy, g=slope: MonteCarlo(len(wide)).full_form(  # type: ignore[misc]
                e, x, ENTROPY.sigma, ENTROPY.T, noise=wide, gradient=g
            ),
            "fitted": lambda e=energy, g=slope: Variational(ENTROPY.samples).full_form(  # type: ignore[misc]
                e, x, ENTROPY.sigma, ENTROPY.T, noise=noise, gradient=g
            ),
        }
        truth = float(MonteCarlo(len(many)).full_form(energy, x, ENTROPY.sigma, ENTROPY.T, noise=many).value)
        for estimator, call in calls.items():
            value, seconds = float(call().value), _time(call, repeats)
            error = abs(value - truth) / float(energy(x))
            lines.append({"energy": name, "entropy": estimator, "ms": 1000 * seconds, "F": value, "error": error})
    return pd.DataFrame(lines)


def collect_facts(found: pd.DataFrame) -> dict[str, float]:
    """What the claim rests on."""

    def at(energy: str, entropy: str, column: str) -> float:
        return float(found.loc[(found["energy"] == energy) & (found["entropy"] == entropy), column].iloc[0])

    return {
        "gaussian d": float(ENTROPY.features),
        "gaussian seconds": at("smooth", "closed form, diagonal", "ms") / 1000,
        "sampled K": float(ENTROPY.samples),
        "sampled K many": float(ENTROPY.many_samples),
        "sampled seconds": at("smooth", "sampled", "ms") / 1000,
        "sampled seconds many": at("smooth", MANY, "ms") / 1000,
        "fitted seconds": at("smooth", "fitted", "ms") / 1000,
        "gaussian error": at("smooth", "closed form, diagonal", "error"),
        "gaussian error kink": at("with a kink", "closed form, diagonal", "error"),
    }


def _time(call: Callable[[], object], repeats: int) -> float:
    """Seconds of one call, the least of the repeats of a hundred."""
    best = np.inf
    for _ in range(repeats):
        began = time.process_time()
        for _ in range(100):
            call()
        best = min(best, (time.process_time() - began) / 100)
    return float(best)
