"""Failures that are known and open. Each has a reason; an entry goes when its fault is mended."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.draw import Outcome

KNOWN: dict[str, Callable[[str, str], bool]] = {}
"""By reason: whether a failure, with what was asked, is of this kind."""


def known_reason(outcome: Outcome) -> str | None:
    """Why a failed draw is known, or None where one of its failures is not."""
    reasons = [
        next((reason for reason, is_kind in KNOWN.items() if is_kind(failure, outcome.said)), None)
        for failure in outcome.failures
    ]
    return None if None in reasons else reasons[0]
