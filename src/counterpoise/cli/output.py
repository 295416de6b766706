"""Explanations as tables and lines for other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.explanation import tables
from counterpoise.explanation.cards.cards import Card, build_cards, direction_of
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.exports.flat import ADDED_COLUMN_PREFIX, kept_columns, real_rows
from counterpoise.explanation.sentences import sort_by_size
from counterpoise.space.schema.schema import Feature
from counterpoise.types import Array

CONTROLS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def list_evidence(explanation: Explanation, first: int = 0) -> pd.DataFrame:
    """A line for each real row of the target that is near a row: whose it is, how near, and all of its features.

    ``first`` is the place of the explanation's first row in the input.
    """
    table = explanation.real_rows
    head = table[["row", "position", "rank", "distance"]].add_prefix(ADDED_COLUMN_PREFIX)
    head[ADDED_COLUMN_PREFIX + "row"], head[ADDED_COLUMN_PREFIX + "position"] = (
        head[ADDED_COLUMN_PREFIX + "row"].map(str),
        head[ADDED_COLUMN_PREFIX + "position"] + first,
    )
    return pd.concat([head, table.iloc[:, head.shape[1] :]], axis=1)


def format_json_lines(explanation: Explanation, *, redact: bool, first: int = 0) -> Iterator[str]:
    """A JSON object for each row, on one line, with names and values as in the data.

    ``first`` is the place of the explanation's first row in the input.
    """
    changes, evidence = _change_records(explanation, redact=redact), [] if redact else _real_row_records(explanation)
    tipping = None if explanation.tipping is None else _change_records(explanation.tipping, redact=redact)
    places = np.arange(len(explanation))
    kept = kept_columns(explanation, places, np.zeros(len(explanation), dtype=np.intp))
    for place, card in enumerate(build_cards(explanation, redact=redact, with_context=False)):
        record = _row_record(explanation, place, card, changes[place])
        record["position"] += first
        record |= {name: _to_json_value(share[place]) for name, share in kept.items()}
        if tipping is not None and card.tipping is not None:
            record["tipping"] = {
                "distance": _to_json_value(card.tipping.distance),
                "changes": tipping[place][0],
                "alternatives": tipping[place][1:],
            }
        if not redact:
            record |= {"evidence": evidence[place]}
        # JSON writes out the controls of ASCII; the others, which some terminals obey, have the same form here
        yield escape_json_controls(json.dumps(record, ensure_ascii=False, allow_nan=False))


def escape_json_controls(line: str) -> str:
    """JSON that says the same, with no sign in it that steers a terminal.

    >>> escape_json_controls('"a\\x9bb"')
    '"a\\\\u009bb"'
    """
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def _change_records(explanation: Explanation, *, redact: bool) -> list[list[list[dict[str, Any]]]]:
    """For each row, for each of its answers, what changes, the largest change first."""
    count = np.maximum(explanation.count, 1).tolist()
    listed = tables.list_changes(explanation.schema, explanation.rows, explanation.x0, explanation.answers, count)
    out: list[list[list[dict[str, Any]]]] = [[[] for _ in range(size)] for size in count]
    for change in sort_by_size(listed):
        line = _change_record(explanation.schema.features[change.column], change, redact=redact)
        out[change.row][change.alternative].append(line)
    return out


def _real_row_records(explanation: Explanation) -> list[list[dict[str, Any]]]:
    """For each row, the real rows near it, with the values of all features."""
    found = real_rows(explanation)
    together = np.concatenate([np.empty((0, len(explanation.schema))), *(real for real, _ in found)])
    columns = [_decode_column(feature, codes) for feature, codes in zip(explanation.schema, together.T, strict=True)]
    names = [str(feature.name) for feature in explanation.schema]
    values = (dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True))
    return [[{"distance": length, "values": next(values)} for length in apart.tolist()] for _, apart in found]


def _decode_column(feature: Feature, codes: Array) -> list[Any]:
    """The values of a feature that codes stand for, as JSON has them."""
    if feature.is_numeric and np.isfinite(codes).all() and (np.abs(codes) < 2**53).all():
        return list((codes.astype(np.int64) if feature.kind == "integer" else codes).tolist())
    return [_to_json_value(tables.decode_value(feature, code)) for code in codes.tolist()]


def _row_record(
    explanation: Explanation, place: int, card: Card, answers: list[list[dict[str, Any]]]
) -> dict[str, Any]:
    scores = {name: cells[place] for name, cells in explanation.score_cells.items()}
    return {
        "row": card.row,
        "position": place,
        "carried": {name: _keep_nested(explanation, place, name, cell) for name, cell in card.carried_columns},
        "status": card.status,
        "reason": card.reason,
        "target": _to_json_value(explanation.target[place]),
        "before": _to_json_value(scores["before"]),
        "after": _to_json_value(scores["after"]),
        "probability_before": _to_json_value(scores["probability_before"]),
        "probability_after": _to_json_value(scores["probability_after"]),
        "distance": _to_json_value(card.best_answer.distance),
        "effort": _to_json_value(explanation.measures.effort[place, 0]),
        "bound": _to_json_value(explanation.bound[place]),
        "gap": _to_json_value(explanation.gap[place]),
        "agree": _to_json_value(explanation.measures.agree[place, 0]),
        "agree_of": _to_json_value(explanation.measures.agree_of[place, 0]),
        "changes": answers[0],
        "alternatives": answers[1:],
        "alternatives_measured": [_measure_record(explanation, place, slot) for slot in range(1, len(answers))],
        "text": card.best_answer.text,
    } | ({"firmness": card.firmness} if card.firmness else {})


def _measure_record(explanation: Explanation, place: int, slot: int) -> dict[str, Any]:
    """Effort, bound, probability and share kept of an alternative."""
    names = ("effort", "bound", "probability", "kept", "kept_low", "kept_high", "agree", "agree_of")
    return {name: _to_json_value(getattr(explanation.measures, name)[place, slot]) for name in names}


def _change_record(feature: Feature, change: tables.Change, *, redact: bool) -> dict[str, Any]:
    line: dict[str, Any] = {
        "feature": str(feature.name),
        "direction": direction_of(feature, change.before, change.after),
    }
    return (
        line
        if redact
        else line | {"from": _to_json_value(change.before), "to": _to_json_value(change.after), "unit": feature.unit}
    )


def _keep_nested(explanation: Explanation, place: int, name: str, text: str) -> Any:
    """A carried cell as it is shown; an object or a list that came as JSON goes out as JSON."""
    column = explanation.rows.get(name)
    cell = None if column is None or column.dtype != object else column.iloc[place]
    return cell if isinstance(cell, (dict, list)) else text


def _to_json_value(value: Any) -> Any:
    """A value that JSON has: a missing or infinite number is null, what JSON does not know is text."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return None
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, (bool, int, str)) else str(value)
