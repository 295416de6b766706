"""Repair: points are moved to where the relations hold, by the least movement that does it.

Each clause that a point breaks pulls it back. First by projection, in feature scales, over the cells that already
differ from the row (a repair should not add changes) or, where these cannot, over all that may move. What rounding and
corners leave over is then solved for one cell exactly: the one that breaks no other clause, adds no change and moves
least. Equations that share columns would break each other in turn, so they are then solved together. Of "either this
or that" the nearer one is made to hold. What is still broken after a few rounds stays broken: the region refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from counterpoise.space.rules.cell_formulas import OneHotGroup, SameAsRow, TableLookup
from counterpoise.space.rules.clause_set import ClauseSet
from counterpoise.space.rules.expressions import Column
from counterpoise.space.rules.formulas import Combination, Compare, Membership, RuleFormula
from counterpoise.space.rules.relations import Clause
from counterpoise.space.rules.repair_workspace import PointSelection, RepairWorkspace
from counterpoise.space.rules.shared_equations import solve_together
from counterpoise.types import Array, Index


def repair(workspace: RepairWorkspace, clause_set: ClauseSet, suspects: Iterable[int] | None = None) -> None:
    """Move the points of a workspace to where all clauses hold, in place, as far as that can be done.

    ``suspects`` are the numbers of the clauses that may be broken; None: all.
    """
    suspected = set(range(len(clause_set.clauses)) if suspects is None else suspects)
    with np.errstate(all="ignore"):
        for turn in range(workspace.settings.projection_rounds + workspace.settings.solution_rounds):
            if not suspected:
                return
            exactly = turn >= workspace.settings.projection_rounds
            if not exactly:
                _project_orderings(workspace, clause_set, suspected)
            _repair_clauses(workspace, clause_set, suspected, exactly=exactly)
        for group in clause_set.equation_groups:
            if not suspected.isdisjoint(group):
                solve_together(workspace, [clause_set.clauses[number] for number in group])


def _repair_clauses(workspace: RepairWorkspace, clause_set: ClauseSet, suspected: set[int], *, exactly: bool) -> None:
    """Try once to make each suspected clause hold; broken ones and their neighbours stay suspected.

    In order of their numbers, with those that become suspected on the way: the repair of a point must not depend on
    what other points have broken. Orders are projected a group at a time, and solved exactly one by one.
    """
    projected = set() if exactly else {number for group in clause_set.orderings for number in group.clause_numbers}
    for number in range(len(clause_set.clauses)):
        if number not in suspected or number in projected:
            continue
        suspected.discard(number)
        points = workspace.find_broken_points(clause_set.clauses[number])
        if len(points):
            columns = _repair_clause(workspace, clause_set, number, points, exactly=exactly)
            suspected.add(number)
            for column in columns:
                suspected.update(clause_set.clauses_by_column.get(column, ()))


def _project_orderings(workspace: RepairWorkspace, clause_set: ClauseSet, suspected: set[int]) -> None:
    """Project all orders, a group at a time; those that are broken or may have become so stay suspected."""
    for orders in clause_set.orderings:
        if suspected.isdisjoint(orders.clause_numbers):
            continue
        suspected.difference_update(orders.clause_numbers)
        wrong = orders.is_broken(workspace)
        if wrong.any():
            orders.project(workspace, wrong)
            for place in np.flatnonzero(wrong.any(axis=1)):
                for column in (orders.left[place], orders.right[place]):
                    suspected.update(clause_set.clauses_by_column[column])


def _repair_clause(
    workspace: RepairWorkspace, clause_set: ClauseSet, number: int, points: Index, *, exactly: bool
) -> Iterable[int]:
    """Try once to make one clause hold, and return the columns that may have moved."""
    formula = clause_set.clauses[number].formula
    if isinstance(formula, Combination):
        _repair_nearest_branch(workspace, clause_set, number, points)
    elif isinstance(formula, Compare) and formula.operator != "!=":
        columns = [column for column in formula.columns if workspace.free[column][points].any()]
        if not columns:
            return ()
        if exactly or not workspace.numeric[columns].all():
            _solve_for_best_cell(workspace, clause_set, number, formula, columns, points)
        else:
            _project_on_clause(workspace, formula, columns, points)
    else:
        _assign_values(workspace, formula, points)
    return formula.columns


def _excess(
    formula: Compare, x: PointSelection, given: PointSelection, overshoot: float
) -> tuple[Array, dict[int, Array]]:
    """By how much the left side exceeds the right one, ``(p,)``, and its slopes; NaN where undefined."""
    gap, slopes = formula.gap.value_and_slopes(x, given)
    if formula.operator == "<":
        left, right = formula.left.value(x, given), formula.right.value(x, given)
        size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0)
        gap = gap + formula.slack(left, right) * (1 + overshoot) + overshoot * size
    return gap if gap.shape == x.points.shape else np.broadcast_to(gap, x.points.shape), slopes


def _project_on_clause(workspace: RepairWorkspace, formula: Compare, columns: list[int], points: Index) -> None:
    """One step of weighted projection onto the clause's surface."""
    x, given = PointSelection(workspace.x, points), PointSelection(workspace.row_and_box, points)
    excess, slopes = _excess(formula, x, given, workspace.settings.strict_overshoot)
    scales = workspace.scales[columns][:, None]
    slope = np.empty((len(columns), len(points)))
    for place, column in enumerate(columns):
        slope[place] = slopes[column]
    cells, start = np.array([x[column] for column in columns]), np.array([given[column] for column in columns])
    low, high = (
        np.array(ends) for ends in zip(*(workspace.box_ends(column, points) for column in columns), strict=True)
    )
    down = excess * slope > 0
    may = np.array([workspace.free[column][points] for column in columns])
    movable = may & np.where(down, cells > low, cells < high) & np.isfinite(slope)
    weight = np.where(movable, (slope * scales) ** 2, 0.0)
    already = np.where(cells != start, weight, 0.0)
    weight = np.where(already.any(axis=0), already, weight)
    total = weight.sum(axis=0)
    share = np.divide(weight, slope * total, out=np.zeros_like(weight), where=(weight > 0) & (total > 0))
    step = np.nan_to_num(-excess * share, nan=0.0, posinf=0.0, neginf=0.0)
    for place, column in enumerate(columns):
        moving = step[place] != 0
        if moving.any():
            workspace.x[column][points] = np.where(
                moving, workspace.clip_onto_lattice(column, cells[place] + step[place], points), cells[place]
            )


