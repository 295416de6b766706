"""Where the answers of explain go: a file of some format, lines on standard output, or cards on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO

from rich.console import Console

from counterpoise.cli.output import format_json_lines, tabulate
from counterpoise.cli.table_files import STANDARD_STREAM, check_writable, ending_of, write_table
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.show.cards import CAUTION, Card, build_cards
from counterpoise.show.report import report
from counterpoise.show.terminal import draw_card, write_card
from counterpoise.space.distance import Distance

NDJSON_ENDINGS = (".ndjson", ".jsonl")
TABLE_ENDINGS = (".csv", ".parquet")
OUTPUT_ENDINGS = (".html", ".json", ".csv", ".parquet", *NDJSON_ENDINGS)


def output_ending(out: str | None, *, redact: bool) -> str:
    """The ending of --out, ".ndjson" for "-", "" for cards; raises an error before any work if it cannot be written."""
    if out is None:
        return ""
    ending = ".ndjson" if out == STANDARD_STREAM else ending_of(out, OUTPUT_ENDINGS, "--out")
    if out != STANDARD_STREAM:
        check_writable(out)
    if redact and ending not in (".html", *NDJSON_ENDINGS):
        raise InputError(
            "--redact goes with a report, with NDJSON and with cards",
            f"{out!r} is made of values",
            "write .html or .ndjson, or leave --redact out",
        )
    return ending


def evidence_ending(evidence: str | None, *, redact: bool) -> str:
    """The ending of --evidence, or "" without it; raises an error before any work if it cannot be written."""
    if evidence is None:
        return ""
    ending = ending_of(evidence, TABLE_ENDINGS, "--evidence")
    if redact:
        raise InputError(
            "--redact writes no values", f"--evidence {evidence!r} is made of them", "leave one of them out"
        )
    check_writable(evidence, "--evidence")
    return ending


def open_output(out: str | None, ending: str, standard: TextIO) -> AbstractContextManager[TextIO]:
    """The stream that lines are written to: a new file, or standard output."""
    if ending in NDJSON_ENDINGS and out is not None and out != STANDARD_STREAM:
        return open(out, "w", encoding="utf-8")
    return nullcontext(standard)


def write_part(
    part: Explanation, measure: Distance, out: str | None, ending: str, stream: TextIO, *, redact: bool, first: int
) -> None:
    """Write the answers of some rows; ``first`` is the place of the first of them in the input."""
    if ending in NDJSON_ENDINGS:
        for line in format_json_lines(part, redact=redact, first=first):
            stream.write(line + "\n")
        stream.flush()
    elif ending == "" or out is None:
        _print_cards(part, redact=redact)
    elif ending == ".html":
        report(part, out, redact=redact)
    else:
        writers: dict[str, Callable[[], None]] = {
            ".json": lambda: part.save(out),
            ".csv": lambda: write_table(tabulate(part, measure), out, ending),
            ".parquet": lambda: write_table(tabulate(part, measure), out, ending),
        }
        writers[ending]()


def _print_cards(part: Explanation, *, redact: bool) -> None:
    cards = build_cards(part, redact=redact)
    if redact:
        cards = [_add_firmness(card, enough) for card, enough in zip(cards, part.firm_enough.tolist(), strict=True)]
    if not sys.stdout.isatty():
        sys.stdout.write("\n\n".join(map(write_card, cards)) + f"\n\n{CAUTION}\n")
        sys.stdout.flush()
        return
    console = Console(highlight=False)
    held = [f"{part.schema[name].title} ({why})" for name, why in part.held.items()]
    for card in cards:
        console.print(draw_card(card, held))
    console.print(CAUTION, style="dim", markup=False)


def _add_firmness(card: Card, enough: bool) -> Card:
    """Add the share kept to the sentence of a redacted card, which leaves it out with the values."""
    if not card.firmness:
        return card
    firmness = card.firmness + ("" if enough else ", fewer than were asked for")
    return card._replace(best_answer=card.best_answer._replace(text=f"{card.best_answer.text} {firmness}."))
