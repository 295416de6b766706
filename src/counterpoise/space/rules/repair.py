"""Repair: points brought to where the relations hold, by the least movement that does it.

Each clause that a point breaks pulls it back. First by projection, in feature scales, over the cells that already
differ from the row (a repair should not add changes) or, where these cannot, over all that may move. What rounding and
corners leave over is then solved for one cell exactly: the one that breaks no other clause, adds no change and moves
least. Equations that share columns, which break each other so, are then solved together. Of "either this or that" the
nearer is mended. What is still broken after a few rounds stays so, and the region refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from counterpoise.space.rules.cell_formulas import SameAsRow, TableLookup
from counterpoise.space.rules.clause_set import ClauseSet
from counterpoise.space.rules.expressions import BinaryOperation, Column
from counterpoise.space.rules.formulas import Combination, Compare, Membership, RuleFormula
from counterpoise.space.rules.repair_workspace import PointSelection, RepairWorkspace
from counterpoise.space.rules.shared_equations import solve_together
from counterpoise.types import Array, Index


def repair(bench: RepairWorkspace, rules: ClauseSet, suspects: Iterable[int] | None = None) -> None:
    """Move the points of a bench to where the rules hold, in place, as far as that can be done.

    ``suspects`` are the numbers of the clauses that may be broken; None: all.
    """
    suspected = set(range(len(rules.clauses)) if suspects is None else suspects)
    orders = {number for group in rules.orderings for number in group.clause_numbers}
    with np.errstate(all="ignore"):
        for turn in range(bench.settings.projection_rounds + bench.settings.solution_rounds):
            if not suspected:
                return
            exactly = turn >= bench.settings.projection_rounds
            if not exactly:
                _project_orderings(bench, rules, suspected)
            # one after the other, those that come under suspicion on the way too: what is mended in a turn is then the
            # same for a point whatever other points have broken
            for number in range(len(rules.clauses)):
                if number not in suspected or (number in orders and not exactly):
                    continue
                suspected.discard(number)
                points = bench.find_broken_points(rules.clauses[number])
                if len(points):
                    columns = _repair_clause(bench, rules, number, points, exactly=exactly)
                    suspected.add(number)
                    for column in columns:
                        suspected.update(rules.clauses_by_column.get(column, ()))
        for group in rules.equation_groups:
            if not suspected.isdisjoint(group):
                solve_together(bench, [rules.clauses[number] for number in group])


def _project_orderings(bench: RepairWorkspace, rules: ClauseSet, suspected: set[int]) -> None:
    """Project all orders, a group at a time; those that are broken or may have become so stay suspected."""
    for orders in rules.orderings:
        if suspected.isdisjoint(orders.clause_numbers):
            continue
        suspected.difference_update(orders.clause_numbers)
        wrong = orders.is_broken(bench)
        if wrong.any():
            orders.project(bench, wrong)
            for place in np.flatnonzero(wrong.any(axis=1)):
                for column in (orders.left[place], orders.right[place]):
                    suspected.update(rules.clauses_by_column[column])


def _repair_clause(
    bench: RepairWorkspace, rules: ClauseSet, number: int, points: Index, *, exactly: bool
) -> Iterable[int]:
    """One attempt at one clause; the columns that it may have moved."""
    formula = rules.clauses[number].formula
    if isinstance(formula, Combination):
        _repair_nearest_branch(bench, rules, number, points)
    elif isinstance(formula, Compare) and formula.operator != "!=":
        columns = [column for column in formula.columns if bench.free[column][points].any()]
        if not columns:
            return ()
        if exactly or not bench.numeric[columns].all():
            _solve_for_best_cell(bench, rules, number, formula, columns, points)
        else:
            _project_on_clause(bench, formula, columns, points)
    else:
        _assign_values(bench, formula, points)
    return formula.columns


def _excess(
    formula: Compare, x: PointSelection, given: PointSelection, overshoot: float
) -> tuple[Array, dict[int, Array]]:
    """How much too far left the left side is, ``(p,)``, and its slopes; NaN where undefined."""
    gap, slopes = BinaryOperation("-", formula.left, formula.right).value_and_slopes(x, given)
    if formula.operator == "<":
        left, right = formula.left.value(x, given), formula.right.value(x, given)
        size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0)
        gap = gap + formula.slack(left, right) * (1 + overshoot) + overshoot * size
    return np.broadcast_to(gap, x.points.shape), slopes


def _project_on_clause(bench: RepairWorkspace, formula: Compare, columns: list[int], points: Index) -> None:
    """One step of weighted projection onto the clause's surface."""
    x, given = PointSelection(bench.x, points), PointSelection(bench.row_and_box, points)
    excess, slopes = _excess(formula, x, given, bench.settings.strict_overshoot)
    scales = bench.scales[columns][:, None]
    slope = np.stack([np.broadcast_to(slopes[column], points.shape) for column in columns])
    cells, start = np.stack([x[column] for column in columns]), np.stack([given[column] for column in columns])
    low, high = (np.stack(ends) for ends in zip(*(bench.box_ends(column, points) for column in columns), strict=True))
    down = excess * slope > 0
    may = np.stack([bench.free[column][points] for column in columns])
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
            bench.x[column][points] = np.where(
                moving, bench.clip_onto_lattice(column, cells[place] + step[place], points), cells[place]
            )


