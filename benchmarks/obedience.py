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
