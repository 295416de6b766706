"""Clauses that must all hold, with what a repair looks up about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from counterpoise.space.rules.expressions import BinaryOperation, is_affine
from counterpoise.space.rules.followers import Follower, find_followers
from counterpoise.space.rules.formulas import Combination, Compare, split_into_clauses
from counterpoise.space.rules.orderings import Orderings
from counterpoise.space.rules.relations import Clause
from counterpoise.space.rules.shared_equations import group_shared_equations


@dataclass(frozen=True, eq=False)
class ClauseSet:
    """Clauses that must all hold, with what repair looks up about them."""

    clauses: tuple[Clause, ...]
    clauses_by_column: dict[int, tuple[int, ...]]  # per column, the clauses that read it
    branches: dict[int, tuple[ClauseSet, ...]]  # per "either or" clause, the ways to make it hold
    orderings: tuple[Orderings, ...]  # clauses that can be projected together
    affine_pairs: frozenset[tuple[int, int]]  # (clause, column) where one Newton step solves the clause
    equation_groups: tuple[tuple[int, ...], ...]  # equations that share columns
    followers: tuple[Follower, ...]  # columns that an equation gives a value

    @classmethod
    def of(cls, parts: Sequence[Clause]) -> ClauseSet:
        """The clause set of some clauses."""
        touching: dict[int, tuple[int, ...]] = {}
        branches: dict[int, tuple[ClauseSet, ...]] = {}
        straight: set[tuple[int, int]] = set()
        for number, clause in enumerate(parts):
            for column in clause.formula.columns:
                touching[column] = (*touching.get(column, ()), number)
            if isinstance(clause.formula, Combination):
                ways = (
                    [Clause(part, clause.relation_number) for part in split_into_clauses(way)]
                    for way in clause.formula.parts
                )
                branches[number] = tuple(cls.of(way) for way in ways)
            if isinstance(clause.formula, Compare):
                gap = BinaryOperation("-", clause.formula.left, clause.formula.right)
                straight.update((number, column) for column in gap.columns if is_affine(gap, column))
        return cls(
            tuple(parts),
            touching,
            branches,
            Orderings.group_clauses(parts),
            frozenset(straight),
            group_shared_equations(parts),
            find_followers(parts),
        )

    def other_clauses(self, columns: Iterable[int], number: int) -> list[Clause]:
        """The clauses besides one that read any of some columns."""
        numbers = dict.fromkeys(each for column in columns for each in self.clauses_by_column.get(column, ()))
        return [self.clauses[each] for each in numbers if each != number]
