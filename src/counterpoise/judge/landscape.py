"""Landscape and profile: what a figure needs the model for, computed once, drawn later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.sentences import format_value
from counterpoise.explanation.tables import decode_value, differs
from counterpoise.judge.decisions import recall_decision
from counterpoise.judge.heights import check_recalled_energy, cloud_energy, recall_energy
from counterpoise.judge.noisy import CHECK_STREAM_KEY, RADIUS_COPIES, choose_noise, kept_share
from counterpoise.judge.planes import Plane, axis_values, choose_plane, round_as_answers
from counterpoise.judge.recalling import recall_answers
from counterpoise.judge.trajectory import Trajectory
from counterpoise.objective.noise import Noise
from counterpoise.objective.regularizers import Regularizer
from counterpoise.space.constraints.between_features import ConstraintOrFunction
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.streams import Streams
from counterpoise.types import Array

FEATURES_NAMED_IN_NOTE = 3  # features held aside that a note names


class ProjectedPath(NamedTuple):
    """The states of a search, projected onto the plane of a landscape: ``x`` and ``y`` ``(s, k)``, step by step.

    The first of each step is the best so far. ``share`` is how much of the squared way from the answer to the states
    is in the plane: near 1 they were where they are drawn, near 0 they were beside it.
    """

    x: Array
    y: Array
    share_in_plane: float
    method: str


@dataclass(frozen=True, eq=False)
class Landscape:
    """A slice through the energy of one row: a plane through its answer, along two features or two directions.

    ``x`` ``(g,)`` and ``y`` ``(h,)`` are the places along the two axes, ``labels`` what they are: the values of two
    features, or lengths in feature scales. ``energy``, ``margin`` (``f - c``, at least 0 where the target is reached)
    and ``probability`` (of the target; NaN where the model has none) are ``(h, g)``. ``start`` and ``answer`` are the
    places of the row and its answer. Where ``T`` is above 0, ``energy`` is the free energy of a cloud of width
    ``sigma`` around each point. ``features`` are those that vary over the slice, the most first; all others, and every
    category, are as in the answer. ``share`` is how much of the squared change is in the plane: below 1 the row is
    drawn at its projection. ``path`` are the states of a search, where one was given; ``note`` says all that in words.
    """

    features: tuple[Feature, ...]
    labels: tuple[str, str]
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
    share_in_plane: float = 1.0
    path: ProjectedPath | None = None
    note: str = ""


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
    t_reached: float
    t_lost: float
    target: str
    kept: Array
    noise: str = ""


def landscape(
    explanation: Explanation,
    model: Any,
    features: Sequence[Hashable] | Literal["principal"] | None = None,
    *,
    reference: Any = None,
    path: Trajectory | None = None,
    size: int = 60,
    T: float = 0.0,
    sigma: float = 0.2,
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer] = (),
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
) -> Landscape:
    """The energy of Eq. (3) around the answer to one row, on a grid of ``size`` by ``size`` points of a plane.

    ``features`` are by default the two numbers that the answer changes most. ``features="principal"`` takes two
    directions in feature scales instead: from the row to its answer, so that both are in the plane, and at right angles
    to it the first principal component of the ``reference`` (without one: of the states of ``path``, else of the real
    rows and alternatives that the explanation holds). Numbers are not rounded on such a plane. ``path`` is what
    `trajectory` saw of a search for this row: its states are projected onto the plane.

    ``T`` above 0 asks for the free energy of Eq. (6) instead, over a cloud of width ``sigma`` in feature scales around
    each point: the numbers that may change, the same 64 draws everywhere. ``weights``, ``regularizers`` and, where one
    of them is a `Cost`, ``constraints`` are those that the explanation was made with.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9], "load": [0.1, 0.3, 0.2, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> explanation = explain(model, train[3:], reference=train)
    >>> seen = landscape(explanation, model, size=20)
    >>> [feature.name for feature in seen.features], seen.energy.shape == (len(seen.y), len(seen.x))
    (['ports', 'load'], True)
    >>> print(landscape(explanation, model, "principal", reference=train, size=20).labels[0])
    row → answer (feature scales)
    − ports
    """
    if not (0 <= T < np.inf and 0 < sigma < np.inf):
        raise InputError("T must be at least 0 and sigma above 0", f"{T!r} and {sigma!r}", "for instance 0.1 and 0.2")
    decision = recall_decision(explanation, model)
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    _check_path(explanation, path)
    states = np.empty((0, 1, len(schema))) if path is None else path.visited_states
    plane = choose_plane(explanation, model, features, reference, states.reshape(-1, len(schema)))
    energy = recall_energy(explanation, weights, regularizers, constraints)
    check_recalled_energy(explanation, decision, energy)
    places = plane.project_rows(states)
    columns, lines = (axis_values(plane, number, size, places[..., number].ravel()) for number in (0, 1))
    points = plane.points(np.tile(columns, len(lines)), np.repeat(lines, len(columns)), x)
    margin = decision.margins(points)
    height = (
        cloud_energy(explanation, decision, energy, points, T, sigma)
        if T
        else energy(points[None], x0[None], margin[None])[0]
    )
    walked = None
    if path is not None:
        share = plane.share_in_plane(schema, states.reshape(-1, len(schema)), x)
        walked = ProjectedPath(places[..., 0], places[..., 1], share, path.method)
    shape = len(lines), len(columns)
    seen = Landscape(
        features=plane.features,
        labels=plane.labels,
        x=columns,
        y=lines,
        energy=height.reshape(shape),
        margin=margin.reshape(shape),
        probability=decision.probabilities(points).reshape(shape),
        start=plane.start,
        answer=plane.answer,
        target=str(explanation.target[0]),
        T=float(T),
        sigma=float(sigma) if T else 0.0,
        share_in_plane=plane.share_in_plane(schema, explanation.x0, x),
        path=walked,
    )
    return replace(seen, note=_describe_plane(explanation, plane, seen))


def profile(
    explanation: Explanation,
    model: Any,
    *,
    reach: float = 1.6,
    size: int = 161,
    noise: float | Noise | Literal["auto"] | None = None,
    reference: Any = None,
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
) -> Profile:
    """What the model says along the line from a row through its answer, up to ``reach`` times the way.

    ``noise``, ``reference`` and ``constraints`` are those of `robustness`: where noise would undo the change.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> 0 < profile(explain(model, train[3:], reference=train), model).t_reached <= 1
    True
    """
    if not reach > 1:
        raise InputError("reach must be more than 1, the answer itself", f"{reach!r}", "for instance 1.6")
    if not (explanation.valid.all() and explanation.changed.all()):
        raise InputError(
            "a profile needs an answer that changes something", "there is none", "choose a row that has one"
        )
    decision = recall_decision(explanation, model)
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    t = np.union1d(np.linspace(0.0, reach, size), [1.0])
    points = _points_on_line(schema, x0, x, t)
    margin = decision.margins(points)
    reached = margin >= 0
    reached[t == 1.0] = True  # the model's own predict has confirmed it
    way, beyond = t <= 1.0, t >= 1.0
    missed = np.flatnonzero(~reached & way)
    again = np.flatnonzero(~reached & beyond)
    kept, words = np.full(len(t), np.nan), ""
    if noise is not None:
        part = next(recall_answers(explanation, model, constraints))
        chosen, words = choose_noise(part, noise, model, schema, reference)
        line = np.zeros(len(t), dtype=np.intp)
        draws = Streams.of(explanation.x0, explanation.seed ^ CHECK_STREAM_KEY).normal((RADIUS_COPIES, len(schema)))
        along = part._replace(rows=line, x=points, problem=part.problem.take(line))
        kept = kept_share(along, chosen, draws[line])
    return Profile(
        t=t,
        distance=Distance.of(schema, "l2")(points[None], x0[None])[0],
        margin=margin,
        probability=decision.probabilities(points),
        t_reached=float(t[missed[-1] + 1]) if len(missed) else 0.0,
        t_lost=float(t[again[0]]) if len(again) else float("nan"),
        target=str(explanation.target[0]),
        kept=kept,
        noise=words,
    )


def _check_path(explanation: Explanation, path: Trajectory | None) -> None:
    if path is None:
        return
    if not isinstance(path, Trajectory):
        raise InputError("path must be a Trajectory", f"a {type(path).__name__}", "give cp.trajectory(explainer, row)")
    if path.target != str(explanation.target[0]) or not np.array_equal(path.x0, explanation.x0[0], equal_nan=True):
        raise InputError(
            "path must be of the same row and target as the explanation",
            f"it is of another row, or seeks {path.target}",
            "give cp.trajectory(explainer, row) of this one",
        )


def _describe_plane(explanation: Explanation, plane: Plane, seen: Landscape) -> str:
    """Which plane is shown, how much of the change and of the search lies in it, and what is held aside."""
    schema, x = explanation.schema, explanation.x[0]
    changed = differs(explanation.x0, x[None, None])[0, 0]
    aside = [schema.features[place] for place in np.flatnonzero(changed & ~plane.moving_columns)]
    values = [
        format_value(feature, decode_value(feature, float(x[schema.position(feature.name)]))) for feature in aside
    ]
    told = [f"{feature.title} at {value}" for feature, value in zip(aside, values, strict=True)]
    told = [
        *told[:FEATURES_NAMED_IN_NOTE],
        *([f"{len(told) - FEATURES_NAMED_IN_NOTE} more"] if len(told) > FEATURES_NAMED_IN_NOTE else []),
    ]
    parts = [f"Plane through the answer: {plane.description}; all else as in the answer."]
    if aside:
        parts.append(
            f"It holds {_format_percent(seen.share_in_plane)} of the change; the row is projected, with {', '.join(told)}."
        )
    if seen.path is not None:
        x, y = seen.path.x, seen.path.y
        inside = (x >= seen.x[0]) & (x <= seen.x[-1]) & (y >= seen.y[0]) & (y <= seen.y[-1])
        parts.append(
            f"{int(inside.sum())} of {inside.size} states of {seen.path.method}, projected: "
            f"{_format_percent(seen.path.share_in_plane)} of their way from the answer is in the plane."
        )
    return " ".join(parts)


def _format_percent(share: float) -> str:
    return "all" if share > 1 - 1e-9 else f"{100 * min(share, 0.994):.0f}\u00a0%"


def _points_on_line(schema: Schema, x0: Array, x: Array, t: Array) -> Array:
    """Points ``(g, d)`` on the line from ``x0`` to ``x`` at the shares ``t`` ``(g,)``."""
    start = np.where(np.isnan(x0), x, x0)
    points = start + t[:, None] * (x - start)
    for place, feature in enumerate(schema):
        ends = start[place], x[place]
        if not feature.is_numeric:
            points[:, place] = np.where(t < 0.5, x0[place], x[place])
        elif ends[0] != ends[1]:
            low, high = min(feature.lower, *ends), max(feature.upper, *ends)
            points[:, place] = round_as_answers(feature, np.clip(points[:, place], low, high))
        else:
            points[:, place] = np.where(t < 0.5, x0[place], x[place]) if np.isnan(x0[place]) else x[place]
    points[t == 1.0] = x
    points[t == 0.0] = x0
    return points
