"""Judges answers by a schema file alone: plain pandas on the final frame, nothing of the search or of its rules.

Each rule of the file is cut at its comparisons, its sides are computed by pandas, and the sides are compared with the
file's tolerance, relative to max(1, |a|, |b|).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

HAIR = 1 + 1e-9  # two ways to add up the same numbers may differ by this much of the tolerance


def violations(listed: dict[str, Any], rows: pd.DataFrame, answers: pd.DataFrame, *, rules: bool = True) -> list[str]:
    """What the answers to ``rows`` break of a schema file, a line for each cell, or rule, of a row."""
    found: list[str] = []
    if list(rows.columns) != list(answers.columns) or not rows.index.equals(answers.index):
        return ["the table has another shape"]
    for column in listed["columns"]:
        name, before, after = column["name"], rows[column["name"]], answers[column["name"]]
        for what, wrong in _cells(column, before, after).items():
            found += [f"row {row!r}: {name} {what}" for row in answers.index[np.asarray(wrong)]]
    for relation in listed["relations"] if rules else []:
        wrong = ~obeys(relation["rule"], float(relation["tolerance"]), answers)
        found += [f"row {row!r}: {relation['rule']}" for row in answers.index[wrong]]
    return found


def obeys(rule: str, tolerance: float, table: pd.DataFrame) -> np.ndarray:
    """Which rows of a table obey a chain of comparisons."""
    pieces = re.split(r"(<=|>=|==)", rule)
    sides = [np.broadcast_to(np.asarray(table.eval(side.strip()), dtype=float), len(table)) for side in pieces[::2]]
    out = np.ones(len(table), dtype=bool)
    for sign, left, right in zip(pieces[1::2], sides, sides[1:], strict=False):
        slack = tolerance * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right))) * HAIR
        gap = left - right
        out &= np.abs(gap) <= slack if sign == "==" else (gap <= slack if sign == "<=" else -gap <= slack)
    return out


def _cells(column: dict[str, Any], before: pd.Series, after: pd.Series) -> dict[str, Any]:
    """What single cells break: whether they may change, their direction, bounds, kind and dtype."""
    wrong: dict[str, Any] = {"has another dtype": np.full(len(after), before.dtype != after.dtype)}
    if column["immutable"]:
        wrong["is immutable"] = before != after
    if column["kind"] == "categorical":
        wrong["has an unknown category"] = ~after.isin(column["categories"])
        return wrong
    if column["kind"] in ("integer", "binary"):
        wrong["is not whole"] = after % 1 != 0
    if column.get("monotone"):
        wrong[f"may only {column['monotone']}"] = after < before if column["monotone"] == "increase" else after > before
    # a hard bound takes the place of the observed one, which is widened to the row
    low, high = column.get("min"), column.get("max")
    wrong["is below its bound"] = after < (np.minimum(column["observed_min"], before) if low is None else low)
    wrong["is above its bound"] = after > (np.maximum(column["observed_max"], before) if high is None else high)
    return wrong


SUPPORT_ROWS, SHUFFLED_SHARE, ROWS_PER_VALUE, TOLERANCES = 20, 0.05, 5, (1e-6, 1e-4, 1e-3)


def enumerate_relations(table: pd.DataFrame, seed: int = 7) -> dict[str, Any]:
    """All relations that every row of a table obeys, by enumeration: each with a function that tells which rows obey.

    Pair orders, a = b + c (and so a = b - c), a = b * c (and so a = b / c), whole numbers that are b / c rounded,
    one-hot groups of neighbouring columns, and lookups from a column whose every value has five rows. A relation
    must break where a column is shuffled.
    """
    numbers = [name for name in table if table[name].dtype.kind in "iufb" and len(pd.unique(table[name])) > 1]
    x = {name: table[name].to_numpy(dtype=float) for name in numbers}
    order = np.random.default_rng(seed).permutation(len(table))
    found: dict[str, Any] = {}
    for a in numbers:
        for b in numbers:
            if a == b or np.array_equal(x[a], x[b]) or not (x[a] <= x[b]).all():
                continue
            if (x[a] > x[b][order]).mean() >= SHUFFLED_SHARE and (x[a] < x[b]).mean() > SHUFFLED_SHARE:
                found[f"{a} <= {b}"] = lambda t, a=a, b=b: _near_or_below(t[a], t[b])
    distinct = [
        name for place, name in enumerate(numbers) if not any(np.array_equal(x[name], x[o]) for o in numbers[:place])
    ]
    found |= _equations(distinct, x, order)
    found |= _rounded_quotients(distinct, x, order)
    found |= _lookups(table)
    found |= _one_hot_groups(table, numbers)
    return found


def _near_or_below(left: pd.Series, right: pd.Series) -> np.ndarray:
    low, high = left.to_numpy(dtype=float), right.to_numpy(dtype=float)
    return low <= high + TOLERANCES[0] * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high))) * HAIR


def _equations(distinct: list[str], x: dict[str, np.ndarray], order: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {}
    few = {name: values[:200] for name, values in x.items()}
    for sign, combine in (("+", np.add), ("*", np.multiply)):
        for place, b in enumerate(distinct):
            for c in distinct[place:] if sign == "*" else distinct[place + 1 :]:
                trial = combine(few[b], few[c])
                for a in distinct:
                    if a in (b, c) or not (np.abs(few[a] - trial) <= 1e-3 * _size(few[a], trial)).all():
                        continue
                    tolerance = _fitting_tolerance(sign, x[a], x[b], x[c], x[c][order], combine)
                    if tolerance is not None:
                        found[f"{a} == {b} {sign} {c} within {tolerance:g}"] = (
                            lambda t, a=a, b=b, c=c, combine=combine, tolerance=tolerance: _meets(
                                t[a].to_numpy(dtype=float),
                                combine(t[b].to_numpy(dtype=float), t[c].to_numpy(dtype=float)),
                                tolerance,
                            )
                        )
    return found


def _size(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))


def _meets(left: np.ndarray, right: np.ndarray, tolerance: float) -> np.ndarray:
    return np.abs(left - right) <= tolerance * _size(left, right) * HAIR


def _fitting_tolerance(
    sign: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, shuffled: np.ndarray, combine: Any
) -> float | None:
    right = combine(b, c)
    shown = (b != 0) & (c != 0) & ((sign == "+") | ((np.abs(b) != 1) & (np.abs(c) != 1)))
    least = np.minimum(np.abs(b), np.abs(c)) if sign == "+" else np.abs(a)
    for tolerance in TOLERANCES:
        slack = tolerance * _size(a, right)
        stands_out = (shown & (least > 10 * slack)).sum() >= SUPPORT_ROWS
        breaks = (np.abs(a - combine(b, shuffled)) > slack).mean() >= SHUFFLED_SHARE
        if stands_out and breaks and (np.abs(a - right) <= slack).all():
            return tolerance
    return None


def _rounded_quotients(names: list[str], x: dict[str, np.ndarray], order: np.ndarray) -> dict[str, Any]:
    """Whole numbers that are the quotient of two other columns, rounded."""
    found: dict[str, Any] = {}
    for a in (name for name in names if np.array_equal(x[name], np.rint(x[name])) and (np.abs(x[name]) >= 5).any()):
        for b in names:
            for c in names:
                if len({a, b, c}) < 3 or (np.abs(x[a][:50] * x[c][:50] - x[b][:50]) > 0.5 * np.abs(x[c][:50])).any():
                    continue
                gap, room = np.abs(x[a] * x[c] - x[b]), 0.5 * np.abs(x[c])
                shown = (np.abs(x[a]) >= 5) & (np.abs(x[c]) > 1) & (gap > 1e-3 * np.maximum(1, np.abs(x[b])))
                breaks = (np.abs(x[a] * x[c] - x[b][order]) > room).mean() >= SHUFFLED_SHARE
                if (gap <= room).all() and shown.sum() >= SUPPORT_ROWS and breaks:
                    found[f"{a} == round({b} / {c})"] = lambda t, a=a, b=b, c=c: (
                        np.abs(t[a].to_numpy(float) * t[c].to_numpy(float) - t[b].to_numpy(float))
                        <= 0.5 * np.abs(t[c].to_numpy(float)) * HAIR
                    )
    return found


def _lookups(table: pd.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {}
    few = [name for name in table if 1 < table[name].nunique() <= 200]
    for key in few:
        counts = table[key].value_counts()
        if counts.min() < ROWS_PER_VALUE:
            continue
        for name in few:
            usual = table[name].value_counts(normalize=True).iloc[0]
            pairs = set(zip(table[key], table[name], strict=True))
            if key == name or 1 - usual < 0.01 or len(pairs) > len(counts):
                continue
            found[f"{name} by {key}"] = lambda t, key=key, name=name, pairs=pairs: np.array(
                [pair in pairs for pair in zip(t[key], t[name], strict=True)]
            )
    return found


def _one_hot_groups(table: pd.DataFrame, numbers: list[str]) -> dict[str, Any]:
    binary = [name for name in numbers if set(pd.unique(table[name])) <= {0, 1}]
    found: dict[str, Any] = {}
    for first in range(len(binary)):
        total = np.zeros(len(table))
        for last in range(first, len(binary)):
            total = total + table[binary[last]].to_numpy(dtype=float)
            if (total > 1).any():
                break
            if last > first and (total == 1).all():
                group = binary[first : last + 1]
                found[f"one of {', '.join(group)}"] = lambda t, group=group: t[group].to_numpy(float).sum(axis=1) == 1
                break
    return found
