"""Rows that cannot be answered: found by halving, set aside with their reasons, and put back among the answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from counterpoise.errors import CounterpoiseError, InputError, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import REJECTED, AnswerEnergies, AnswerMeasures, ModelScores
from counterpoise.explanation.question import Question
from counterpoise.types import Index

OnError: TypeAlias = Literal["reject", "raise"]
"""What happens to a row that cannot be answered: it is set aside with its reason, or the call ends in an error."""

REJECTED_NOTE_END = "rejected, with a reason, and the others answered"
_COUNTED_PLACE = re.compile(r" (?:on|in|for) row \d+, counted from 0")  # a place among the rows of one call

Arrays = TypeVar("Arrays", ModelScores, AnswerEnergies, AnswerMeasures)


def check_on_error(on_error: object) -> None:
    """An error for a setting that is none."""
    if on_error not in ("reject", "raise"):
        raise InputError("on_error must be 'reject' or 'raise'", f"{on_error!r}", "leave it at 'reject'")


def state_reason(error: CounterpoiseError) -> str:
    """Why a row is rejected: what must hold and what was given, without its place among the rows of one call.

    >>> state_reason(InputError("values must be finite", "it gave inf for row 3, counted from 0", "correct the model"))
    'values must be finite; it gave inf'
    """
    return _COUNTED_PLACE.sub("", f"{error.must}; {error.given}")


def find_unanswerable(places: Index, attempt: Callable[[Index], object]) -> dict[int, str]:
    """The places ``(n,)`` at which ``attempt`` raises, each with its reason; found by halving.

    >>> def attempt(places):
    ...     if 3 in places:
    ...         raise InputError("values must be finite", "inf", "mend it")
    >>> find_unanswerable(np.arange(8), attempt)
    {3: 'values must be finite; inf'}
    """
    if not len(places):
        return {}
    try:
        attempt(places)
    except (InputError, ModelError) as error:
        if len(places) == 1:
            return {int(places[0]): state_reason(error)}
        middle = len(places) // 2
        return {**find_unanswerable(places[:middle], attempt), **find_unanswerable(places[middle:], attempt)}
    return {}


def put_back(
    found: Explanation, places: Index, table: pd.DataFrame, reasons: Mapping[int, str], question: Question
) -> Explanation:
    """The explanation of all that was finished: answered rows at ``places`` ``(p,)`` of ``table``, and rejected ones.

    ``question`` is that of the whole table. A rejected row has no encoded values, no answer and no numbers.
    """
    if not reasons:
        return found
    every = np.sort(np.concatenate([places, np.fromiter(reasons, dtype=np.intp)])).astype(np.intp)
    mine = np.searchsorted(every, places)
    rejected_places = np.setdiff1d(np.arange(len(every)), mine)

    def spread(part: Any, fill: Any) -> Any:
        out = np.full((len(every), *part.shape[1:]), fill, dtype=part.dtype)
        out[mine] = part
        return out

    def spread_all(part: Arrays) -> Arrays:
        cells = {
            item.name: spread(
                getattr(part, item.name),
                np.nan if getattr(part, item.name).dtype != object else "" if item.name == "noise" else None,
            )
            for item in fields(part)
        }
        return type(part)(**cells)

    status, reason = spread(found.status, REJECTED), spread(found.reason, "")
    reason[rejected_places] = [reasons[place] for place in every[rejected_places].tolist()]
    rows = table.iloc[every]
    firm = None
    if found.firm is not None:
        cells = {name: found.firm[name].to_numpy() for name in found.firm.columns}
        firm = pd.DataFrame(
            {name: spread(part, "" if part.dtype == object else np.nan) for name, part in cells.items()},
            index=rows.index,
        )
    count = "1 row was" if len(rejected_places) == 1 else f"{len(rejected_places)} rows were"
    return replace(
        found,
        rows=rows,
        x0=spread(found.x0, np.nan),
        answers=spread(found.answers, np.nan),
        count=spread(found.count, 0),
        valid=spread(found.valid, False),
        status=status,
        reason=reason,
        target=spread(found.target, ""),
        model_scores=spread_all(found.model_scores),
        terms=spread_all(found.terms),
        measures=spread_all(found.measures),
        evidence=None if found.evidence is None else spread(found.evidence, np.nan),
        bound=spread(found.bound, np.nan),
        firm=firm,
        tipping=None if found.tipping is None else put_back(found.tipping, places, table, reasons, question),
        question=replace(question.take(every), noise_levels=found.question.noise_levels),
        notes=(*found.notes, f"{count} {REJECTED_NOTE_END}"),
    )
