"""Conflicts: which of the user's words leave a row no point, none of them superfluous."""

from __future__ import annotations

from collections.abc import Sequence

from counterpoise.space.constraints.words import Constraint
from counterpoise.space.region.compile import Bounds, compile_draft
from counterpoise.space.region.contradictions import Box, find_irreducible_subset, is_infeasible, select_linear_clauses
from counterpoise.space.rules.relations import Clause
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array


def find_contradiction(schema: Schema, x0: Array, constraints: Sequence[Constraint], bounds: Bounds) -> tuple[str, ...]:
    """The words that leave no point for one row ``x0`` ``(1, d)``, none of them superfluous; empty if not proved.

    Boxes, whole numbers and linear relations are looked at; where the row is missing, what reads it is not.
    """

    def program(words: Sequence[Constraint], observed: Sequence[int]) -> tuple[Box, list[Clause]]:
        draft, lattice, system = compile_draft(schema, x0, words, bounds, observed)
        bound = [clause for clause in system.clause_set.clauses if system.is_binding[0, clause.relation_number]]
        return lattice.first_row_box(draft), select_linear_clauses(bound)

    words = list(constraints)
    box, clauses = program(words, range(len(schema)))
    if not is_infeasible(box, clauses):
        return ()
    columns = sorted({column for clause in clauses for column in clause.formula.columns})
    seen = [column for column in columns if bounds == "observed" and schema.features[column].is_numeric]

    def contradictory(items: Sequence[int]) -> bool:
        chosen = [words[item - len(seen)] for item in items if item >= len(seen)]
        return is_infeasible(*program(chosen, [seen[item] for item in items if item < len(seen)]))

    # the observed ranges come first: what can be said without them is said in the user's own words
    kept = find_irreducible_subset(len(seen) + len(words), contradictory)
    names = [repr(words[item - len(seen)]) for item in kept if item >= len(seen)]
    for item in kept:
        if item < len(seen):
            feature = schema.features[seen[item]]
            names.append(f"the observed range of {feature.name!r}, {feature.lower:g} to {feature.upper:g}")
    return tuple(names)
