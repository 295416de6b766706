"""Formulas: what is true of a point, in three values, because a rule can also be undefined.

A formula is undefined where a number in it is (a division by zero, a missing cell) and that number decides; in
"if a then b" an undefined b does no harm where a is false. What is undefined does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from counterpoise.space.expressions import Choice, Columns, Expression, Magnitude, negative
from counterpoise.types import Array, Mask

LEAST = 1e-12  # the defect of what is broken by nothing to speak of
Comparison = Literal["==", "!=", "<=", "<"]


class Truth(NamedTuple):
    """Where a formula is true and where it is false; undefined where it is neither."""

    yes: Mask
    no: Mask


class Formula:
    """A statement about points ``x`` of rows ``x0``, both columns first."""

    @property
    def columns(self) -> frozenset[int]:
        """The columns of ``x`` that it reads."""
        raise NotImplementedError

    @property
    def origins(self) -> frozenset[int]:
        """The columns of ``x0`` that it reads."""
        raise NotImplementedError

    def truth(self, x: Columns, x0: Columns) -> Truth:
        """Where it is true, and where false, each ``(...)``."""
        raise NotImplementedError

    def holds(self, x: Columns, x0: Columns) -> Mask:
        """Where it is true, ``(...)``."""
        return self.truth(x, x0).yes

    def defect(self, x: Columns, x0: Columns) -> Array:
        """How far it is from holding, ``(...)``: 0 where it holds, NaN where it is undefined."""
        raise NotImplementedError

    def negated(self) -> Formula:
        """The formula that is true where this one is false."""
        raise NotImplementedError

    def replaced(self, table: Mapping[int, Expression]) -> Formula:
        """The same with columns written out as expressions."""
        raise NotImplementedError


@dataclass(frozen=True)
class Compare(Formula):
    """Two numbers compared, with a tolerance relative to ``max(1, |left|, |right|)``.

    For ``<`` it is the gap that must be exceeded, so that a formula and its negation never hold together.

    >>> from counterpoise.space.expressions import Column
    >>> Compare("<=", Column(0), Column(1), 1e-6).holds(np.array([[1.0, 2.0], [3.0, 1.0]]), np.zeros((2, 2)))
    array([ True, False])
    """

    relation: Comparison
    left: Expression
    right: Expression
    tolerance: float = 0.0

    @property
    def columns(self) -> frozenset[int]:
        return self.left.columns | self.right.columns

    @property
    def origins(self) -> frozenset[int]:
        return self.left.origins | self.right.origins

    def slack(self, left: Array, right: Array) -> Array:
        """How far the two sides may be apart, ``(...)``."""
        return np.asarray(self.tolerance * np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0))

    def truth(self, x: Columns, x0: Columns) -> Truth:
        left, right = self.left.value(x, x0), self.right.value(x, x0)
        with np.errstate(invalid="ignore"):
            slack = self.slack(left, right)
            if self.relation == "<":
                return Truth(np.asarray(right - left > slack), np.asarray(right - left <= slack))
            if self.relation == "<=":
                return Truth(np.asarray(left - right <= slack), np.asarray(left - right > slack))
            near, far = np.asarray(np.abs(left - right) <= slack), np.asarray(np.abs(left - right) > slack)
        return Truth(near, far) if self.relation == "==" else Truth(far, near)

    def holds(self, x: Columns, x0: Columns) -> Mask:
        if self.relation != "<=":
            return self.truth(x, x0).yes
        left, right = self.left.value(x, x0), self.right.value(x, x0)
        with np.errstate(invalid="ignore"):
            plain = np.asarray(left <= right)
            if plain.all():  # the common case, and it needs no tolerance
                return plain
            return np.asarray(plain | (left - right <= self.slack(left, right)))

    def defect(self, x: Columns, x0: Columns) -> Array:
        left, right = self.left.value(x, x0), self.right.value(x, x0)
        with np.errstate(invalid="ignore"):
            gap = np.abs(left - right)
        if self.relation == "!=":
            gap = self.slack(left, right) - gap
        truth = self.truth(x, x0)
        return np.asarray(np.where(truth.yes, 0.0, np.where(truth.no, np.maximum(gap, LEAST), np.nan)))

    def negated(self) -> Formula:
        if self.relation == "<":
            return Compare("<=", self.right, self.left, self.tolerance)
        if self.relation == "<=":
            return Compare("<", self.right, self.left, self.tolerance)
        return Compare("!=" if self.relation == "==" else "==", self.left, self.right, self.tolerance)

    def replaced(self, table: Mapping[int, Expression]) -> Formula:
        return Compare(self.relation, self.left.replaced(table), self.right.replaced(table), self.tolerance)


@dataclass(frozen=True)
class Among(Formula):
    """A number is one of those listed, or none of them.

    >>> from counterpoise.space.expressions import Column
    >>> Among(Column(0), (1.0, 3.0)).holds(np.array([[1.0, 2.0]]), np.zeros((1, 2)))
    array([ True, False])
    """

    inner: Expression
    values: tuple[float, ...]
    none: bool = False

    @property
    def columns(self) -> frozenset[int]:
        return self.inner.columns

    @property
    def origins(self) -> frozenset[int]:
        return self.inner.origins

    def truth(self, x: Columns, x0: Columns) -> Truth:
        value = self.inner.value(x, x0)
        there = np.isin(value, self.values)
        gone = ~there & ~np.isnan(value)
        return Truth(gone, there) if self.none else Truth(there, gone)

    def defect(self, x: Columns, x0: Columns) -> Array:
        truth = self.truth(x, x0)
        return np.asarray(np.where(truth.yes, 0.0, np.where(truth.no, 1.0, np.nan)))

    def negated(self) -> Formula:
        return Among(self.inner, self.values, not self.none)

    def replaced(self, table: Mapping[int, Expression]) -> Formula:
        return Among(self.inner.replaced(table), self.values, self.none)


@dataclass(frozen=True)
class Joined(Formula):
    """Several formulas of which all, or at least one, must hold.

    "if a then b" is "not a, or b".
    """

    how: Literal["all", "any"]
    parts: tuple[Formula, ...]

    @property
    def columns(self) -> frozenset[int]:
        return frozenset().union(*(part.columns for part in self.parts))

    @property
    def origins(self) -> frozenset[int]:
        return frozenset().union(*(part.origins for part in self.parts))

    def truth(self, x: Columns, x0: Columns) -> Truth:
        truths = [part.truth(x, x0) for part in self.parts]
        yes, no = [truth.yes for truth in truths], [truth.no for truth in truths]
        if self.how == "all":
            return Truth(_reduced(np.logical_and, yes), _reduced(np.logical_or, no))
        return Truth(_reduced(np.logical_or, yes), _reduced(np.logical_and, no))

    def defect(self, x: Columns, x0: Columns) -> Array:
        defects = np.stack(np.broadcast_arrays(*(part.defect(x, x0) for part in self.parts)))
        if self.how == "all":
            return np.asarray(defects.max(axis=0))  # NaN wins: one part undefined leaves the whole open
        return np.asarray(np.where(self.truth(x, x0).yes, 0.0, np.fmin.reduce(defects)))

    def negated(self) -> Formula:
        return Joined("any" if self.how == "all" else "all", tuple(part.negated() for part in self.parts))

    def replaced(self, table: Mapping[int, Expression]) -> Formula:
        return Joined(self.how, tuple(part.replaced(table) for part in self.parts))


def clauses(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that must all hold for this one to hold; none of them is itself an "and".

    ``max(a, b) <= c``, ``a <= min(b, c)`` and ``abs(a) <= b`` are taken apart as well.

    >>> from counterpoise.space.expressions import Column
    >>> len(clauses(Joined("all", (Compare("<=", Column(0), Column(1)), Compare("<=", Column(1), Column(2))))))
    2
    """
    if isinstance(formula, Joined) and formula.how == "all":
        return tuple(clause for part in formula.parts for clause in clauses(part))
    if isinstance(formula, Joined) and len(formula.parts) == 1:
        return clauses(formula.parts[0])
    if isinstance(formula, Compare) and formula.relation in ("<=", "<"):
        left, right = formula.left, formula.right
        lefts: tuple[Expression, ...] = (left,)
        rights: tuple[Expression, ...] = (right,)
        if isinstance(left, Choice) and left.which == "max":
            lefts = left.options
        if isinstance(left, Magnitude):
            lefts = left.inner, negative(left.inner)
        if isinstance(right, Choice) and right.which == "min":
            rights = right.options
        if len(lefts) * len(rights) > 1:
            pairs = (Compare(formula.relation, one, other, formula.tolerance) for one in lefts for other in rights)
            return tuple(clause for pair in pairs for clause in clauses(pair))
    return (formula,)


def _reduced(join: np.ufunc, masks: list[Mask]) -> Mask:
    out = masks[0]
    for mask in masks[1:]:
        out = np.asarray(join(out, mask))
    return out
