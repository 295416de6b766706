"""Efforts that add up column by column, as mixed-integer programs: a proof where relations are conditions as well.

L1, Gower and counts of changes are sums over columns. With several conditions that bind at once, prices of gain leave a
gap that takes many boxes to close; a program of the same question is solved in a few milliseconds.
"""

from __future__ import annotations

import time
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import optimize

from counterpoise.methods.linear.cases import Cases
from counterpoise.methods.linear.menus import Menus
from counterpoise.methods.settings.linear import LinearSettings
from counterpoise.types import Array, Index, Mask


class ProgramVariables(NamedTuple):
    """v variables from 0 to 1 of one row: how far a column goes up or down, or which value it takes."""

    column: Index  # (v,) the place among numbers and categories
    fixed: Array  # (v,) raw change that comes with the variable's switch, or the level
    reach: Array  # (v,) raw change that a share of 1 adds
    counts: Array  # (v,) counts of the grid in `reach`; 0: any number
    is_level: Mask  # (v,)

    def take(self, places: Index) -> ProgramVariables:
        """Some of the variables."""
        return ProgramVariables._make(each[places] for each in self)


class ProgramAnswer(NamedTuple):
    """What a program says of one row and case."""

    bound: float  # no point that meets the conditions costs less; infinite where none is in reach
    x: Array | None = None  # (f,) numbers of a point that meets them, where one was found
    level: Index | None = None  # (t,) its categories, -1: the row's own
    used: frozenset[int] = frozenset()  # the columns that the point behind the bound changes


def solve_case(
    menus: Menus,
    cases: Cases,
    case: int,
    reach: Array,
    max_changes: int | None,
    counted: frozenset[int],
    deadline: float,
    settings: LinearSettings,
) -> ProgramAnswer | None:
    """The least effort of points that meet a case; None where columns can move without end, or the solver gives up.

    ``reach`` ``(f,)`` is how far each number can usefully move; ``counted`` are columns whose grids are heeded however
    fine they are.
    """
    row = int(cases.row[case])
    part = _list_variables(menus, row, reach, counted, settings)
    if part is None:
        return None
    if not len(part.column):  # no column can move
        return ProgramAnswer(np.inf if (cases.need_least[case] > 0).any() else 0.0)
    program = _Program.of(menus, cases, case, part, max_changes)
    if not program.is_finite:  # columns with spreads near the smallest number there is
        return None
    found = program.solve(cases.need_least[case], deadline, settings)
    if found.status == 2:  # nothing meets the conditions
        return ProgramAnswer(np.inf)
    dual = found.mip_dual_bound
    if dual is None or not np.isfinite(dual):
        return None
    bound = max(float(dual), 0.0) * (1 - settings.program_rounding)
    if found.x is None:
        return ProgramAnswer(bound)
    used = frozenset(part.column[found.x[len(part.column) : 2 * len(part.column)] > 0.5].tolist())
    part = _list_variables(menus, row, reach, used, settings)
    assert part is not None, "no column can move without end"
    used_part = part.take(np.flatnonzero(np.isin(part.column, list(used))))
    if not len(used_part.column):
        return ProgramAnswer(bound)
    program = _Program.of(menus, cases, case, used_part, max_changes)
    point = _solve_exactly(program, menus, cases, case, deadline, settings)
    return ProgramAnswer(bound, *point, used)


def _solve_exactly(
    program: _Program, menus: Menus, cases: Cases, case: int, deadline: float, settings: LinearSettings
) -> tuple[Array | None, Index | None]:
    """Numbers and levels of the cheapest point; asked again beyond what the solver's tolerance let it miss."""
    x0, slope = menus.x0[cases.row[case]], cases.slope[case]
    need, x, level = cases.need_most[case].copy(), None, None
    for _ in range(2):
        found = program.solve(need, deadline, settings)
        if found.x is None:
            break
        x, level = program.read(menus, int(cases.row[case]), found.x)
        on = np.flatnonzero(level >= 0)
        missed = cases.need_most[case] - slope @ (x - x0) - cases.level_gain[case][:, on, level[on]].sum(axis=1)
        if not (missed > 0).any():
            break
        need += np.where(missed > 0, missed + settings.solver_tolerance * program.scale, 0.0)
    return x, level


