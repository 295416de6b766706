"""Repair: points brought to where the relations hold, by the least movement that does it.

Each clause that a point breaks pulls it back. First by projection, in feature scales, over the cells that already
differ from the row (a repair should not add changes) or, where these cannot, over all that may move. What rounding and
corners leave over is then solved for one cell exactly: the one that breaks no other clause, adds no change and moves
least. Equations that share columns, which break each other so, are then solved together. Of "either this or that" the
nearer is mended. What is still broken after a few rounds stays so, and the region refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.space.bench import Bench, Picked
from counterpoise.space.expressions import Binary, Column, affine
from counterpoise.space.formulas import Among, Compare, Formula, Joined, clauses
from counterpoise.space.joint import sharing, solve_together
from counterpoise.space.orders import Orders
from counterpoise.space.relations import Clause
from counterpoise.space.ties import Kept, Mapped
from counterpoise.types import Array, Index

PROJECTIONS = 2  # rounds
SOLUTIONS = 3
NEWTON = 3
HARM, NEW = 100.0, 10.0  # what breaking another clause, and changing one more cell, count against the way moved
STRICT = 1e-9  # how far a strict inequality is overshot, relative to its sides


@dataclass(frozen=True, eq=False)
class Rules:
    """Clauses that must all hold, with what repair looks up about them."""

    clauses: tuple[Clause, ...]
    touching: dict[int, tuple[int, ...]]  # per column, the clauses that read it
    branches: dict[int, tuple[Rules, ...]]  # per "either or" clause, the ways to make it hold
    orders: tuple[Orders, ...]  # clauses that can be projected together
    straight: frozenset[tuple[int, int]]  # (clause, column) where one Newton step solves the clause
    together: tuple[tuple[int, ...], ...]  # equations that share columns

    @classmethod
    def of(cls, parts: Sequence[Clause]) -> Rules:
        """The rules of some clauses."""
        touching: dict[int, tuple[int, ...]] = {}
        branches: dict[int, tuple[Rules, ...]] = {}
        straight: set[tuple[int, int]] = set()
        for number, clause in enumerate(parts):
            for column in clause.formula.columns:
                touching[column] = (*touching.get(column, ()), number)
            if isinstance(clause.formula, Joined):
                ways = ([Clause(part, clause.source) for part in clauses(way)] for way in clause.formula.parts)
                branches[number] = tuple(cls.of(way) for way in ways)
            if isinstance(clause.formula, Compare):
                gap = Binary("-", clause.formula.left, clause.formula.right)
                straight.update((number, column) for column in gap.columns if affine(gap, column))
        return cls(tuple(parts), touching, branches, Orders.among(parts), frozenset(straight), sharing(parts))

    def others(self, columns: Iterable[int], number: int) -> list[Clause]:
        """The clauses besides one that read any of some columns."""
        numbers = dict.fromkeys(each for column in columns for each in self.touching.get(column, ()))
        return [self.clauses[each] for each in numbers if each != number]


def repair(bench: Bench, rules: Rules, suspects: Iterable[int] | None = None) -> None:
    """Move the points of a bench to where the rules hold, in place, as far as that can be done.

    ``suspects`` are the numbers of the clauses that may be broken; None: all.
    """
    suspected = set(range(len(rules.clauses)) if suspects is None else suspects)
    orders = {number for group in rules.orders for number in group.numbers}
    with np.errstate(all="ignore"):
        for turn in range(PROJECTIONS + SOLUTIONS):
            if not suspected:
                return
            exactly = turn >= PROJECTIONS
            if not exactly:
                _project_orders(bench, rules, suspected)
            # one after the other, those that come under suspicion on the way too: what is mended in a turn is then the
            # same for a point whatever other points have broken
            for number in range(len(rules.clauses)):
                if number not in suspected or (number in orders and not exactly):
                    continue
                suspected.discard(number)
                points = bench.broken(rules.clauses[number])
                if len(points):
                    columns = _mend(bench, rules, number, points, exactly=exactly)
                    suspected.add(number)
                    for column in columns:
                        suspected.update(rules.touching.get(column, ()))
        for group in rules.together:
            if not suspected.isdisjoint(group):
                solve_together(bench, [rules.clauses[number] for number in group])


def _project_orders(bench: Bench, rules: Rules, suspected: set[int]) -> None:
    """Project all orders, a group at a time; those that are broken or may have become so stay suspected."""
    for orders in rules.orders:
        if suspected.isdisjoint(orders.numbers):
            continue
        suspected.difference_update(orders.numbers)
        wrong = orders.broken(bench)
        if wrong.any():
            orders.project(bench, wrong)
            for place in np.flatnonzero(wrong.any(axis=1)):
                for column in (orders.left[place], orders.right[place]):
                    suspected.update(rules.touching[column])


def _mend(bench: Bench, rules: Rules, number: int, points: Index, *, exactly: bool) -> Iterable[int]:
    """One attempt at one clause; the columns that it may have moved."""
    formula = rules.clauses[number].formula
    if isinstance(formula, Joined):
        _choose(bench, rules, number, points)
    elif isinstance(formula, Compare) and formula.relation != "!=":
        columns = [column for column in formula.columns if bench.free[column][points].any()]
        if not columns:
            return ()
        if exactly or not bench.numeric[columns].all():
            _solve(bench, rules, number, formula, columns, points)
        else:
            _project(bench, formula, columns, points)
    else:
        _assign(bench, formula, points)
    return formula.columns


def _excess(formula: Compare, x: Picked, given: Picked) -> tuple[Array, dict[int, Array]]:
    """How much too far left the left side is, ``(p,)``, and its slopes; NaN where undefined."""
    gap, slopes = Binary("-", formula.left, formula.right).dual(x, given)
    if formula.relation == "<":
        left, right = formula.left.value(x, given), formula.right.value(x, given)
        size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0)
        gap = gap + formula.slack(left, right) * (1 + STRICT) + STRICT * size
    return np.broadcast_to(gap, x.points.shape), slopes


def _project(bench: Bench, formula: Compare, columns: list[int], points: Index) -> None:
    """One step of weighted projection onto the clause's surface."""
    x, given = Picked(bench.x, points), Picked(bench.given, points)
    excess, slopes = _excess(formula, x, given)
    scales = bench.scales[columns][:, None]
    slope = np.stack([np.broadcast_to(slopes[column], points.shape) for column in columns])
    cells, start = np.stack([x[column] for column in columns]), np.stack([given[column] for column in columns])
    low, high = (np.stack(ends) for ends in zip(*(bench.ends(column, points) for column in columns), strict=True))
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
                moving, bench.placed(column, cells[place] + step[place], points), cells[place]
            )


