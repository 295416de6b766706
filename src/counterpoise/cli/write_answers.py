"""Where the answers of explain go: a file of some format, lines on standard output, or cards on the terminal."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
import pandas as pd
from rich.console import Console

from counterpoise.api.explainer import Explainer
from counterpoise.cli.batch.output_places import check_writable
from counterpoise.cli.exit_codes import SIGNALS
from counterpoise.cli.options import say_in_options
from counterpoise.cli.output import format_json_lines, list_evidence
from counterpoise.cli.table_files import STANDARD_STREAM, ending_of, write_table
from counterpoise.errors import InputError
from counterpoise.explanation.cards.cards import CAUTION, Card, build_cards
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.exports.flat import ADDED_COLUMN_PREFIX
from counterpoise.explanation.views import compose_row_text
from counterpoise.scale.answer_table import tabulate_answers
from counterpoise.scale.files import replace_file
from counterpoise.security.findings.writers import check_finding_format, load_attacks, write_findings
from counterpoise.show.report import report
from counterpoise.show.terminal import draw_card, write_card

NDJSON_ENDINGS = (".ndjson", ".jsonl")
TABLE_ENDINGS = (".csv", ".parquet")
OUTPUT_ENDINGS = (".html", ".json", ".csv", ".parquet", ".md", ".xlsx", *NDJSON_ENDINGS)
MADE_OF_VALUES = (".json", ".md", ".xlsx")


def output_ending(out: str | None, *, redact: bool) -> str:
    """The ending of --out, ".ndjson" for "-", "" for cards; raises an error before any work if it cannot be written."""
    if out is None:
        return ""
    ending = ".ndjson" if out == STANDARD_STREAM else ending_of(out, OUTPUT_ENDINGS, "--out")
    if out != STANDARD_STREAM:
        check_writable(out)
    if redact and ending in MADE_OF_VALUES:
        raise InputError(
            "--redact goes with a report, a table, NDJSON and cards",
            f"{out!r} is the whole explanation, made of values",
            "write .html, .csv, .parquet or .ndjson, or leave --redact out",
        )
    return ending


class FindingFormat(NamedTuple):
    """The security format that --to names, and the user's ATT&CK ids."""

    kind: str
    attacks: Mapping[str, Sequence[str]]


def finding_format(to: str | None, attack_table: str | None, out: str | None, *, redact: bool) -> FindingFormat | None:
    """What --to and --attack-table mean; raises an error before any work if it cannot be written."""
    if to is None:
        if attack_table is not None:
            raise InputError("--attack-table goes with --to", "there is no --to", "give both, or neither")
        return None
    check_finding_format(to, redact=redact)
    if out is not None and out != STANDARD_STREAM:
        check_writable(out)
    return FindingFormat(to, {} if attack_table is None else load_attacks(attack_table))


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
class EvidenceWriter:
    """Gathers the real rows that back answers up, and writes them as a table of their own."""

    path: str | None
    ending: str
    explainer: Explainer
    safe_csv: bool | None
    found: list[pd.DataFrame] = field(default_factory=list, init=False)

    def add(self, part: Explanation, first: int) -> None:
        """Take the real rows of a part, whose first row is at the place ``first`` of the input."""
        if self.path is not None:
            self.found.append(list_evidence(part, first))

    def write(self) -> None:
        """Write what was gathered."""
        if self.path is not None and self.found:
            table = pd.concat(self.found, ignore_index=True)
            names = self.explainer.schema.names
            write_table(table, self.path, self.ending, features=names, safe=self.safe_csv)