def _solve_for_best_cell(
    bench: RepairWorkspace, rules: ClauseSet, number: int, formula: Compare, columns: list[int], points: Index
) -> None:
    """The clause solved for one cell of each point: that which does the least harm."""
    clause = rules.clauses[number]
    best = np.full(len(points), np.inf)
    picked = np.full(len(points), -1)
    found = np.zeros(len(points))
    for column in columns:
        before = bench.x[column][points]  # a copy
        harmed = rules.other_clauses([column], number)
        held = [bench.is_obeyed(other, points) for other in harmed]
        trial = _solve_for_column(
            bench, formula, column, points, 1 if (number, column) in rules.affine_pairs else bench.settings.newton_steps
        )
        bench.x[column][points] = trial
        ok = bench.is_obeyed(clause, points) & bench.free[column][points]
        harm = np.zeros(len(points))
        for other, was in zip(harmed, held, strict=True):
            harm += was & ~bench.is_obeyed(other, points)
        bench.x[column][points] = before
        moved = np.abs(trial - before) / bench.scales[column] if bench.numeric[column] else (trial != before) * 1.0
        new = before == bench.row_and_box[column][points]
        badness = np.where(
            ok,
            bench.settings.broken_clause_penalty * harm
            + bench.settings.new_change_penalty * new
            + moved / (1.0 + moved),
            np.inf,
        )
        better = badness < best
        best, picked = np.where(better, badness, best), np.where(better, column, picked)
        found = np.where(better, trial, found)
    for column in columns:
        mine = picked == column
        bench.x[column][points[mine]] = found[mine]


def _solve_for_column(bench: RepairWorkspace, formula: Compare, column: int, points: Index, rounds: int) -> Array:
    """Values of one column that bring the left side to the right one, in the box and on the lattice."""
    before = bench.x[column][points]
    value = before
    for _ in range(rounds):
        x, given = PointSelection(bench.x, points), PointSelection(bench.row_and_box, points)
        excess, slopes = _excess(formula, x, given, bench.settings.strict_overshoot)
        slope = np.broadcast_to(slopes.get(column, np.asarray(0.0)), excess.shape)
        step = np.divide(excess, slope, out=np.zeros(len(points)), where=slope != 0)
        value = value - np.where(np.isfinite(step), step, 0.0)
        bench.x[column][points] = value
        if not np.any(np.abs(step) > 1e-12 * np.maximum(np.abs(value), 1.0)):
            break
    placed = bench.clip_onto_lattice(column, value, points)
    bench.x[column][points] = placed
    short = ~np.broadcast_to(
        formula.holds(PointSelection(bench.x, points), PointSelection(bench.row_and_box, points)), points.shape
    )
    if short.any() and formula.operator != "==":  # rounded to the wrong side
        unit = bench.grid.spacing(column)
        aside = np.where(slope > 0, -1.0, 1.0) * np.maximum(unit, 4 * np.spacing(np.abs(placed)))
        placed = np.where(short, bench.clip_onto_lattice(column, placed + aside, points), placed)
    bench.x[column][points] = before
    return placed


