"""Failures that are known and open. Each has a reason; an entry goes when its fault is mended."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.draw import Outcome

KNOWN: dict[str, Callable[[str, str], bool]] = {
    "sums that depend on the size of a call undo answers at the boundary": lambda failure, said: "model: torch" in said,
    "a model that answers otherwise each time is not noticed": lambda failure, said: failure.startswith("unsteady"),
}
"""By reason: whether a failure, with what was asked, is of this kind."""


def known_reason(outcome: Outcome) -> str | None:
    """Why a failed draw is known, or None where one of its failures is not."""
    reasons = [
        next((reason for reason, is_kind in KNOWN.items() if is_kind(failure, outcome.said)), None)
        for failure in outcome.failures
    ]
    return None if None in reasons else reasons[0]
