"""The real rows of the target beside a row and its answer, in the features that matter: a small table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import NamedTuple

import numpy as np

from counterpoise.explanation import tables
from counterpoise.explanation.answered_rows import AnsweredRows
from counterpoise.explanation.formats import format_value
from counterpoise.space.distance import Distance


@dataclass(frozen=True)
class EvidenceSettings:
    """How much of the real rows a card shows."""

    max_changed: int = 8  # features that an answer changes
    max_unchanged: int = 3  # further features, those in which the nearest real row differs most from the row


class EvidenceLine(NamedTuple):
    """One feature: what the row has, what its answer has, and what each real row has."""

    column: int  # place in the schema
    title: str
    own: str
    answer: str  # "" where the answer leaves it as it is
    real: tuple[str, ...]


class Evidence(NamedTuple):
    """The nearest real rows of the target: how far they are, and a line for each feature that matters."""

    distances: tuple[float, ...] = ()  # from the row, L2 in standard deviations
    lines: tuple[EvidenceLine, ...] = ()


def build_evidence(
    explanation: AnsweredRows, row: int, changed: Sequence[int], settings: EvidenceSettings = EvidenceSettings()
) -> Evidence:
    """The evidence of a row: the features that its answers change, and those in which the nearest real row differs."""
    if explanation.evidence is None:
        return Evidence()
    schema, x0, x = explanation.schema, explanation.x0[row], explanation.x[row]
    (real, far), *_ = tables.real_rows_and_distances(schema, x0[None], explanation.evidence[row : row + 1])
    if not len(real):
        return Evidence()
    columns = list(dict.fromkeys(changed))[: settings.max_changed]
    size = tables.scaled_differences(Distance.of(schema, "l2"), real[:1], x0)[0]
    size[columns] = 0.0
    most = np.argsort(-size, kind="stable")[: settings.max_unchanged].tolist()
    columns += [column for column in most if size[column] > 0]
    moved = tables.differs(x0[None], x[None, None])[0, 0]
    lines = tuple(
        EvidenceLine(
            column,
            schema.features[column].title,
            _format_code(explanation, column, x0[column]),
            _format_code(explanation, column, x[column]) if moved[column] else "",
            tuple(_format_code(explanation, column, cells[column]) for cells in real),
        )
        for column in columns
    )
    return Evidence(tuple(far.tolist()), lines)


def _format_code(explanation: AnsweredRows, column: int, code: float) -> str:
    feature = explanation.schema.features[column]
    return "missing" if isnan(code) else format_value(feature, tables.decode_value(feature, float(code)))
