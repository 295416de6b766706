"""Columns that follow: a column that stands alone on a side of an equation takes the value that the other side gives.

Whoever moves one packet count means the total to move along. A projection would take half of the move back instead, or
spread it over whatever else the equation names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.space.rules.expressions import Column, Expression
from counterpoise.space.rules.formulas import Compare, RuleFormula
from counterpoise.space.rules.relations import Clause
from counterpoise.space.rules.repair_workspace import Grid, PointSelection
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
