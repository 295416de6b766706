"""Failures that are known and open. Each has a reason; an entry goes when its fault is mended."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.draw import Outcome

KNOWN: dict[str, Callable[[str, str], bool]] = {
    "whole numbers above 2**53 lose digits": lambda failure, said: "above 2**" in said,
    "the sign of zero is not what was verified": lambda failure, said: "zeros of both signs" in said,
    "float labels are read as scores": lambda failure, said: failure.startswith("false") and "(1.0, 2.0)" in said,
    "a text column without any value has no categories": lambda failure, said: (
        "'nothing'" in said or "jump_at_random" in failure
    ),
    "a model that answers otherwise each time is not noticed": lambda failure, said: failure.startswith("unsteady"),
    "None in a column of objects is shown as NaN": lambda failure, said: "'objects'" in said,
    "columns in another order are verified in the reference's": lambda failure, said: "rows in another order" in said,
    "what the model is shown is in the reference's form": lambda failure, said: "model: looks at" in said,
}
"""By reason: whether a failure, with what was asked, is of this kind."""


def known_reason(outcome: Outcome) -> str | None:
    """Why a failed draw is known, or None where one of its failures is not."""
    reasons = [
        next((reason for reason, is_kind in KNOWN.items() if is_kind(failure, outcome.said)), None)
        for failure in outcome.failures
    ]
    return None if None in reasons else reasons[0]
