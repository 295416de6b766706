"""What is odd about an answer: values that the target's rows hardly have, no real row anywhere near, fragility."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterpoise.explanation.tables import QUANTILE_SHARES, differs, real_rows_and_distances
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Mask


@dataclass(frozen=True)
class OddSettings:
    """From where on an answer is called odd."""

    tail: float = 0.01  # share of the target's rows beyond which a value is unusual, on either side
    far_factor: float = 10.0  # the nearest real row is this many times as far as the answer
    fragile_below: float = 0.5  # the upper end of the interval of the share kept


class OddMarks(NamedTuple):
    """The marks of n rows, a answers each.

    unusual: changed values in either tail of the target's rows (`OddSettings.tail`), ``(n, a, d)``.
    far: how many times as far as the answer the nearest real row of the target is, ``(n, a)``; NaN where not known.
    is_edge: whether that exceeds `OddSettings.far_factor`: the model says the target, but no data is near, ``(n, a)``.
    is_fragile: whether surely less than half of the noisy copies keep the target, ``(n, a)``.
    """

    unusual: Mask
    far: Array
    is_edge: Mask
    is_fragile: Mask


def find_odd_marks(
    schema: Schema,
    x0: Array,
    answers: Array,
    listed: Mask,
    labels: Sequence[Any],
    quantiles: Mapping[Any, Array],
    evidence: Array | None,
    kept_high: Array,
    settings: OddSettings = OddSettings(),
) -> OddMarks:
    """The marks of answers ``(n, a, d)`` to rows ``x0`` ``(n, d)``; ``listed`` ``(n, a)`` says which of them count.

    ``labels`` are the classes that the answers have, by which ``quantiles`` has the reference's quantiles ``(q, d)``.
    ``kept_high`` ``(n, a)`` is the upper end of the interval of the share kept, NaN where it was not measured.
    """
    n, a, _ = answers.shape
    changed = differs(x0, answers) & listed[..., None]
    low, high = (int(np.abs(QUANTILE_SHARES - share).argmin()) for share in (settings.tail, 1 - settings.tail))
    unusual = np.zeros(answers.shape, dtype=bool)
    for row, label in enumerate(labels):
        levels = quantiles.get(label) if isinstance(label, Hashable) else None
        if levels is not None:
            unusual[row] = changed[row] & ((answers[row] < levels[low]) | (answers[row] > levels[high]))
    filled = np.where(listed[..., None], answers, x0[:, None, :])
    change_length = Distance.of(schema, "l2")(filled, x0)
    nearest = np.full(n, np.nan)
    for row, (_, apart) in enumerate(real_rows_and_distances(schema, x0, evidence)):
        nearest[row] = min(apart.tolist(), default=np.nan)
    far = np.divide(nearest[:, None], change_length, out=np.full((n, a), np.nan), where=change_length > 0)
    with np.errstate(invalid="ignore"):
        return OddMarks(unusual, far, far > settings.far_factor, listed & (kept_high < settings.fragile_below))
