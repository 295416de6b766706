"""A card as HTML for a notebook: verdict, changes, sentence, what is odd, alternatives, real rows."""

from __future__ import annotations

from html import escape

from counterpoise.explanation.cards.cards import CAUTION, Card, CardAnswer, format_change, ordinal
from counterpoise.explanation.fields import REJECTED, STATUSES_WITH_ANSWER
from counterpoise.readable import draw_html_table

FAINT = "opacity:.7;font-size:.9em"


def draw_card_html(card: Card) -> str:
    """One row as a small self-contained block; everything that came from data is escaped."""
    found = card.status in STATUSES_WITH_ANSWER
    is_rejected = card.status == REJECTED
    before = card.prediction + (f" ({card.target} {card.probability})" if card.probability else "")
    after = card.best_answer.prediction + (f" ({card.best_answer.probability})" if card.best_answer.probability else "")
    verdict = "" if is_rejected else f"{escape(before)} &rarr; {escape(after)}"
    status = f"<span style='{FAINT}'>{escape(card.proof or card.status.replace('_', ' '))}</span>"
    parts = [
        f"<p style='margin:.2em 0'><b>{escape(card.row)}</b>: {verdict} {status}</p>",
        _draw_changes(card.best_answer, "would be" if found else "nearest miss"),
        f"<p style='margin:.4em 0'>{escape(card.best_answer.text)}</p>",
        *(f"<p style='margin:.2em 0'>&#9888; {escape(mark)}</p>" for mark in card.best_answer.marks),
        *(f"<p style='margin:.2em 0;{FAINT}'>or: {escape(_say_other(other))}</p>" for other in card.other_answers),
        _draw_evidence(card),
        f"<p style='{FAINT}'>{escape(CAUTION)}</p>",
    ]
    return (
        "<div style='border:1px solid rgba(128,128,128,.5);border-radius:8px;padding:.6em 1em;max-width:60em'>"
        f"{''.join(parts)}</div>"
    )


def _draw_changes(answer: CardAnswer, heading: str) -> str:
    populations = list(dict.fromkeys(name for change in answer.changes for name, *_ in change.percentiles))
    lines = []
    for change in answer.changes:
        ranks = {name: f"{ordinal(was)} → {ordinal(now)}" for name, was, now in change.percentiles}
        lines.append((change.title, change.before, change.after, *(ranks.get(name, "") for name in populations)))
    return draw_html_table(("feature", "was", heading, *(f"percentile of {name}" for name in populations)), lines)


def _draw_evidence(card: Card) -> str:
    if not card.evidence.lines:
        return ""
    real = [f"real {card.target} row, {distance:.3g} away" for distance in card.evidence.distances[:1]]
    lines = [(line.title, line.own, line.answer or "–", *line.real[:1]) for line in card.evidence.lines]
    table = draw_html_table(("feature", "row", "answer", *real), lines)
    return f"<details><summary style='{FAINT}'>the nearest real row</summary>{table}</details>"


def _say_other(other: CardAnswer) -> str:
    kept = f" (kept {other.kept})" if other.kept else ""
    return ", ".join(map(format_change, other.changes)) + kept
