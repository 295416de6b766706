"""Explanations as tables and lines for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from counterpoise import tables
from counterpoise.explanation import Explanation
from counterpoise.sentences import sort_by_size
from counterpoise.show.cards import Card, build_cards, direction_of
from counterpoise.space.features import Feature

PREFIX = "cp_"  # of columns that are added to the user's own


def tabulate(explanation: Explanation) -> pd.DataFrame:
    """A line for each answer: the input's columns as the answer has them, then what is known of it."""
    count = np.maximum(explanation.count, 1)
    rows = np.repeat(np.arange(len(explanation)), count)
    number = np.concatenate([np.arange(size) for size in count.tolist()])
    frame = tables.restore(
        explanation.schema, explanation.rows.iloc[rows], explanation.x0[rows], explanation.answers[rows, number]
    )
    names = [str(name) for name in explanation.schema.names]
    changed = tables.differs(explanation.x0[rows], explanation.answers[rows, number][:, None, :])[:, 0]
    best = number == 0
    scores = explanation.scores.iloc[rows]
    added: dict[str, Any] = {
        "row": [str(label) for label in frame.index],
        "alternative": number,
        "status": explanation.status[rows],
        "reason": explanation.reason[rows],
        "target": explanation.target[rows],
        "before": scores["before"].to_numpy(dtype=object),
        "after": [said if first else None for said, first in zip(scores["after"], best, strict=True)],
        "probability_before": scores["probability_before"].to_numpy(),
        "probability_after": np.where(best, scores["probability_after"].to_numpy(dtype=np.float64), np.nan),
        "distance": np.where(best, explanation.energy["distance"].to_numpy(dtype=np.float64)[rows], np.nan),
        "changed": ["; ".join(name for name, moved in zip(names, line, strict=True) if moved) for line in changed],
    }
    return frame.reset_index(drop=True).assign(**{PREFIX + name: values for name, values in added.items()})


def write_lines(explanation: Explanation, *, redact: bool) -> Iterator[str]:
    """A JSON object for each row, on one line, with names and values as in the data."""
    count = np.maximum(explanation.count, 1).tolist()
    listed = tables.list_changes(explanation.schema, explanation.rows, explanation.x0, explanation.answers, count)
    grouped: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for change in sort_by_size(listed):
        line = _change(explanation.schema.features[change.column], change, redact=redact)
        grouped.setdefault((change.row, change.alternative), []).append(line)
    for place, card in enumerate(build_cards(explanation, redact=redact)):
        answers = [grouped.get((place, slot), []) for slot in range(count[place])]
        yield json.dumps(_record(explanation, place, card, answers), ensure_ascii=False, allow_nan=False)


def _record(explanation: Explanation, place: int, card: Card, answers: list[list[dict[str, Any]]]) -> dict[str, Any]:
    scores = explanation.scores.iloc[place]
    return {
        "row": card.row,
        "carried": dict(card.carried),
        "status": card.status,
        "reason": card.reason,
        "target": card.target,
        "before": _plain(scores["before"]),
        "after": _plain(scores["after"]),
        "probability_before": _plain(scores["probability_before"]),
        "probability_after": _plain(scores["probability_after"]),
        "distance": _plain(card.best.distance),
        "changes": answers[0],
        "alternatives": answers[1:],
        "text": card.best.text,
    } | ({"firmness": card.firmness} if card.firmness else {})


def _change(feature: Feature, change: tables.Change, *, redact: bool) -> dict[str, Any]:
    line: dict[str, Any] = {
        "feature": str(feature.name),
        "direction": direction_of(feature, change.before, change.after),
    }
    return line if redact else line | {"from": _plain(change.before), "to": _plain(change.after), "unit": feature.unit}


def _plain(value: Any) -> Any:
    """A value that JSON has: a missing or infinite number is null, what JSON does not know is text."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return None
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, (bool, int, str)) else str(value)
