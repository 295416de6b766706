"""Random tables, rows and constraints to test with, and a judge of answers that shares no code with the search."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import counterpoise as cp

TEXT = pd.Series(["x"]).dtype  # what pandas makes of text: object before version 3, its own dtype since
LEVELS = pd.CategoricalDtype(["low", "mid", "high", "extreme"], ordered=True)
POOLS: dict[str, tuple[Any, list[Any]]] = {
    "float64": ("float64", [0.1, -3.25, 7.123456, 2.5, 12.0, 4.75]),
    "tenths": ("float64", [0.0, 0.1, 0.7, 1.3, 2.0, 2.5]),
    "holes": ("float64", [0.5, np.nan, 3.25, 1.75, -2.0]),
    "float32": ("float32", [0.1, 0.3, 1.7, 2.5]),
    "float16": ("float16", [0.1, 0.35, 1.75, 900.0]),
    "int64": ("int64", [0, 3, 4, 9, -2]),
    "uint8": ("uint8", [0, 1, 7, 200, 255]),
    "Int64": ("Int64", [0, 3, 8, pd.NA]),
    "Float64": ("Float64", [0.25, 1.5, 3.75, pd.NA]),
    "bool": ("bool", [True, False]),
    "boolean": ("boolean", [True, False, pd.NA]),
    "text": (TEXT, ["tcp", "udp", "icmp"]),
    "string": ("string", ["tcp", "udp", pd.NA]),
    "objects": (object, ["a", "b", "c", None]),
    "numbers": (object, [1, 2, 5]),
    "category": (pd.CategoricalDtype(["red", "green", "blue", "never"]), ["red", "green", "blue"]),
    "ordered": (LEVELS, ["low", "mid", "high"]),
    "constant": ("float64", [4.5]),
}
"""Kinds of columns: a dtype, and values that the reference has of it."""
ORDERED = (
    "float64",
    "tenths",
    "holes",
    "float32",
    "float16",
    "int64",
    "uint8",
    "Int64",
    "Float64",
    "numbers",
    "ordered",
)
NUMBERS = tuple(kind for kind in ORDERED if kind != "ordered")
ROUND = {"int64", "uint8", "Int64", "numbers"}


OUTSIDE: dict[str, list[Any]] = {
    "float64": [55.5, 0.123456789],
    "tenths": [9.75, 0.123],
    "int64": [40],
    "ordered": ["extreme"],
}
"""Values that rows may have although the reference does not."""


def column(kind: str, values: list[Any]) -> pd.Series[Any]:
    return pd.Series(values, dtype=POOLS[kind][0])


@cache
def pooled(kind: str) -> list[Any]:
    """The values of a kind of column that are there, as the column holds them."""
    return column(kind, POOLS[kind][1]).dropna().tolist()


@cache
def _shelf(kind: str) -> pd.Series[Any]:
    return column(kind, POOLS[kind][1] + OUTSIDE.get(kind, []))


seeds = st.integers(0, 2**32 - 1)  # what is drawn by number rather than by value is drawn a hundred times faster


@st.composite
def tables(draw: st.DrawFn, most: int = 5, rows: int = 4) -> tuple[dict[str, str], pd.DataFrame, pd.DataFrame]:
    """Kinds by column name, a reference that shows every value of each, and rows to explain."""
    kinds = draw(st.lists(st.sampled_from(sorted(POOLS)), min_size=1, max_size=most))
    named = {f"{kind}_{place}": kind for place, kind in enumerate(kinds)}
    rng, size, n = np.random.default_rng(draw(seeds)), 12, draw(st.integers(1, rows))
    reference, asked = {}, {}
    for name, kind in named.items():
        known, shelf = len(POOLS[kind][1]), _shelf(kind)
        picks = np.concatenate([np.arange(known), rng.integers(known, size=size)])[:size]
        reference[name] = shelf.take(picks).array
        asked[name] = shelf.take(rng.integers(len(shelf), size=n)).array
    return named, pd.DataFrame(reference), pd.DataFrame(asked)


@st.composite
def constraints(draw: st.DrawFn, named: dict[str, str], most: int = 4) -> list[Any]:
    """Some words about the columns; they may contradict each other."""
    words: list[Any] = []
    for _ in range(draw(st.integers(0, most))):
        name = draw(st.sampled_from(sorted(named)))
        kind = named[name]
        pool = pooled(kind)
        choices = ["Immutable", "Mutable", "OneOf", "MaxChanges"]
        choices += ["Increasing", "Decreasing", "Range", "Range"] if kind in ORDERED else []
        choices += ["Integer"] if kind in NUMBERS else []
        match draw(st.sampled_from(choices)):
            case "OneOf":
                words.append(cp.OneOf(name, draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))))
            case "Range":
                ends = draw(st.lists(st.sampled_from(pool), min_size=2, max_size=2))
                low, high = sorted(ends, key=LEVELS.categories.get_loc if kind == "ordered" else float)
                words.append(cp.Range(name, *draw(st.sampled_from([(low, high), (low, None), (None, high)]))))
            case "MaxChanges":
                words.append(cp.MaxChanges(draw(st.integers(1, 3))))
            case "Mutable":
                others = draw(st.lists(st.sampled_from(sorted(named)), max_size=3))
                words.append(cp.Mutable(name, *others))
            case word:
                words.append(getattr(cp, word)(name))
    return words


def violations(
    named: dict[str, str], reference: pd.DataFrame, words: list[Any], before: pd.DataFrame, after: pd.DataFrame
) -> list[str]:
    """Everything about the answers ``after`` to the rows ``before`` that a word, a dtype or the reference forbids."""
    found = []
    if list(before.columns) != list(after.columns) or not before.index.equals(after.index):
        found.append("columns or index differ")
    if (before.dtypes != after.dtypes).any():
        found.append("dtypes differ")
    for row in range(len(before)):
        cells = {name: _Cell(named[name], before[name].iloc[row], after[name].iloc[row]) for name in named}
        for name, cell in cells.items():
            found += [f"{name} in row {row}: {wrong}" for wrong in _wrong(name, cell, reference, words)]
        for word in words:
            if isinstance(word, cp.MaxChanges) and sum(cell.changed for cell in cells.values()) > word.count:
                found.append(f"row {row}: {word!r}")
    return found


class _Cell:
    def __init__(self, kind: str, old: Any, new: Any) -> None:
        self.kind, self.old, self.new = kind, old, new
        self.gone = bool(pd.isna(new))
        self.changed = not (self.gone and pd.isna(old)) and (self.gone != bool(pd.isna(old)) or bool(new != old))

    def rank(self, value: Any) -> float:
        return float(LEVELS.categories.get_loc(value)) if self.kind == "ordered" else float(value)


def _wrong(name: str, cell: _Cell, reference: pd.DataFrame, words: list[Any]) -> list[str]:
    if cell.gone:
        return ["a value became missing"] if cell.changed else []
    found = [repr(word) for word in words if _breaks(word, name, cell)]
    seen = reference[name].dropna()
    ruled = any(isinstance(word, (cp.Range, cp.OneOf)) and word.name == name for word in words)
    if cell.changed and seen.nunique() < 2:
        found.append("a constant column changed")
    ends = [*seen, *([] if pd.isna(cell.old) else [cell.old])]
    if cell.changed and not ruled and cell.kind in NUMBERS and not min(ends) <= cell.new <= max(ends):
        found.append(f"{cell.new} is outside the observed range")
    if cell.changed and not ruled and cell.kind not in NUMBERS and cell.new not in set(seen):
        found.append(f"{cell.new} was never observed")
    if cell.kind in ROUND and float(cell.new) != round(float(cell.new)):
        found.append(f"{cell.new} is not a whole number")
    return found


def _breaks(word: Any, name: str, cell: _Cell) -> bool:
    named = name in getattr(word, "names", (getattr(word, "name", None),))
    if isinstance(word, cp.Mutable):
        return cell.changed and not named
    if not named:
        return False
    if isinstance(word, cp.Immutable):
        return cell.changed
    if isinstance(word, cp.Increasing):
        return not pd.isna(cell.old) and cell.rank(cell.new) < cell.rank(cell.old)
    if isinstance(word, cp.Decreasing):
        return not pd.isna(cell.old) and cell.rank(cell.new) > cell.rank(cell.old)
    if isinstance(word, cp.Range):
        low = word.low is not None and cell.rank(cell.new) < cell.rank(word.low)
        return low or (word.high is not None and cell.rank(cell.new) > cell.rank(word.high))
    if isinstance(word, cp.Integer):
        return float(cell.new) != round(float(cell.new))
    return isinstance(word, cp.OneOf) and cell.new not in word.values
