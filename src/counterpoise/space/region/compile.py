"""Constraints compiled: one draft with the box, the lattice and the relations of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from counterpoise.errors import ConstraintError
from counterpoise.space.constraints.between_features import as_constraints
from counterpoise.space.constraints.draft import Draft
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.region.lattice import Lattice
from counterpoise.space.rules.relations import determined_columns
from counterpoise.space.rules.system import RelationSystem
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array

Bounds = Literal["observed"] | None


def compile_draft(
    schema: Schema,
    x0: Array,
    constraints: Sequence[Constraint],
    bounds: Bounds,
    observed: Sequence[int] | None = None,
) -> tuple[Draft, Lattice, RelationSystem]:
    """Apply every constraint, then observed ranges and dtypes; the draft, its lattice and its relations.

    ``observed`` are the columns whose observed range binds; None: all.
    """
    draft = Draft.make_blank(schema, x0)
    for constraint in as_constraints(constraints):
        if not isinstance(constraint, Constraint) or isinstance(constraint, type):
            raise ConstraintError(
                "constraints must be Counterpoise's words",
                f"{constraint!r}",
                "for instance cp.Immutable('age') or cp.Range('rate', 0, 100)",
            )
        constraint.apply(draft)
    _limit_to_ranges(draft, bounds, observed)
    for number in draft.step_from_row:
        if draft.choices[number] is not None:
            raise ConstraintError(
                "a feature must have a Step or listed values, not both",
                f"{' and '.join(draft.constraint_texts[number])}",
                "list the values that the steps reach",
            )
    choices: list[Array | None] = [None] * len(schema)
    determined = determined_columns(draft.relations)
    for number in {*schema.category_columns, *draft.listed_columns, *(set(schema.listed_columns) - determined)}:
        choices[number] = _allowed_values(draft, number, schema.features[number], bounds)
    system = RelationSystem.of(schema, draft.relations, x0, draft.choices)
    for number in draft.step_from_row:
        if system.is_derived[number]:
            name = schema.names[number]
            raise ConstraintError(
                "a derived feature takes the steps that what it is made of takes",
                f"{name!r} is Derived and has a Step",
                "give the steps to what it is made of, or state the relation as a Rule, which is solved for a step",
            )
    # a derived feature that must not change passes that on to what it is made of, as a box of one value, or of none
    locked = system.is_derived & ~draft.free & ~np.isnan(x0)
    draft.lower[locked] = np.fmax(draft.lower, x0)[locked]
    draft.upper[locked] = np.fmin(draft.upper, x0)[locked]
    return draft, Lattice.of(draft, choices, system.is_derived), system


def _limit_to_ranges(draft: Draft, bounds: Bounds, observed: Sequence[int] | None) -> None:
    """Numbers stay within the reference's range, widened to the row itself, and in any case within their dtype.

    Categories have no ends of either kind.
    """
    row_values, lower, upper = draft.x0, draft.lower, draft.upper
    if bounds == "observed":
        ends = draft.schema.observed_ranges
        if observed is not None:
            ends = np.where(np.isin(np.arange(len(draft.schema)), observed), ends, [[-np.inf], [np.inf]])
        low, high = np.fmin(ends[0], row_values), np.fmax(ends[1], row_values)
        # a range or a list that the user gives takes the place of the observed one, also where the two do not meet
        given = draft.is_range_given.copy()
        given[:, draft.listed_columns] = True
        low = np.where(given[0] | (upper < low), -np.inf, low)
        high = np.where(given[1] | (lower > high), np.inf, high)
        lower, upper = np.fmax(lower, low), np.fmin(upper, high)
    least, most = draft.schema.dtype_ranges
    draft.lower = np.fmax(lower, np.fmin(least, row_values))
    draft.upper = np.fmin(upper, np.fmax(most, row_values))


def _allowed_values(draft: Draft, number: int, feature: Feature, bounds: Bounds) -> Array | None:
    """The encoded values that a changed cell may take, sorted, or None where it may take any."""
    values = draft.choices[number]
    if feature.is_numeric:
        values = _schema_values(draft, number, feature) if values is None else values
        if values is None:
            return None
        if feature.kind == "integer" or draft.step[number]:
            values = values[values == np.rint(values)]
        storage = feature.storage_dtype
        return (
            values if storage is None or storage.kind != "f" else np.unique(values.astype(storage).astype(np.float64))
        )
    if values is None:
        hidden = set(feature.unseen if bounds == "observed" else feature.strange)
        values = np.array(
            [code for value, code in feature.code_by_category.items() if value not in hidden], dtype=np.float64
        )
    return values


def _schema_values(draft: Draft, number: int, feature: Feature) -> Array | None:
    """The values that the schema lists for a number; None where the user's own words say otherwise.

    Steps, and a range that reaches beyond what was observed, take the place of seen values.
    """
    if not isinstance(feature.values, tuple) or number in draft.step_from_row:
        return None
    given = draft.is_range_given[:, number]
    wider = (given[0] and (draft.lower[:, number] < feature.lower).any()) or (
        given[1] and (draft.upper[:, number] > feature.upper).any()
    )
    return None if wider else np.array(feature.values)
