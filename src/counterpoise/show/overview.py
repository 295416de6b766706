"""What many answers have in common: which features change, how far; and the numbers at the top of a report."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from counterpoise.explanation import tables
from counterpoise.explanation.cards.cards import direction_of
from counterpoise.explanation.explanation import Explanation
from counterpoise.types import Array


def list_tiles(seen: Overview) -> list[tuple[str, str]]:
    """The numbers at the top of the page, and what each counts."""
    tiles = [(f"{seen.valid_count:,} of {seen.row_count:,}", "reach the target")]
    if len(seen.distances):
        tiles += [
            (f"{np.median(seen.change_counts):g}", "features changed, median"),
            (f"{np.median(seen.distances):.3g}", "standard deviations away, median"),
        ]
    tiles += _proof_tiles(seen)
    kept = seen.kept[~np.isnan(seen.kept)]
    tiles += [(f"{100 * np.median(kept):.0f}%", "of noisy copies keep it, median")] if len(kept) else []
    cost = "of work" if seen.model_rows is None else f"{seen.model_rows:,} rows asked of the model"
    return [*tiles, (_format_seconds(seen.seconds), cost)]


def say_cost(seen: Overview) -> str:
    """What the answers took, in a few words."""
    took = f"{seen.seconds:.3g} s" if seen.seconds < 1000 else f"{seen.seconds:,.0f} s"
    return took if seen.model_rows is None else f"{took}, {seen.model_rows:,} rows asked of the model"


def _proof_tiles(seen: Overview) -> list[tuple[str, str]]:
    """The share of answers that are proven to be the least, and how far above it the others can be."""
    if not len(seen.gaps) or np.isnan(seen.gaps).all():
        return []
    tiles = [(f"{100 * np.mean(seen.gaps == 0):.0f}%", "proven to be the least")]
    open_gap = seen.gaps[(seen.gaps > 0) & np.isfinite(seen.gaps)]
    return (
        [*tiles, (_format_gap(float(np.median(open_gap))), "above the bound, median of the rest")]
        if len(open_gap)
        else tiles
    )


def _format_seconds(seconds: float) -> str:
    """Seconds as people read them.

    >>> _format_seconds(1.234), _format_seconds(2345.6)
    ('1.2 s', '39 min')
    """
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def _format_gap(gap: float) -> str:
    """A gap as people read it: a share, or how many times, beyond a hundred times no number tells more.

    >>> _format_gap(0.31), _format_gap(4.2), _format_gap(6171.0)
    ('31%', '4.2 ×', 'over 100 ×')
    """
    return f"{100 * gap:.0f}%" if gap < 1 else f"{gap:.1f} ×" if gap <= 100 else "over 100 ×"


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