@dataclass
class AnswerWriter:
    """Writes the answers of parts of the rows to ``out``; a file is opened when there is something to write."""

    out: str | None
    ending: str
    standard: TextIO
    explainer: Explainer
    redact: bool
    safe_csv: bool | None
    findings: FindingFormat | None = None
    count: int = field(default=0, init=False)  # rows written

    def write(self, part: Explanation) -> None:
        """Write the answers of the next rows; a signal waits until they are written."""
        with SIGNALS.hold():
            self._write(part)

    def _write(self, part: Explanation) -> None:
        first, self.count = self.count, self.count + len(part)
        if self.findings is not None:
            kind, attacks = self.findings
            text = write_findings(part, kind, redact=self.redact, attacks=attacks)
            with self._open_lines(first) as stream:
                write_whole_lines(stream, text)
        elif self.ending in NDJSON_ENDINGS:
            lines = format_json_lines(part, redact=self.redact, first=first)
            with self._open_lines(first) as stream:
                write_whole_lines(stream, "".join(f"{line}\n" for line in lines))
        elif self.ending == "" or self.out is None:
            _print_cards(part, redact=self.redact)
        elif self.ending in TABLE_ENDINGS:
            table = tabulate_answers(self.explainer, part, redact=self.redact)
            if not self.redact:
                _add_texts(table, part)
            write_table(table, self.out, self.ending, features=part.schema.names, safe=self.safe_csv)
        else:
            with replace_file(self.out) as temporary:
                _write_document(part, temporary, self.ending, redact=self.redact)

    def _open_lines(self, first: int) -> AbstractContextManager[TextIO]:
        """The stream that lines are written to: standard output, or the file, which the first rows begin anew."""
        if self.out is None or self.out == STANDARD_STREAM:
            return nullcontext(self.standard)
        return open(self.out, "a" if first else "w", encoding="utf-8")


def _add_texts(table: pd.DataFrame, part: Explanation) -> None:
    """Add the text about each row to the line of its best answer."""
    sentences = [compose_row_text(part, row, names_alternatives=False) for row in range(len(part))]
    best, places = table[ADDED_COLUMN_PREFIX + "alternative"] == 0, table[ADDED_COLUMN_PREFIX + "position"]
    texts = [sentences[place] if is_best else "" for place, is_best in zip(places, best, strict=True)]
    table[ADDED_COLUMN_PREFIX + "text"] = pd.Series(texts, index=table.index, dtype="str")


def _write_document(part: Explanation, path: Path, ending: str, *, redact: bool) -> None:
    """Write one document; a full disk raises an OSError in every format."""
    try:
        if ending == ".html":
            report(part, path, redact=redact)
        elif ending == ".xlsx":
            part.to_excel(path)
        else:
            text = part.to_markdown() + "\n" if ending == ".md" else part.to_json()
            path.write_text(text, encoding="utf-8")
    except InputError as error:
        raise (error.__cause__ if isinstance(error.__cause__, OSError) else error) from None


def write_whole_lines(stream: TextIO, text: str, *, to_disk: bool = False) -> None:
    """Write lines; of a file that the disk has no more room for, the line that did not fit is taken back.

    ``to_disk``: not before they are on the disk itself is the call over.
    """
    try:
        descriptor = stream.fileno()
    except OSError:  # not a file: somebody has put something else in its place
        stream.write(text)
        stream.flush()
        return
    stream.flush()
    status, data, written = os.fstat(descriptor), text.encode(), 0
    is_file = stat.S_ISREG(status.st_mode)
    try:
        while written < len(data):  # not by way of the stream, whose buffer would keep what could not be written
            written += os.write(descriptor, data[written:])
        if to_disk and is_file:
            os.fsync(descriptor)
    except OSError:
        if is_file:
            os.ftruncate(descriptor, status.st_size + data[:written].rfind(b"\n") + 1)
        raise


def cut_broken_line(path: str) -> None:
    """Cut a line off the end of a file that a run was writing when it was killed."""
    place = Path(path)
    if place.is_file() and place.stat().st_size:
        with place.open("rb+") as file:
            end = file.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - (1 << 16))
                file.seek(start)
                found = file.read(end - start).rfind(b"\n")
                if found >= 0:
                    file.truncate(start + found + 1)
                    return
                end = start
            file.truncate(0)


def _print_cards(part: Explanation, *, redact: bool) -> None:
    if not len(part):
        return
    part = replace(part, reason=np.array([say_in_options(str(reason)) for reason in part.reason], dtype=object))
    cards = build_cards(part, redact=redact)
    if redact:
        cards = [_add_firmness(card, enough) for card, enough in zip(cards, part.is_firm_enough.tolist(), strict=True)]
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
