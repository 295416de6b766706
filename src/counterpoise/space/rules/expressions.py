"""Expressions: the arithmetic of rules, evaluated on whole arrays of points, with slopes.

An expression reads columns: of the point, ``x``, and of what is given about its row, ``x0`` (the row itself and, behind
it, whatever else the caller appends). Both are indexed by column first, so that each column is one array of any shape.
What has no value (a division by zero, a missing cell) is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from counterpoise.types import Array

Slopes = dict[int, Array]
Operator = Literal["+", "-", "*", "/", "**"]


class ColumnTable(Protocol):
    """Columns by number: an array ``(d, ...)``, or anything that looks like one."""

    def __getitem__(self, column: int, /) -> Any: ...


class Expression:
    """A number at each point: ``value``, ``slopes``, the columns it reads and its degree in them."""

    @cached_property
    def columns(self) -> frozenset[int]:
        """The columns of ``x`` that it reads."""
        return frozenset().union(*(part.columns for part in self.parts))

    @property
    def row_columns(self) -> frozenset[int]:
        """The columns of ``x0`` that it reads."""
        return frozenset().union(*(part.row_columns for part in self.parts))

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions it is made of."""
        return ()

    @property
    def degree(self) -> float:
        """Its degree as a polynomial in the columns of ``x``; infinite where it is none."""
        return 0.0

    def value(self, x: ColumnTable, x0: ColumnTable) -> Array:
        """Its values ``(...)``."""
        raise NotImplementedError

    def value_and_slopes(self, x: ColumnTable, x0: ColumnTable) -> tuple[Array, Slopes]:
        """Its values and, per column, its derivatives ``(...)``."""
        raise NotImplementedError

    def substitute(self, table: Mapping[int, Expression]) -> Expression:
        """The same with columns written out as other expressions."""
        return self


