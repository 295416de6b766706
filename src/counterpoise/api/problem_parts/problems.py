"""From a question to the Problem that methods read: distance, penalties, region, energy.

This is the one place where a `Problem` is built from a `Question`, both for a call and for whatever looks at its
answers later.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.question import Question
from counterpoise.models.goals import Goal
from counterpoise.models.probability import as_probability_model
from counterpoise.objective.energy import Energy
from counterpoise.objective.measures import DistanceBuilder
from counterpoise.objective.plausibility import Coordinates, Fittable
from counterpoise.objective.regularizers import ChangeCount, Regularizer, RegularizerByRow
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.nearest_rows import spread_places
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Model


@dataclass(frozen=True, eq=False)
class ExplainedModel:
    """Who answers a question: a model, the schema of its rows, and the distances of that schema.

    held: the features that no row may change, and why.
    fingerprint: a hash of what the model says of reference rows; empty where there are none.
    """

    model: Model
    schema: Schema
    measures: DistanceBuilder
    held: Mapping[Hashable, str] = field(default_factory=dict)
    fingerprint: str = ""

    @classmethod
    def for_question(cls, model: Model, schema: Schema, question: Question) -> ExplainedModel:
        """The same for a question that is asked again, whose weights and constraints set the distances."""
        measures = DistanceBuilder(schema, question.binding_constraints, question.weights)
        return cls(model, schema, measures).with_question(question)

    def with_question(self, question: Question) -> ExplainedModel:
        """The model as a question asks it: for its probabilities where there is a threshold on them."""
        if question.threshold is None or self.model.labels is None:
            return self
        return replace(self, model=as_probability_model(self.model))


def build_problem(
    question: Question,
    explained: ExplainedModel,
    reference_rows: ReferenceRows,
    x0: Array,
    goal: Goal,
    rows: Index,
    mu: Array,
    region: Region | None = None,
) -> Problem:
    """The problem of rows ``x0`` ``(n, d)`` at the places ``rows`` ``(n,)`` of the user's table.

    ``mu`` ``(n,)`` is the weight of the decision in the energy. ``region`` is that of the rows, if it is known.
    """
    schema = explained.schema
    distance, penalty = explained.measures(question.distance, question.penalty)
    if region is None:
        region = Region.build(schema, x0, question.binding_constraints, question.bounds)
    if isinstance(penalty, ChangeCount) and len(region.system):  # what relations move along is nobody's change
        penalty = ChangeCount(region.system.change_shares * penalty.weights)
    penalties = fit_regularizers((penalty, *question.regularizers), goal, reference_rows, distance, schema)
    return Problem(
        x0,
        explained.model,
        goal,
        region,
        Energy(distance, question.lam, penalties, mu),
        schema.scales,
        schema.numeric,
        reference_rows,
        rows,
        first_unknown_codes=schema.listed_category_counts,
    )


def fit_regularizers(
    regularizers: Sequence[Regularizer | Fittable],
    goal: Goal,
    reference_rows: ReferenceRows,
    distance: Distance,
    schema: Schema,
    max_reference_rows: int = 2000,
) -> tuple[Regularizer, ...]:
    """The regularisers of the rows of a goal; plausibility is fitted to reference rows of each row's target.

    At most ``max_reference_rows`` of them are taken, evenly spread.
    """
    if not any(hasattr(regularizer, "fit_to") for regularizer in regularizers):  # isinstance of a protocol is slow
        return tuple(cast(Sequence[Regularizer], regularizers))
    groups = goal.group_rows()
    owner = np.empty(sum(map(len, groups)), dtype=np.intp)
    pools: list[Array] = []
    for number, group in enumerate(groups):
        owner[group] = number
        reached = (
            goal.take(group[:1]).is_reached(reference_rows.outputs[None])[0]
            if len(reference_rows.x)
            else np.zeros(0, dtype=bool)
        )
        there = np.flatnonzero(reached)
        if not len(there):
            raise InputError(
                "plausibility is measured against reference rows of the target",
                "the reference has none" if len(reference_rows.x) else "no reference was given",
                "give such rows as reference=, choose another target, or leave this regulariser out",
            )
        pools.append(reference_rows.x[there[spread_places(len(there), max_reference_rows)]])
    space = build_coordinates(schema, distance, reference_rows.x)
    out: list[Regularizer] = []
    for regularizer in regularizers:
        if isinstance(regularizer, Fittable):
            out.append(RegularizerByRow(tuple(regularizer.fit_to(pool, space) for pool in pools), owner))
        else:
            out.append(regularizer)
    return tuple(out)


def build_coordinates(schema: Schema, distance: Distance, x: Array) -> Coordinates:
    """Coordinates in the units of a distance; missing cells count as the median of reference rows ``x`` ``(r, d)``."""
    levels = [len(f.categories) if nominal else 0 for f, nominal in zip(schema, distance.nominal, strict=True)]
    known = ~np.isnan(x).all(axis=0)
    fill = np.zeros(len(schema))
    fill[known] = np.nanmedian(x[:, known], axis=0)
    return Coordinates(distance.unit, np.array(levels, dtype=np.intp), fill)
