"""Random rules between columns, each with the fuzzer's own reading of it."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

import counterpoise as cp
from fuzz.tables import Rng, Table
from fuzz.word import (
    TOLERANCE,
    Cells,
    Word,
    as_float,
    is_missing,
    is_same,
    number_names,
    pick,
    seen_floats,
    spacing,
)


def _quote(name: Hashable) -> str | None:
    """A name inside a rule; None where a rule cannot write it."""
    return f"`{name}`" if isinstance(name, str) and name.strip() == name != "" and "\n" not in name else None


def draw_rule(rng: Rng, table: Table) -> Word | None:
    names = [name for name in number_names(table) if _quote(name)]
    if not names:
        return None
    a, b = (pick(rng, names) * 2)[:2] if len(names) == 1 else pick(rng, names, 2)
    qa, qb = _quote(a), _quote(b)
    value = float(rng.choice(seen_floats(table, a)))
    form = int(rng.integers(10))
    text = [
        f"{qa} <= {qb}",
        f"{qa} + {qb} <= {value!r}",
        f"{qa} == x0.{qa} or {qb} == x0.{qb}",
        f"if {qa} > {value!r} then {qb} >= x0.{qb}",
        f"abs({qa} - {qb}) >= {abs(value)!r}",
        f"{qa} - {qb} == x0.{qa} - x0.{qb}",
        f"max({qa}, {qb}) <= max(x0.{qa}, x0.{qb})",
        f"not ({qa} > {value!r} and {qb} > {value!r})",
        f"{-abs(value)!r} <= {qa} <= {abs(value)!r}",
        f"({qa} > x0.{qa} implies {qb} >= x0.{qb}) and {qa} != {value + 1!r}",
    ][form]

    def is_obeyed(old: Cells, new: Cells) -> bool:
        cells = [new[a], new[b], old[a], old[b]]
        needed = cells[:1] if form == 8 else cells[:2] if form in (0, 1, 4, 7) else cells
        if any(is_missing(cell) for cell in needed):
            return form not in (
                0,
                1,
                4,
                5,
                6,
                8,
            )  # undefined does not hold; a branch of `or` may hold without
        x, y, x0, y0 = (0.0 if is_missing(cell) else float(cell) for cell in cells)
        return [
            lambda: _at_most(x, y),
            lambda: _at_most(x + y, value),
            lambda: _equal(x, x0) or _equal(y, y0),
            lambda: x <= value or _at_most(y0, y),
            lambda: _at_most(abs(value), abs(x - y)),
            lambda: _equal(x - y, x0 - y0),
            lambda: _at_most(max(x, y), max(x0, y0)),
            lambda: _at_most(x, value) or _at_most(y, value),
            lambda: _at_most(-abs(value), x) and _at_most(x, abs(value)),
            lambda: (_at_most(x, x0) or _at_most(y0, y)) and x != value + 1,
        ][form]()

    return Word(cp.Rule(text), is_obeyed)


def _slack(a: float, b: float) -> float:
    return 1.001 * TOLERANCE * max(1.0, abs(a), abs(b))


def _at_most(a: float, b: float) -> bool:
    return a <= b + _slack(a, b)


def _equal(a: float, b: float) -> bool:
    return abs(a - b) <= _slack(a, b)


def draw_derived(rng: Rng, table: Table) -> Word | None:
    names = [name for name in number_names(table) if _quote(name)]
    if len(names) < 2:
        return None
    made, a, b = (pick(rng, names, 3) * 2)[:3]
    if made == b:
        b = a
    form = int(rng.integers(3))
    text = [f"{_quote(a)} - {_quote(b)}", f"2 * {_quote(a)} + {_quote(b)}", f"{_quote(a)} / {_quote(b)}"][form]

    def computed(cells: Cells) -> float | None:
        if any(is_missing(cells[name]) for name in (a, b)) or (form == 2 and float(cells[b]) == 0):
            return None
        x, y = float(cells[a]), float(cells[b])
        return [lambda: x - y, lambda: 2 * x + y, lambda: x / y][form]()

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if all(is_same(old[name], new[name]) for name in (made, a, b)):
            return True  # the row's own, as its table rounds it
        if any(is_missing(new[name]) for name in (made, a, b)):
            return False
        wanted, value = computed(new), float(new[made])
        if wanted is None:
            return False
        if is_same(old[made], new[made]) and computed(old) == wanted:
            return True  # the very number that the row's own cell was written from
        x, y = float(new[a]), float(new[b])
        half = 0.5 if table.kind(made).is_whole else 0.0
        return abs(value - wanted) <= half + 4 * spacing(table, made, value, wanted, x, y)

    return Word(cp.Derived(made, text), is_obeyed, (made,))


def draw_long_rule(rng: Rng, table: Table) -> Word | None:
    """A sum over all columns of numbers, at most what it is in the reference; none may be missing."""
    names = [name for name in number_names(table) if _quote(name)]
    weights = {name: float(weight) for name, weight in zip(names, rng.normal(size=len(names)).round(2), strict=True)}
    if len(names) < 3 or any(max(map(abs, seen_floats(table, name))) > 1e9 for name in names):
        return None
    rows = [[as_float(cell) for cell in table.reference[name].tolist()] for name in names]
    totals = np.array(list(weights.values())) @ np.array(rows)
    limit = float(np.quantile(totals, 0.7).round(2))
    text = " + ".join(f"{weight!r} * {_quote(name)}" for name, weight in weights.items())

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if any(is_missing(new[name]) for name in names):
            return False
        parts = [weight * float(new[name]) for name, weight in weights.items()]
        return _at_most(sum(parts), limit) or sum(parts) <= limit + 1e-6 * sum(map(abs, parts))

    return Word(cp.Rule(f"{text} <= {limit!r}"), is_obeyed)