def _solve(bench: Bench, rules: Rules, number: int, formula: Compare, columns: list[int], points: Index) -> None:
    """The clause solved for one cell of each point: that which does the least harm."""
    clause = rules.clauses[number]
    best = np.full(len(points), np.inf)
    picked = np.full(len(points), -1)
    found = np.zeros(len(points))
    for column in columns:
        before = bench.x[column][points]  # a copy
        harmed = rules.others([column], number)
        held = [bench.held(other, points) for other in harmed]
        trial = _solved(bench, formula, column, points, 1 if (number, column) in rules.straight else NEWTON)
        bench.x[column][points] = trial
        ok = bench.held(clause, points) & bench.free[column][points]
        harm = np.zeros(len(points))
        for other, was in zip(harmed, held, strict=True):
            harm += was & ~bench.held(other, points)
        bench.x[column][points] = before
        moved = np.abs(trial - before) / bench.scales[column] if bench.numeric[column] else (trial != before) * 1.0
        new = before == bench.given[column][points]
        badness = np.where(ok, HARM * harm + NEW * new + moved / (1.0 + moved), np.inf)
        better = badness < best
        best, picked = np.where(better, badness, best), np.where(better, column, picked)
        found = np.where(better, trial, found)
    for column in columns:
        mine = picked == column
        bench.x[column][points[mine]] = found[mine]


def _solved(bench: Bench, formula: Compare, column: int, points: Index, rounds: int) -> Array:
    """Values of one column that bring the left side to the right one, in the box and on the lattice."""
    before = bench.x[column][points]
    value = before
    for _ in range(rounds):
        excess, slopes = _excess(formula, Picked(bench.x, points), Picked(bench.given, points))
        slope = np.broadcast_to(slopes.get(column, np.asarray(0.0)), excess.shape)
        step = np.divide(excess, slope, out=np.zeros(len(points)), where=slope != 0)
        value = value - np.where(np.isfinite(step), step, 0.0)
        bench.x[column][points] = value
        if not np.any(np.abs(step) > 1e-12 * np.maximum(np.abs(value), 1.0)):
            break
    placed = bench.placed(column, value, points)
    bench.x[column][points] = placed
    short = ~np.broadcast_to(formula.holds(Picked(bench.x, points), Picked(bench.given, points)), points.shape)
    if short.any() and formula.relation != "==":  # rounded to the wrong side
        unit = bench.grid.unit(column)
        aside = np.where(slope > 0, -1.0, 1.0) * np.maximum(unit, 4 * np.spacing(np.abs(placed)))
        placed = np.where(short, bench.placed(column, placed + aside, points), placed)
    bench.x[column][points] = before
    return placed


