"""Rows whose efforts add up column by column, proven by programs one after the other."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.linear.cases import Cases
from counterpoise.methods.linear.linear_proof import LinearProof
from counterpoise.methods.linear.menus import Menus
from counterpoise.methods.linear.program import ProgramAnswer, solve_case
from counterpoise.methods.settings.linear import LinearSettings
from counterpoise.problem import Problem
from counterpoise.types import Array


def prove_by_programs(
    problem: Problem, menus: Menus, cases: Cases, known: LinearProof, incumbent: Array, settings: LinearSettings
) -> LinearProof:
    """Bounds and answers of the rows that are not proven yet, one after the other.

    ``known`` is what was proven before; ``incumbent`` ``(n,)`` are efforts of known answers, or infinite.
    """
    out = LinearProof._make(part.copy() for part in known)
    least = np.minimum(incumbent, out.effort)
    proven = out.is_infeasible | (least <= np.where(np.isnan(out.bound), 0.0, out.bound) * (1 + settings.optimal))
    for row in np.flatnonzero(~proven & menus.settled).tolist():
        mine = np.flatnonzero(cases.row == row)
        if problem.has_expired or not np.isfinite(cases.need_least[mine]).all():
            continue
        bound = min(
            (_bound_case(problem, menus, cases, int(case), out, incumbent[row], settings) for case in mine),
            default=0.0,
        )
        best = min(incumbent[row], out.effort[row])
        out.is_infeasible[row] = bound == best == np.inf
        out.bound[row] = max(out.bound[row], min(bound, best))
    return out


def _bound_case(
    problem: Problem,
    menus: Menus,
    cases: Cases,
    case: int,
    out: LinearProof,
    incumbent: float,
    settings: LinearSettings,
) -> float:
    """The bound of one case, 0 where there is none; its answers are entered into ``out``.

    Fine grids are left out at first, and heeded in the columns that are used, as long as the bound stays too low.
    """
    row, f, bound, counted = int(cases.row[case]), len(menus.numbers), 0.0, frozenset[int]()
    price = menus.unit_price[:f] * menus.rate.min(axis=0)
    inside = np.maximum(np.fmax(menus.high[row] - menus.x0[row], menus.x0[row] - menus.low[row]), 0.0)
    for _ in range(settings.program_rounds):
        least = min(incumbent, out.effort[row])
        with np.errstate(divide="ignore", invalid="ignore"):
            paid = np.where(price > 0, least * (1 + 1e-6) / price, np.inf)
        reach = np.fmin(paid, inside)
        found = solve_case(menus, cases, case, reach, problem.region.max_changes, counted, problem.deadline, settings)
        if found is None:
            return bound
        bound = max(bound, found.bound)
        _show(problem, menus, row, found, out, least)
        least = min(incumbent, out.effort[row])
        if bound * (1 + settings.optimal) >= least or found.used <= counted or problem.has_expired:
            break
        counted |= found.used
    return bound


def _show(problem: Problem, menus: Menus, row: int, found: ProgramAnswer, out: LinearProof, limit: float) -> None:
    """Show the point of a program to the model, and keep it if it is an answer that costs less."""
    if found.x is None or found.level is None:
        return
    part, x = problem.take(np.array([row])), problem.x0[[row]].copy()
    moved = found.x != menus.x0[row]
    x[0, menus.numbers[moved]] = found.x[moved]
    x[0, menus.coded[found.level >= 0]] = found.level[found.level >= 0]
    point = part.region.project(x[:, None, :])
    effort = float(part.energy.effort(point, part.x0)[0, 0])
    if effort < limit and part.region.contains(point)[0, 0] and part.score(point).reached[0, 0]:
        out.effort[row], out.x[row] = effort, point[0, 0]