def _solve_for_best_cell(
    workspace: RepairWorkspace, clause_set: ClauseSet, number: int, formula: Compare, columns: list[int], points: Index
) -> None:
    """Solve the clause for one cell of each point: the cell whose change costs least."""
    clause = clause_set.clauses[number]
    best = np.full(len(points), np.inf)
    picked = np.full(len(points), -1)
    found = np.zeros(len(points))
    for column in columns:
        before = workspace.x[column][points]  # a copy
        trial = _solve_for_column(
            workspace,
            formula,
            column,
            points,
            1 if (number, column) in clause_set.affine_pairs else workspace.settings.newton_steps,
        )
        workspace.x[column][points] = trial
        ok = workspace.is_obeyed(clause, points) & workspace.free[column][points]
        workspace.x[column][points] = before
        harm = _count_harm(
            workspace, clause_set.other_clauses([column], number), column, points, np.where(ok, trial, before)
        )
        moved = (
            np.abs(trial - before) / workspace.scales[column] if workspace.numeric[column] else (trial != before) * 1.0
        )
        new = before == workspace.row_and_box[column][points]
        badness = np.where(
            ok,
            workspace.settings.broken_clause_penalty * harm
            + workspace.settings.new_change_penalty * new
            + moved / (1.0 + moved),
            np.inf,
        )
        better = badness < best
        best, picked = np.where(better, badness, best), np.where(better, column, picked)
        found = np.where(better, trial, found)
    for column in columns:
        mine = picked == column
        workspace.x[column][points[mine]] = found[mine]


