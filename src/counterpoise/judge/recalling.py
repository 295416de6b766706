"""The problems behind an explanation, met again: one for each target, with the answers in the place of a search."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.judge.decisions import recall_decision
from counterpoise.objective.energy import Energy
from counterpoise.objective.regularizers import Regularizer, WeightedL1
from counterpoise.problem import Problem, ReferenceRows
from counterpoise.space.constraints.between_features import ConstraintOrFunction, as_constraints
from counterpoise.space.constraints.relative_to_row import prices_of_changes
from counterpoise.space.constraints.words import Constraint, Immutable
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Bounds, Region
from counterpoise.types import Array, Index


class RecalledAnswers(NamedTuple):
    """Some rows of an explanation that ask for the same: their places, their answers, their problem and its words."""

    rows: Index  # (n,)
    x: Array  # (n, d)
    problem: Problem
    constraints: tuple[Constraint, ...]
    bounds: Bounds


def recall_answers(
    explanation: Explanation,
    model: Any,
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer] = (),
) -> Iterator[RecalledAnswers]:
    """The valid answers, those with one target together.

    An explanation keeps its constraints as words for people; without ``constraints`` the features that it says were
    held are fixed, and the bounds are those of its settings.
    """
    schema, settings = explanation.schema, explanation.settings
    words: tuple[Constraint, ...] = as_constraints(constraints) or tuple(Immutable(name) for name in explanation.held)
    bounds: Bounds = None if settings.get("bounds") == "None" else "observed"
    distance = Distance.of(schema, _parse_distance(settings.get("distance", "l2")), prices_of_changes(schema, words))
    given = weights or {}
    column = np.array([given.get(name, 0.0 if given else 1.0) for name in schema.names], dtype=np.float64)
    penalty = WeightedL1(np.where(np.isinf(column), 0.0, column), np.where(distance.nominal, 0.0, distance.unit))
    valid = np.flatnonzero(explanation.valid)
    if not len(valid):
        raise InputError("there must be an answer to check", "no row has a valid one", "see the reasons of the rows")
    targets = np.array([str(target) for target in explanation.target[valid]])
    for target in dict.fromkeys(targets.tolist()):
        rows = valid[targets == target]
        decision = recall_decision(explanation[int(rows[0])], model)
        terms = explanation.energy.iloc[rows]
        x0, nobody = explanation.x0[rows], ReferenceRows(explanation.x0[:0], np.empty((0, 1)))
        problem = Problem(
            x0,
            decision.model,
            decision.goal.take(np.zeros(len(rows), dtype=np.intp)),
            Region.build(schema, x0, words, bounds),
            Energy(
                distance,
                float(terms["lam"].iloc[0]),
                (penalty, *regularizers),
                np.asarray(terms["mu"].to_numpy(dtype=np.float64)),
            ),
            schema.scales,
            schema.numeric,
            nobody,
            rows,
            first_unknown_codes=schema.listed_category_counts,
        )
        yield RecalledAnswers(rows, explanation.x[rows], problem, words, bounds)


def _parse_distance(name: str) -> str | dict[str, float]:
    """A distance as its name says it: "l2", or "0.5 l1 + 0.5 l2"."""
    parts = [part.split() for part in name.split(" + ")]
    return name if len(parts[0]) == 1 else {norm: float(weight) for weight, norm in parts}
