"""Orders ``a <= b`` between two columns, repaired many at a time: tables of flow statistics have dozens of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.space.rules.expressions import Column
from counterpoise.space.rules.formulas import Compare
from counterpoise.space.rules.relations import Clause
from counterpoise.space.rules.repair_workspace import RepairWorkspace
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class Orderings:
    """Clauses ``left <= right`` over columns of which none occurs twice."""

    clause_numbers: tuple[int, ...]  # of the clauses
    left: tuple[int, ...]
    right: tuple[int, ...]
    relation_numbers: Index
    tolerance: Array  # (m, 1)

    @classmethod
    def group_clauses(cls, clauses: Sequence[Clause]) -> tuple[Orderings, ...]:
        """The orders among some clauses, in as few groups as it takes."""
        groups: list[dict[int, tuple[int, int]]] = []
        for number, clause in enumerate(clauses):
            formula = clause.formula
            if not (isinstance(formula, Compare) and formula.operator == "<="):
                continue
            if not (isinstance(formula.left, Column) and isinstance(formula.right, Column)):
                continue
            pair = formula.left.number, formula.right.number
            for group in groups:
                if not {column for each in group.values() for column in each} & set(pair):
                    group[number] = pair
                    break
            else:
                groups.append({number: pair})
        return tuple(cls._from_group(clauses, group) for group in groups)

    @classmethod
    def _from_group(cls, clauses: Sequence[Clause], group: dict[int, tuple[int, int]]) -> Orderings:
        left, right = zip(*group.values(), strict=True)
        slack = [clauses[number].formula.tolerance for number in group]  # type: ignore[attr-defined]
        sources = np.array([clauses[number].relation_number for number in group], dtype=np.intp)
        return cls(tuple(group), left, right, sources, np.array(slack)[:, None])

    def is_broken(self, workspace: RepairWorkspace) -> Mask:
        """Which orders which points break, ``(m, p)``."""
        left, right = np.stack([workspace.x[c] for c in self.left]), np.stack([workspace.x[c] for c in self.right])
        wrong = ~(left <= right)
        if wrong.any():
            wrong &= ~(left - right <= self.tolerance * np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0))
            if workspace.is_binding is not None:
                wrong &= workspace.is_binding[self.relation_numbers]
        return wrong

    def project(self, workspace: RepairWorkspace, wrong: Mask) -> None:
        """Move both sides of the orders that are ``wrong`` to where they meet, in shares of their squared scales."""
        orders, points = np.flatnonzero(wrong.any(axis=1)), np.flatnonzero(wrong.any(axis=0))
        wrong = wrong[np.ix_(orders, points)]
        sides = [[columns[order] for order in orders] for columns in (self.left, self.right)]
        cells, weight, already = [], [], []
        for end, columns in zip((1, 2), sides, strict=True):
            cell = np.stack([workspace.x[column][points] for column in columns])
            edge = np.stack([workspace.row_and_box[end * workspace.width + column][points] for column in columns])
            start = np.stack([workspace.row_and_box[column][points] for column in columns])
            free = np.stack([workspace.free[column][points] for column in columns])
            able = np.where(
                free & (cell > edge if end == 1 else cell < edge), workspace.scales[columns][:, None] ** 2, 0.0
            )
            cells.append(cell)
            weight.append(able)
            already.append(np.where(cell != start, able, 0.0))
        settled = already[0] + already[1] > 0  # cells that differ from the row take it up, if they can
        parts = [np.where(settled, mine, able) for mine, able in zip(already, weight, strict=True)]
        total = parts[0] + parts[1]
        gap = cells[0] - cells[1]
        excess = np.where(wrong & (total > 0) & (gap > 0), gap / np.where(total > 0, total, 1.0), 0.0)
        for columns, cell, part, sign in zip(sides, cells, parts, (-1.0, 1.0), strict=True):
            step = sign * excess * part
            for place, column in enumerate(columns):
                moving = np.flatnonzero(step[place])
                if len(moving):
                    target = cell[place, moving] + step[place, moving]
                    workspace.x[column][points[moving]] = workspace.clip_onto_lattice(column, target, points[moving])


def follow_orderings(orderings: Sequence[Orderings], x: Array, base: Array, is_binding: Mask, passes: int = 2) -> Array:
    """Points ``x`` ``(n, k, d)`` in which the other column of a broken order takes the value of the one that moved.

    ``base`` ``(n, k, d)`` are the points before the move, ``is_binding`` ``(n, r)`` says which relations bind a row.
    With two passes, chains of three columns follow to the end.
    """
    if not orderings:
        return x
    y, moved = x.copy(), x != base
    for _ in range(passes):
        for orders in orderings:
            sides = list(orders.left), list(orders.right)
            left, right = y[..., sides[0]], y[..., sides[1]]
            wrong = (left > right) & is_binding[:, None, orders.relation_numbers]
            if wrong.any():
                up = wrong & moved[..., sides[0]]
                down = wrong & ~up
                y[..., sides[1]], moved[..., sides[1]] = np.where(up, left, right), moved[..., sides[1]] | up
                y[..., sides[0]], moved[..., sides[0]] = np.where(down, right, left), moved[..., sides[0]] | down
    return y
