"""How near each alert is to the target: what an explanation measured, as numbers that grow with nearness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.exports.flat import real_rows
from counterpoise.types import Array

SIGNAL_COLUMNS = ("probability", "effort", "bound", "kept", "real_distance")


def measure_signals(explanation: Explanation) -> pd.DataFrame:
    """For each row the target's probability, effort, bound, share kept, and distance to the nearest real target row.

    Effort is infinite where no valid answer was found; NaN stands for what was not measured.
    """
    nearest = [min(apart.tolist(), default=np.nan) for _, apart in real_rows(explanation)]
    return pd.DataFrame(
        {
            "probability": explanation.model_scores.probability_before,
            "effort": np.where(explanation.valid, explanation.effort, np.inf),
            "bound": explanation.bound,
            "kept": explanation.kept,
            "real_distance": np.array(nearest, dtype=np.float64),
        },
        index=explanation.rows.index,
    )


def nearness_columns(signals: pd.DataFrame) -> Array:
    """The signals as columns ``(n, 4)`` that grow with nearness to the target; what is not known is NaN.

    Log-odds of the target, minus the logarithms of effort and of the distance to the nearest real row, share kept.
    """
    p = np.clip(signals["probability"].to_numpy(dtype=np.float64), 1e-6, 1 - 1e-6)
    effort = signals["effort"].to_numpy(dtype=np.float64)
    largest = np.max(effort[np.isfinite(effort)], initial=1.0)
    apart = _fill_unknown(signals["real_distance"].to_numpy(dtype=np.float64), np.nanmax)
    columns = [
        np.log(p / (1 - p)),
        -np.log1p(np.where(np.isfinite(effort), effort, 10 * largest)),
        -np.log1p(apart),
        _fill_unknown(signals["kept"].to_numpy(dtype=np.float64), lambda known: 0.0),
    ]
    return np.column_stack(columns)


def _fill_unknown(column: Array, far: Callable[[Array], float]) -> Array:
    """A column in which rows without an answer stand as far away; one of which nothing is known stays as it is."""
    return column if np.isnan(column).all() else np.where(np.isnan(column), far(column), column)


def rank_nearness(signals: pd.DataFrame) -> Array:
    """The mean rank of the signals that are known, from 0 (farthest) to 1 (nearest), ``(n,)``.

    >>> near = {"probability": [0.4, 0.1], "effort": [0.2, 2.0], "bound": [0, 0], "kept": [0.9, 0.9]}
    >>> rank_nearness(pd.DataFrame(near | {"real_distance": [1.0, 4.0]})).tolist()
    [0.8..., 0.1...]
    """
    columns = nearness_columns(signals)
    known = columns[:, ~np.isnan(columns).any(axis=0)]
    if not known.shape[1] or len(known) < 2:
        return np.full(len(columns), 0.5)
    ranks = (np.apply_along_axis(rankdata, 0, known) - 1) / (len(known) - 1)
    return np.asarray(ranks.mean(axis=1))
