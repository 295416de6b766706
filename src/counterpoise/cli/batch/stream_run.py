"""Lines in, answers out, as they come: explain -r - -o -, and watch."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TextIO

import pandas as pd

from counterpoise.api.batch.rejected import REJECTED
from counterpoise.cli.batch.question import PreparedQuestion
from counterpoise.cli.batch.row_parts import as_typed, empty_marked_cells, frame_of_records
from counterpoise.cli.exit_codes import SIGNALS, ExitCode, print_to_stderr
from counterpoise.cli.output import escape_json_controls, format_json_lines
from counterpoise.cli.soc.log_files import PLAIN_TABLE, RowsFile
from counterpoise.cli.table_files import STANDARD_STREAM, name_rows_by
from counterpoise.cli.write_answers import write_whole_lines
from counterpoise.errors import Interrupted
from counterpoise.scale.answer_table import explain_rows
from counterpoise.scale.row_filter import RowFilter
from counterpoise.scale.stream import PipeLines, answer_stream

NOT_A_ROW = "a line must be a JSON object, or have as many cells as the header"


@dataclass
class StreamAnswers:
    """Answers lines by NDJSON lines, which ``write`` takes; lines that are no rows are rejected."""

    asked: PreparedQuestion
    write: Callable[[str], None]
    name: str | None = None
    where: RowFilter | None = None
    limit: int | None = None
    redact: bool = False
    header: list[str] | None = None  # of CSV
    separator: str = ","
    count: int = field(default=0, init=False)  # rows answered
    found: int = field(default=0, init=False)
    rejected: int = field(default=0, init=False)

    def __call__(self, lines: list[bytes]) -> None:
        """Answer some lines."""
        for is_row, records in self._group(lines):
            if self.limit is not None:
                records = records[: max(0, self.limit - self.count)]
            if not records:
                continue
            if is_row:
                self._answer(records)
            else:
                self._reject(records)

    def _group(self, lines: list[bytes]) -> list[tuple[bool, list[Any]]]:
        """The lines as records, in runs of those that are rows and of those that are none."""
        groups: list[tuple[bool, list[Any]]] = []
        for line in lines:
            record = self._parse(line)
            if record is None:
                continue
            is_row = isinstance(record, dict)
            if groups and groups[-1][0] == is_row:
                groups[-1][1].append(record)
            else:
                groups.append((is_row, [record]))
        return groups

    def _parse(self, line: bytes) -> dict[str, Any] | str | None:
        """A record, the reason why a line is none, or None for a blank line and for the header of CSV."""
        try:
            text = line.decode("utf-8-sig").strip("\r\n")
            if not text.strip():
                return None
            if self.header is None and not text.lstrip().startswith("{"):
                if self.count:
                    return f"{NOT_A_ROW}; {text[:60]!r}"
                self.separator = next((mark for mark in (",", ";", "\t") if mark in text), ",")
                self.header = next(csv.reader([text], delimiter=self.separator))
                return None
            if self.header is None:
                record = json.loads(text)
                return record if isinstance(record, dict) else f"{NOT_A_ROW}; {text[:60]!r}"
            cells = next(csv.reader([text], delimiter=self.separator))
            if len(cells) != len(self.header):
                return f"{NOT_A_ROW}; {len(cells)} cells for {len(self.header)} columns"
            return dict(zip(self.header, cells, strict=True))
        except (ValueError, RecursionError, csv.Error) as error:
            return f"{NOT_A_ROW}; {error}"

    def _answer(self, records: list[dict[str, Any]]) -> None:
        first = self.count
        frame = frame_of_records(self.asked, records)
        if self.header is not None:
            frame = empty_marked_cells(frame, self.asked.unset.of_columns(map(str, frame.columns)))
        frame = as_typed(self.asked, frame)
        if self.where is not None:
            frame = frame[self.where(frame)]
        if not len(frame):
            return
        frame = frame.set_axis(pd.RangeIndex(first, first + len(frame)), axis=0)
        explanation = explain_rows(self.asked.explainer, name_rows_by(frame, self.name), **self.asked.settings)
        self.count += len(frame)
        self.found += int(explanation.valid.sum())
        self.rejected += int((explanation.status == REJECTED).sum())
        self.write("".join(f"{line}\n" for line in format_json_lines(explanation, redact=self.redact, first=first)))

    def _reject(self, reasons: list[str]) -> None:
        lines = []
        for reason in reasons:
            shown = "" if self.redact else reason
            record = {"row": str(self.count), "position": self.count, "status": REJECTED, "reason": shown}
            lines.append(escape_json_controls(json.dumps(record, ensure_ascii=False)) + "\n")
            self.count, self.rejected = self.count + 1, self.rejected + 1
        self.write("".join(lines))

    def finish(self, *, quiet: bool) -> int:
        """Print how it went on standard error; gives the exit code."""
        if not quiet:
            rejected = f"; {self.rejected} rejected" if self.rejected else ""
            print_to_stderr(f"{self.found} of {self.count} rows reach the target{rejected}")
        return ExitCode.ALL_FOUND if self.found == self.count else ExitCode.NOT_ALL_FOUND


def can_stream(rows: RowsFile, evidence: str | None, budget: float | None) -> bool:
    """Whether rows come line by line on standard input: not those of a log, and not with a budget for all of them."""
    if rows.path != STANDARD_STREAM or evidence is not None or budget is not None:
        return False
    return rows.kind == PLAIN_TABLE or (rows.kind is None and not rows.is_log_on_standard_input())


def answer_standard_input(asked: PreparedQuestion, given: Mapping[str, Any], standard: TextIO) -> int:
    """Answer the rows on standard input as they come; gives the exit code. ``given`` are the options of explain."""
    where = None if given["where"] is None else RowFilter(asked.explainer, given["where"])
    path = given["out"]
    to_stdout = path == STANDARD_STREAM
    with nullcontext(standard) if to_stdout else open(path, "w", encoding="utf-8") as stream:

        def write(text: str) -> None:
            with SIGNALS.hold():
                write_whole_lines(stream, text)

        limit, redact = given["limit"], given["redact"]
        answers = StreamAnswers(asked, write, given["name"], where, limit, redact=redact)
        try:
            answer_stream(PipeLines(sys.stdin.buffer), answers)
        except (KeyboardInterrupt, Interrupted):
            answers.finish(quiet=given["quiet"])
            return SIGNALS.exit_code
    return answers.finish(quiet=given["quiet"])
