"""Landscape and profile: what a figure needs the model for, computed once, drawn later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation import Explanation
from counterpoise.judge.decisions import Decision, recall
from counterpoise.judge.noisy import FEWER, KEY, kept_share, noise_of
from counterpoise.judge.recalling import recalled
from counterpoise.physics.boltzmann import log_partition
from counterpoise.physics.cloud import antithetic
from counterpoise.physics.energy import Energy
from counterpoise.physics.noise import Noise
from counterpoise.physics.regularizers import Regularizer, WeightedL1
from counterpoise.space.distance import Distance
from counterpoise.space.features import Feature, Schema
from counterpoise.space.relating import Word
from counterpoise.streams import Streams
from counterpoise.types import Array

SAMPLES = 64  # of a cloud
CELLS = 4_000_000  # numbers in one batch of clouds
SAME = 1e-6  # relative: how well the energy at the answer must be met


@dataclass(frozen=True, eq=False)
class Landscape:
    """A slice through the energy of one row along two features, the others as in the answer.

    ``x`` ``(g,)`` and ``y`` ``(h,)`` are the values of the two features; ``energy``, ``margin`` (``f - c``, at least 0
    where the target is reached) and ``probability`` (of the target; NaN where the model has none) are ``(h, g)``.
    ``start`` and ``answer`` are the places of the row and its answer. Where ``T`` is above 0, ``energy`` is the free
    energy of a cloud of width ``sigma`` around each point.
    """

    features: tuple[Feature, Feature]
    x: Array
    y: Array
    energy: Array
    margin: Array
    probability: Array
    start: tuple[float, float]
    answer: tuple[float, float]
    target: str
    T: float = 0.0
    sigma: float = 0.0


@dataclass(frozen=True, eq=False)
class Profile:
    """The way from a row to its answer and beyond: ``t`` ``(g,)`` is 0 at the row and 1 at the answer.

    Numbers go along a straight line, rounded as the schema rounds them; categories switch half-way. ``margin`` and
    ``probability`` as in `Landscape`, ``distance`` in feature scales, each ``(g,)``. ``turn`` is the first t from
    which on the target is reached all the way to the answer; ``lost`` the first beyond it where it is lost again
    (NaN: nowhere on this line). ``kept`` ``(g,)`` is the share of noisy copies that keep the target, and ``noise`` says
    which noise; NaN and empty where none was asked about.
    """

    t: Array
    distance: Array
    margin: Array
    probability: Array
    turn: float
    lost: float
    target: str
    kept: Array
    noise: str = ""


def landscape(
    explanation: Explanation,
    model: Any,
    features: Sequence[Hashable] | None = None,
    *,
    size: int = 60,
    T: float = 0.0,
    sigma: float = 0.2,
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer] = (),
) -> Landscape:
    """The energy of Eq. (3) around the answer to one row, on a grid of ``size`` by ``size`` values of two features.

    ``features`` are by default the two numbers that the answer changes most. ``T`` above 0 asks for the free energy of
    Eq. (6) instead, over a cloud of width ``sigma`` in feature scales around each point: the numbers that may change,
    the same 64 draws everywhere. ``weights`` and ``regularizers`` are those that the explanation was made with.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9], "load": [0.1, 0.3, 0.2, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> seen = landscape(explain(model, train[3:], reference=train), model, size=20)
    >>> [feature.name for feature in seen.features], seen.energy.shape == (len(seen.y), len(seen.x))
    (['ports', 'load'], True)
    """
    if not (0 <= T < np.inf and 0 < sigma < np.inf):
        raise InputError("T must be at least 0 and sigma above 0", f"{T!r} and {sigma!r}", "for instance 0.1 and 0.2")
    decision = recall(explanation, model)
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    across, up = _chosen(explanation, features)
    columns, lines = (_axis(schema.features[place], x0[place], x[place], size) for place in (across, up))
    points = np.repeat(x[None], len(columns) * len(lines), axis=0)
    points[:, across] = np.tile(columns, len(lines))
    points[:, up] = np.repeat(lines, len(columns))
    margin = decision.margins(points)
    energy = _energy(explanation, weights, regularizers)
    _check(explanation, decision, energy)
    shape = len(lines), len(columns)
    height = energy(points[None], x0[None], margin[None])[0]
    if T:
        height = _free_energy(explanation, decision, energy, points, T, sigma)
    return Landscape(
        features=(schema.features[across], schema.features[up]),
        x=columns,
        y=lines,
        energy=height.reshape(shape),
        margin=margin.reshape(shape),
        probability=decision.probabilities(points).reshape(shape),
        start=(float(x0[across]), float(x0[up])),
        answer=(float(x[across]), float(x[up])),
        target=str(explanation.target[0]),
        T=float(T),
        sigma=float(sigma) if T else 0.0,
    )


def profile(
    explanation: Explanation,
    model: Any,
    *,
    reach: float = 1.6,
    size: int = 161,
    noise: float | Noise | Literal["auto"] | None = None,
    reference: Any = None,
    constraints: Sequence[Word] | Word = (),
) -> Profile:
    """What the model says along the line from a row through its answer, up to ``reach`` times the way.

    ``noise``, ``reference`` and ``constraints`` are those of `robustness`: where noise would undo the change.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> 0 < profile(explain(model, train[3:], reference=train), model).turn <= 1
    True
    """
    if not reach > 1:
        raise InputError("reach must be more than 1, the answer itself", f"{reach!r}", "for instance 1.6")
    if not (explanation.valid.all() and explanation.changed.all()):
        raise InputError(
            "a profile needs an answer that changes something", "there is none", "choose a row that has one"
        )
    decision = recall(explanation, model)
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    t = np.union1d(np.linspace(0.0, reach, size), [1.0])
    points = _line(schema, x0, x, t)
    margin = decision.margins(points)
    reached = margin >= 0
    reached[t == 1.0] = True  # the model's own predict has confirmed it
    way, beyond = t <= 1.0, t >= 1.0
    missed = np.flatnonzero(~reached & way)
    again = np.flatnonzero(~reached & beyond)
    kept, words = np.full(len(t), np.nan), ""
    if noise is not None:
        part = next(recalled(explanation, model, constraints))
        chosen, words = noise_of(part, noise, model, schema, reference)
        line = np.zeros(len(t), dtype=np.intp)
        draws = Streams.of(explanation.x0, explanation.seed ^ KEY).normal((FEWER, len(schema)))
        along = part._replace(rows=line, x=points, problem=part.problem.take(line))
        kept = kept_share(along, chosen, draws[line])
    return Profile(
        t=t,
        distance=Distance.of(schema, "l2")(points[None], x0[None])[0],
        margin=margin,
        probability=decision.probabilities(points),
        turn=float(t[missed[-1] + 1]) if len(missed) else 0.0,
        lost=float(t[again[0]]) if len(again) else float("nan"),
        target=str(explanation.target[0]),
        kept=kept,
        noise=words,
    )


def _free_energy(
    explanation: Explanation, decision: Decision, energy: Energy, points: Array, T: float, sigma: float
) -> Array:
    """``-T ln <exp(-E / T)>`` over a cloud around each of the points ``(p, d)``: ``(p,)``."""
    schema, x0 = explanation.schema, explanation.x0
    free = schema.numeric & np.array([name not in explanation.held for name in schema.names])
    noise = antithetic(np.random.default_rng(explanation.seed), SAMPLES, len(schema)) * free * schema.scales * sigma
    out, width = np.empty(len(points)), max(1, CELLS // (SAMPLES * len(schema)))
    for start in range(0, len(points), width):
        copies = points[start : start + width, None, :] + noise
        flat = copies.reshape(-1, len(schema))
        values = energy(flat[None], x0, decision.margins(flat)[None])[0].reshape(copies.shape[:2])
        out[start : start + width] = -T * log_partition(values, T)
    return out


def _chosen(explanation: Explanation, features: Sequence[Hashable] | None) -> tuple[int, int]:
    schema = explanation.schema
    usable = schema.numeric & ~np.isnan(explanation.x[0])
    if features is None:
        size = np.abs(explanation.x[0] - np.nan_to_num(explanation.x0[0])) / schema.scales
        order = np.argsort(np.where(usable, -size, np.inf), kind="stable")
        fixed = [
            place for place in order if schema.features[place].fixed or schema.features[place].name in explanation.held
        ]
        places = [int(place) for place in [*(p for p in order if p not in fixed), *fixed] if usable[place]]
    else:
        places = [schema.position(name) for name in features]
        usable[[place for place in range(len(schema)) if place not in places]] = False
    if len(set(places)) < 2 or (features is not None and len(features) != 2) or usable.sum() < 2:
        raise InputError(
            "a landscape needs two different features that hold numbers",
            f"{list(features)!r}" if features is not None else f"the schema has {int(usable.sum())}",
            "name two of them",
        )
    return places[0], places[1]


def _axis(feature: Feature, start: float, answer: float, size: int) -> Array:
    """Values around the row and its answer, inside what the reference has seen, rounded as answers are."""
    start = answer if np.isnan(start) else start
    low, high = min(start, answer), max(start, answer)
    margin = max(0.35 * (high - low), feature.scale)
    low = max(low - margin, min(feature.lower, low))
    high = min(high + margin, max(feature.upper, high))
    return np.unique(_rounded(feature, np.union1d(np.linspace(low, high, size), [start, answer])))


def _line(schema: Schema, x0: Array, x: Array, t: Array) -> Array:
    """Points ``(g, d)`` on the line from ``x0`` to ``x`` at the shares ``t`` ``(g,)``."""
    start = np.where(np.isnan(x0), x, x0)
    points = start + t[:, None] * (x - start)
    for place, feature in enumerate(schema):
        ends = start[place], x[place]
        if not feature.numeric:
            points[:, place] = np.where(t < 0.5, x0[place], x[place])
        elif ends[0] != ends[1]:
            low, high = min(feature.lower, *ends), max(feature.upper, *ends)
            points[:, place] = _rounded(feature, np.clip(points[:, place], low, high))
        else:
            points[:, place] = np.where(t < 0.5, x0[place], x[place]) if np.isnan(x0[place]) else x[place]
    points[t == 1.0] = x
    points[t == 0.0] = x0
    return points


def _rounded(feature: Feature, values: Array) -> Array:
    decimals = 0 if feature.kind == "integer" else feature.decimals
    return values if decimals is None else np.round(values, decimals)


def _energy(
    explanation: Explanation, weights: Mapping[Hashable, float] | None, regularizers: Sequence[Regularizer]
) -> Energy:
    """The energy that the search minimised, rebuilt from what the explanation says of it."""
    schema = explanation.schema
    distance = Distance.of(schema, _mixture(explanation.settings.get("distance", "l2")))
    given = weights or {}
    column = np.array([given.get(name, 0.0 if given else 1.0) for name in schema.names], dtype=np.float64)
    column[np.isinf(column)] = 0.0
    penalty = WeightedL1(column, np.where(distance.nominal, 0.0, distance.unit))
    terms = explanation.energy.iloc[0]
    return Energy(distance, float(terms["lam"]), (penalty, *regularizers), np.array([float(terms["mu"])]))


def _mixture(name: str) -> str | dict[str, float]:
    """A distance by its name: "l2", or "0.5 l1 + 0.5 l2"."""
    parts = [part.split() for part in name.split(" + ")]
    return name if parts == [[name]] else {norm: float(weight) for weight, norm in parts}


def _check(explanation: Explanation, decision: Decision, energy: Energy) -> None:
    x0, x = explanation.x0, explanation.x
    margin = decision.margins(x)
    found = {"margin": margin[0], "energy": energy(x[:, None, :], x0, margin[:, None])[0, 0]}
    told = {"margin": explanation.scores["margin_after"].iloc[0], "energy": explanation.energy["total"].iloc[0]}
    for name, number in told.items():
        if abs(found[name] - number) > SAME * max(1.0, abs(number)):
            raise InputError(
                "the model, the weights and the regularizers must be those of the explanation",
                f"the answer's {name} is {number:.6g}, with these it is {found[name]:.6g}",
                "give the ones that it was made with",
            )
