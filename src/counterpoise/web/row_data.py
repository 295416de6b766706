"""Features, rows and answers as the plain values that the page draws."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.explanation.cards.cards import Card, CardAnswer, build_cards, direction_of
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.formats import format_label, format_value
from counterpoise.explanation.tables import decode_value, list_changes
from counterpoise.space.schema.schema import Feature
from counterpoise.types import Array
from counterpoise.web.row_index import RowAnswer


def number_or_none(value: Any) -> float | None:
    """A number that JSON can hold; None for what is missing or infinite.

    >>> number_or_none(0.5), number_or_none(float("nan"))
    (0.5, None)
    """
    return float(value) if isfinite(value) else None


def list_numbers(values: Any) -> list[float | None]:
    """Numbers that JSON can hold, one by one."""
    return [number_or_none(value) for value in np.asarray(values, dtype=np.float64).ravel().tolist()]


def describe_features(explainer: Explainer) -> list[dict[str, Any]]:
    """What the page knows of each feature: name, unit, kind, categories, range, and where each class lies."""
    quantiles = explainer.reference.quantiles(explainer.model)
    return [
        {
            "title": feature.title,
            "about": feature.description,
            "unit": feature.unit,
            "kind": feature.kind,
            "isNumeric": feature.is_numeric,
            "decimals": feature.decimals,
            "mayBeMissing": feature.missing,
            "categories": [format_value(feature, value) for value in feature.categories],
            "lower": number_or_none(feature.lower),
            "upper": number_or_none(feature.upper),
            "held": explainer.held.get(feature.name, ""),
            "quantiles": {
                format_label(label): list_numbers(levels[:, place])
                for label, levels in quantiles.items()
                if feature.is_numeric and not np.isnan(levels[:, place]).any()
            },
        }
        for place, feature in enumerate(explainer.schema)
    ]


def describe_point(explainer: Explainer, x: Array) -> dict[str, Any]:
    """The cells of an encoded row ``(d,)``: as numbers that the page can send back, and as people read them."""
    return {
        "cells": list_numbers(x),
        "texts": [_format_cell(feature, code) for feature, code in zip(explainer.schema, x.tolist(), strict=True)],
    }


def _format_cell(feature: Feature, code: float) -> str:
    return format_value(feature, decode_value(feature, code))


def describe_answer(explainer: Explainer, explanation: Explanation) -> dict[str, Any]:
    """The answers to one row: each with its cells, in words, and what is known of it."""
    card: Card = build_cards(explanation)[0]
    table = explanation.answer_table
    efforts = table["effort"].tolist() if len(table) else []
    answers = [
        _describe_card_answer(explainer, explanation.answers[0, slot], each, efforts[slot] if efforts else np.nan)
        for slot, each in enumerate((card.best_answer, *card.other_answers))
        if explanation.valid[0]
    ]
    tipping = explanation.tipping
    tipping_card = card.tipping
    return {
        "status": card.status,
        "isValid": bool(explanation.valid[0]),
        "reason": card.reason,
        "target": card.target,
        "verdict": card.prediction,
        "text": explanation.text(),
        "proof": card.proof,
        "bound": number_or_none(explanation.bound[0]),
        "gap": number_or_none(explanation.gap[0]),
        "firmness": card.firmness,
        "noise": card.noise,
        "answers": answers,
        "tipping": None
        if tipping is None or tipping_card is None or not tipping.valid[0]
        else _describe_card_answer(
            explainer, tipping.x[0], tipping_card, float(tipping.answer_table["effort"].iloc[0])
        ),
        "evidence": _describe_evidence(explainer, explanation),
        "notes": list(explanation.notes),
        "seconds": explanation.seconds,
        "modelRows": explanation.model_rows,
    }


def _describe_card_answer(explainer: Explainer, x: Array, answer: CardAnswer, effort: float) -> dict[str, Any]:
    return {
        **describe_point(explainer, x),
        "changed": [change.column for change in answer.changes],
        "prediction": answer.prediction,
        "probability": answer.probability,
        "effort": number_or_none(effort),
        "distance": number_or_none(answer.distance),
        "kept": answer.kept,
        "marks": list(answer.marks),
        "text": answer.text,
    }


def _describe_evidence(explainer: Explainer, explanation: Explanation) -> list[dict[str, Any]]:
    if explanation.evidence is None:
        return []
    real = explanation.real_rows
    rows = [x for x in explanation.evidence[0] if not np.isnan(x).all()]
    return [
        {**describe_point(explainer, x), "distance": number_or_none(distance)}
        for x, distance in zip(rows, real["distance"].tolist(), strict=False)
    ]


def summarize_answers(explanation: Explanation, places: list[int]) -> list[RowAnswer]:
    """What the list shows of the answers to rows that stand at ``places``."""
    best: dict[int, list[str]] = {}
    schema = explanation.schema
    ones = np.minimum(explanation.count, 1).tolist()
    for change in list_changes(schema, explanation.rows, explanation.x0, explanation.answers, ones):
        feature = schema.features[change.column]
        arrow = {"up": "↑", "down": "↓", "other": "≠", "given": "="}[direction_of(feature, change.before, change.after)]
        best.setdefault(change.row, []).append(f"{feature.title}\u00a0{arrow}")
    efforts = np.full(len(explanation), np.nan)
    table: pd.DataFrame = explanation.answer_table
    first = table[table["alternative"] == 0]
    efforts[first["position"].to_numpy(dtype=np.intp)] = first["effort"].to_numpy(dtype=np.float64)
    return [
        RowAnswer(
            place,
            str(explanation.status[row]),
            number_or_none(efforts[row]),
            number_or_none(explanation.kept[row]),
            number_or_none(explanation.gap[row]),
            ", ".join(sorted(best.get(row, []))),
        )
        for row, place in enumerate(places)
    ]
