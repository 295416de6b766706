"""Two methods on the same rows: the mean difference over rows that both turn, and how sure one may be of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from counterpoise.types import Array

PROBLEM_KEYS = ["table", "model", "budget", "row"]


class Interval(NamedTuple):
    """A mean, and the middle 95 % of what it is when the rows are drawn anew."""

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


def bootstrap_mean(values: Array, resamples: int = 2000) -> Interval:
    """The mean of ``values`` ``(r,)`` with the percentile interval of a bootstrap of ``resamples`` (Efron, 1979).

    >>> bootstrap_mean(np.ones(5))
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    if not len(values):
        return Interval(np.nan, np.nan, np.nan)
    picked = np.random.default_rng(0).integers(len(values), size=(resamples, len(values)))
    low, high = np.quantile(values[picked].mean(axis=1), (0.025, 0.975))
    return Interval(float(values.mean()), float(low), float(high))


def row_differences(lines: pd.DataFrame, metric: str, name: str, other: str) -> Array:
    """``metric`` of one method minus that of another, for each row that both turn, mean over the seeds where both do.

    ``lines`` are those of `counterpoise.compare` with ``each``, of one or more tables, models and budgets.
    """
    good = lines[lines["valid"] & lines["feasible"] & lines[metric].notna()]
    keys = [*PROBLEM_KEYS, "seed"]
    one, two = (good[good["method"] == method].set_index(keys)[metric] for method in (name, other))
    apart = (one - two).dropna()
    return np.asarray(apart.groupby(PROBLEM_KEYS).mean().to_numpy(dtype=np.float64)) if len(apart) else np.empty(0)


def mean_ratio(lines: pd.DataFrame, metric: str, name: str, other: str) -> Interval:
    """The geometric mean of ``metric`` of one method over that of another, on the rows that both turn."""
    logs = lines.assign(**{metric: np.log(lines[metric].where(lines[metric] > 0))})
    return Interval(*(float(np.exp(value)) for value in bootstrap_mean(row_differences(logs, metric, name, other))))


def mean_difference(lines: pd.DataFrame, metric: str, name: str, other: str) -> Interval:
    """The mean of ``metric`` of one method minus that of another, on the rows that both turn."""
    return bootstrap_mean(row_differences(lines, metric, name, other))
