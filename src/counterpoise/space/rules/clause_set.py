"""Clauses that must all hold, what a repair looks up about them, and columns that equations compute from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.space.rules.expressions import Column, Expression, is_affine
from counterpoise.space.rules.formulas import Combination, Compare, RuleFormula, split_into_clauses
from counterpoise.space.rules.orderings import Orderings
from counterpoise.space.rules.relations import Clause
from counterpoise.space.rules.repair_workspace import Grid, PointSelection
from counterpoise.space.rules.shared_equations import group_shared_equations
from counterpoise.types import Array, Mask


@dataclass(frozen=True, eq=False)
class Follower:
    """A column, and the equation that gives it a value."""

    column: int
    equation: RuleFormula
    expression: Expression  # the other side
    relation_number: int

    def follow(
        self, y: dict[int, Array], given: Array, free: Mask, is_binding: Mask, box: tuple[Array, Array], grid: Grid
    ) -> bool:
        """Compute the column of points ``y``, columns ``(n, k)``, in place; whether any has changed.

        Only where the equation is broken, this column is as in the row and another one is not: a column that was moved
        itself is for a repair to bring together with the others. ``given`` has the rows as columns ``(n, 1)``;
        ``free`` ``(n,)`` and ``is_binding`` ``(n,)`` say whose column may move, and whom the equation binds.
        """
        with np.errstate(all="ignore"):
            held = self.equation.holds(y, given)
            if held.all():
                return False
            wrong = ~held & (free & is_binding)[:, None]
            wrong &= np.any([y[number] != given[number] for number in self.expression.columns], axis=0)
            wrong &= y[self.column] == given[self.column]
            rows, points = np.nonzero(wrong)
            if not len(rows):
                return False
            at = rows, points
            x = {number: y[number][at] for number in self.expression.columns}
            value = np.broadcast_to(self.expression.value(x, PointSelection(given[..., 0], rows)), rows.shape)
            known = np.flatnonzero(np.isfinite(value))
            at = at[0][known], at[1][known]
            inside = np.minimum(np.maximum(value[known], box[0][at[0]]), box[1][at[0]])
            y[self.column][at] = grid.snap(self.column, inside, at[0])
        return len(known) > 0


def find_followers(clauses: Sequence[Clause]) -> tuple[Follower, ...]:
    """The columns that follow, each after those that it is computed from; none follows twice, or from itself.

    >>> equation = Compare("==", Column(2), Column(0))
    >>> [each.column for each in find_followers([Clause(equation, 0)])]
    [2]
    """
    found: dict[int, Follower] = {}
    for clause in clauses:
        for follower in _candidates(clause):
            if follower.column not in found and not _leads_to(found, follower.expression, follower.column):
                found[follower.column] = follower
                break
    ordered: list[Follower] = []

    def visit(column: int) -> None:
        if column in found and found[column] not in ordered:
            for source in sorted(found[column].expression.columns):
                visit(source)
            ordered.append(found[column])

    for column in found:
        visit(column)
    return tuple(ordered)


def _candidates(clause: Clause) -> list[Follower]:
    """The ways to read an equation as a column and what it follows from."""
    formula, rounded, relation_number = clause.formula, clause.rounded, clause.relation_number
    if rounded is not None and rounded.column.number not in rounded.source.columns:
        return [Follower(rounded.column.number, rounded, rounded.source, relation_number)]
    if not isinstance(formula, Compare):
        return []
    sides = (formula.left, formula.right), (formula.right, formula.left)
    return [
        Follower(side.number, formula, other, relation_number)
        for side, other in sides
        if formula.operator == "==" and isinstance(side, Column) and other.columns - {side.number}
        and side.number not in other.columns
    ]  # fmt: skip


def _leads_to(found: dict[int, Follower], expression: Expression, column: int) -> bool:
    """Whether an expression is made of a column, through those that follow already."""
    return any(
        source == column or (source in found and _leads_to(found, found[source].expression, column))
        for source in expression.columns
    )


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
                gap = clause.formula.gap
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