Variable: TypeAlias = tuple[int, float, float, float, bool]
"""What `ProgramVariables` has of one variable."""


def _list_variables(
    menus: Menus, row: int, reach: Array, counted: frozenset[int], settings: LinearSettings
) -> ProgramVariables | None:
    """The variables of a row; None where a column can move without end."""
    found: list[Variable] = []
    for place, row_value in enumerate(menus.x0[row].tolist()):
        low = max(menus.low[row, place], row_value - reach[place])
        high = min(menus.high[row, place], row_value + reach[place])
        if not low <= high or menus.low[row, place] > menus.high[row, place]:
            continue
        if not np.isfinite([low, high]).all():
            return None
        values = dict(menus.listed).get(place)
        values = None if values is None else values[(values >= low) & (values <= high)]
        if values is not None and (len(values) <= settings.most_listed or place in counted):
            found += [(place, value - row_value, 0.0, 0.0, False) for value in values[values != row_value].tolist()]
        else:
            most_counts = np.inf if place in counted else settings.most_counts
            found += _list_ways(menus, row, place, (low, high), most_counts)
    f = len(menus.numbers)
    for place in range(len(menus.coded)):
        found += [(f + place, float(level), 0.0, 0.0, True) for level in np.flatnonzero(menus.levels[row, place])]
    column, fixed, most, counts, levels = zip(*found, strict=True) if found else ((),) * 5
    arrays = np.array(fixed, dtype=np.float64), np.array(most, dtype=np.float64), np.array(counts, dtype=np.float64)
    return ProgramVariables(np.array(column, dtype=np.intp), *arrays, np.array(levels, dtype=bool))


def _list_ways(menus: Menus, row: int, place: int, ends: tuple[float, float], most_counts: float) -> list[Variable]:
    """The ways of a number up and down between two ends; a grid of more than ``most_counts`` steps is left out."""
    row_value, step, (low, high) = menus.x0[row, place], menus.step[row, place], ends
    ways: list[Variable] = []
    for sign, least, end in ((1.0, max(low, row_value), high), (-1.0, min(high, row_value), low)):
        first = _first_on_grid(menus, row, place, least, upwards=sign > 0) if step > 0 else least
        beyond = (end - first) * sign
        if beyond < -1e-9 * step or (beyond == 0 and first == row_value):
            continue
        whole = float(np.floor(beyond / step + 1e-9)) if step > 0 else 0.0
        is_fine = whole > most_counts
        away = whole * step if step > 0 and not is_fine else max(beyond, 0.0)
        ways.append((place, first - row_value, sign * away, 0.0 if is_fine else whole, False))
    return ways


def _first_on_grid(menus: Menus, row: int, place: int, value: float, *, upwards: bool) -> float:
    """The first value of a grid from a value on, that is not the row's own."""
    row_value, step, origin = menus.x0[row, place], menus.step[row, place], menus.origin[row, place]
    count = (value - origin) / step
    near = np.rint(count)
    close = abs(count - near) <= 1e-9 * max(1.0, abs(count))
    sign = 1.0 if upwards else -1.0
    at = near if close else (np.ceil(count) if upwards else np.floor(count))
    if abs(origin + at * step - row_value) <= 1e-9 * max(step, abs(row_value)):
        at += sign
    return float(origin + at * step)


