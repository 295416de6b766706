"""Relations between features that are linear: conditions on the columns that every answer meets, as a goal asks them.

An order, a sum or a difference is one; products, lookups and alternatives are none, and are left out of the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

import numpy as np

from counterpoise.methods.linear.menus import grids_of
from counterpoise.problem import Problem
from counterpoise.space.rules.expressions import BinaryOperation, Column, Expression
from counterpoise.space.rules.formulas import Compare, split_into_clauses
from counterpoise.space.rules.relations import Derivation, FormulaRelation, Relation
from counterpoise.types import Array, Index, Mask


class LinearRelations(NamedTuple):
    """r conditions ``slope @ (x - x0) >= need`` on the columns of n rows, which follow from relations.

    The bound is over points that meet ``need_least``, answers are looked for that meet ``need_most``: between the two
    lies what the tolerance of a relation may decide.
    """

    slope: Array  # (n, r, d)
    need_least: Array  # (n, r)
    need_most: Array  # (n, r)
    relation: Index  # (r,) the number of the relation that each follows from
    is_covered: Mask  # (relations,) those that these conditions say in full

    @classmethod
    def of(cls, problem: Problem, largest: Array, rounding: float = 2.0**-40) -> LinearRelations:
        """Those of a problem, whose cells are no larger than ``largest`` ``(n, d)``.

        ``rounding``, relative, is beyond what sums of a few columns lose.
        """
        system, x0 = problem.region.system, problem.x0
        n, d = x0.shape
        covered = np.zeros(len(system), dtype=bool)
        slopes, least, most = [np.zeros((n, 0, d))], [np.zeros((n, 0))], [np.zeros((n, 0))]
        numbers: list[int] = []
        given = np.concatenate([x0, problem.region.lower, problem.region.upper], axis=1).T
        steps = _steps(problem)
        for number, relation in enumerate(system.relations):
            bounds, covered[number] = _bounds_of(relation, problem.numeric)
            binds = system.is_binding[:, number]
            for bound in bounds:
                slope, low, high = bound.at_rows(x0, given, largest, steps, binds, rounding)
                slopes.append(slope[:, None, :])
                least.append(low[:, None])
                most.append(high[:, None])
                numbers.append(number)
        arrays = (np.concatenate(parts, axis=1) for parts in (slopes, least, most))
        slope, least_need, most_need = arrays
        return cls(slope, least_need, most_need, np.array(numbers, dtype=np.intp), covered)

    def chosen(self, rows: Index, active: Mask) -> LinearRelations:
        """For some rows ``(r,)`` the conditions of those relations that are active, ``(r, relations)``, side by side.

        Rows with fewer of them than others have conditions that always hold beside them.
        """
        wanted = active[:, self.relation]
        order = np.argsort(~wanted, axis=1, kind="stable")[:, : int(wanted.sum(axis=1).max(initial=0))]
        there = np.take_along_axis(wanted, order, axis=1)
        slope = np.where(there[..., None], self.slope[rows[:, None], order], 0.0)
        least, most = (np.where(there, need[rows[:, None], order], 0.0) for need in (self.need_least, self.need_most))
        return LinearRelations(slope, least, most, self.relation, self.is_covered)

    @property
    def columns(self) -> Mask:
        """The columns ``(d,)`` that they bind."""
        return np.asarray((self.slope != 0).any(axis=(0, 1)))


def _steps(problem: Problem) -> Array:
    """Steps ``(n, d)`` of which every change of a cell is a multiple; 0 where changes have none."""
    lattice, x0 = problem.region.lattice, problem.x0
    step, origin = grids_of(lattice, np.arange(x0.shape[1]))
    step[:, [column for column, _ in lattice.narrow_floats]] = 0.0  # their values are near the grid, not on it
    for column, values in lattice.choices:
        step[:, column] = 1.0 if (values == np.rint(values)).all() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        count = (x0 - origin) / step
        starts_there = np.abs(count - np.rint(count)) <= 1e-9
    return np.where(starts_there, step, 0.0)


def _common_units(slope: Array, steps: Array, most: int = 10**6) -> Array:
    """The largest number ``(n,)`` of which every change of an expression is a multiple; 0 where none is known.

    ``slope`` and ``steps`` are ``(n, d)``; steps are taken for fractions whose denominator is at most ``most``.
    """
    out, seen = np.zeros(len(slope)), dict[bytes, float]()
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(slope * steps)
    for row in np.flatnonzero((((steps > 0) | (slope == 0)) & np.isfinite(sizes)).all(axis=1)):
        parts = sizes[row, slope[row] != 0]
        key = parts.tobytes()
        if key not in seen:
            exact = [Fraction(part).limit_denominator(most) for part in parts.tolist()]
            is_exact = all(
                part > 0 and abs(float(part) - size) <= 1e-12 * size for part, size in zip(exact, parts, strict=True)
            )
            bottom = lcm(*(part.denominator for part in exact))
            seen[key] = float(Fraction(gcd(*(int(part * bottom) for part in exact)), bottom)) if is_exact else 0.0
        out[row] = seen[key]
    return out


def _round_up(need: Array, unit: Array) -> Array:
    """What is needed at least, ``(n,)``, of changes that come in multiples of a unit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        count = need / unit
        return np.where(unit > 0, np.ceil(count - 1e-6 - 1e-12 * np.abs(count)) * unit, need)


