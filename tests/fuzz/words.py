"""Random constraints of every word, each with the fuzzer's own reading of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import counterpoise as cp
from fuzz.tables import SIZES, Rng, Table

Cells = dict[Hashable, Any]
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Word:
    """A constraint as the library takes it, and whether an answer obeys it: (row's cells, answer's cells) -> bool."""

    given: Any
    is_obeyed: Callable[[Cells, Cells], bool]
    overrides_range: tuple[Hashable, ...] = ()  # columns whose observed range it takes the place of

    def __repr__(self) -> str:
        return repr(self.given)


def is_missing(cell: Any) -> bool:
    """Whether a cell is empty, in whatever way."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell)


def is_same(before: Any, after: Any) -> bool:
    """Whether a cell kept its value; -0.0 and 0.0 are one value."""
    if is_missing(before) or is_missing(after):
        return is_missing(before) and is_missing(after)
    return bool(before == after)


def place_of(cell: Any) -> Any:
    """Where a value stands in its order."""
    return list(SIZES.categories).index(cell) if isinstance(cell, str) else cell


def draw_words(rng: Rng, table: Table) -> list[Word]:
    """Up to three words about the table's columns; they may contradict each other or the rows."""
    makers = [maker for maker in WORDS for _ in range(WORDS[maker])]
    drawn = (
        makers[int(rng.integers(len(makers)))](rng, table) for _ in range(int(rng.choice(4, p=[0.35, 0.3, 0.2, 0.15])))
    )
    return [word for word in drawn if word is not None]


def _pick(rng: Rng, names: list[Hashable], count: int = 1) -> list[Hashable]:
    return [names[place] for place in rng.choice(len(names), size=min(count, len(names)), replace=False)]


def _values(table: Table, name: Hashable) -> list[Any]:
    return [cell for cell in table.reference[name].tolist() if not is_missing(cell)]


def _ordered(table: Table) -> list[Hashable]:
    return [name for name in table.names_where(lambda kind: kind.is_ordered) if _values(table, name)]


def _numbers(table: Table) -> list[Hashable]:
    return [name for name in table.names_where(lambda kind: kind.is_number) if _values(table, name)]


def _immutable(rng: Rng, table: Table) -> Word | None:
    names = _pick(rng, list(table.kinds), int(rng.integers(1, 3)))
    return Word(cp.Immutable(*names), lambda old, new: all(_is_bit_equal(old[name], new[name]) for name in names))


def _is_bit_equal(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float) and not is_missing(old):
        return old == new and bool(np.signbit(old)) == bool(np.signbit(new))
    return is_same(old, new)


def _mutable(rng: Rng, table: Table) -> Word | None:
    names = _pick(rng, list(table.kinds), int(rng.integers(1, 4)))
    others = [name for name in table.kinds if name not in names]
    return Word(cp.Mutable(*names), lambda old, new: all(is_same(old[name], new[name]) for name in others))


def _one_way(rng: Rng, table: Table) -> Word | None:
    names = _ordered(table)
    if not names:
        return None
    (name,), sign = _pick(rng, names), 1 if rng.random() < 0.5 else -1

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(old[name]) or is_missing(new[name]):
            return True
        before, after = place_of(old[name]), place_of(new[name])
        return bool(after >= before if sign == 1 else after <= before)

    return Word((cp.Increasing if sign == 1 else cp.Decreasing)(name), is_obeyed)


def _range(rng: Rng, table: Table) -> Word | None:
    names = _ordered(table)
    if not names:
        return None
    (name,) = _pick(rng, names)
    low, high = sorted(
        (_values(table, name)[place] for place in rng.integers(len(_values(table, name)), size=2)), key=place_of
    )
    low, high = [(low, high), (low, None), (None, high)][int(rng.integers(3))]

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(new[name]):
            return is_missing(old[name])
        cell = place_of(new[name])
        return bool((low is None or cell >= place_of(low)) and (high is None or cell <= place_of(high)))

    return Word(cp.Range(name, low, high), is_obeyed, (name,))


def _one_of(rng: Rng, table: Table) -> Word | None:
    names = [name for name in table.kinds if _values(table, name)]
    if not names:
        return None
    (name,) = _pick(rng, names)
    values = [
        _values(table, name)[place] for place in rng.integers(len(_values(table, name)), size=int(rng.integers(1, 4)))
    ]
    return Word(
        cp.OneOf(name, values),
        lambda old, new: (
            is_missing(old[name]) if is_missing(new[name]) else any(new[name] == value for value in values)
        ),
        (name,),
    )


def _integer(rng: Rng, table: Table) -> Word | None:
    names = _numbers(table)
    if not names:
        return None
    (name,) = _pick(rng, names)
    return Word(cp.Integer(name), lambda old, new: is_missing(new[name]) or float(new[name]).is_integer())


def _max_changes(rng: Rng, table: Table) -> Word | None:
    count = int(rng.integers(1, 4))
    return Word(
        cp.MaxChanges(count), lambda old, new: sum(not is_same(old[name], new[name]) for name in table.kinds) <= count
    )


def _step(rng: Rng, table: Table) -> Word | None:
    names = _numbers(table)
    if not names:
        return None
    (name,) = _pick(rng, names)
    size = int(rng.integers(1, 8)) if table.kind(name).is_whole else float(np.ptp(_floats(table, name)) / 7 or 1.0)

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(old[name]) or is_missing(new[name]):
            return True
        steps = (new[name] - old[name]) / size
        blur = 1e-6 + _spacing(table, name, old[name], new[name]) / size
        return bool(abs(steps - round(steps)) <= blur)

    return Word(cp.Step(name, size), is_obeyed)


