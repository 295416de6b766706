"""Which features answers change, how often and which way."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterpoise.explanation.answered_rows import AnsweredRows
from counterpoise.explanation.tables import differs
from counterpoise.space.distance import Distance


def tabulate_importance(explanation: AnsweredRows) -> pd.DataFrame:
    """A line for each feature, the most often changed first.

    share: of the valid answers, how many change it: those of all rows, or, of a single row, its alternatives. up, down,
    other: the shares that raise it, lower it, or give it another category or a value where there was none. mean_change:
    the mean size of these changes, in standard deviations (1 for another category). mean_difference: their mean in the
    units of the feature, with its sign; NaN for categories.
    """
    schema = explanation.schema
    listed = (np.arange(explanation.answers.shape[1]) < explanation.count[:, None]) & explanation.valid[:, None]
    if len(explanation) > 1:
        listed[:, 1:] = False  # over many rows the best answers count, each row once
    rows, slots = np.nonzero(listed)
    x0, x = explanation.x0[rows], explanation.answers[rows, slots]
    moved = differs(x0, x[:, None])[:, 0]
    sizes = Distance.of(schema, "l1").differences(x[:, None], x0)[:, 0]
    ordered = np.array([feature.is_numeric or feature.kind == "ordinal" for feature in schema])
    with np.errstate(invalid="ignore"):
        up, down = moved & ordered & (x > x0), moved & ordered & (x < x0)
    count = max(len(rows), 1)
    changed = np.maximum(moved.sum(axis=0), 1)
    difference = np.where(moved & schema.numeric & ~np.isnan(x0), x - np.nan_to_num(x0), 0.0).sum(axis=0) / changed
    table = pd.DataFrame(
        {
            "feature": pd.Series(list(schema.names), dtype=object),
            "share": moved.sum(axis=0) / count,
            "up": up.sum(axis=0) / count,
            "down": down.sum(axis=0) / count,
            "other": (moved & ~up & ~down).sum(axis=0) / count,
            "mean_change": np.where(moved, sizes, 0.0).sum(axis=0) / changed,
            "mean_difference": np.where(schema.numeric, difference, np.nan),
        }
    )
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)
