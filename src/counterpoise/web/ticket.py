"""The answer to one row as a Markdown ticket."""

from __future__ import annotations

from counterpoise.explanation.cards.cards import CAUTION
from counterpoise.explanation.explanation import Explanation
from counterpoise.security.findings.ticket import escape_markdown

SHOWN_SETTINGS = ("target", "threshold", "keep", "noise", "constraints", "relations")
"""What a reader of a ticket needs to know of the question; the report and the receipt have all of it."""


def write_ticket(explanation: Explanation, note: str = "") -> str:
    """A ticket: what the model said, what would have turned it, the cells side by side, and a person's own note."""
    label, decision = str(explanation.rows.index[0]), str(explanation.scores["before"].iloc[0])
    settings = {name: text for name, text in explanation.settings.items() if name in SHOWN_SETTINGS}
    parts = [
        f"# Row {escape_markdown(label)}: {escape_markdown(decision)}",
        escape_markdown(explanation.text()),
        explanation.to_markdown(),
        f"Note: {escape_markdown(note)}" if note else "",
        escape_markdown("; ".join(f"{name}: {text}" for name, text in settings.items() if text != "none")),
        f"_{CAUTION}_",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