def _choose(bench: Bench, rules: Rules, number: int, points: Index) -> None:
    """Of several ways to make a clause hold, the one that does the least harm and is nearest."""
    formula = rules.clauses[number].formula
    assert isinstance(formula, Joined)
    others = rules.others(formula.columns, number)
    before = {column: bench.x[column][points] for column in formula.columns}
    held = [bench.held(other, points) for other in others]
    best = np.full(len(points), np.inf)
    found = dict(before)
    for branch, ways in zip(formula.parts, rules.branches[number], strict=True):
        trial = bench.part(points)
        repair(trial, ways)
        ok = np.broadcast_to(branch.holds(trial.x, trial.given), points.shape)
        far, new = np.zeros(len(points)), np.zeros(len(points))
        for column, cells in before.items():
            moved = (trial.x[column] != cells) & ~np.isnan(cells)
            size = np.abs(trial.x[column] - cells) / bench.scales[column] if bench.numeric[column] else 1.0
            far += np.where(moved, size, 0.0)
            new += moved & (cells == trial.given[column])
            bench.x[column][points] = trial.x[column]
        badness = far / (1.0 + far) + NEW * new
        for other, was in zip(others, held, strict=True):
            badness += HARM * (was & ~bench.held(other, points))
        better = ok & (badness < best)
        best = np.where(better, badness, best)
        found = {column: np.where(better, trial.x[column], cells) for column, cells in found.items()}
    for column, cells in found.items():
        bench.x[column][points] = cells


def _assign(bench: Bench, formula: Formula, points: Index) -> None:
    """Clauses that are met by writing a value: one of a list, any other, the row's own, what a table says."""
    column = next(iter(formula.columns))
    if isinstance(formula, Kept) and formula.kept:
        bench.write(column, bench.given[column][points], points)
    elif isinstance(formula, Mapped):
        _look_up(bench, formula, points)
    elif isinstance(formula, Among) and isinstance(formula.inner, Column) and not formula.none:
        values = np.sort(formula.values)
        near = values[np.abs(bench.x[column][points][:, None] - values).argmin(axis=1)]
        start = bench.given[column][points]
        wanted = np.where(np.isin(start, values), start, near)
        bench.write(column, bench.placed(column, wanted, points), points)
    elif not isinstance(formula, Compare) or Column(column) in (formula.left, formula.right):
        bench.write(column, bench.placed(column, _beside(bench, column, points), points), points)


def _look_up(bench: Bench, formula: Mapped, points: Index) -> None:
    """What the table says for the other feature; where the value may not move, the other feature is made to fit it."""
    wanted = formula.looked_up(bench.x[formula.on][points])
    stuck = ~bench.free[formula.number][points] | np.isnan(wanted)
    bench.write(formula.number, bench.placed(formula.number, wanted, points), points)
    fits = bench.x[formula.number][points][:, None] == np.asarray(formula.values)
    start = bench.given[formula.on][points]
    keys = np.asarray(formula.keys)
    own = (fits & (keys == start[:, None])).any(axis=1)
    other = np.where(own, start, np.where(fits.any(axis=1), keys[fits.argmax(axis=1)], np.nan))
    bench.write(formula.on, np.where(stuck, other, np.nan), points)


def _beside(bench: Bench, column: int, points: Index) -> Array:
    """A value next to the one that a cell has: the row's own if it differs, or the neighbour on the lattice."""
    now, start = bench.x[column][points], bench.given[column][points]
    low, high = bench.ends(column, points)
    unit = bench.grid.unit(column) or 1e-3 * bench.scales[column]
    other = np.where(now + unit <= high, now + unit, np.where(now - unit >= low, now - unit, now))
    return np.asarray(np.where((start != now) & ~np.isnan(start), start, other))
