"""Plausibility as the user asks for it, fitted to the reference rows of each target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from counterpoise.errors import InputError
from counterpoise.models.goals import Goal
from counterpoise.objective.plausibility import Coordinates, Fittable
from counterpoise.objective.regularizers import Regularizer, RegularizerByRow
from counterpoise.problem import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.nearest_rows import spread_places
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

PLAUSIBILITY_ROWS = (
    2_000  # reference rows of the target that plausibility is measured against, spread evenly over the reference
)


def fit_regularizers(
    regularizers: Sequence[Regularizer | Fittable],
    goal: Goal,
    donors: ReferenceRows,
    distance: Distance,
    schema: Schema,
) -> tuple[Regularizer, ...]:
    """The regularisers, those that need real rows of the target fitted to them, for the rows of a goal."""
    if not any(hasattr(regularizer, "fit_to") for regularizer in regularizers):  # isinstance of a protocol is slow
        return tuple(cast(Sequence[Regularizer], regularizers))
    groups = goal.group_rows()
    owner = np.empty(sum(map(len, groups)), dtype=np.intp)
    pools: list[Array] = []
    for number, group in enumerate(groups):
        owner[group] = number
        reached = goal.take(group[:1]).is_reached(donors.outputs[None])[0] if len(donors.x) else np.zeros(0, dtype=bool)
        there = np.flatnonzero(reached)
        if not len(there):
            raise InputError(
                "plausibility is measured against reference rows of the target",
                "the reference has none",
                "give such rows, another target, or no such regulariser",
            )
        pools.append(donors.x[there[spread_places(len(there), PLAUSIBILITY_ROWS)]])
    space = build_coordinates(schema, distance, donors.x)
    out: list[Regularizer] = []
    for regularizer in regularizers:
        if isinstance(regularizer, Fittable):
            out.append(RegularizerByRow(tuple(regularizer.fit_to(pool, space) for pool in pools), owner))
        else:
            out.append(regularizer)
    return tuple(out)


def build_coordinates(schema: Schema, distance: Distance, x: Array) -> Coordinates:
    """The coordinates of a schema in the units of a distance; gaps count as the median of reference rows ``x``."""
    levels = [len(f.categories) if nominal else 0 for f, nominal in zip(schema, distance.nominal, strict=True)]
    known = ~np.isnan(x).all(axis=0)
    fill = np.zeros(len(schema))
    fill[known] = np.nanmedian(x[:, known], axis=0)
    return Coordinates(distance.unit, np.array(levels, dtype=np.intp), fill)
