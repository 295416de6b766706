"""What many answers have in common: how many turned, which features they change and which way, how far they go."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from counterpoise.explanation import tables
from counterpoise.explanation.cards.cards import direction_of
from counterpoise.explanation.explanation import Explanation
from counterpoise.types import Array


class Frequency(NamedTuple):
    """In how many rows the best answer changes a feature, and which way."""

    column: int
    title: str
    down_count: int
    up_count: int
    other_count: int  # another category, or a value where there was none

    @property
    def row_count(self) -> int:
        return self.down_count + self.up_count + self.other_count


class Overview(NamedTuple):
    """All rows at a glance."""

    row_count: int
    valid_count: int  # rows whose answer reaches the target
    already_count: int  # of these, rows that needed no change
    status_counts: dict[str, int]
    features: tuple[Frequency, ...]  # only those that change, the most frequent first
    distances: Array  # of the valid answers that change something
    change_counts: Array  # how many features each of these changes
    gaps: Array  # how far above its bound each valid answer is; NaN where nothing is known
    kept: Array  # the share of noisy copies that keep each of them; NaN where it was not measured
    seconds: float
    model_rows: int | None  # rows asked of the model; None: not known


def build_overview(explanation: Explanation) -> Overview:
    """Count what the best answers of all rows do; a row without a valid answer counts only as such.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> seen = build_overview(explain(model, train, reference=train, target="benign"))
    >>> seen.valid_count, seen.already_count, seen.features[0].title, seen.features[0].down_count
    (4, 2, 'ports', 2)
    """
    found = explanation.valid.astype(int).tolist()
    best = tables.list_changes(explanation.schema, explanation.rows, explanation.x0, explanation.answers[:, :1], found)
    counts: Counter[tuple[int, str]] = Counter()
    for change in best:
        way = direction_of(explanation.schema.features[change.column], change.before, change.after)
        counts[change.column, way if way in ("up", "down") else "other"] += 1
    features = [
        Frequency(
            column,
            explanation.schema.features[column].title,
            *(counts[column, way] for way in ("down", "up", "other")),
        )
        for column in dict.fromkeys(change.column for change in best)
    ]
    changed = explanation.changed
    moved = explanation.valid & (changed > 0)
    return Overview(
        row_count=len(explanation),
        valid_count=int(explanation.valid.sum()),
        already_count=int((explanation.valid & (changed == 0)).sum()),
        status_counts=dict(Counter(map(str, explanation.status))),
        features=tuple(sorted(features, key=lambda feature: (-feature.row_count, feature.column))),
        distances=explanation.terms.distance[moved],
        change_counts=changed[moved].astype(np.float64),
        gaps=explanation.gap[explanation.valid],
        kept=explanation.kept[explanation.valid],
        seconds=explanation.seconds,
        model_rows=explanation.model_rows,
    )