@dataclass(frozen=True)
class Number(Expression):
    """A constant."""

    number: float

    def value(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.asarray(self.number)

    def value_and_slopes(self, x: ColumnTable, x0: ColumnTable) -> tuple[Array, Slopes]:
        return np.asarray(self.number), {}


@dataclass(frozen=True)
class Column(Expression):
    """The value of a column.

    >>> float(Column(1).value(np.array([3.0, 4.0]), np.zeros(2)))
    4.0
    """

    number: int

    @cached_property
    def columns(self) -> frozenset[int]:
        return frozenset((self.number,))

    @property
    def degree(self) -> float:
        return 1.0

    def value(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.asarray(x[self.number])

    def value_and_slopes(self, x: ColumnTable, x0: ColumnTable) -> tuple[Array, Slopes]:
        return np.asarray(x[self.number]), {self.number: np.asarray(1.0)}

    def substitute(self, table: Mapping[int, Expression]) -> Expression:
        return table.get(self.number, self)


@dataclass(frozen=True)
class RowColumn(Expression):
    """The value that a column has in the row itself, or another number given about the row."""

    number: int

    @property
    def row_columns(self) -> frozenset[int]:
        return frozenset((self.number,))

    def value(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.asarray(x0[self.number])

    def value_and_slopes(self, x: ColumnTable, x0: ColumnTable) -> tuple[Array, Slopes]:
        return np.asarray(x0[self.number]), {}


@dataclass(frozen=True)
class BinaryOperation(Expression):
    """Two expressions joined by ``+``, ``-``, ``*``, ``/`` or ``**``.

    >>> rate = BinaryOperation("/", Column(0), Column(1))
    >>> rate.value(np.array([[6.0, 1.0], [2.0, 0.0]]), np.zeros((2, 2)))
    array([ 3., nan])
    """

    operator: Operator
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.left, self.right

    @property
    def degree(self) -> float:
        left, right = self.left.degree, self.right.degree
        if self.operator in "+-":
            return max(left, right)
        if self.operator == "*":
            return left + right
        if self.operator == "/":
            return left if right == 0 else np.inf
        if left == right == 0:
            return 0.0
        whole = isinstance(self.right, Number) and self.right.number >= 1 and self.right.number.is_integer()
        return left * self.right.number if whole and isinstance(self.right, Number) else np.inf

    def value(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return self._combine(self.left.value(x, x0), self.right.value(x, x0))

    def _combine(self, left: Array, right: Array) -> Array:
        if self.operator == "+":
            return np.asarray(left + right)
        if self.operator == "-":
            return np.asarray(left - right)
        if self.operator == "*":
            return np.asarray(left * right)
        with np.errstate(all="ignore"):
            if self.operator == "/":
                return np.asarray(left / np.where(right == 0, np.nan, right))
            power = np.float_power(left, right)
            return np.asarray(np.where(np.isfinite(power), power, np.nan))

    def value_and_slopes(self, x: ColumnTable, x0: ColumnTable) -> tuple[Array, Slopes]:
        (left, dleft), (right, dright) = self.left.value_and_slopes(x, x0), self.right.value_and_slopes(x, x0)
        out = self._combine(left, right)
        if self.operator in "+-":
            slopes = dict(dleft)
            for column, slope in dright.items():
                signed = slope if self.operator == "+" else -slope
                slopes[column] = np.asarray(slopes[column] + signed if column in slopes else signed)
            return out, slopes
        with np.errstate(all="ignore"):
            if self.operator == "*":
                factors = right, left
            elif self.operator == "/":
                factors = np.asarray(1.0 / right), np.asarray(-out / right)
            else:
                base = np.where(left > 0, left, np.nan)
                factors = np.asarray(right * np.float_power(left, right - 1)), np.asarray(out * np.log(base))
            slopes = {column: slope * factors[0] for column, slope in dleft.items()}
            for column, slope in dright.items():
                slopes[column] = slopes.get(column, np.asarray(0.0)) + slope * factors[1]
        return out, slopes

    def substitute(self, table: Mapping[int, Expression]) -> Expression:
        return BinaryOperation(self.operator, self.left.substitute(table), self.right.substitute(table))


@dataclass(frozen=True)
class Extremum(Expression):
    """The least or the greatest of several expressions; where several are equal the first gives the slope.

    >>> float(Extremum("max", (Column(0), Number(2.0))).value(np.array([1.0]), np.zeros(1)))
    2.0
    """

    which: Literal["min", "max"]
    options: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.options

    @property
    def degree(self) -> float:
        return 0.0 if all(part.degree == 0 for part in self.options) else np.inf

    def value(self, x: ColumnTable, x0: ColumnTable) -> Array:
        values = np.broadcast_arrays(*(part.value(x, x0) for part in self.options))
        pick = np.minimum if self.which == "min" else np.maximum
        return np.asarray(pick.reduce(values))

    def value_and_slopes(self, x: ColumnTable, x0: ColumnTable) -> tuple[Array, Slopes]:
        duals = [part.value_and_slopes(x, x0) for part in self.options]
        values = np.stack(np.broadcast_arrays(*(value for value, _ in duals)))
        taken = values.argmin(axis=0) if self.which == "min" else values.argmax(axis=0)
        slopes: Slopes = {}
        for place, (_, parts) in enumerate(duals):
            for column, slope in parts.items():
                slopes[column] = slopes.get(column, np.asarray(0.0)) + np.where(taken == place, slope, 0.0)
        return np.asarray(np.take_along_axis(values, taken[None], axis=0)[0]), slopes

    def substitute(self, table: Mapping[int, Expression]) -> Expression:
        return Extremum(self.which, tuple(part.substitute(table) for part in self.options))


@dataclass(frozen=True)
class AbsoluteValue(Expression):
    """The absolute value of an expression."""

    inner: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.inner,)

    @property
    def degree(self) -> float:
        return 0.0 if self.inner.degree == 0 else np.inf

    def value(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.asarray(np.abs(self.inner.value(x, x0)))

    def value_and_slopes(self, x: ColumnTable, x0: ColumnTable) -> tuple[Array, Slopes]:
        value, slopes = self.inner.value_and_slopes(x, x0)
        sign = np.where(value < 0, -1.0, 1.0)
        return np.asarray(np.abs(value)), {column: slope * sign for column, slope in slopes.items()}

    def substitute(self, table: Mapping[int, Expression]) -> Expression:
        return AbsoluteValue(self.inner.substitute(table))


def negate_expression(expression: Expression) -> Expression:
    """Minus an expression.

    >>> negate_expression(Number(2.0))
    Number(number=-2.0)
    """
    return (
        Number(-expression.number) if isinstance(expression, Number) else BinaryOperation("-", Number(0.0), expression)
    )


def is_affine(expression: Expression, column: int) -> bool:
    """Whether an expression is linear in one column, whatever the others are.

    >>> [is_affine(BinaryOperation("*", Column(0), Column(other)), 0) for other in (1, 0)]
    [True, False]
    """
    if column not in expression.columns or isinstance(expression, Column):
        return True
    if not isinstance(expression, BinaryOperation) or expression.operator == "**":
        return False
    left, right = expression.left, expression.right
    if expression.operator in "*/" and column in right.columns:
        return expression.operator == "*" and column not in left.columns and is_affine(right, column)
    return is_affine(left, column) and is_affine(right, column)
