"""Where the answers of explain go: a file of some format, lines on standard output, or cards on the terminal."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console

from counterpoise.cli.output import format_json_lines
from counterpoise.cli.table_files import STANDARD_STREAM, check_writable, ending_of, write_table
from counterpoise.errors import InputError
from counterpoise.explanation.cards.cards import CAUTION, Card, build_cards
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.exports.flat import tabulate_flat
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
    if redact and ending == ".json":
        raise InputError(
            "--redact goes with a report, a table, NDJSON and cards",
            f"{out!r} is the whole explanation, made of values",
            "write .html, .csv, .parquet or .ndjson, or leave --redact out",
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


@dataclass
class AnswerWriter:
    """Writes the answers of parts of the rows to ``out``; a file is opened when there is something to write."""

    out: str | None
    ending: str
    standard: TextIO
    measure: Distance
    redact: bool
    safe_csv: bool | None
    count: int = field(default=0, init=False)  # rows written

    def write(self, part: Explanation) -> None:
        """Write the answers of the next rows."""
        first, self.count = self.count, self.count + len(part)
        if self.ending in NDJSON_ENDINGS:
            lines = format_json_lines(part, redact=self.redact, first=first)
            with self._open_lines(first) as stream:
                for line in lines:
                    stream.write(line + "\n")
                stream.flush()
        elif self.ending == "" or self.out is None:
            _print_cards(part, redact=self.redact)
        elif self.ending == ".html":
            report(part, self.out, redact=self.redact)
        elif self.ending == ".json":
            part.save(self.out)
        else:
            table = tabulate_flat(part, self.measure, redact=self.redact)
            write_table(table, self.out, self.ending, features=part.schema.names, safe=self.safe_csv)

    def _open_lines(self, first: int) -> AbstractContextManager[TextIO]:
        """The stream that lines are written to: standard output, or the file, which the first rows begin anew."""
        if self.out is None or self.out == STANDARD_STREAM:
            return nullcontext(self.standard)
        return open(self.out, "a" if first else "w", encoding="utf-8")


def _print_cards(part: Explanation, *, redact: bool) -> None:
    cards = build_cards(part, redact=redact)
    if redact:
        cards = [_add_firmness(card, enough) for card, enough in zip(cards, part.firm_enough.tolist(), strict=True)]
    if not sys.stdout.isatty():
        sys.stdout.write("\n\n".join(map(write_card, cards)) + f"\n\n{CAUTION}\n")
        sys.stdout.flush()
        return
    console = Console(highlight=False)
    held = [part.schema[name].title + ("" if redact else f" ({why})") for name, why in part.held.items()]
    for card in cards:
        console.print(draw_card(card, held))
    console.print(CAUTION, style="dim", markup=False)


def _add_firmness(card: Card, enough: bool) -> Card:
    """Add the share kept to the sentence of a redacted card, which leaves it out with the values."""
    if not card.firmness:
        return card
    firmness = card.firmness + ("" if enough else ", fewer than were asked for")
    return card._replace(best_answer=card.best_answer._replace(text=f"{card.best_answer.text} {firmness}."))
