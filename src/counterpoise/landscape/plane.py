"""Landscape: the energy around the answer to one row, on a plane; computed here, drawn later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpoise.api.replay import Constraints, Replay, check_one_row, replay
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.formats import format_value
from counterpoise.explanation.rank_axis import RankAxis
from counterpoise.explanation.tables import decode_value, differs
from counterpoise.landscape.directions import Plane, axis_values, choose_plane
from counterpoise.landscape.trajectory import Trajectory
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.physics.boltzmann import log_partition
from counterpoise.physics.cloud import draw_antithetic
from counterpoise.readable import Readable, Summary
from counterpoise.space.schema.schema import Feature
from counterpoise.types import Array, split_rows


class ProjectedPath(NamedTuple):
    """The states of a search, projected onto the plane of a landscape: ``x`` and ``y`` ``(s, k)``, step by step.

    The first of each step is the best so far. ``share_in_plane`` is the share of the squared distance from the answer
    to the states that lies in the plane: near 1 the states are where they are drawn, near 0 they are beside the plane.
    """

    x: Array
    y: Array
    share_in_plane: float
    method: str


@dataclass(frozen=True, eq=False, repr=False)
class Landscape(Readable):
    """A slice through the energy of one row: a plane through its answer, along two features or two directions.

    ``x`` ``(g,)`` and ``y`` ``(h,)`` are the places along the two axes, ``labels`` what they are: the values of two
    features, or lengths in standard deviations. ``energy``, ``margin`` (``f - c``, at least 0 where the target is
    reached) and ``probability`` (of the target; NaN where the model has none) are ``(h, g)``. ``start`` and
    ``answer`` are the places of the row and its answer. Where ``T`` is above 0, ``energy`` is the free energy of a
    cloud of width ``sigma`` around each point. ``features`` are those that vary over the slice, the most first; all
    others, and every category, are as in the answer. ``share_in_plane`` is the share of the squared change that lies in
    the plane: below 1 the row is drawn at its projection. ``path`` has the states of a search, if one was given;
    ``note`` says this in words. ``rank_axes`` are those along which places are even by rank among the reference,
    because its values would crowd; None where an axis is straight.
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
    rank_axes: tuple[RankAxis | None, RankAxis | None] = (None, None)

    def summarize(self) -> Summary:
        """Where the slice lies, and how much of it reaches the target."""
        what = f"free energy at T = {self.T:g}" if self.T else "energy"
        reached = float((self.margin >= 0).mean())
        lines = [
            (label, f"{ends[0]:.4g} to {ends[-1]:.4g}", f"{self.start[place]:.4g}", f"{self.answer[place]:.4g}")
            for place, (label, ends) in enumerate(zip(self.labels, (self.x, self.y), strict=True))
        ]
        size = f"{len(self.y)} × {len(self.x)} points"
        title = f"Landscape of the {what}, {size}: {reached:.0%} reach {self.target}"
        return Summary(title + (f"; {self.note}" if self.note else ""), ("axis", "range", "row", "answer"), lines)


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
    samples: int = 64,
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer | Fittable] = (),
    constraints: Constraints = (),
) -> Landscape:
    """The energy of Eq. (3) around the answer to one row, on a grid of ``size`` by ``size`` points of a plane.

    explanation: of one row; its question, and so its energy, is that of the search.
    model: the model that was explained.
    features: two names; by default the two numbers that the answer changes most. "principal" takes two directions in
        standard deviations instead: from the row to its answer, so that both are in the plane, and at right angles to
        it the first principal component of the ``reference`` (without one: of the states of ``path``, else of the real
        rows and alternatives that the explanation holds). Numbers are not rounded on such a plane.
    reference: the data that the second principal direction is found from, and that plausibility is measured against.
    path: what `cp.trajectory` saw of a search for this row: its states are projected onto the plane.
    size: points along each axis; 60 by default.
    T: above 0, the heights are the free energy of Eq. (6) at this temperature, in units of the energy; 0 by default.
    sigma: the width of the cloud around each point, in standard deviations; 0.2 by default.
    samples: draws of that cloud; 64 by default.
    weights, regularizers, constraints: those of the explanation, needed only where it was saved and could not hold
        them.

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
    row → answer (standard deviations)
    − ports
    """
    if not (0 <= T < np.inf and 0 < sigma < np.inf):
        raise InputError("T must be at least 0 and sigma above 0", f"{T!r} and {sigma!r}", "for instance 0.1 and 0.2")
    check_one_row(explanation)
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    _check_path(explanation, path)
    states = np.empty((0, 1, len(schema))) if path is None else path.visited_states
    plane = choose_plane(explanation, model, features, reference, states.reshape(-1, len(schema)))
    asked = replay(
        explanation,
        model,
        reference=reference,
        constraints=constraints,
        weights=weights,
        regularizers=regularizers,
    )
    _check_energy(explanation, asked)
    places = plane.project_rows(states)
    ranks = [_rank_axis(explanation, plane, number) for number in (0, 1)]
    (columns, by_rank), (lines, up_by_rank) = (
        axis_values(plane, number, size, places[..., number].ravel(), ranks[number]) for number in (0, 1)
    )
    points = plane.points(np.tile(columns, len(lines)), np.repeat(lines, len(columns)), x)
    margin = asked.margins(points)
    height = (
        _cloud_energy(explanation, asked, points, T, sigma, samples)
        if T
        else asked.problem.energy(points[None], x0[None], margin[None])[0]
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
        probability=asked.probabilities(points).reshape(shape),
        start=plane.start,
        answer=plane.answer,
        target=str(explanation.target[0]),
        T=float(T),
        sigma=float(sigma) if T else 0.0,
        share_in_plane=plane.share_in_plane(schema, explanation.x0, x),
        path=walked,
        rank_axes=(ranks[0] if by_rank else None, ranks[1] if up_by_rank else None),
    )
    return replace(seen, note=_describe_plane(explanation, plane, seen))


