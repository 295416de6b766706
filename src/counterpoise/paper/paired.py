"""Two methods on the same rows: the mean difference over rows that both turn, and how sure one may be of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoise.types import Array

ROW_KEYS = ["table", "row"]
"""What a row is counted by: with several models, budgets and seeds it still counts once."""


class Interval(NamedTuple):
    """A mean, and the middle 95 % of what it is when tables and rows are drawn anew."""

    mean: float
    low: float
    high: float

    def to_text(self, form: str, unit: str = "") -> str:
        """The mean and its interval in words.

        >>> Interval(0.1, -0.05, 0.25).to_text("+.0%")
        '+10% [-5%, +25%]'
        """
        mean, low, high = (format(value, form) + unit for value in self)
        return "–" if np.isnan(self.mean) else f"{mean} [{low}, {high}]"


def bootstrap_mean(values: Array, groups: Any = None, resamples: int = 2000) -> Interval:
    """The mean of ``values`` ``(r,)`` with the percentile interval of a bootstrap of ``resamples`` (Efron, 1979).

    With ``groups`` ``(r,)``, the table of each row, tables are drawn first and then rows within them: five tables are
    five tables, however many rows each has. The mean is then that of the tables' means.

    >>> bootstrap_mean(np.ones(5))
    Interval(mean=1.0, low=1.0, high=1.0)
    >>> bootstrap_mean(np.array([1.0, 1.0, 3.0]), ["a", "a", "b"])
    Interval(mean=2.0, low=1.0, high=3.0)
    """
    if not len(values):
        return Interval(np.nan, np.nan, np.nan)
    rng = np.random.default_rng(0)
    series = pd.Series(values)
    parts = (
        [series.to_numpy()] if groups is None else [part.to_numpy() for _, part in series.groupby(np.asarray(groups))]
    )
    drawn = np.stack([part[rng.integers(len(part), size=(resamples, len(part)))].mean(axis=1) for part in parts])
    tables = rng.integers(len(parts), size=(resamples, len(parts)))
    low, high = np.quantile(drawn[tables.T, np.arange(resamples)].mean(axis=0), (0.025, 0.975))
    return Interval(float(np.mean([part.mean() for part in parts])), float(low), float(high))


def row_differences(lines: pd.DataFrame, metric: str, name: str, other: str) -> pd.Series[float]:
    """``metric`` of one method minus that of another, a row counted once: the mean over models, budgets and seeds.

    Only where both turn the row. ``lines`` are those of `counterpoise.compare` with ``each``.
    """
    good = lines[lines["valid"] & lines["feasible"] & lines[metric].notna()]
    keys = [*ROW_KEYS, "model", "budget", "seed"]
    one, two = (good[good["method"] == method].set_index(keys)[metric] for method in (name, other))
    apart = (one - two).dropna().astype(np.float64)
    return apart.groupby(level=ROW_KEYS).mean() if len(apart) else pd.Series(dtype=np.float64)


def mean_ratio(lines: pd.DataFrame, metric: str, name: str, other: str) -> Interval:
    """The geometric mean of ``metric`` of one method over that of another, on the rows that both turn."""
    logs = lines.assign(**{metric: np.log(lines[metric].where(lines[metric] > 0))})
    return Interval(*(float(np.exp(value)) for value in mean_difference(logs, metric, name, other)))


def mean_difference(lines: pd.DataFrame, metric: str, name: str, other: str) -> Interval:
    """The mean of ``metric`` of one method minus that of another, on the rows that both turn."""
    apart = row_differences(lines, metric, name, other)
    values = np.array(apart.to_list(), dtype=np.float64)
    return bootstrap_mean(values, apart.index.get_level_values("table") if len(apart) else None)
