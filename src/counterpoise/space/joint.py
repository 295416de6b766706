"""Equations that share columns, solved together: mending one of them after the other may break each in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpoise.space.bench import Bench, Picked
from counterpoise.space.expressions import Binary
from counterpoise.space.formulas import Compare
from counterpoise.space.relations import Clause
from counterpoise.types import Array, Index, Mask

MOST = 6  # equations of a group: of more, few points are worth what solving them takes
ROUNDS = 6
RIDGE = 1e-12  # equations may say the same twice


def sharing(parts: Sequence[Clause]) -> tuple[tuple[int, ...], ...]:
    """The numbers of equations that hang together by columns, in groups of two or more."""
    groups: list[tuple[set[int], list[int]]] = []
    for number, clause in enumerate(parts):
        if not isinstance(clause.formula, Compare) or clause.formula.relation != "==":
            continue
        columns, numbers = set(clause.formula.columns), [number]
        for group in [group for group in groups if group[0] & columns]:
            groups.remove(group)
            columns, numbers = columns | group[0], group[1] + numbers
        groups.append((columns, numbers))
    return tuple(tuple(numbers) for _, numbers in groups if 2 <= len(numbers) <= MOST)


def solve_together(bench: Bench, parts: Sequence[Clause]) -> None:
    """Points of a bench that break one of some equations, moved by the least that solves all, in feature scales.

    A Newton step for all of them; a column that the step takes to an end of its box stays there.
    """
    formulas = [clause.formula for clause in parts if isinstance(clause.formula, Compare)]
    points = np.unique(np.concatenate([bench.broken(clause) for clause in parts]))
    columns = sorted({column for formula in formulas for column in formula.columns if bench.numeric[column]})
    scales = bench.scales[columns]
    stuck = np.zeros((len(points), len(columns)), dtype=bool)
    for _ in range(ROUNDS):
        if not len(points):
            return
        gap, slope = _expanded(bench, formulas, columns, points)
        binding = np.stack([_binding(bench, clause, points) for clause in parts], axis=1)
        may = np.stack([bench.free[column][points] for column in columns], axis=1) & ~stuck
        slope = np.where(binding[:, :, None] & may[:, None, :] & np.isfinite(slope), slope * scales, 0.0)
        gap = np.where(binding & np.isfinite(gap), gap, 0.0)
        square = slope @ slope.transpose(0, 2, 1)
        size = np.einsum("pmm->p", square)[:, None, None]
        square += np.eye(len(parts)) * np.where(size > 0, RIDGE * size, 1.0)
        step = -np.einsum("pmc,pm->pc", slope, np.linalg.solve(square, gap[..., None])[..., 0]) * scales
        for place, column in enumerate(columns):
            wanted = bench.x[column][points] + step[:, place]
            low, high = bench.ends(column, points)
            stuck[:, place] |= (wanted < low) | (wanted > high)
            bench.x[column][points] = np.where(
                step[:, place] != 0, bench.placed(column, wanted, points), bench.x[column][points]
            )
        wrong = np.any([~bench.held(clause, points) for clause in parts], axis=0)
        points, stuck = points[wrong], stuck[wrong]


def _expanded(bench: Bench, formulas: list[Compare], columns: list[int], points: Index) -> tuple[Array, Array]:
    """What the sides of each equation are apart, ``(p, m)``, and how that changes with each column, ``(p, m, c)``."""
    x, given = Picked(bench.x, points), Picked(bench.given, points)
    gap, slope = np.zeros((len(points), len(formulas))), np.zeros((len(points), len(formulas), len(columns)))
    for number, formula in enumerate(formulas):
        value, slopes = Binary("-", formula.left, formula.right).dual(x, given)
        gap[:, number] = value
        for place, column in enumerate(columns):
            slope[:, number, place] = slopes.get(column, 0.0)
    return gap, slope


def _binding(bench: Bench, clause: Clause, points: Index) -> Mask:
    """Whether a clause binds points, ``(p,)``."""
    if bench.active is None:
        return np.ones(len(points), dtype=bool)
    return np.asarray(bench.active[clause.source, points])
