"""Equations that share columns, solved together: repairing them one after the other may break each in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpoise.space.rules.formulas import Compare
from counterpoise.space.rules.relations import Clause
from counterpoise.space.rules.repair_workspace import PointSelection, RepairWorkspace
from counterpoise.types import Array, Index, Mask


def group_shared_equations(parts: Sequence[Clause], most: int = 6) -> tuple[tuple[int, ...], ...]:
    """The numbers of equations that share columns, in groups of two to ``most``.

    Larger groups are left out: few points are worth the time that solving them takes.
    """
    groups: list[tuple[set[int], list[int]]] = []
    for number, clause in enumerate(parts):
        if not isinstance(clause.formula, Compare) or clause.formula.operator != "==":
            continue
        columns, numbers = set(clause.formula.columns), [number]
        for group in [group for group in groups if group[0] & columns]:
            groups.remove(group)
            columns, numbers = columns | group[0], group[1] + numbers
        groups.append((columns, numbers))
    return tuple(tuple(numbers) for _, numbers in groups if 2 <= len(numbers) <= most)


def solve_together(workspace: RepairWorkspace, parts: Sequence[Clause], rounds: int = 6, ridge: float = 1e-12) -> None:
    """Move the points that break one of some equations by the least that solves all of them, in feature scales.

    Each round is a Newton step for all equations; a column that a step takes to an end of its box stays there.
    ``ridge``, relative to the slopes, keeps the step finite where two equations say the same.
    """
    formulas = [clause.formula for clause in parts if isinstance(clause.formula, Compare)]
    points = np.unique(np.concatenate([workspace.find_broken_points(clause) for clause in parts]))
    columns = sorted({column for formula in formulas for column in formula.columns if workspace.numeric[column]})
    scales = workspace.scales[columns]
    stuck = np.zeros((len(points), len(columns)), dtype=bool)
    for _ in range(rounds):
        if not len(points):
            return
        gap, slope = _linearise_equations(workspace, formulas, columns, points)
        binding = np.stack([_is_binding(workspace, clause, points) for clause in parts], axis=1)
        may = np.stack([workspace.free[column][points] for column in columns], axis=1) & ~stuck
        slope = np.where(binding[:, :, None] & may[:, None, :] & np.isfinite(slope), slope * scales, 0.0)
        gap = np.where(binding & np.isfinite(gap), gap, 0.0)
        square = slope @ slope.transpose(0, 2, 1)
        size = np.einsum("pmm->p", square)[:, None, None]
        square += np.eye(len(parts)) * np.where(size > 0, ridge * size, 1.0)
        step = -np.einsum("pmc,pm->pc", slope, np.linalg.solve(square, gap[..., None])[..., 0]) * scales
        for place, column in enumerate(columns):
            wanted = workspace.x[column][points] + step[:, place]
            low, high = workspace.box_ends(column, points)
            stuck[:, place] |= (wanted < low) | (wanted > high)
            workspace.x[column][points] = np.where(
                step[:, place] != 0, workspace.clip_onto_lattice(column, wanted, points), workspace.x[column][points]
            )
        wrong = np.any([~workspace.is_obeyed(clause, points) for clause in parts], axis=0)
        points, stuck = points[wrong], stuck[wrong]


def _linearise_equations(
    workspace: RepairWorkspace, formulas: list[Compare], columns: list[int], points: Index
) -> tuple[Array, Array]:
    """Left side minus right side of each equation, ``(p, m)``, and its slope by each column, ``(p, m, c)``."""
    x, given = PointSelection(workspace.x, points), PointSelection(workspace.row_and_box, points)
    gap, slope = np.zeros((len(points), len(formulas))), np.zeros((len(points), len(formulas), len(columns)))
    for number, formula in enumerate(formulas):
        value, slopes = formula.gap.value_and_slopes(x, given)
        gap[:, number] = value
        for place, column in enumerate(columns):
            slope[:, number, place] = slopes.get(column, 0.0)
    return gap, slope


def _is_binding(workspace: RepairWorkspace, clause: Clause, points: Index) -> Mask:
    """Whether a clause binds points, ``(p,)``."""
    if workspace.is_binding is None:
        return np.ones(len(points), dtype=bool)
    return np.asarray(workspace.is_binding[clause.relation_number, points])
