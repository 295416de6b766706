"""The answer to one row as a Markdown ticket."""

from __future__ import annotations

from counterpoise.explanation.cards.cards import CAUTION
from counterpoise.explanation.explanation import Explanation


def write_ticket(explanation: Explanation, note: str = "") -> str:
    """A ticket: what the model said, what would have turned it, the cells side by side, and a person's own note."""
    label = str(explanation.rows.index[0])
    parts = [
        f"# Row {label}: {explanation.scores['before'].iloc[0]}",
        explanation.text(),
        explanation.to_markdown(),
        f"Note: {note}" if note else "",
        f"Seed {explanation.seed}; {'; '.join(f'{name}: {text}' for name, text in explanation.settings.items())}",
        f"_{CAUTION}_",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
