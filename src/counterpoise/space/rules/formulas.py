"""Formulas: what is true of a point, in three values, because a rule can also be undefined.

A formula is undefined where a number in it is (a division by zero, a missing cell) and that number decides; in
"if a then b" an undefined b does no harm where a is false. What is undefined does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from counterpoise.space.rules.expressions import (
    AbsoluteValue,
    BinaryOperation,
    ColumnTable,
    Expression,
    Extremum,
    negate_expression,
)
from counterpoise.types import Array, Mask

MIN_DEFECT = 1e-12  # the defect of what is broken by nothing to speak of
Comparison = Literal["==", "!=", "<=", "<"]


class Truth(NamedTuple):
    """Where a formula is true and where it is false; undefined where it is neither."""

    is_true: Mask
    is_false: Mask


class RuleFormula:
    """A statement about points ``x`` of rows ``x0``, both columns first."""

    @cached_property
    def columns(self) -> frozenset[int]:
        """The columns of ``x`` that it reads."""
        raise NotImplementedError

    @property
    def row_columns(self) -> frozenset[int]:
        """The columns of ``x0`` that it reads."""
        raise NotImplementedError

    def truth(self, x: ColumnTable, x0: ColumnTable) -> Truth:
        """Where it is true, and where false, each ``(...)``."""
        raise NotImplementedError

    def holds(self, x: ColumnTable, x0: ColumnTable) -> Mask:
        """Where it is true, ``(...)``."""
        return self.truth(x, x0).is_true

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        """How far it is from holding, ``(...)``: 0 where it holds, NaN where it is undefined."""
        raise NotImplementedError

    def negate(self) -> RuleFormula:
        """The formula that is true where this one is false."""
        raise NotImplementedError

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        """The same with columns written out as expressions."""
        raise NotImplementedError


@dataclass(frozen=True)
class Compare(RuleFormula):
    """Two numbers compared, with a tolerance relative to ``max(1, |left|, |right|)``.

    For ``<`` it is the gap that must be exceeded, so that a formula and its negation never hold together.

    >>> from counterpoise.space.rules.expressions import Column
    >>> Compare("<=", Column(0), Column(1), 1e-6).holds(np.array([[1.0, 2.0], [3.0, 1.0]]), np.zeros((2, 2)))
    array([ True, False])
    """

    operator: Comparison
    left: Expression
    right: Expression
    tolerance: float = 0.0

    @cached_property
    def columns(self) -> frozenset[int]:
        return self.left.columns | self.right.columns

    @property
    def row_columns(self) -> frozenset[int]:
        return self.left.row_columns | self.right.row_columns

    @cached_property
    def gap(self) -> Expression:
        """The left side less the right one."""
        return BinaryOperation("-", self.left, self.right)

    def slack(self, left: Array, right: Array) -> Array:
        """How far the two sides may be apart, ``(...)``; beyond double precision nothing is near anything."""
        size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0)
        return np.asarray(self.tolerance * np.where(np.isfinite(size), size, 0.0))

    def truth(self, x: ColumnTable, x0: ColumnTable) -> Truth:
        left, right = self.left.value(x, x0), self.right.value(x, x0)
        with np.errstate(invalid="ignore"):
            slack = self.slack(left, right)
            if self.operator == "<":
                return Truth(np.asarray(right - left > slack), np.asarray(right - left <= slack))
            if self.operator == "<=":
                return Truth(np.asarray(left - right <= slack), np.asarray(left - right > slack))
            near, far = np.asarray(np.abs(left - right) <= slack), np.asarray(np.abs(left - right) > slack)
        return Truth(near, far) if self.operator == "==" else Truth(far, near)

    def holds(self, x: ColumnTable, x0: ColumnTable) -> Mask:
        if self.operator not in ("<=", "=="):
            return self.truth(x, x0).is_true
        left, right = self.left.value(x, x0), self.right.value(x, x0)
        with np.errstate(invalid="ignore"):
            gap = np.asarray(left - right)
            if self.operator == "==":
                return np.asarray((np.abs(gap) <= self.slack(left, right)) if gap.any() else gap == 0)
            plain = np.asarray(left <= right)
            if plain.all():  # the common case, and it needs no tolerance
                return plain
            return np.asarray(plain | (gap <= self.slack(left, right)))

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        left, right = self.left.value(x, x0), self.right.value(x, x0)
        with np.errstate(invalid="ignore"):
            gap = np.abs(left - right)
        if self.operator == "!=":
            gap = self.slack(left, right) - gap
        truth = self.truth(x, x0)
        return np.asarray(np.where(truth.is_true, 0.0, np.where(truth.is_false, np.maximum(gap, MIN_DEFECT), np.nan)))

    def negate(self) -> RuleFormula:
        if self.operator == "<":
            return Compare("<=", self.right, self.left, self.tolerance)
        if self.operator == "<=":
            return Compare("<", self.right, self.left, self.tolerance)
        return Compare("!=" if self.operator == "==" else "==", self.left, self.right, self.tolerance)

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        return Compare(self.operator, self.left.substitute(table), self.right.substitute(table), self.tolerance)


@dataclass(frozen=True)
class Membership(RuleFormula):
    """A number is, or is not, in a list.

    >>> from counterpoise.space.rules.expressions import Column
    >>> Membership(Column(0), (1.0, 3.0)).holds(np.array([[1.0, 2.0]]), np.zeros((1, 2)))
    array([ True, False])
    """

    inner: Expression
    values: tuple[float, ...]
    is_negated: bool = False

    @cached_property
    def columns(self) -> frozenset[int]:
        return self.inner.columns

    @property
    def row_columns(self) -> frozenset[int]:
        return self.inner.row_columns

    def truth(self, x: ColumnTable, x0: ColumnTable) -> Truth:
        value = self.inner.value(x, x0)
        there = np.isin(value, self.values)
        absent = ~there & ~np.isnan(value)
        return Truth(absent, there) if self.is_negated else Truth(there, absent)

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        truth = self.truth(x, x0)
        return np.asarray(np.where(truth.is_true, 0.0, np.where(truth.is_false, 1.0, np.nan)))

    def negate(self) -> RuleFormula:
        return Membership(self.inner, self.values, not self.is_negated)

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        return Membership(self.inner.substitute(table), self.values, self.is_negated)


@dataclass(frozen=True)
class Combination(RuleFormula):
    """A conjunction or disjunction of formulas.

    "if a then b" is "not a, or b".
    """

    quantifier: Literal["all", "any"]
    parts: tuple[RuleFormula, ...]

    @cached_property
    def columns(self) -> frozenset[int]:
        return frozenset().union(*(part.columns for part in self.parts))

    @property
    def row_columns(self) -> frozenset[int]:
        return frozenset().union(*(part.row_columns for part in self.parts))

    def truth(self, x: ColumnTable, x0: ColumnTable) -> Truth:
        truths = [part.truth(x, x0) for part in self.parts]
        yes, no = [truth.is_true for truth in truths], [truth.is_false for truth in truths]
        if self.quantifier == "all":
            return Truth(_reduce_masks(np.logical_and, yes), _reduce_masks(np.logical_or, no))
        return Truth(_reduce_masks(np.logical_or, yes), _reduce_masks(np.logical_and, no))

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        defects = np.stack(np.broadcast_arrays(*(part.defect(x, x0) for part in self.parts)))
        if self.quantifier == "all":
            return np.asarray(defects.max(axis=0))  # NaN wins: one part undefined leaves the whole open
        return np.asarray(np.where(self.truth(x, x0).is_true, 0.0, np.fmin.reduce(defects)))

    def negate(self) -> RuleFormula:
        return Combination("any" if self.quantifier == "all" else "all", tuple(part.negate() for part in self.parts))

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        return Combination(self.quantifier, tuple(part.substitute(table) for part in self.parts))


def split_into_clauses(formula: RuleFormula) -> tuple[RuleFormula, ...]:
    """The formulas that must all hold for this one to hold; none of them is itself an "and".

    ``max(a, b) <= c``, ``a <= min(b, c)`` and ``abs(a) <= b`` are taken apart as well.

    >>> from counterpoise.space.rules.expressions import Column
    >>> chain = Compare("<=", Column(0), Column(1)), Compare("<=", Column(1), Column(2))
    >>> len(split_into_clauses(Combination("all", chain)))
    2
    """
    if isinstance(formula, Combination) and (formula.quantifier == "all" or len(formula.parts) == 1):
        return tuple(clause for part in formula.parts for clause in split_into_clauses(part))
    if isinstance(formula, Compare) and formula.operator in ("<=", "<"):
        lefts, rights = _parts_below(formula.left), _parts_above(formula.right)
        if len(lefts) * len(rights) > 1:
            pairs = (Compare(formula.operator, one, other, formula.tolerance) for one in lefts for other in rights)
            return tuple(clause for pair in pairs for clause in split_into_clauses(pair))
    return (formula,)


def _parts_below(side: Expression) -> tuple[Expression, ...]:
    """The expressions that are all at most something exactly where this one is."""
    if isinstance(side, AbsoluteValue):
        return side.inner, negate_expression(side.inner)
    return side.options if isinstance(side, Extremum) and side.which == "max" else (side,)


def _parts_above(side: Expression) -> tuple[Expression, ...]:
    """The expressions that are all at least something exactly where this one is."""
    return side.options if isinstance(side, Extremum) and side.which == "min" else (side,)


def _reduce_masks(join: np.ufunc, masks: list[Mask]) -> Mask:
    out = masks[0]
    for mask in masks[1:]:
        out = np.asarray(join(out, mask))
    return out
