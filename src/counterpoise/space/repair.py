"""Repair: points brought to where the relations hold, by the least movement that does it.

Each clause that a point breaks pulls it back. First by projection, in feature scales, over the cells that already
differ from the row (a repair should not add changes) or, where these cannot, over all that may move. What rounding and
corners leave over is then solved for one cell exactly: the one that breaks no other clause, adds no change and moves
least. Of "either this or that" the nearer is mended. What is still broken after a few rounds stays so, and the region
refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from counterpoise.space.expressions import Binary, Column, Columns
from counterpoise.space.formulas import Among, Compare, Formula, Joined, clauses
from counterpoise.space.relations import Clause
from counterpoise.space.ties import Kept, Mapped
from counterpoise.types import Array, Index, Mask

PROJECTIONS = 3  # rounds
SOLUTIONS = 4
NEWTON = 3
HARM, NEW = 100.0, 10.0  # what breaking another clause, and changing one more cell, count against the way moved
STRICT = 1e-9  # how far a strict inequality is overshot, relative to its sides


class Grid(Protocol):
    """What repair needs of a lattice."""

    def snap(self, column: int, values: Array, rows: Index) -> Array:
        """Values ``(p,)`` of one column, of these rows ``(p,)``, on the lattice and in the box."""
        ...

    def unit(self, column: int) -> float:
        """The distance between neighbouring values of a column; 0 where there is none."""
        ...


class Picked:
    """Some of the points of a table of columns, gathered column by column when they are asked for."""

    def __init__(self, table: Columns, points: Index) -> None:
        self.table, self.points = table, points
        self.seen: dict[int, Any] = {}

    def __getitem__(self, column: int, /) -> Any:
        if column not in self.seen:
            self.seen[column] = self.table[column][self.points]
        return self.seen[column]


@dataclass
class Bench:
    """p points under repair, column by column, and all there is to know about each."""

    x: dict[int, Array]  # the columns that rules read, (p,) each; changed in place
    given: Columns  # 3 width columns: the row, the lower and the upper end of its box
    free: Columns
    active: Mask | None  # (r, p) which relations bind; None: all
    rows: Index  # (p,)
    width: int
    scales: Array  # (width,)
    numeric: Mask  # (width,)
    grid: Grid

    def part(self, points: Index) -> Bench:
        """A copy of some of the points."""
        return replace(
            self,
            x={column: cells[points] for column, cells in self.x.items()},
            given=Picked(self.given, points),
            free=Picked(self.free, points),
            active=None if self.active is None else self.active[:, points],
            rows=self.rows[points],
        )

    def broken(self, clause: Clause) -> Index:
        """The points that break a clause which binds them."""
        wrong = ~clause.formula.holds(self.x, self.given)
        if self.active is not None:
            wrong = wrong & self.active[clause.source]
        return np.flatnonzero(np.broadcast_to(wrong, self.rows.shape))

    def ends(self, column: int, points: Index) -> tuple[Array, Array]:
        """The box of a column, ``(p,)`` each."""
        return self.given[self.width + column][points], self.given[2 * self.width + column][points]

    def placed(self, column: int, values: Array, points: Index) -> Array:
        """Values of a column of some points, in the box and on the lattice."""
        low, high = self.ends(column, points)
        inside = np.minimum(np.maximum(values, low), high)
        return self.grid.snap(column, inside, self.rows[points])


@dataclass(frozen=True, eq=False)
class Rules:
    """Clauses that must all hold, with what repair looks up about them."""

    clauses: tuple[Clause, ...]
    touching: dict[int, tuple[int, ...]]  # per column, the clauses that read it
    branches: dict[int, tuple[Rules, ...]]  # per "either or" clause, the ways to make it hold

    @classmethod
    def of(cls, parts: Sequence[Clause]) -> Rules:
        """The rules of some clauses."""
        touching: dict[int, tuple[int, ...]] = {}
        branches: dict[int, tuple[Rules, ...]] = {}
        for number, clause in enumerate(parts):
            for column in clause.formula.columns:
                touching[column] = (*touching.get(column, ()), number)
            if isinstance(clause.formula, Joined):
                ways = ([Clause(part, clause.source) for part in clauses(way)] for way in clause.formula.parts)
                branches[number] = tuple(cls.of(way) for way in ways)
        return cls(tuple(parts), touching, branches)

    def others(self, columns: Iterable[int], number: int) -> list[Clause]:
        """The clauses besides one that read any of some columns."""
        numbers = dict.fromkeys(each for column in columns for each in self.touching.get(column, ()))
        return [self.clauses[each] for each in numbers if each != number]


def repair(bench: Bench, rules: Rules, suspects: Iterable[int] | None = None) -> None:
    """Move the points of a bench to where the rules hold, in place, as far as that can be done.

    ``suspects`` are the numbers of the clauses that may be broken; None: all.
    """
    suspected = set(range(len(rules.clauses)) if suspects is None else suspects)
    with np.errstate(all="ignore"):
        for turn in range(PROJECTIONS + SOLUTIONS):
            if not suspected:
                return
            for number in sorted(suspected):
                suspected.discard(number)
                points = bench.broken(rules.clauses[number])
                if len(points):
                    columns = _mend(bench, rules, number, points, exactly=turn >= PROJECTIONS)
                    suspected.add(number)
                    for column in columns:
                        suspected.update(rules.touching.get(column, ()))


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
        gap = (
            gap + formula.slack(left, right) * (1 + STRICT) + STRICT * np.maximum(np.maximum(abs(left), abs(right)), 1)
        )
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
        held = [_held(bench, other, points) for other in harmed]
        trial = _solved(bench, formula, column, points)
        bench.x[column][points] = trial
        ok = _held(bench, clause, points) & bench.free[column][points]
        harm = np.zeros(len(points))
        for other, was in zip(harmed, held, strict=True):
            harm += was & ~_held(bench, other, points)
        bench.x[column][points] = before
        moved = np.abs(trial - before) / bench.scales[column] if bench.numeric[column] else (trial != before) * 1.0
        new = before == bench.given[column][points]
        badness = np.where(ok, HARM * harm + NEW * new + moved / (1.0 + moved), np.inf)
        better = badness < best
        best, picked, found = (
            np.where(better, badness, best),
            np.where(better, column, picked),
            np.where(better, trial, found),
        )
    for column in columns:
        mine = picked == column
        bench.x[column][points[mine]] = found[mine]


def _solved(bench: Bench, formula: Compare, column: int, points: Index) -> Array:
    """Values of one column that bring the left side to the right one, in the box and on the lattice."""
    before = bench.x[column][points]
    value = before
    for _ in range(NEWTON):
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


def _held(bench: Bench, clause: Clause, points: Index) -> Mask:
    holds = np.broadcast_to(clause.formula.holds(Picked(bench.x, points), Picked(bench.given, points)), points.shape)
    return holds if bench.active is None else holds | ~bench.active[clause.source, points]


def _choose(bench: Bench, rules: Rules, number: int, points: Index) -> None:
    """Of several ways to make a clause hold, the one that does the least harm and is nearest."""
    formula = rules.clauses[number].formula
    assert isinstance(formula, Joined)
    others = rules.others(formula.columns, number)
    before = {column: bench.x[column][points] for column in formula.columns}
    held = [_held(bench, other, points) for other in others]
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
            badness += HARM * (was & ~_held(bench, other, points))
        better = ok & (badness < best)
        best = np.where(better, badness, best)
        found = {column: np.where(better, trial.x[column], cells) for column, cells in found.items()}
    for column, cells in found.items():
        bench.x[column][points] = cells


def _assign(bench: Bench, formula: Formula, points: Index) -> None:
    """Clauses that are met by writing a value: one of a list, any other, the row's own, what a table says."""
    column = next(iter(formula.columns))
    if isinstance(formula, Kept):
        wanted = bench.given[column][points] if formula.kept else _beside(bench, column, points)
    elif isinstance(formula, Mapped):
        column = formula.number
        wanted = formula.looked_up(bench.x[formula.on][points])
    elif isinstance(formula, Among) and isinstance(formula.inner, Column) and not formula.none:
        values = np.sort(formula.values)
        near = values[np.abs(bench.x[column][points][:, None] - values).argmin(axis=1)]
        start = bench.given[column][points]
        wanted = np.where(np.isin(start, values), start, near)
    elif isinstance(formula, (Among, Compare)):
        if isinstance(formula, Compare) and Column(column) not in (formula.left, formula.right):
            return
        wanted = _beside(bench, column, points)
    else:
        return
    may = bench.free[column][points] & ~np.isnan(wanted)
    if isinstance(formula, Kept) and formula.kept:
        bench.x[column][points] = np.where(may, wanted, bench.x[column][points])
    else:
        bench.x[column][points] = np.where(may, bench.placed(column, wanted, points), bench.x[column][points])


def _beside(bench: Bench, column: int, points: Index) -> Array:
    """A value next to the one that a cell has: the row's own if it differs, or the neighbour on the lattice."""
    now, start = bench.x[column][points], bench.given[column][points]
    low, high = bench.ends(column, points)
    unit = bench.grid.unit(column) or 1e-3 * bench.scales[column]
    other = np.where(now + unit <= high, now + unit, np.where(now - unit >= low, now - unit, now))
    return np.asarray(np.where((start != now) & ~np.isnan(start), start, other))
