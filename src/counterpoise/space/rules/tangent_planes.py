"""Tangent planes: relations to first order around a point, which a step must stay on or beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from counterpoise.space.rules.expressions import Column
from counterpoise.space.rules.formulas import Compare
from counterpoise.space.rules.relations import Derivation
from counterpoise.space.rules.system import RelationSystem
from counterpoise.types import Array, Index, Mask

MAX_SLOPE = 1e60  # slopes beyond this lead nowhere, and their squares are no numbers

# one clause: columns, slope, bound, slack and whether it is an equation, as in `TangentPlanes`
PlaneEntry = tuple[list[int], Array, Array, Array, bool]


class TangentPlanes(NamedTuple):
    """m clauses of c columns each, none of which occurs twice: ``slope . u <= bound``, or equal to it, at p points.

    ``u`` is the change from the row in units of the feature scales. A clause that does not bind a point is all 0 there.
    """

    columns: Index  # (m, c)
    slope: Array  # (p, m, c)
    bound: Array  # (p, m)
    slack: Array  # (p, m) how far beyond it a clause still holds
    is_equation: Mask  # (m,)

    def take_points(self, points: Index) -> TangentPlanes:
        """The planes of some of the points."""
        return TangentPlanes(self.columns, self.slope[points], self.bound[points], self.slack[points], self.is_equation)

    def is_broken(self, u: Array, leave: float = 0.0) -> Mask:
        """Which of the points ``u`` ``(p, d)`` are on the wrong side of one, ``(p,)``.

        By more than its slack, and than ``leave`` times what its columns were moved by.
        """
        parts = self.slope * u[:, self.columns]
        beyond = parts.sum(axis=-1) - self.bound
        slack = self.slack + leave * np.abs(parts).sum(axis=-1) if leave else self.slack
        return np.asarray((np.where(self.is_equation, np.abs(beyond), beyond) > slack).any(axis=1))


def expand_relations(
    system: RelationSystem,
    x: Array,
    box: tuple[Array, Array],
    moved: Array,
    scales: Array,
    free: Mask,
    rounding_distance: float = 1e-9,
) -> list[TangentPlanes]:
    """The comparisons among the relations, expanded around ``x`` ``(n, k, d)``, in as few groups as it takes.

    A derived column is one that equals what it is made of.

    ``moved`` ``(n, k, d)`` is how far x is from the row, in units of ``scales`` ``(d,)`` or ``(n, k, d)``; ``box`` the
    lower and the upper ends ``(n, d)``; ``free`` ``(n, d)`` the cells that a step may move, while the others count as
    they are. A step within ``rounding_distance`` of a plane, in the same units, counts as on it. Points are those of
    all rows, one after the other. What rounding has left between the sides of an equation in the row is left there:
    to take it out would change the last digit of cells that nothing else moves.
    """
    scales = np.broadcast_to(scales, x.shape)
    row = system.x0.T[:, :, None]
    y, given = np.moveaxis(x, -1, 0), np.concatenate([system.x0, *box], axis=1).T[:, :, None]
    groups: list[tuple[set[int], list[PlaneEntry]]] = []
    for formula, source, rounding in _iterate_comparisons(system):
        with np.errstate(all="ignore"):
            gap, slopes = formula.gap.value_and_slopes(y, given)
            slack = formula.slack(formula.left.value(y, given), formula.right.value(y, given)) + rounding
            if formula.operator == "==":
                gap = gap - _rounding_in_row(formula, row, given, rounding)
            columns = sorted(column for column in slopes if free[:, column].any())
            parts = [slopes[column] * scales[..., column] * free[:, None, column] for column in columns]
            ends = (np.broadcast_to(number, x.shape[:2]) for number in (gap, slack))
            numbers = np.stack([*parts, *ends], axis=-1)
        known = np.isfinite(numbers).all(axis=-1) & system.is_binding[:, None, source]
        numbers = np.where(known[..., None], numbers, 0.0)
        slope, gap, slack = numbers[..., :-2], numbers[..., -2], numbers[..., -1]
        bound = np.einsum("nkc,nkc->nk", slope, moved[..., columns]) - gap
        steep = np.abs(slope).sum(axis=-1)
        # a clause that no step can change must not stop any
        slack = np.where(steep > 0, slack + rounding_distance * steep, np.inf)
        entry = columns, slope, bound, slack, formula.operator == "=="
        for used, entries in groups:
            if len(entries[0][0]) == len(columns) and used.isdisjoint(columns):
                entries.append(entry)
                used.update(columns)
                break
        else:
            if columns:
                groups.append((set(columns), [entry]))
    return [_gather_planes(entries, x.shape[0] * x.shape[1]) for _, entries in groups]


def _rounding_in_row(equation: Compare, row: Array, given: Array, rounding: float) -> Array:
    """How far apart the sides of an equation are in rows ``(d, n, 1)`` that obey it; 0 in others, ``(n, 1)``."""
    left, right = equation.left.value(row, given), equation.right.value(row, given)
    return np.where(np.abs(left - right) <= equation.slack(left, right) + rounding, left - right, 0.0)


def _iterate_comparisons(system: RelationSystem) -> Iterator[tuple[Compare, int, float]]:
    """Each comparison, the number of its relation, and what rounding may put between its sides."""
    for clause in system.clause_set.clauses:
        if isinstance(clause.formula, Compare) and clause.formula.operator != "!=":
            yield clause.formula, clause.relation_number, 0.0
    for source, relation in enumerate(system.relations):
        if isinstance(relation, Derivation):  # a derived column moves along, and costs what that is
            step = relation.step or (0.0 if relation.decimals is None else 10.0**-relation.decimals)
            yield Compare("==", Column(relation.number), relation.expression, relation.tolerance), source, step / 2


def _gather_planes(entries: list[PlaneEntry], points: int) -> TangentPlanes:
    columns, slopes, bounds, slacks, equal = zip(*entries, strict=True)
    shape = points, len(columns)
    slope, bound, slack = (np.stack(arrays, axis=2) for arrays in (slopes, bounds, slacks))
    return TangentPlanes(
        np.array(columns), slope.reshape(*shape, -1), bound.reshape(shape), slack.reshape(shape), np.array(equal)
    )


def project_gradient_on_relations(
    system: RelationSystem, x: Array, gradient: Array, free: Mask, rounds: int = 3
) -> Array:
    """A gradient ``(n, k, d)`` at ``x`` ``(n, k, d)`` as it is for points that obey the relations.

    What a derived feature contributes goes to the features it is made of, and the part that would break an equation is
    taken out, in feature scales; of several equations, one after the other, ``rounds`` times.
    """
    if not system.derivations and not system.balance_equations:
        return gradient
    y, given = np.moveaxis(x, -1, 0), np.concatenate([system.x0] * 3, axis=1).T[:, :, None]
    g = np.moveaxis(gradient, -1, 0).copy()
    with np.errstate(all="ignore"):
        for derivation in reversed(system.derivations):
            _, slopes = derivation.expression.value_and_slopes(y, given)
            for column, slope in slopes.items():
                g[column] += _drop_steep_slopes(g[derivation.number] * slope)
            g[derivation.number] = 0.0
        normals = [_equation_normal(system, balance, y, given, free) for balance in system.balance_equations]
        for _ in range(rounds if len(normals) > 1 else 1):
            for normal in normals:
                size = sum(part**2 for part in normal.values())
                along = sum(part * g[column] * system.scales[column] for column, part in normal.items())
                share = np.where(size > 0, along / np.where(size > 0, size, 1.0), 0.0)
                for column, part in normal.items():
                    g[column] -= share * part / system.scales[column]
    return np.moveaxis(g, 0, -1)


def _drop_steep_slopes(slope: Array) -> Array:
    """Slopes, with 0 where a step could not follow them: beside a pole, or at a root of 0."""
    return np.where(np.abs(slope) < MAX_SLOPE, slope, 0.0)


def _equation_normal(system: RelationSystem, balance: Compare, y: Array, given: Array, free: Mask) -> dict[int, Array]:
    """The direction, per column and in feature scales, in which an equation breaks."""
    _, slopes = balance.gap.value_and_slopes(y, given)
    return {
        column: np.where(free[:, None, column], _drop_steep_slopes(slope * system.scales[column]), 0.0)
        for column, slope in slopes.items()
    }
