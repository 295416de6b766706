"""Rows of many features under a linear or a wavy score, and whether methods find their least change."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from counterpoise.methods.base import Method
from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.baselines.gradient import GradientDescent
from counterpoise.methods.baselines.lime import Lime
from counterpoise.methods.search import Search
from counterpoise.models.goals import RangeGoal
from counterpoise.objective.energy import Energy
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.streams import Streams
from counterpoise.types import Array, Link, ModelBase, Points


@dataclass(frozen=True)
class ManyFeaturesSettings:
    """The rows, their score, and how far LIME is tried."""

    row_count: int = 4  # rows timed together
    unreachable_score: float = 1e9  # a target that no run reaches, so that none stops early
    lime_samples: int = 5000  # "typically a large number of samples (e.g., K > 5000)"
    most_lime_features: int = 512  # beyond, one fit of LIME takes many seconds
    ripple: float = 1.0  # of the wavy score: steep enough that it falls in places
    ripple_frequency: float = 2.0  # of its sine


MANY_FEATURES = ManyFeaturesSettings()


@dataclass(frozen=True)
class LinearScore(ModelBase):
    """A linear score of d features, so that the model itself costs O(d) and nothing else; or one with a ripple.

    >>> LinearScore(np.ones(2)).predict(np.array([[1.0, 2.0]]))
    array([3.])
    """

    slope: Array
    ripple: float = 0.0
    labels: None = None
    link: Link = "identity"

    def outputs(self, x: Array) -> Array:
        """``(p, 1)``."""
        return np.asarray(((x + self.ripple * np.sin(MANY_FEATURES.ripple_frequency * x)) @ self.slope)[:, None])

    def predict(self, x: Points) -> Array:
        """``(p,)``."""
        return self.outputs(np.asarray(x))[:, 0]

    def probabilities(self, x: Points) -> None:
        """A score has none."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """``(p, d)``."""
        steep = 1 + self.ripple * MANY_FEATURES.ripple_frequency * np.cos(MANY_FEATURES.ripple_frequency * x)
        return np.asarray(weights * self.slope * steep)


def build_problem(d: int, target: float = MANY_FEATURES.unreachable_score, ripple: float = 0.0) -> Problem:
    """Rows of a linear score; by default far from their target, so that no method stops early.

    >>> build_problem(3).x0.shape
    (4, 3)
    """
    schema = Schema(tuple(Feature(f"x{k}", "continuous", scale=1.0) for k in range(d)), frame=False)
    x0 = np.random.default_rng(d).standard_normal((MANY_FEATURES.row_count, d))
    goal = RangeGoal(np.full(MANY_FEATURES.row_count, target), np.full(MANY_FEATURES.row_count, np.inf))
    energy = Energy(Distance.of(schema), 0.0, (), np.full(MANY_FEATURES.row_count, 1.0))
    region = Region.build(schema, x0, (), None)
    nobody = ReferenceRows(np.empty((0, d)), np.empty((0, 1)))
    model = LinearScore(np.full(d, 1 / np.sqrt(d)), ripple)
    return Problem(
        x0, model, goal, region, energy, schema.scales, schema.numeric, nobody, np.arange(MANY_FEATURES.row_count)
    )


def measure_reach(features: tuple[int, ...]) -> pd.DataFrame:
    """Whether a method finds the least change as d grows: of a linear score, where it is known, and of a wavy one.

    Of the wavy score the least is not known: the nearest that any of them or the default search finds stands in.
    """
    methods: dict[str, Method] = {
        "Algorithm 1": Algorithm1(c1=np.inf, c2=np.inf),
        "LIME": Lime(samples=MANY_FEATURES.lime_samples),
        "Gradient": GradientDescent(),
    }
    lines = []
    for d in features:
        for word, ripple in (("linear", 0.0), ("wavy", MANY_FEATURES.ripple)):
            rows = build_problem(d, 4.0, ripple)
            rows = replace(
                rows, energy=replace(rows.energy, mu=np.full(MANY_FEATURES.row_count, 2.0))
            )  # outweighs the way
            lengths, seconds = {}, {}
            for name, method in methods.items():
                if name == "LIME" and d > MANY_FEATURES.most_lime_features:
                    continue
                began = time.process_time()
                lengths[name] = _find_lengths(method, rows)
                seconds[name] = (time.process_time() - began) / MANY_FEATURES.row_count
            least = 4.0 - rows.model.predict(rows.x0)
            if ripple:
                least = np.fmin.reduce([_find_lengths(Search(), rows), *lengths.values()])
            for name, length in lengths.items():
                turned = ~np.isnan(length)
                ratio = float((length / least)[turned].mean()) if turned.any() else np.nan
                line = {"method": name, "d": d, "score": word, "turned": float(turned.mean()), "L2 / least": ratio}
                lines.append(line | {"seconds a row": seconds[name]})
    return pd.DataFrame(lines)


def _find_lengths(method: Method, rows: Problem) -> Array:
    """How far the answer of each row is; NaN where there is none."""
    run = method(rows, Streams.of(rows.x0, 0))
    return np.where(run.valid[:, 0], np.linalg.norm(run.x[:, 0] - rows.x0, axis=1), np.nan)


def collect_reach(found: pd.DataFrame) -> dict[str, float]:
    """What the claims on many features rest on: the worst over d of each method and score."""
    facts: dict[str, float] = {}
    for key, part in found.groupby(["method", "score"]):
        name, word = map(str, key)
        facts[f"reach {name} {word} turned"] = float(part["turned"].min())
        facts[f"reach {name} {word} length"] = float(part["L2 / least"].max(skipna=False))
    widest, slowest = found.groupby("method")["d"].max(), found.groupby("method")["seconds a row"].max()
    facts |= {f"reach d {name}": float(d) for name, d in widest.items()}
    facts |= {f"reach seconds {name}": float(seconds) for name, seconds in slowest.items()}
    return facts