def _count_harm(
    workspace: RepairWorkspace, other_clauses: Sequence[Clause], column: int, points: Index, trial: Array
) -> Array:
    """How many of the other clauses each point comes to break when its cell of a column becomes ``trial``, ``(p,)``.

    So many clauses as the settings say are looked at: with n clauses, n times n would be.
    """
    harm = np.zeros(len(points))
    moving = np.flatnonzero(trial != workspace.x[column][points])
    places = points[moving]
    if not len(places):
        return harm
    before = workspace.x[column][places]  # a copy
    workspace.x[column][places] = trial[moving]
    broken = []
    for other in other_clauses[: workspace.settings.max_watched_clauses]:
        held = workspace.is_obeyed(other, places)
        if not held.all():
            broken.append((other, ~held))
    workspace.x[column][places] = before
    for other, wrong in broken:
        harm[moving] += wrong & workspace.is_obeyed(other, places)
    return harm


def _solve_for_column(workspace: RepairWorkspace, formula: Compare, column: int, points: Index, rounds: int) -> Array:
    """Values of one column that make the two sides of a clause equal, inside the box and on the lattice."""
    before = workspace.x[column][points]
    value = before
    for _ in range(rounds):
        x, given = PointSelection(workspace.x, points), PointSelection(workspace.row_and_box, points)
        excess, slopes = _excess(formula, x, given, workspace.settings.strict_overshoot)
        slope = np.broadcast_to(slopes.get(column, np.asarray(0.0)), excess.shape)
        step = np.divide(excess, slope, out=np.zeros(len(points)), where=slope != 0)
        value = value - np.where(np.isfinite(step), step, 0.0)
        workspace.x[column][points] = value
        if not np.any(np.abs(step) > 1e-12 * np.maximum(np.abs(value), 1.0)):
            break
    placed = workspace.clip_onto_lattice(column, value, points)
    workspace.x[column][points] = placed
    short = ~np.broadcast_to(
        formula.holds(PointSelection(workspace.x, points), PointSelection(workspace.row_and_box, points)), points.shape
    )
    if short.any() and formula.operator != "==":  # rounded to the wrong side
        unit = workspace.grid.spacing(column)
        aside = np.where(slope > 0, -1.0, 1.0) * np.maximum(unit, 4 * np.spacing(np.abs(placed)))
        placed = np.where(short, workspace.clip_onto_lattice(column, placed + aside, points), placed)
    workspace.x[column][points] = before
    return placed


def _repair_nearest_branch(workspace: RepairWorkspace, clause_set: ClauseSet, number: int, points: Index) -> None:
    """Repair a clause in the way that breaks fewest other clauses, then moves least."""
    formula = clause_set.clauses[number].formula
    assert isinstance(formula, Combination)
    other_clauses = clause_set.other_clauses(formula.columns, number)[: workspace.settings.max_watched_clauses]
    before = {column: workspace.x[column][points] for column in formula.columns}
    held = [workspace.is_obeyed(other, points) for other in other_clauses]
    best = np.full(len(points), np.inf)
    found = dict(before)
    for branch, ways in zip(formula.parts, clause_set.branches[number], strict=True):
        trial = workspace.take_points(points)
        repair(trial, ways)
        ok = np.broadcast_to(branch.holds(trial.x, trial.row_and_box), points.shape)
        far, new = np.zeros(len(points)), np.zeros(len(points))
        for column, cells in before.items():
            moved = (trial.x[column] != cells) & ~np.isnan(cells)
            size = np.abs(trial.x[column] - cells) / workspace.scales[column] if workspace.numeric[column] else 1.0
            far += np.where(moved, size, 0.0)
            new += moved & (cells == trial.row_and_box[column])
            workspace.x[column][points] = trial.x[column]
        badness = far / (1.0 + far) + workspace.settings.new_change_penalty * new
        for other, was in zip(other_clauses, held, strict=True):
            badness += workspace.settings.broken_clause_penalty * (was & ~workspace.is_obeyed(other, points))
        better = ok & (badness < best)
        best = np.where(better, badness, best)
        found = {column: np.where(better, trial.x[column], cells) for column, cells in found.items()}
    for column, cells in found.items():
        workspace.x[column][points] = cells