def _repair_nearest_branch(bench: RepairWorkspace, rules: ClauseSet, number: int, points: Index) -> None:
    """Of several ways to make a clause hold, the one that does the least harm and is nearest."""
    formula = rules.clauses[number].formula
    assert isinstance(formula, Combination)
    others = rules.other_clauses(formula.columns, number)
    before = {column: bench.x[column][points] for column in formula.columns}
    held = [bench.is_obeyed(other, points) for other in others]
    best = np.full(len(points), np.inf)
    found = dict(before)
    for branch, ways in zip(formula.parts, rules.branches[number], strict=True):
        trial = bench.take_points(points)
        repair(trial, ways)
        ok = np.broadcast_to(branch.holds(trial.x, trial.row_and_box), points.shape)
        far, new = np.zeros(len(points)), np.zeros(len(points))
        for column, cells in before.items():
            moved = (trial.x[column] != cells) & ~np.isnan(cells)
            size = np.abs(trial.x[column] - cells) / bench.scales[column] if bench.numeric[column] else 1.0
            far += np.where(moved, size, 0.0)
            new += moved & (cells == trial.row_and_box[column])
            bench.x[column][points] = trial.x[column]
        badness = far / (1.0 + far) + bench.settings.new_change_penalty * new
        for other, was in zip(others, held, strict=True):
            badness += bench.settings.broken_clause_penalty * (was & ~bench.is_obeyed(other, points))
        better = ok & (badness < best)
        best = np.where(better, badness, best)
        found = {column: np.where(better, trial.x[column], cells) for column, cells in found.items()}
    for column, cells in found.items():
        bench.x[column][points] = cells


def _assign_values(bench: RepairWorkspace, formula: RuleFormula, points: Index) -> None:
    """Clauses that are met by writing a value: one of a list, any other, the row's own, what a table says."""
    column = next(iter(formula.columns))
    if isinstance(formula, SameAsRow) and formula.is_same:
        bench.write(column, bench.row_and_box[column][points], points)
    elif isinstance(formula, TableLookup):
        _assign_from_table(bench, formula, points)
    elif isinstance(formula, Membership) and isinstance(formula.inner, Column) and not formula.is_negated:
        values = np.sort(formula.values)
        near = values[np.abs(bench.x[column][points][:, None] - values).argmin(axis=1)]
        start = bench.row_and_box[column][points]
        wanted = np.where(np.isin(start, values), start, near)
        bench.write(column, bench.clip_onto_lattice(column, wanted, points), points)
    elif not isinstance(formula, Compare) or Column(column) in (formula.left, formula.right):
        bench.write(
            column, bench.clip_onto_lattice(column, _neighbouring_values(bench, column, points), points), points
        )


def _assign_from_table(bench: RepairWorkspace, formula: TableLookup, points: Index) -> None:
    """What the table says for the other feature; where the value may not move, the other feature is made to fit it."""
    wanted = formula.look_up(bench.x[formula.key_column][points])
    stuck = ~bench.free[formula.number][points] | np.isnan(wanted)
    bench.write(formula.number, bench.clip_onto_lattice(formula.number, wanted, points), points)
    fits = bench.x[formula.number][points][:, None] == np.asarray(formula.values)
    start = bench.row_and_box[formula.key_column][points]
    keys = np.asarray(formula.keys)
    own = (fits & (keys == start[:, None])).any(axis=1)
    other = np.where(own, start, np.where(fits.any(axis=1), keys[fits.argmax(axis=1)], np.nan))
    bench.write(formula.key_column, np.where(stuck, other, np.nan), points)


def _neighbouring_values(bench: RepairWorkspace, column: int, points: Index) -> Array:
    """A value next to the one that a cell has: the row's own if it differs, or the neighbour on the lattice."""
    now, start = bench.x[column][points], bench.row_and_box[column][points]
    low, high = bench.box_ends(column, points)
    unit = bench.grid.spacing(column) or 1e-3 * bench.scales[column]
    other = np.where(now + unit <= high, now + unit, np.where(now - unit >= low, now - unit, now))
    return np.asarray(np.where((start != now) & ~np.isnan(start), start, other))
