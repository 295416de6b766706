"""Contradictions among boxes, whole numbers and linear relations: proved before any search, and named.

A mixed-integer program decides whether any point is left. A tolerance is counted at the largest value that the two
sides can take, decimals and strict inequalities between fractions are counted as if they did not bind, and relations
that are not linear are left out: what is called a contradiction is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from counterpoise.space.constraints.draft import Draft
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.region.compile import Bounds, compile_draft
from counterpoise.space.region.lattice import Lattice
from counterpoise.space.rules.expressions import Expression
from counterpoise.space.rules.formulas import Compare
from counterpoise.space.rules.relations import Clause
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array

MAX_FINITE_END = 1e12  # an end farther out than this is none


@dataclass(frozen=True, eq=False)
class Box:
    """The box of one row, ``(d,)`` each: ends, and the lattice ``origin + step * whole number`` where step > 0.

    ``size`` is how large a value may be expected to be; a tolerance is counted up to there in a box without ends.
    """

    x0: Array
    lower: Array
    upper: Array
    step: Array
    origin: Array
    size: Array


def find_contradiction(schema: Schema, x0: Array, constraints: Sequence[Constraint], bounds: Bounds) -> tuple[str, ...]:
    """The constraints that leave no point for one row ``x0`` ``(1, d)``, none superfluous; empty if not proved.

    Boxes, whole numbers and linear relations are looked at, but none that reads a missing cell of the row.
    """

    def program(tried: Sequence[Constraint], observed: Sequence[int]) -> tuple[Box, list[Clause]]:
        draft, lattice, system = compile_draft(schema, x0, tried, bounds, observed)
        bound = [clause for clause in system.clause_set.clauses if system.is_binding[0, clause.relation_number]]
        return _make_first_row_box(draft, lattice), select_linear_clauses(bound)

    box, clauses = program(constraints, range(len(schema)))
    if not is_infeasible(box, clauses):
        return ()
    columns = sorted({column for clause in clauses for column in clause.formula.columns})
    seen = [column for column in columns if bounds == "observed" and schema.features[column].is_numeric]
    # observed ranges are tried for removal first, so that the user's own constraints are named where these suffice
    suspects: list[int | Constraint] = [*seen, *constraints]

    def split(items: Sequence[int]) -> tuple[list[Constraint], list[int]]:
        given, ranges = [], []
        for suspect in map(suspects.__getitem__, items):
            if isinstance(suspect, int):
                ranges.append(suspect)
            else:
                given.append(suspect)
        return given, ranges

    kept = find_irreducible_subset(len(suspects), lambda items: is_infeasible(*program(*split(items))))
    given, ranges = split(kept)
    return (*map(repr, given), *(_describe_observed_range(schema.features[column]) for column in ranges))


def _describe_observed_range(feature: Feature) -> str:
    return f"the observed range of {feature.name!r}, {feature.lower:g} to {feature.upper:g}"


def select_linear_clauses(clauses: Sequence[Clause]) -> list[Clause]:
    """The clauses that are linear in the columns of the point."""
    return [
        clause
        for clause in clauses
        if isinstance(clause.formula, Compare)
        and clause.formula.operator != "!="
        and max(clause.formula.left.degree, clause.formula.right.degree) <= 1
    ]


def is_infeasible(box: Box, clauses: Sequence[Clause], seconds: float = 2.0) -> bool:
    """Whether no point of a box satisfies all of the linear clauses; False where ``seconds`` do not suffice.

    >>> from counterpoise.space.rules.expressions import Column, Number
    >>> box = Box(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1), np.ones(1))
    >>> is_infeasible(box, [Clause(Compare("<=", Number(2.0), Column(0)), 0)])
    True
    """
    if (box.lower > box.upper).any():
        return True
    columns = sorted({column for clause in clauses for column in clause.formula.columns})
    if not columns:
        return False
    place = {column: number for number, column in enumerate(columns)}
    unit = np.where(box.step[columns] > 0, box.step[columns], 1.0)
    origin = np.where(box.step[columns] > 0, box.origin[columns], 0.0)
    rows, lows, highs = [], [], []
    for clause in clauses:
        made = _linear_row(box, clause.formula) if isinstance(clause.formula, Compare) else None
        if made is None:
            continue
        slopes, least, most = made
        row = np.zeros(len(columns))
        for column, slope in slopes.items():
            row[place[column]] = slope
        shift = float(row @ origin)
        size = float(np.abs(row * unit).max(initial=0.0)) or 1.0
        rows.append(row * unit / size)
        lows.append((least - shift) / size)
        highs.append((most - shift) / size)
    ends = (box.lower[columns] - origin) / unit, (box.upper[columns] - origin) / unit
    whole = box.step[columns] > 0
    margin = 1e-9 * np.where(whole, 1.0, 0.0)  # a multiple that rounding puts just outside is inside
    low = np.where(whole, np.ceil(ends[0] - margin), ends[0])
    high = np.where(whole, np.floor(ends[1] + margin), ends[1])
    low, high = np.where(low < -MAX_FINITE_END, -np.inf, low), np.where(high > MAX_FINITE_END, np.inf, high)
    if (low > high).any():
        return True
    if not rows:
        return False
    found = optimize.milp(
        np.zeros(len(columns)),
        constraints=optimize.LinearConstraint(np.array(rows), np.array(lows), np.array(highs)),
        integrality=whole.astype(np.int64),
        bounds=optimize.Bounds(low, high),
        options={"time_limit": seconds},
    )
    return bool(found.status == 2)  # what the solver says of a program that nothing satisfies


def find_irreducible_subset(count: int, contradictory: Callable[[Sequence[int]], bool]) -> list[int]:
    """A subset of ``count`` items that is contradictory, and without any one of its items is not.

    >>> find_irreducible_subset(5, lambda items: {1, 3} <= set(items))
    [1, 3]
    """
    kept = list(range(count))
    step = max(count // 4, 1)
    while step:  # in blocks first: most items have nothing to do with it
        start = 0
        while start < len(kept):
            rest = kept[:start] + kept[start + step :]
            if contradictory(rest):
                kept = rest
            else:
                start += step
        step //= 2
    return kept


def _make_first_row_box(draft: Draft, lattice: Lattice, expected_range_factor: float = 1e3) -> Box:
    """The box and the lattice of the first row of a draft.

    In a box without ends, values are expected up to so many times the greatest that was seen.
    """
    x0, lower, upper = draft.x0[0], draft.lower[0].copy(), draft.upper[0].copy()
    for column, values in lattice.choices:
        lower[column] = np.fmax(lower[column], values.min(initial=np.inf))
        upper[column] = np.fmin(upper[column], values.max(initial=-np.inf))
    pinned = ~draft.free[0]
    lower[pinned], upper[pinned] = np.fmax(lower, x0)[pinned], np.fmin(upper, x0)[pinned]
    step, origin = np.zeros(len(x0)), np.zeros(len(x0))
    bound = lattice.binds_unchanged[lattice.columns]
    step[lattice.columns[bound]] = lattice.step[bound]
    origin[lattice.columns[bound]] = lattice.origin[0, bound]
    seen = np.array([[feature.lower, feature.upper] for feature in draft.schema]).T
    size = np.fmax(np.abs(np.where(np.isfinite(seen), seen, 0.0)).max(axis=0), np.abs(x0))
    return Box(x0, lower, upper, step, origin, expected_range_factor * np.fmax(size, 1.0))


def _linear_row(box: Box, formula: Compare) -> tuple[dict[int, float], float, float] | None:
    """A linear clause as coefficients by column and the ends between which their sum must lie."""
    d = len(box.x0)
    given = np.concatenate([box.x0, box.lower, box.upper])
    zero, slopes = formula.gap.value_and_slopes(np.zeros(d), given)
    weights = {column: float(slope) for column, slope in slopes.items() if slope != 0}
    constant = float(zero)
    if not np.isfinite(constant) or not all(np.isfinite(weight) for weight in weights.values()):
        return None  # it reads a cell of the row that is missing, or an end that is not there
    if formula.operator == "<":
        whole = all(number.is_integer() for number in (*weights.values(), constant)) and _is_integer_combination(
            box, weights
        )
        slack = -1.0 if whole else -formula.tolerance
    else:
        slack = formula.tolerance * max(
            1.0, _largest_magnitude(box, formula.left, given), _largest_magnitude(box, formula.right, given)
        )
    least = -constant - slack if formula.operator == "==" else -np.inf
    return weights, least, -constant + slack


def _is_integer_combination(box: Box, weights: dict[int, float]) -> bool:
    cells = [(box.step[column], box.origin[column]) for column in weights]
    return all(step > 0 and float(step).is_integer() and float(origin).is_integer() for step, origin in cells)


def _largest_magnitude(box: Box, side: Expression, given: Array) -> float:
    """The largest size that a linear expression takes in the box."""
    zero, slopes = side.value_and_slopes(np.zeros(len(box.x0)), given)
    total = abs(float(zero))
    for column, slope in slopes.items():
        reach = max(abs(box.lower[column]), abs(box.upper[column]))
        total += abs(float(slope)) * (reach if reach < MAX_FINITE_END else box.size[column])
    return total