def _assign_values(workspace: RepairWorkspace, formula: RuleFormula, points: Index) -> None:
    """Write the value that makes a clause hold: a listed one, any other, the row's own, or one looked up in a table."""
    column = next(iter(formula.columns))
    if isinstance(formula, SameAsRow) and formula.is_same:
        workspace.write(column, workspace.row_and_box[column][points], points)
    elif isinstance(formula, TableLookup):
        _assign_from_table(workspace, formula, points)
    elif isinstance(formula, OneHotGroup):
        _assign_one_hot(workspace, formula, points)
    elif isinstance(formula, Membership) and isinstance(formula.inner, Column) and not formula.is_negated:
        values = np.sort(formula.values)
        near = values[np.abs(workspace.x[column][points][:, None] - values).argmin(axis=1)]
        start = workspace.row_and_box[column][points]
        wanted = np.where(np.isin(start, values), start, near)
        workspace.write(column, workspace.clip_onto_lattice(column, wanted, points), points)
    elif not isinstance(formula, Compare) or Column(column) in (formula.left, formula.right):
        workspace.write(
            column, workspace.clip_onto_lattice(column, _neighbouring_values(workspace, column, points), points), points
        )


def _assign_from_table(workspace: RepairWorkspace, formula: TableLookup, points: Index) -> None:
    """Write what the table says; where that cell may not move, change the cell that the table is looked up by."""
    wanted = formula.look_up(workspace.x[formula.key_column][points])
    stuck = ~workspace.free[formula.number][points] | np.isnan(wanted)
    workspace.write(formula.number, workspace.clip_onto_lattice(formula.number, wanted, points), points)
    fits = workspace.x[formula.number][points][:, None] == np.asarray(formula.values)
    start = workspace.row_and_box[formula.key_column][points]
    keys = np.asarray(formula.keys)
    is_kept = (fits & (keys == start[:, None])).any(axis=1)
    other = np.where(is_kept, start, np.where(fits.any(axis=1), keys[fits.argmax(axis=1)], np.nan))
    workspace.write(formula.key_column, np.where(stuck, other, np.nan), points)


def _assign_one_hot(workspace: RepairWorkspace, formula: OneHotGroup, points: Index) -> None:
    """Set one column of a group to 1, the others to 0: a newly set one first, then one that is 1, then the row's."""
    cells = np.stack([workspace.x[number][points] for number in formula.numbers])
    start = np.stack([workspace.row_and_box[number][points] for number in formula.numbers])
    rank = np.select([(cells == 1) & (start != 1), cells == 1, start == 1], [3.0, 2.0, 1.0], 0.0)
    chosen = rank.argmax(axis=0)
    for place, number in enumerate(formula.numbers):
        workspace.write(number, (chosen == place).astype(np.float64), points)


def _neighbouring_values(workspace: RepairWorkspace, column: int, points: Index) -> Array:
    """A value next to the one that a cell has: the row's own if it differs, or the neighbour on the lattice."""
    now, start = workspace.x[column][points], workspace.row_and_box[column][points]
    low, high = workspace.box_ends(column, points)
    unit = workspace.grid.spacing(column) or 1e-3 * workspace.scales[column]
    other = np.where(now + unit <= high, now + unit, np.where(now - unit >= low, now - unit, now))
    return np.asarray(np.where((start != now) & ~np.isnan(start), start, other))
