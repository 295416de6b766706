"""The fixed sentences that a redacted output may hold beside names and directions, never values that were found.

A setting or a note is left out unless it is listed, so that a new one with a value in it cannot slip through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SHOWN_SETTINGS = (
    "target",
    "distance",
    "lam",
    "mu",
    "alternatives",
    "keep",
    "temperature",
    "threshold",
    "budget",
    "model_rows",
)
"""Settings that hold no value of a feature; constraints, regularisers, noise, bounds and methods may hold some."""

SHOWN_NOTES = (
    "a category that no reference row has, and no answer takes",
    "there are no reference rows: the search starts from random directions",
    "the budget of ",
    "carried through and not shown to the model",
)
"""How notes begin of which the beginning is shown, and nothing that follows it."""
BUDGET_ENDING = "the call ended the search of some rows: more time may find nearer answers"
LEFT_OUT = "other notes are left out: they may name values"


def redact_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that hold no value of a feature.

    >>> redact_settings({"lam": "0.1", "constraints": "Range('age', 18, 64)"})
    {'lam': '0.1'}
    """
    return {name: text for name, text in settings.items() if name in SHOWN_SETTINGS}


def redact_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes as a redacted page shows them: the listed beginnings, and whether there were others.

    >>> redact_notes(["the model does not know 'quic' of 'protocol': read as missing"])
    ('other notes are left out: they may name values',)
    """
    out = []
    for note in notes:
        head = next((head for head in SHOWN_NOTES if note.startswith(head)), LEFT_OUT)
        out.append(head + BUDGET_ENDING if head.endswith(" ") else head)
    return tuple(dict.fromkeys(out))
