"""Two methods on the same rows: the mean difference over rows that both turn, and how sure one may be of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoise.types import Array

ROW_KEYS = ["table", "row"]
"""What a row is counted by: with several models, budgets and seeds it still counts once."""


class Interval(NamedTuple):
    """A mean and its 95 % bootstrap interval, over tables and rows; from -inf to inf where there are too few rows."""

    mean: float
    low: float
    high: float

    def to_text(self, form: str, unit: str = "") -> str:
        """The mean and its interval in words.

        >>> Interval(0.1, -0.05, 0.25).to_text("+.0%")
        '+10% [-5%, +25%]'
        >>> Interval(0.1, -np.inf, np.inf).to_text(".2f")
        '0.10 [too few rows]'
        """
        mean, low, high = (format(value, form) + unit for value in self)
        if np.isnan(self.mean):
            return "no rows"
        return f"{mean} [too few rows]" if np.isinf(self.high) else f"{mean} [{low}, {high}]"

    @property
    def negative(self) -> Interval:
        """The interval of the same difference taken the other way round.

        >>> Interval(0.1, -0.1, 0.2).negative
        Interval(mean=-0.1, low=-0.2, high=0.1)
        """
        return Interval(-self.mean, -self.high, -self.low)


def bootstrap_mean(values: Array, groups: Any = None, resamples: int = 2000, fewest: int = 5) -> Interval:
    """The mean of ``values`` ``(r,)`` with the percentile interval of a bootstrap of ``resamples`` (Efron, 1979).

    With ``groups`` ``(r,)``, the table of each row, tables are drawn first and then rows within them: five tables are
    five tables, however many rows each has. The mean is then that of the tables' means. From less than ``fewest``
    values nothing can be told, and the interval has every number.

    >>> bootstrap_mean(np.ones(5))
    Interval(mean=1.0, low=1.0, high=1.0)
    >>> bootstrap_mean(np.array([1.0, 1.0, 1.0, 1.0, 3.0]), ["a", "a", "a", "a", "b"])
    Interval(mean=2.0, low=1.0, high=3.0)
    >>> bootstrap_mean(np.ones(2))
    Interval(mean=1.0, low=-inf, high=inf)
    """
    if not len(values):
        return Interval(np.nan, np.nan, np.nan)
    labels = np.zeros(len(values)) if groups is None else np.asarray(groups)
    parts = [part.to_numpy() for _, part in pd.Series(values).groupby(labels)]
    mean = float(np.mean([part.mean() for part in parts]))
    if len(values) < fewest:
        return Interval(mean, -np.inf, np.inf)
    rng = np.random.default_rng(0)
    means = np.zeros(resamples)
    for tables in rng.integers(len(parts), size=(len(parts), resamples)):  # one of as many tables as there are
        for number, part in enumerate(parts):
            picked = tables == number
            means[picked] += part[rng.integers(len(part), size=(int(picked.sum()), len(part)))].mean(axis=1)
    low, high = np.quantile(means / len(parts), (0.025, 0.975))
    return Interval(mean, float(low), float(high))


def success_share_difference(lines: pd.DataFrame, name: str, other: str) -> Interval:
    """The share of rows that one method turns minus that of another; what a method was not asked counts as unturned."""
    good = lines.assign(turned=(lines["valid"] & lines["feasible"]).astype(float))
    every = good.set_index([*ROW_KEYS, "model", "budget", "seed"])
    one, two = (every[every["method"] == method]["turned"] for method in (name, other))
    there = one.index.union(two.index)
    apart = (one.reindex(there, fill_value=0.0) - two.reindex(there, fill_value=0.0)).groupby(level=ROW_KEYS).mean()
    return bootstrap_mean(apart.to_numpy(dtype=np.float64), apart.index.get_level_values("table"))


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
