"""Planes through an answer: along two features, or along two principal directions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoise.api.replay import as_reference
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.rank_axis import RankAxis, is_crowded
from counterpoise.explanation.tables import scaled_differences
from counterpoise.objective.plausibility import Fittable
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array, Mask

PRINCIPAL = "principal"
MIN_DIRECTION_LENGTH = 1e-9  # shorter ones have no direction


class Plane(NamedTuple):
    """The points ``origin + a * step[0] + b * step[1]``; features that do not step are as in the answer.

    ``projection`` ``(2, d)`` gives a and b back: ``(x - origin) @ projection.T``; for a point outside the plane they
    are those of its projection. ``start`` and ``answer`` are (a, b) of the row and of its answer.
    """

    origin: Array  # (d,)
    step: Array  # (2, d) raw values
    projection: Array  # (2, d)
    start: tuple[float, float]
    answer: tuple[float, float]
    features: tuple[Feature, ...]  # those that step, the most first
    labels: tuple[str, str]  # of a and b
    description: str  # which plane it is
    is_along_features: bool  # each step is that of one feature, and its places are the feature's own values

    @property
    def moving_columns(self) -> Mask:
        """Which features step, ``(d,)``."""
        return np.asarray(self.step.any(axis=0))

    def points(self, a: Array, b: Array, x: Array) -> Array:
        """The rows ``(p, d)`` at places ``a`` and ``b`` ``(p,)``; the answer ``x`` ``(d,)`` is met to the bit."""
        stepped = (
            np.where(self.moving_columns, self.origin, 0.0) + a[:, None] * self.step[0] + b[:, None] * self.step[1]
        )
        out = np.where(self.moving_columns, stepped, x)
        out[(a == self.answer[0]) & (b == self.answer[1])] = x
        return np.asarray(out)

    def project_rows(self, x: Array) -> Array:
        """Where rows ``(..., d)`` lie when projected onto the plane, ``(..., 2)``; a missing cell counts as at 0."""
        return np.asarray(np.nan_to_num(x - self.origin) @ self.projection.T)

    def share_in_plane(self, schema: Schema, x: Array, answer: Array) -> float:
        """How much of the way from an answer ``(d,)`` to points ``(p, d)`` is in the plane: a share of squared L2."""
        whole = (scaled_differences(Distance.of(schema, "l2"), x, answer) ** 2).sum()
        there = np.nan_to_num(x - answer) @ self.projection.T @ self.step / schema.scales
        return float((there**2).sum() / whole) if whole > 0 else 1.0


def choose_plane(explanation: Explanation, model: Any, features: Any, reference: Any, states: Array) -> Plane:
    """The plane asked for: two features, or "principal"; ``states`` ``(p, d)`` are those of a search, if any."""
    if not isinstance(features, str) or features != PRINCIPAL:
        if isinstance(features, str):
            raise InputError("features must be two names, or 'principal'", f"{features!r}", "give the names as a list")
        if reference is not None and not any(isinstance(part, Fittable) for part in explanation.question.regularizers):
            raise InputError(
                "a reference is what principal directions are found from",
                "features were asked for",
                "leave it out, or give features='principal'",
            )
        return feature_plane(explanation, features)
    if reference is not None:
        return principal_plane(explanation, as_reference(reference, model, explanation).x, "the reference rows")
    if len(states):
        return principal_plane(explanation, states, "the chains")
    held = [explanation.x0, explanation.answers[0, : max(int(explanation.count[0]), 1)]]
    held += [] if explanation.evidence is None else [explanation.evidence[0]]
    rows = np.concatenate(held)
    return principal_plane(explanation, rows[~np.isnan(rows).all(axis=1)], "the nearest real rows")


def feature_plane(explanation: Explanation, names: Sequence[Hashable] | None) -> Plane:
    """The plane of two features, by default the two numbers that the answer to one row changes most."""
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    chosen = _choose_columns(explanation, names)
    read = np.zeros((2, len(schema)))
    read[[0, 1], chosen] = 1.0
    origin = np.where(read.any(axis=0), 0.0, x)
    features = tuple(schema.features[place] for place in chosen)
    across, up = ((float(row[chosen[0]]), float(row[chosen[1]])) for row in (x0, x))
    labels = tuple(f"{feature.title} ({feature.unit})" if feature.unit else feature.title for feature in features)
    return Plane(origin, read, read, across, up, features, (labels[0], labels[1]), "two features", True)


def principal_plane(explanation: Explanation, cloud: Array, whose: str, max_rows: int = 2000) -> Plane:
    """The plane of the two principal directions of one row's question, both in standard deviations.

    The first goes from the row to its answer, so that both lie in the plane. The second is at right angles to it: the
    first principal component of what is left of ``cloud`` ``(r, d)``, rows that ``whose`` names, of which at most
    ``max_rows`` are looked at. Where the answer changes no number, both are principal components. Held features and
    cells that are missing do not step.
    """
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    held = [feature.fixed != "" or feature.name in explanation.held for feature in schema]
    free = schema.numeric & ~np.array(held) & ~np.isnan(x0) & ~np.isnan(x)
    if free.sum() < 2:
        raise InputError(
            "principal directions need two numbers that may change",
            f"this row has {int(free.sum())}",
            "name two features",
        )
    way = np.where(free, np.nan_to_num(x - x0) / schema.scales, 0.0)
    length = float(np.linalg.norm(way))
    spread = np.where(free, (cloud - _column_means(cloud)) / schema.scales, 0.0)
    spread = np.nan_to_num(spread[np.linspace(0, len(spread) - 1, min(len(spread), max_rows)).astype(np.intp)])
    first = way / length if length > MIN_DIRECTION_LENGTH else _widest_direction(spread, np.zeros(len(way)), free)
    second = _widest_direction(spread, first, free)
    unit = np.stack([first, second])
    origin = np.where(free, x0, x)
    start = "row → answer" if length > MIN_DIRECTION_LENGTH else "along the widest spread"
    labels = tuple(_label_direction(schema, *each) for each in ((start, first), ("across", second)))
    order = np.argsort(-np.abs(unit).max(axis=0), kind="stable")
    is_along_way = length > MIN_DIRECTION_LENGTH
    first_words = "from the row to the answer" if is_along_way else f"where {whose} spread most"
    description = f"{first_words}, and across, where {whose} {'' if is_along_way else 'then '}spread most"
    return Plane(
        origin,
        unit * schema.scales,
        unit / schema.scales,
        (0.0, 0.0),
        (length if length > MIN_DIRECTION_LENGTH else 0.0, 0.0),
        tuple(schema.features[place] for place in order if unit[:, place].any()),
        (labels[0], labels[1]),
        description,
        False,
    )


def _column_means(cloud: Array) -> Array:
    """The mean of each column of ``(r, d)``, missing cells left out."""
    there = ~np.isnan(cloud)
    return np.asarray(np.where(there, cloud, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def _widest_direction(spread: Array, beside: Array, free: Mask) -> Array:
    """The direction ``(d,)`` at right angles to ``beside`` along which centred points ``(r, d)`` spread most."""
    rest = spread - np.outer(spread @ beside, beside)
    if len(rest) and np.abs(rest).max() > MIN_DIRECTION_LENGTH:
        found = np.linalg.svd(rest, full_matrices=False)[2][0]
    else:  # no spread: take the free feature most nearly at right angles
        found = np.zeros(len(beside))
        found[np.flatnonzero(free)[np.argmin(np.abs(beside[free]))]] = 1.0
    found = np.where(free, found - (found @ beside) * beside, 0.0)
    found /= np.linalg.norm(found)
    found[np.abs(found) < MIN_DIRECTION_LENGTH] = 0.0
    return np.asarray(found * np.sign(found[np.argmax(np.abs(found))]))


def _label_direction(schema: Schema, words: str, direction: Array, max_named: int = 2) -> str:
    """Words for a direction: what it is, and the features that it moves most, with their signs."""
    order = [place for place in np.argsort(-np.abs(direction), kind="stable") if direction[place]]
    named = [f"{'+' if direction[place] > 0 else '−'} {schema.features[place].title}" for place in order[:max_named]]
    return f"{words} (standard deviations)\n{', '.join(named)}{', …' if len(order) > max_named else ''}"


def axis_values(
    plane: Plane, number: int, size: int, seen: Array, ranks: RankAxis | None = None, shown_beyond: float = 0.35
) -> tuple[Array, bool]:
    """Values of one axis ``(g,)`` that cover the row, its answer, and the nearby ones among ``seen`` ``(p,)``.

    Along a feature they are rounded as answers are, and inside the range of the reference. Where they would crowd on a
    straight axis, they are even by ``ranks`` and cover all of them, which the second result tells.
    """
    one = plane.features[number] if plane.is_along_features else None
    ends = [end[number] for end in (plane.start, plane.answer) if not np.isnan(end[number])]
    low, high = min(ends), max(ends)
    length = float(np.linalg.norm(np.subtract(plane.answer, plane.start))) if one is None else high - low
    if one is None and number:  # row and answer are both at 0: show as much as along the first axis
        low, high = -length / 2, length / 2
    margin = max(shown_beyond * length, 1.0 if one is None else one.scale)
    low, high = low - margin, high + margin
    near = seen[(seen >= 2 * low - high) & (seen <= 2 * high - low)]
    low, high = min([low, *near]), max([high, *near])
    if one is None:
        return np.union1d(np.linspace(low, high, size), ends), False
    low, high = max(low, min(one.lower, *ends)), min(high, max(one.upper, *ends))
    by_rank = ranks is not None and is_crowded(ranks, low, high, (min(ends), max(ends)))
    even = ranks.value(np.linspace(0.0, 1.0, size)) if ranks is not None and by_rank else np.linspace(low, high, size)
    return np.unique(round_as_answers(one, np.union1d(even, ends))), by_rank


def round_as_answers(feature: Feature, values: Array) -> Array:
    """Values rounded as answers are: to whole numbers, or to the schema's decimals."""
    decimals = 0 if feature.kind == "integer" else feature.decimals
    return values if decimals is None else np.round(values, decimals)


def _choose_columns(explanation: Explanation, names: Sequence[Hashable] | None) -> tuple[int, int]:
    """The two columns of numbers that a landscape shows: those named, or those that the answer changes most."""
    schema = explanation.schema
    usable = schema.numeric & ~np.isnan(explanation.x[0])
    places = _rank_changes(explanation) if names is None else [schema.position(name) for name in names]
    places = [place for place in places if usable[place]]
    if len(set(places)) < 2 or (names is not None and len(names) != 2):
        raise InputError(
            "a landscape needs two different features that hold numbers",
            f"{list(names)!r}" if names is not None else f"the schema has {int(usable.sum())}",
            "name two of them, or ask for 'principal'",
        )
    return places[0], places[1]


def _rank_changes(explanation: Explanation) -> list[int]:
    """Columns by the size of their change, the greatest first; those that may not change come last."""
    schema = explanation.schema
    size = np.abs(explanation.x[0] - np.nan_to_num(explanation.x0[0])) / schema.scales
    fixed = np.array([bool(feature.fixed) or feature.name in explanation.held for feature in schema])
    return [int(place) for place in np.lexsort((-size, fixed))]
