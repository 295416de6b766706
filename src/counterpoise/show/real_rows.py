"""The real rows of the target that back an answer up, in the features that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import NamedTuple

import numpy as np

from counterpoise.explanation import tables
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.formats import format_value
from counterpoise.space.distance import Distance


@dataclass(frozen=True)
class RealRowSettings:
    """How much of a real row a card shows."""

    max_cells: int = 5  # cells of a real row beside an answer
    max_unchanged_cells: int = 3  # of these, cells that no answer changes


REAL_ROWS = RealRowSettings()


class RealRow(NamedTuple):
    """A real row of the target: what it has where the answers change something, and where else it differs most."""

    distance: float  # from the row, L2 in standard deviations
    values: tuple[tuple[int, str, str], ...]  # places in the schema, titles, and what this row has there


def list_real_rows(explanation: Explanation, row: int, changed: Sequence[int]) -> tuple[RealRow, ...]:
    """The evidence of a row, in the features that its answers change and those in which it differs most."""
    if explanation.evidence is None:
        return ()
    schema, x0 = explanation.schema, explanation.x0[row]
    columns = list(dict.fromkeys(changed))[: REAL_ROWS.max_cells]
    (real, far), *_ = tables.real_rows_and_distances(schema, x0[None], explanation.evidence[row : row + 1])
    out = []
    for length, cells in zip(far.tolist(), real, strict=True):
        size = tables.scaled_differences(Distance.of(schema, "l2"), cells[None], x0)[0]
        size[columns] = 0.0
        most = [
            column
            for column in np.argsort(-size, kind="stable")[: REAL_ROWS.max_unchanged_cells].tolist()
            if size[column] > 0
        ]
        own = [(column, _format_code(explanation, column, float(cells[column]))) for column in columns]
        own += [(column, _say_instead(explanation, column, float(cells[column]), float(x0[column]))) for column in most]
        out.append(RealRow(length, tuple((column, schema.features[column].title, said) for column, said in own)))
    return tuple(out)


def _say_instead(explanation: Explanation, column: int, code: float, own: float) -> str:
    return f"{_format_code(explanation, column, code)} instead of {_format_code(explanation, column, own)}"


def _format_code(explanation: Explanation, column: int, code: float) -> str:
    feature = explanation.schema.features[column]
    return "missing" if isnan(code) else format_value(feature, tables.decode_value(feature, code))