def _rank_axis(explanation: Explanation, plane: Plane, number: int) -> RankAxis | None:
    """The ranks of the feature along one axis among the reference; None for a direction of several."""
    if not plane.is_along_features:
        return None
    column = explanation.schema.position(plane.features[number].name)
    ends = [end[number] for end in (plane.start, plane.answer) if not np.isnan(end[number])]
    return RankAxis.of([levels[:, column] for levels in explanation.quantiles.values()], ends)


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


def _describe_plane(explanation: Explanation, plane: Plane, seen: Landscape, max_named: int = 3) -> str:
    """The note of a landscape: which plane it shows, how much of change and search lies in it, what is held aside."""
    schema, x = explanation.schema, explanation.x[0]
    changed = differs(explanation.x0, x[None, None])[0, 0]
    aside = [schema.features[place] for place in np.flatnonzero(changed & ~plane.moving_columns)]
    values = [
        format_value(feature, decode_value(feature, float(x[schema.position(feature.name)]))) for feature in aside
    ]
    held_values = [f"{feature.title} at {value}" for feature, value in zip(aside, values, strict=True)]
    held_values = [
        *held_values[:max_named],
        *([f"{len(held_values) - max_named} more"] if len(held_values) > max_named else []),
    ]
    parts = [f"Plane through the answer: {plane.description}; all else as in the answer."]
    if aside:
        share = _format_percent(seen.share_in_plane)
        parts.append(f"It holds {share} of the change; the row is projected, with {', '.join(held_values)}.")
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


def _cloud_energy(
    explanation: Explanation,
    asked: Replay,
    points: Array,
    T: float,
    sigma: float,
    samples: int,
    max_numbers_together: int = 4_000_000,
) -> Array:
    """``-T ln <exp(-E / T)>`` over a cloud around each of the points ``(p, d)``: ``(p,)``.

    The number of changes is that of the point: a cloud would change every feature.
    """
    schema, x0 = explanation.schema, explanation.x0
    free = schema.numeric & np.array([name not in explanation.held for name in schema.names])
    noise = (
        draw_antithetic(np.random.default_rng(explanation.seed), samples, len(schema)) * free * schema.scales * sigma
    )
    out = np.empty(len(points))
    energy, smooth = asked.problem.energy, asked.problem.energy.without_counts()
    counted = (energy.effort(points[None], x0) - smooth.effort(points[None], x0))[0]
    for some in split_rows(len(points), max_numbers_together, samples * len(schema)):
        copies = points[some, None, :] + noise
        flat = copies.reshape(-1, len(schema))
        values = smooth(flat[None], x0, asked.margins(flat)[None])[0].reshape(copies.shape[:2])
        out[some] = -T * log_partition(values, T)
    return np.asarray(out + counted)


def _check_energy(explanation: Explanation, replayed: Replay, tolerance: float = 1e-6) -> None:
    """An error where the answer's margin or energy is not, to a relative tolerance, that of the explanation."""
    x0, x = explanation.x0, explanation.x
    margin = replayed.margins(x)
    found = {"margin": margin[0], "energy": replayed.problem.energy(x[:, None, :], x0, margin[:, None])[0, 0]}
    stored = {"margin": explanation.scores["margin_after"].iloc[0], "energy": explanation.energy["total"].iloc[0]}
    for name, number in stored.items():
        if abs(found[name] - number) > tolerance * max(1.0, abs(number)):
            raise InputError(
                "the model, the weights and the regularizers must be those of the explanation",
                f"the answer's {name} is {number:.6g}, with these it is {found[name]:.6g}",
                "give the ones that it was made with",
            )
