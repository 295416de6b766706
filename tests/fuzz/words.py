"""Random constraints of every word, each with the fuzzer's own reading of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import counterpoise as cp
from fuzz.rules import draw_derived, draw_long_rule, draw_rule
from fuzz.tables import LATEST, Rng, Table
from fuzz.word import (
    Cells,
    Word,
    as_float,
    is_missing,
    is_same,
    number_names,
    ordered_names,
    pick,
    place_of,
    seen_floats,
    seen_values,
    spacing,
)


def draw_words(rng: Rng, table: Table, edition: int = LATEST) -> list[Word]:
    """Up to three words about the table's columns; they may contradict each other or the rows."""
    known = WORDS if edition == 1 else WORDS | LATER_WORDS
    makers = [maker for maker in known for _ in range(known[maker])]
    drawn = (
        makers[int(rng.integers(len(makers)))](rng, table) for _ in range(int(rng.choice(4, p=[0.35, 0.3, 0.2, 0.15])))
    )
    return [word for word in drawn if word is not None]


def _immutable(rng: Rng, table: Table) -> Word | None:
    names = pick(rng, list(table.kinds), int(rng.integers(1, 3)))
    return Word(cp.Immutable(*names), lambda old, new: all(_is_bit_equal(old[name], new[name]) for name in names))


def _is_bit_equal(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float) and not is_missing(old):
        return old == new and bool(np.signbit(old)) == bool(np.signbit(new))
    return is_same(old, new)


def _mutable(rng: Rng, table: Table) -> Word | None:
    names = pick(rng, list(table.kinds), int(rng.integers(1, 4)))
    others = [name for name in table.kinds if name not in names]
    return Word(cp.Mutable(*names), lambda old, new: all(is_same(old[name], new[name]) for name in others))


def _one_way(rng: Rng, table: Table) -> Word | None:
    names = ordered_names(table)
    if not names:
        return None
    (name,), sign = pick(rng, names), 1 if rng.random() < 0.5 else -1

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(old[name]) or is_missing(new[name]):
            return True
        before, after = place_of(old[name]), place_of(new[name])
        return bool(after >= before if sign == 1 else after <= before)

    return Word((cp.Increasing if sign == 1 else cp.Decreasing)(name), is_obeyed)


def _range(rng: Rng, table: Table) -> Word | None:
    names = ordered_names(table)
    if not names:
        return None
    (name,) = pick(rng, names)
    low, high = sorted(
        (seen_values(table, name)[place] for place in rng.integers(len(seen_values(table, name)), size=2)), key=place_of
    )
    low, high = [(low, high), (low, None), (None, high)][int(rng.integers(3))]

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(new[name]):
            return is_missing(old[name])
        cell = place_of(new[name])
        return bool((low is None or cell >= place_of(low)) and (high is None or cell <= place_of(high)))

    return Word(cp.Range(name, low, high), is_obeyed, (name,))


def _one_of(rng: Rng, table: Table) -> Word | None:
    names = [name for name in table.kinds if seen_values(table, name)]
    if not names:
        return None
    (name,) = pick(rng, names)
    values = [
        seen_values(table, name)[place]
        for place in rng.integers(len(seen_values(table, name)), size=int(rng.integers(1, 4)))
    ]
    return Word(
        cp.OneOf(name, values),
        lambda old, new: (
            is_missing(old[name]) if is_missing(new[name]) else any(new[name] == value for value in values)
        ),
        (name,),
    )


def _integer(rng: Rng, table: Table) -> Word | None:
    names = number_names(table)
    if not names:
        return None
    (name,) = pick(rng, names)
    return Word(cp.Integer(name), lambda old, new: is_missing(new[name]) or float(new[name]).is_integer())


def _max_changes(rng: Rng, table: Table) -> Word | None:
    count = int(rng.integers(1, 4))
    return Word(
        cp.MaxChanges(count), lambda old, new: sum(not is_same(old[name], new[name]) for name in table.kinds) <= count
    )