class _Program(NamedTuple):
    """Amounts ``(v,)``, shares from 0 to 1 or counts of a grid, and then their switches ``(v,)``."""

    part: ProgramVariables
    cost: Array
    conditions: Array  # (m, variables)
    scale: Array  # (m,) what needs are divided by
    rules: tuple[optimize.LinearConstraint, ...]
    is_whole: Mask  # of all variables
    upper: Array

    @classmethod
    def of(cls, menus: Menus, cases: Cases, case: int, part: ProgramVariables, max_changes: int | None) -> _Program:
        """The program of one case."""
        row, f, v = int(cases.row[case]), len(menus.numbers), len(part.column)
        number, most = np.where(part.is_level, 0, part.column), np.maximum(part.counts, 1.0)
        amount, first = (np.where(part.is_level, 0.0, each) for each in (part.reach / most, part.fixed))
        rate = menus.rate[np.where(first + amount > 0, 1, 0), number] if f else np.ones(v)
        unit = menus.unit_price[part.column]
        start = unit * rate * np.abs(first) + menus.change_price[part.column]
        gain = np.zeros((cases.slope.shape[1], 2 * v))
        if f:
            gain[:, :v], gain[:, v : 2 * v] = (
                cases.slope[case][:, number] * amount,
                cases.slope[case][:, number] * first,
            )
        for each in np.flatnonzero(part.is_level):
            place, level = part.column[each] - f, int(part.fixed[each])
            gain[:, v + each] = cases.level_gain[case, :, place, level]
            start[each] = unit[each] * menus.level_difference[row, place, level] + menus.change_price[part.column[each]]
        cost = np.concatenate([unit * rate * np.abs(amount), start])
        within = np.concatenate([np.diag(1 / most), -np.eye(v)], axis=1)  # an amount only where its switch is on
        columns, place = np.unique(part.column, return_inverse=True)
        single = np.zeros((len(columns), 2 * v))
        single[place, v + np.arange(v)] = 1.0
        must = ~menus.can_stay[row, columns]
        rules = [
            optimize.LinearConstraint(within, -np.inf, 0.0),
            optimize.LinearConstraint(single, must.astype(np.float64), 1.0),
        ]
        if max_changes is not None:
            counted = np.concatenate([np.zeros(v), menus.counted[part.column].astype(np.float64)])
            rules.append(optimize.LinearConstraint(counted[None], -np.inf, float(max_changes)))
        scale = np.abs(gain).max(axis=1, initial=0.0)
        scale = np.where(scale > 0, scale, 1.0)
        whole, upper = np.concatenate([part.counts > 0, np.ones(v, dtype=bool)]), np.concatenate([most, np.ones(v)])
        return cls(part, cost, gain / scale[:, None], scale, tuple(rules), whole, upper)

    @property
    def is_finite(self) -> bool:
        """Whether all costs, conditions and ends are numbers that a solver can take."""
        rules = [np.asarray(rule.A) for rule in self.rules]
        return all(bool(np.isfinite(each).all()) for each in (self.cost, self.conditions, self.upper, *rules))

    def solve(self, need: Array, deadline: float, settings: LinearSettings) -> optimize.OptimizeResult:
        """The cheapest point that meets the needs ``(m,)``, as far as it is found before the deadline."""
        left = max(deadline - time.perf_counter(), 1e-3) if np.isfinite(deadline) else np.inf
        return optimize.milp(
            self.cost,
            integrality=self.is_whole.astype(np.int64),
            bounds=optimize.Bounds(np.zeros(len(self.cost)), self.upper),
            constraints=[optimize.LinearConstraint(self.conditions, need / self.scale, np.inf), *self.rules],
            options={
                "mip_rel_gap": settings.optimal / 2,
                "node_limit": settings.program_nodes,
                "time_limit": left,
                "presolve": False,  # what it takes back can make the solver write a line to the output of the process
            },
        )

    def read(self, menus: Menus, row: int, solution: Array) -> tuple[Array, Index]:
        """The numbers ``(f,)`` and levels ``(t,)`` of a solution."""
        part, v, f = self.part, len(self.part.column), len(menus.numbers)
        amount, on = solution[:v], solution[v:] > 0.5
        share = np.where(part.counts > 0, np.rint(amount), amount) / np.maximum(part.counts, 1.0)
        x, level = menus.x0[row].copy(), np.full(len(menus.coded), -1, dtype=np.intp)
        for each in np.flatnonzero(on):
            if part.is_level[each]:
                level[part.column[each] - f] = int(part.fixed[each])
            else:
                x[part.column[each]] += part.fixed[each] + part.reach[each] * share[each]
        return x, level
