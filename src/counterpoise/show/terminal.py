"""Cards on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from counterpoise.explanation.cards.cards import DIRECTION_WORDS, Card, CardAnswer, CardChange, format_change, ordinal
from counterpoise.explanation.fields import REJECTED, STATUSES_WITH_ANSWER
from counterpoise.plain_text import escape_controls

UNCHANGED_MARK = "·"  # where an answer leaves a feature as it was
DIRECTION_ARROWS = {"up": "↑", "down": "↓", "other": "↔", "given": "+"}


def draw_card(card: Card, held: Sequence[str] = ()) -> Panel:
    """One row as a framed card: verdict, changed features, sentence, alternatives; ``held`` are the fixed features."""
    card, held = _escape_all(card), _escape_all(tuple(held))
    parts: list[RenderableType] = [_draw_verdict(card)]
    if card.best_answer.changes or (card.tipping is not None and card.tipping.changes):
        parts.append(_draw_changes(card.best_answer, card.tipping))
    parts.append(Text(card.best_answer.text))
    parts += [Text(f"! {mark}", style="yellow") for mark in card.best_answer.marks]
    parts += [
        Text(f"or: {', '.join(format_change(change) for change in other.changes)}{_say_kept(other)}", style="dim")
        for other in card.other_answers
    ]
    real = _say_nearest_real_row(card)
    parts += [Text(real, style="dim")] if real else []
    parts += [Text(f"held fixed: {', '.join(held)}", style="dim")] if held else []
    title = Text(f" {card.row} ", style="bold")
    return Panel(Group(*parts), title=title, title_align="left", box=box.ROUNDED, expand=False, padding=(0, 1))


def write_card(card: Card) -> str:
    """The same as plain text, for a pipe.

    >>> change = CardChange(0, "open ports", "down", 1.0, "8", "2")
    >>> answer = CardAnswer("benign", "0.93", 1.5, (change,), "Had open ports been 2 instead of 8, …")
    >>> print(write_card(Card("host 7", (), "valid", "", "benign", "alert", "0.02", answer, None, "", "", ())))
    host 7: alert (benign 0.02) -> benign (0.93)
      open ports 8 -> 2
      Had open ports been 2 instead of 8, …
    """
    card = _escape_all(card)
    if card.status == REJECTED:
        return f"{card.row}: rejected\n  {card.best_answer.text}"
    lines = [f"{card.row}: {_say_before(card)} -> {_say_after(card)}"]
    if card.tipping is not None:
        lines.append("  tipping point: " + ", ".join(format_change(change, "->") for change in card.tipping.changes))
    lines += [f"  {format_change(change, '->')}" for change in card.best_answer.changes]
    lines.append(f"  {card.best_answer.text}")
    lines += [f"  ! {mark}" for mark in card.best_answer.marks]
    lines += [
        f"  or: {', '.join(format_change(change, '->') for change in other.changes)}{_say_kept(other)}"
        for other in card.other_answers
    ]
    real = _say_nearest_real_row(card)
    lines += [f"  {real}"] if real else []
    return "\n".join(lines)


def _say_kept(answer: CardAnswer) -> str:
    return f" (kept {answer.kept})" if answer.kept else ""


T = TypeVar("T")


def _escape_all(value: T) -> T:
    """A card, or a part of one, in which no text from data steers the terminal."""
    if isinstance(value, str):
        return cast(T, escape_controls(value))
    if isinstance(value, tuple):
        parts = [_escape_all(part) for part in value]
        return cast(T, type(value)(*parts) if hasattr(value, "_fields") else tuple(parts))
    return value


def _say_nearest_real_row(card: Card) -> str:
    """The nearest real row of the target, in the features that change and those in which it differs most."""
    if not card.evidence.lines:
        return ""
    cells = ", ".join(
        f"{line.title} {line.real[0]}" + ("" if line.answer else f" instead of {line.own}")
        for line in card.evidence.lines
    )
    return f"nearest real {card.target} row, {card.evidence.distances[0]:.3g} away: {cells}"


def _draw_verdict(card: Card) -> Text:
    if card.status == REJECTED:
        return Text(REJECTED, style="bold yellow")
    found = card.status in STATUSES_WITH_ANSWER
    line = Text.assemble(
        (_say_before(card), "bold red"), "  →  ", (_say_after(card), "bold green" if found else "bold yellow")
    )
    if card.proof:
        line.append(f"   {card.proof}", style="cyan")
    return line if found else line.append(f"   {card.status.replace('_', ' ')}", style="yellow")


def _say_before(card: Card) -> str:
    return card.prediction + (f" ({card.target} {card.probability})" if card.probability else "")


def _say_after(card: Card) -> str:
    return card.best_answer.prediction + (f" ({card.best_answer.probability})" if card.best_answer.probability else "")


def _draw_changes(best: CardAnswer, tipping: CardAnswer | None) -> Table:
    """The changed features, with where the values lie in the populations; the tipping point beside the firm answer."""
    answers = {"would be": best} if tipping is None else {"tips at": tipping, "holds at": best}
    every = {change.column: change for answer in answers.values() for change in answer.changes}
    after = {name: {change.column: change.after for change in answer.changes} for name, answer in answers.items()}
    valued = any(change.before or change.after for change in every.values())
    populations = _list_populations(every.values())
    populations = populations[-1:] if tipping is not None else populations  # what there is room for
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("feature")
    for name in ("was", *after) if valued else ():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in populations:
        table.add_column(Text(f"percentile of {name}"), justify="right")
    for column, change in sorted(every.items(), key=lambda item: -item[1].size):
        values = (change.before, *(values.get(column, UNCHANGED_MARK) for values in after.values())) if valued else ()
        direction = f"{DIRECTION_ARROWS[change.direction]} {DIRECTION_WORDS[change.direction]}"
        table.add_row(*map(Text, (change.title, *values, direction, *_format_percentiles(change, populations))))
    return table


def _list_populations(changes: Iterable[CardChange]) -> list[str]:
    """The populations that any of the changes has percentiles of, in order, each once."""
    return list(dict.fromkeys(name for change in changes for name, *_ in change.percentiles))


def _format_percentiles(change: CardChange, populations: Sequence[str]) -> list[str]:
    """Where the values before and after lie in each population; "" where that is not known."""
    known = {name: f"{ordinal(was)} → {ordinal(now)}" for name, was, now in change.percentiles}
    return [known.get(name, "") for name in populations]