def _step(rng: Rng, table: Table) -> Word | None:
    names = number_names(table)
    if not names:
        return None
    (name,) = pick(rng, names)
    size = int(rng.integers(1, 8)) if table.kind(name).is_whole else float(np.ptp(seen_floats(table, name)) / 7 or 1.0)

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(old[name]) or is_missing(new[name]):
            return True
        steps = (new[name] - old[name]) / size
        blur = 1e-6 + spacing(table, name, old[name], new[name]) / size
        return bool(abs(steps - round(steps)) <= blur)

    return Word(cp.Step(name, size), is_obeyed)


def _within(rng: Rng, table: Table) -> Word | None:
    names = number_names(table)
    if not names:
        return None
    (name,) = pick(rng, names)
    percent = float(rng.choice([0.0, 5.0, 50.0, 300.0]))
    distance = float(np.ptp(seen_floats(table, name)) * rng.choice([0.0, 0.1, 0.5]))
    by_percent = bool(rng.random() < 0.5)

    def is_obeyed(old: Cells, new: Cells) -> bool:
        if is_missing(old[name]) or is_missing(new[name]):
            return True
        reach = abs(old[name]) * percent / 100 if by_percent else distance
        return bool(abs(new[name] - old[name]) <= reach + 4 * spacing(table, name, old[name], new[name]))

    return Word(cp.Within(name, percent=percent) if by_percent else cp.Within(name, distance=distance), is_obeyed)


def _cost(rng: Rng, table: Table) -> Word | None:
    names = ordered_names(table)
    if not names:
        return None
    (name,) = pick(rng, names)
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
    names = pick(rng, list(table.kinds), 2)
    return Word(cp.Linked(*names), lambda old, new: len({is_same(old[name], new[name]) for name in names}) == 1)


def _lookup(rng: Rng, table: Table) -> Word | None:
    names = [name for name in table.kinds if seen_values(table, name)]
    if len(names) < 2:
        return None
    name, of = pick(rng, names, 2)
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


def _function(rng: Rng, table: Table) -> Word | None:
    names = number_names(table)
    if not names:
        return None
    (name,) = pick(rng, names)
    limit = float(np.median(seen_floats(table, name)))

    def is_allowed(frame: pd.DataFrame) -> Any:
        return [is_missing(cell) or float(cell) <= limit for cell in frame[name].tolist()]

    return Word(is_allowed, lambda old, new: is_missing(new[name]) or float(new[name]) <= limit)


def _one_hot(rng: Rng, table: Table) -> Word | None:
    names = [name for name in number_names(table) if set(seen_values(table, name)) <= {0, 1}]
    if len(names) < 2:
        return None
    names = pick(rng, names, int(rng.integers(2, 4)))
    return Word(cp.OneHot(*names), lambda old, new: sorted(map(as_float, map(new.get, names)))[-2:] == [0.0, 1.0])


def _function_of_rows(rng: Rng, table: Table) -> Word | None:
    """A function of the frame about two cells, which changes the frame that it gets."""
    names = list(table.kinds)
    a, b = (pick(rng, names, 2) * 2)[:2]
    modulus = int(rng.integers(2, 4))

    def mark(cell: Any) -> int:
        """A number for a cell, the same in whatever type it comes."""
        if is_missing(cell):
            return 0
        is_whole = isinstance(cell, bool | int) or (isinstance(cell, float) and cell.is_integer())
        return sum(str(int(cell) if is_whole else cell).encode())

    def is_allowed(frame: pd.DataFrame) -> Any:
        said = [(mark(x) + mark(y)) % modulus > 0 for x, y in zip(frame[a].tolist(), frame[b].tolist(), strict=True)]
        frame.isetitem(0, frame.iloc[::-1, 0].array)
        return np.array(said)

    return Word(is_allowed, lambda old, new: (mark(new[a]) + mark(new[b])) % modulus > 0)


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
    draw_rule: 3,
    draw_derived: 1,
    _function: 1,
}
"""The makers of words, and how often each is drawn."""
LATER_WORDS: dict[Callable[[Rng, Table], Word | None], int] = {
    _one_hot: 1,
    _function_of_rows: 1,
    draw_long_rule: 1,
}
