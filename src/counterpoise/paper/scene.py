"""The scene of the paper's Figures 1 to 3: two features, one score, and the free energy over them.

The captions give everything but the score, the width of the cloud and the bounds C1 and C2. What we chose: a cloud of
width 0.3 with 64 points; no C1 and no C2, which the captions do not have; and three scores, all large on the right as
the paper's hill is and 0, the paper's c, at some distance from the row. The first is drawn. What the three disagree on
depends on a choice that the paper leaves open, and cannot be judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from counterpoise.models.goals import RangeGoal
from counterpoise.objective.energy import Energy
from counterpoise.objective.regularizers import WeightedL1
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.streams import Stream, Streams
from counterpoise.types import Array, Link, ModelBase, Points


@dataclass(frozen=True)
class SceneSettings:
    """The row, the perturbations and the cloud of Figures 1 to 3."""

    x0: tuple[float, float] = (3.0, 3.0)  # the row
    delta_low: float = -10.0  # least perturbation, as the captions have it
    delta_high: float = 2.0  # greatest perturbation, as the captions have it
    cloud_sigma: float = 0.3  # spread of the cloud around a point
    cloud_samples: int = 64  # points of the cloud


SCENE = SceneSettings()


@dataclass(frozen=True)
class SceneScore(ModelBase):
    """``f(x) = gain (e^x1 + e^x2 + offset + ripple sin(2 x1) sin(2 x2))``; the target is ``f <= 0``.

    >>> float(SceneScore().outputs(np.zeros((1, 2)))[0, 0])
    -6.0
    """

    ripple: float = 3.0
    offset: float = -8.0
    gain: float = 1.0
    labels: None = None
    link: Link = "identity"

    @property
    def formula(self) -> str:
        """f in words.

        >>> SceneScore().formula
        'e^x1 + e^x2 − 8 + 3 sin(2 x1) sin(2 x2)'
        """
        offset = f" − {-self.offset:g}" if self.offset else ""
        ripple = f" + {self.ripple:g} sin(2 x1) sin(2 x2)" if self.ripple else ""
        inside = f"e^x1 + e^x2{offset}{ripple}"
        return inside if self.gain == 1 else f"{self.gain:g} ({inside})"

    def outputs(self, x: Array) -> Array:
        """f ``(p, 1)`` of rows ``(p, 2)``."""
        ripple = self.ripple * np.sin(2 * x[:, 0]) * np.sin(2 * x[:, 1]) + self.offset
        return np.asarray(self.gain * (np.exp(x).sum(axis=1) + ripple)[:, None])

    def predict(self, x: Points) -> Array:
        """f ``(p,)``."""
        return self.outputs(np.asarray(x))[:, 0]

    def probabilities(self, x: Points) -> None:
        """A score has none."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """The gradient ``(p, 2)``, times the weights ``(p, 1)``."""
        turned = 2 * self.ripple * np.cos(2 * x) * np.sin(2 * x[:, ::-1])
        return np.asarray(self.gain * (np.exp(x) + turned) * weights)


SCORES = (SceneScore(), SceneScore(6.0, 0.0), SceneScore(0.0, -8.0, 0.25))
"""Wavy, as drawn; wavier, and nowhere far below 0; smooth, and a quarter as steep."""


def draw_weights(seed: int) -> Array:
    """The paper's ``w_i ~ U(1, 10)``, ``(2,)``.

    >>> bool(((draw_weights(0) >= 1) & (draw_weights(0) <= 10)).all())
    True
    """
    return np.random.default_rng(seed).uniform(1.0, 10.0, 2)


def build_problem(starts: Array, mu: Array, lam: float, seed: int, score: SceneScore = SCORES[0]) -> Problem:
    """The problem of rows ``starts`` ``(n, 2)``, which are where Delta is 0, with ``mu`` ``(n,)``; w drawn by ``seed``.

    >>> len(build_problem(np.full((3, 2), 3.0), np.ones(3), 1.0, seed=0))
    3
    """
    low, high = SCENE.x0[0] + SCENE.delta_low, SCENE.x0[0] + SCENE.delta_high
    schema = Schema(
        tuple(Feature(name, "continuous", lower=low, upper=high, scale=1.0) for name in ("x1", "x2")), frame=False
    )
    region = Region.build(schema, starts, (), "observed")
    energy = Energy(Distance.of(schema), lam, (WeightedL1(draw_weights(seed), np.ones(2)),), mu)
    goal = RangeGoal(np.full(len(starts), -np.inf), np.zeros(len(starts)))
    nobody = ReferenceRows(np.empty((0, 2)), np.empty((0, 1)))
    numbers = np.arange(len(starts))
    return Problem(starts, score, goal, region, energy, schema.scales, schema.numeric, nobody, numbers)


def build_streams(count: int, seed: int, *, alike: bool = False) -> Streams:
    """Streams for rows: one of its own for each, or ``alike`` the same numbers for all of them.

    >>> len(build_streams(3, 0))
    3
    """
    keys = [[seed, 0 if alike else number] for number in range(count)]
    return Streams(tuple(Stream(partial(np.random.default_rng, key)) for key in keys))


def energies(x: Array, seed: int, score: SceneScore = SCORES[0], lam: float = 1.0, mu: float = 1.0) -> Array:
    """The energy of Eq. (9), with the paper's two-sided ``|f - c|``, at points ``(..., 2)``, from the row SCENE.x0.

    >>> float(energies(np.array(SCENE.x0), seed=0).round(2))
    32.41
    """
    delta = x - np.array(SCENE.x0)
    f = score.outputs(x.reshape(-1, 2))[:, 0].reshape(x.shape[:-1])
    return np.asarray(np.linalg.norm(delta, axis=-1) + lam * np.abs(delta) @ draw_weights(seed) + mu * np.abs(f))