class _Bound(NamedTuple):
    """An affine expression that must not be above 0, by more than a tolerance."""

    gap: BinaryOperation
    tolerance: float  # relative to the sizes of what is compared, and at least to 1
    slack: float  # what rounding of a computed column may add
    is_strict: bool

    def at_rows(
        self, x0: Array, given: Array, largest: Array, steps: Array, binds: Mask, rounding: float
    ) -> tuple[Array, Array, Array]:
        """Slopes ``(n, d)`` and the least and most that is needed ``(n,)``; all 0 where it does not bind."""
        slope, gap, size = _at_rows(self.gap, x0, given, largest)
        left, right = (_at_rows(side, x0, given, largest)[2] for side in (self.gap.left, self.gap.right))
        sizes = size, left, right
        known = binds & np.isfinite(slope).all(axis=1) & np.isfinite(np.stack([gap, *sizes])).all(axis=0)
        slope = np.where(known[:, None], slope, 0.0)
        gap, size, left, right = (np.where(known, each, 0.0) for each in (gap, *sizes))
        wide = self.tolerance * np.maximum(np.maximum(left, right), 1.0)
        slack = rounding * size + (-self.tolerance if self.is_strict else wide + self.slack)
        unit = _common_units(slope, steps)
        ends = gap - slack, gap + (wide if self.is_strict else 0.0)
        low, high = (_round_up(end, unit) for end in ends)
        if self.is_strict and not self.tolerance:  # equality is what it excludes
            with np.errstate(divide="ignore", invalid="ignore"):
                beyond = np.where(known & (unit > 0) & (np.rint(gap / unit) * unit == gap), gap + unit, -np.inf)
            low, high = np.maximum(low, beyond), np.maximum(high, beyond)
        low = np.where(known, low - rounding * size, 0.0)
        return -slope, low, np.where(known, high, 0.0)


def _bounds_of(relation: Relation, numeric: Mask) -> tuple[list[_Bound], bool]:
    """What a relation bounds, and whether that is all it says."""
    if isinstance(relation, Derivation):
        made = relation.expression
        if not _is_affine(made, numeric) or not numeric[relation.number]:
            return [], False
        decimals = 0.0 if relation.decimals is None else 10.0**-relation.decimals
        narrow = 0.0 if relation.storage_dtype is None else float(np.finfo(relation.storage_dtype).eps)
        tolerance = (relation.tolerance + narrow) * max(relation.size, 1.0)
        gap = BinaryOperation("-", Column(relation.number), made)
        return [
            _Bound(side, tolerance, (relation.step or decimals) / 2, False) for side in (gap, _swap_sides(gap))
        ], True
    if not isinstance(relation, FormulaRelation):
        return [], False
    found, complete = list[_Bound](), True
    for clause in split_into_clauses(relation.formula):
        bounds = list(_of_comparison(clause, numeric)) if isinstance(clause, Compare) else []
        complete &= bool(bounds)
        found += bounds
    return found, complete


def _of_comparison(formula: Compare, numeric: Mask) -> Iterator[_Bound]:
    if formula.operator == "!=" or not all(_is_affine(side, numeric) for side in (formula.left, formula.right)):
        return
    gap = BinaryOperation("-", formula.left, formula.right)
    yield _Bound(gap, formula.tolerance, 0.0, formula.operator == "<")
    if formula.operator == "==":
        yield _Bound(_swap_sides(gap), formula.tolerance, 0.0, False)


def _is_affine(expression: Expression, numeric: Mask) -> bool:
    return expression.degree <= 1 and all(numeric[column] for column in expression.columns)


def _swap_sides(gap: BinaryOperation) -> BinaryOperation:
    return BinaryOperation("-", gap.right, gap.left)


def _at_rows(gap: Expression, x0: Array, given: Array, largest: Array) -> tuple[Array, Array, Array]:
    """Slopes ``(n, d)`` of an affine expression, its value at the rows, and how large its parts can get, ``(n,)``."""
    n, d = x0.shape
    slope = np.zeros((n, d))
    with np.errstate(all="ignore"):  # what is undefined, or beyond double precision, is known by its numbers
        value, parts = gap.value_and_slopes(x0.T, given)
        for column, each in parts.items():
            slope[:, column] = each
        row_size = np.abs(slope * x0).sum(axis=1, where=slope != 0)
        size = (np.abs(slope) * largest).sum(axis=1, where=slope != 0) + row_size + np.abs(value)
    return slope, np.broadcast_to(value, (n,)), size
