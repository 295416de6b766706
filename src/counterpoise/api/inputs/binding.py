"""What binds the answers of an explainer: relations that were discovered, weights, and features that are held fixed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from counterpoise.api.inputs.reference import RelationsSetting
from counterpoise.errors import ConstraintError, InputError
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.discover.discover import Discoveries
from counterpoise.space.discover.patterns import FoundRelation
from counterpoise.space.region.compile import Bounds, compile_draft
from counterpoise.space.region.region import Region, check_constraints
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Index, is_number


def check_relations(relations: RelationsSetting) -> RelationsSetting:
    """The setting itself, or an error where it is none."""
    if relations not in ("discovered", None):
        raise InputError(
            "relations must be 'discovered' or None", f"{relations!r}", "give your own as constraints, such as cp.Rule"
        )
    return relations


def _relation_columns(schema: Schema, constraints: Sequence[Constraint]) -> set[frozenset[int]]:
    """The columns that each relation among some constraints is about."""
    _, _, system = compile_draft(schema, np.full((1, len(schema)), np.nan), constraints, None)
    return {frozenset(clause.formula.columns) for clause in system.clause_set.clauses}


def keep_possible_relations(
    found: Discoveries, schema: Schema, constraints: Sequence[Constraint], bounds: Bounds
) -> Discoveries:
    """The relations that were discovered, without those about columns that the user relates by a word of their own.

    And without those that the user's constraints leave no row for.
    """
    bound = _relation_columns(schema, constraints)
    kept = tuple(each for each in found if not _relation_columns(schema, [each.constraint]) & bound)
    try:
        check_constraints(schema, [*constraints, *(each.constraint for each in kept)], bounds)
    except ConstraintError:
        possible: list[FoundRelation] = []
        for each in kept:
            with suppress(ConstraintError):
                check_constraints(schema, [*constraints, *(one.constraint for one in (*possible, each))], bounds)
                possible.append(each)
        kept = tuple(possible)
    return Discoveries(kept)


def check_weights(schema: Schema, weights: Mapping[Hashable, float] | None) -> dict[Hashable, float]:
    """The weights as numbers, or an error where one names no feature, or is no number of at least 0."""
    if weights is not None and not isinstance(weights, Mapping):
        raise InputError(
            "weights must map feature names to numbers, or be 'permutation' or 'shap'",
            f"a {type(weights).__name__}",
            "for instance {'age': 2.0}",
        )
    for name, weight in (weights or {}).items():
        schema.position(name)
        if not is_number(weight) or not weight >= 0:
            raise InputError(
                "weights must be numbers of at least 0",
                f"{name!r} has {weight!r}",
                "0 makes a change free of penalty, infinity forbids it",
            )
    return {name: float(weight) for name, weight in (weights or {}).items()}


def fixed_features(schema: Schema, constraints: Sequence[Constraint]) -> dict[Hashable, str]:
    """Features that no row may change, and why."""
    region = Region.build(schema, np.full((1, len(schema)), np.nan), constraints)
    out = {}
    for number, feature in enumerate(schema):
        if region.fixed[0, number]:
            words = [word for word in region.constraint_texts[number] if word.startswith(("Immutable", "Mutable"))]
            out[feature.name] = feature.fixed or " and ".join(words)
    return out


def record_rows_let_off(
    rows_let_off: dict[str, set[int]], relations: Sequence[Constraint], region: Region, rows: Index
) -> None:
    """Add to ``rows_let_off``, by relation, those of ``rows`` ``(n,)`` that a discovered relation does not bind."""
    discovered = {repr(relation) for relation in relations}
    for place, text in enumerate(region.system.relation_texts):
        loose = np.flatnonzero(~region.system.is_binding[:, place])
        if len(loose) and text in discovered:
            rows_let_off.setdefault(text, set()).update(rows[loose].tolist())


def note_relations(relations: Sequence[Constraint], rows_let_off: Mapping[str, set[int]]) -> tuple[str, ...]:
    """That relations were discovered, and which rows break one themselves."""
    count = len(relations)
    if not count:
        return ()
    kept = f"answers keep {count} relation{'' if count == 1 else 's'} that every reference row obeys"
    notes = [f"{kept} (explainer.relations lists them, relations=None lifts them)"]
    for text, rows in sorted(rows_let_off.items()):
        shown = ", ".join(map(str, sorted(rows)[:5])) + (" …" if len(rows) > 5 else "")
        who = f"row{'' if len(rows) == 1 else 's'} {shown}"
        notes.append(f"{text} does not bind {who}, which break{'s' if len(rows) == 1 else ''} it as given")
    return tuple(notes)