def _floats(table: Table, name: Hashable) -> list[float]:
    return [float(value) for value in _values(table, name)]


def _spacing(table: Table, name: Hashable, *cells: Any) -> float:
    """The distance between neighbouring numbers of the column's dtype at these values."""
    dtype = {"float32": np.float32, "float16": np.float16}.get(str(table.kind(name).dtype).lower(), np.float64)
    return max(float(np.spacing(dtype(abs(float(cell))))) for cell in cells)


def _within(rng: Rng, table: Table) -> Word | None:
    names = _numbers(table)
    if not names:
        return None
    (name,) = _pick(rng, names)
    percent = float(rng.choice([0.0, 5.0, 50.0, 300.0]))
    distance = float(np.ptp(_floats(table, name)) * rng.choice([0.0, 0.1, 0.5]))
    by_percent = bool(rng.random() < 0.5)

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(old[name]) or is_missing(new[name]):
            return True
        reach = abs(old[name]) * percent / 100 if by_percent else distance
        return bool(abs(new[name] - old[name]) <= reach + 4 * _spacing(table, name, old[name], new[name]))

    return Word(cp.Within(name, percent=percent) if by_percent else cp.Within(name, distance=distance), is_obeyed)


def _cost(rng: Rng, table: Table) -> Word | None:
    names = _ordered(table)
    if not names:
        return None
    (name,) = _pick(rng, names)
    up, down = (float(value) for value in rng.choice([0.5, 1.0, 3.0, np.inf], size=2))

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(old[name]) or is_missing(new[name]):
            return True
        before, after = place_of(old[name]), place_of(new[name])
        return not (up == np.inf and after > before) and not (down == np.inf and after < before)

    return Word(cp.Cost(name, up=up, down=down), is_obeyed)


def _linked(rng: Rng, table: Table) -> Word | None:
    if len(table.kinds) < 2:
        return None
    names = _pick(rng, list(table.kinds), 2)
    return Word(cp.Linked(*names), lambda old, new: len({is_same(old[name], new[name]) for name in names}) == 1)


def _lookup(rng: Rng, table: Table) -> Word | None:
    names = [name for name in table.kinds if _values(table, name)]
    if len(names) < 2:
        return None
    name, of = _pick(rng, names, 2)
    pairs = {
        key: value
        for key, value in zip(table.reference[of].tolist()[:6], table.reference[name].tolist()[:6], strict=True)
        if not is_missing(key) and not is_missing(value)
    }
    if not pairs:
        return None

    def is_obeyed(old: Cells, new: Cells) -> bool:
        return not is_missing(new[of]) and new[of] in pairs and is_same(pairs[new[of]], new[name])

    return Word(cp.Lookup(name, of=of, table=pairs), is_obeyed, (name,))


def _quote(name: Hashable) -> str | None:
    """A name inside a rule; None where a rule cannot write it."""
    return f"`{name}`" if isinstance(name, str) and name.strip() == name != "" and "\n" not in name else None


def _rule(rng: Rng, table: Table) -> Word | None:
    names = [name for name in _numbers(table) if _quote(name)]
    if not names:
        return None
    a, b = (_pick(rng, names) * 2)[:2] if len(names) == 1 else _pick(rng, names, 2)
    qa, qb = _quote(a), _quote(b)
    value = float(rng.choice(_floats(table, a)))
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


def _derived(rng: Rng, table: Table) -> Word | None:
    names = [name for name in _numbers(table) if _quote(name)]
    if len(names) < 2:
        return None
    made, a, b = (_pick(rng, names, 3) * 2)[:3]
    if made == b:
        b = a
    form = int(rng.integers(3))
    text = [f"{_quote(a)} - {_quote(b)}", f"2 * {_quote(a)} + {_quote(b)}", f"{_quote(a)} / {_quote(b)}"][form]

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if all(is_same(old[name], new[name]) for name in (made, a, b)):
            return True  # the row's own, as its table rounds it
        if any(is_missing(new[name]) for name in (made, a, b)):
            return False
        x, y, value = float(new[a]), float(new[b]), float(new[made])
        if form == 2 and y == 0:
            return False
        wanted = [lambda: x - y, lambda: 2 * x + y, lambda: x / y][form]()
        half = 0.5 if table.kind(made).is_whole else 0.0
        return abs(value - wanted) <= half + 4 * _spacing(table, made, value, wanted, x, y)

    return Word(cp.Derived(made, text), is_obeyed, (made,))


def _function(rng: Rng, table: Table) -> Word | None:
    names = _numbers(table)
    if not names:
        return None
    (name,) = _pick(rng, names)
    limit = float(np.median(_floats(table, name)))

    def is_allowed(frame: pd.DataFrame) -> Any:
        return [is_missing(cell) or float(cell) <= limit for cell in frame[name].tolist()]

    return Word(is_allowed, lambda old, new: is_missing(new[name]) or float(new[name]) <= limit)


WORDS: dict[Callable[[Rng, Table], Word | None], int] = {
    _immutable: 2,
    _mutable: 1,
    _one_way: 2,
    _range: 2,
    _one_of: 2,
    _integer: 1,
    _max_changes: 2,
    _step: 1,
    _within: 1,
    _cost: 1,
    _linked: 1,
    _lookup: 1,
    _rule: 3,
    _derived: 1,
    _function: 1,
}
"""The makers of words, and how often each is drawn."""
