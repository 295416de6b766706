"""Columns that are written rounded: ``mean == round(bytes / packets)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from counterpoise.space.rules.expressions import AbsoluteValue, BinaryOperation, Column, Expression, Number
from counterpoise.space.rules.formulas import Combination, Compare, RuleFormula


@dataclass(frozen=True)
class RoundedEquation(Combination):
    """A column is an expression, rounded: the two are at most half a unit apart, so that ties may go either way.

    A quotient is multiplied out: it is defined where the divisor is 0 too, and there what is divided must be 0.

    >>> import numpy as np
    >>> mean = RoundedEquation.of(Column(0), BinaryOperation("/", Column(1), Column(2)), decimals=0)
    >>> mean.holds(np.array([[2.0, 2.0, 0.0], [5.0, 8.0, 0.0], [2.0, 2.0, 0.0]]), np.zeros((3, 3)))
    array([ True, False,  True])
    """

    column: Column
    source: Expression

    @classmethod
    def of(cls, column: Column, source: Expression, decimals: int, tolerance: float = 0.0) -> RoundedEquation:
        """The equation; ``tolerance`` is relative to one unit of the last decimal."""
        unit = 10.0**-decimals
        divided: Expression = source
        divisor: Expression = Number(1.0)
        if isinstance(source, BinaryOperation) and source.operator == "/":
            divided, divisor = source.left, source.right
        gap = BinaryOperation("-", BinaryOperation("*", column, divisor), divided)
        back = BinaryOperation("-", divided, BinaryOperation("*", column, divisor))
        half = BinaryOperation("*", Number(unit / 2), AbsoluteValue(divisor))
        parts = tuple(Compare("<=", side, half, tolerance * unit) for side in (gap, back))
        return cls("all", parts, column, source)

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        parts = tuple(part.substitute(table) for part in self.parts)
        if self.column.number in table:  # it is computed from others itself
            return Combination("all", parts)
        return RoundedEquation("all", parts, self.column, self.source.substitute(table))
