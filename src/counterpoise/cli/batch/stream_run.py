"""Lines in, answers out, as they come: explain -r - -o -, and watch."""

from __future__ import annotations

import csv
import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, TextIO, cast

import pandas as pd

from counterpoise.cli.batch.log_files import PLAIN_TABLE, RowsFile
from counterpoise.cli.batch.question import PreparedQuestion
from counterpoise.cli.batch.row_parts import as_typed, empty_marked_cells, frame_of_records
from counterpoise.cli.batch.tolerant_lines import UNDECODED, Header, frame_of_cells, iterate_cells, parse_object
from counterpoise.cli.exit_codes import NO_ROWS, SIGNALS, ExitCode, print_to_stderr
from counterpoise.cli.output import format_json_lines
from counterpoise.cli.table_files import STANDARD_STREAM, name_rows_by
from counterpoise.cli.write_answers import write_whole_lines
from counterpoise.errors import Interrupted, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import REJECTED
from counterpoise.scale.answer_table import explain_rows
from counterpoise.scale.row_filter import RowFilter
from counterpoise.scale.stream import LineSource, PipeLines, StreamSettings, answer_stream

NO_FIRST_LINE = "the first line must be a JSON object, or a header with the names of the features"


@dataclass
class StreamAnswers:
    """Answers lines by NDJSON lines, which ``write`` takes; lines that are no rows are rejected."""

    asked: PreparedQuestion
    write: Callable[[str], None]
    name: str | None = None
    where: RowFilter | None = None
    limit: int | None = None
    redact: bool = False
    strict: bool = False  # whether an answer counts only if it surely keeps the share that was asked for
    is_read_again: bool = False  # whether lines that were not noted as answered come again
    header: Header | None = None  # of CSV
    has_objects: bool = field(default=False, init=False)  # whether lines are objects of JSON
    seen: int = field(default=0, init=False)  # lines that should have been rows
    count: int = field(default=0, init=False)  # rows answered
    found: int = field(default=0, init=False)
    firm: int = field(default=0, init=False)  # of these, those that surely keep the share that was asked for
    rejected: int = field(default=0, init=False)

    @property
    def is_full(self) -> bool:
        """Whether as many rows are answered as were asked for."""
        return self.limit is not None and self.count >= self.limit

    def __call__(self, lines: list[bytes]) -> str:
        """The answers to some lines; of a batch that a signal ends, those that are finished are written."""
        frame = self._read(lines)
        if frame is None:
            return ""
        first = self.seen
        self.seen += len(frame)
        frame = name_rows_by(frame.set_axis(pd.RangeIndex(first, first + len(frame)), axis=0), self.name)
        if self.where is not None:
            frame = frame[self.where(frame)]
        if self.limit is not None:
            frame = frame.iloc[: self.limit - self.count]
        if not len(frame):
            return ""
        try:
            return self._format(explain_rows(self.asked.explainer, frame, **self.asked.settings))
        except (Interrupted, ModelError) as stopped:
            if not self.is_read_again and stopped.partial is not None and len(stopped.partial):
                self.write(self._format(stopped.partial))
            raise

    def take_header(self, line: bytes | None) -> None:
        """Take a line as the header of CSV, if it names a feature; an object of NDJSON is none."""
        text = (line or b"").decode("utf-8-sig", errors=UNDECODED).strip("\r\n")
        if text.strip() and not text.lstrip().startswith("{"):
            separator = next((mark for mark in (",", ";", "\t") if mark in text), ",")
            header = Header.parse(next(csv.reader([text], delimiter=separator)), separator)
            if not set(map(str, self.asked.explainer.schema.names)).isdisjoint(header.names):
                self.header = header

    def _format(self, explanation: Explanation) -> str:
        first = self.count
        self.count += len(explanation)
        self.found += int(explanation.valid.sum())
        self.firm += int(explanation.is_firm_enough.sum())
        self.rejected += int((explanation.status == REJECTED).sum())
        return "".join(f"{line}\n" for line in format_json_lines(explanation, redact=self.redact, first=first))

    def _read(self, lines: list[bytes]) -> pd.DataFrame | None:
        """The lines as a frame, broken ones marked in their places; None if there are no lines."""
        records = [record for record in map(self._parse, lines) if record is not None]
        if not records:
            return None
        if self.header is None:
            return as_typed(self.asked, frame_of_records(self.asked, cast("list[dict[str, Any] | str]", records)))
        frame = frame_of_cells(self.header, cast("list[list[str] | str]", records))
        return as_typed(self.asked, empty_marked_cells(self.asked, frame, self.header.separator))

    def _parse(self, line: bytes) -> dict[str, Any] | list[str] | str | None:
        """The record in a line, or the reason why it has none; None for a blank line or a CSV header."""
        if len(line) - line.endswith(b"\n") > StreamSettings.line_bytes:
            return f"a line must have at most {StreamSettings.line_bytes:,} bytes"
        text = line.decode("utf-8-sig", errors=UNDECODED).strip("\r\n")
        if not text.strip():
            return None
        if self.header is None and not text.lstrip().startswith("{"):
            if self.has_objects:
                return parse_object(text)
            self.take_header(line)
            return None if self.header is not None else f"{NO_FIRST_LINE}; {text.strip()[:60]!r}"
        if self.header is None:
            self.has_objects = True
            return parse_object(text)
        cells = next(iterate_cells(StringIO(text), self.header.separator), [])
        is_header = isinstance(cells, list) and self.header.fit(cells) == self.header.names
        return None if is_header else cells  # a file that was rotated has its header again

    def finish(self, *, quiet: bool) -> int:
        """Print how it went on standard error; gives the exit code."""
        if not quiet:
            rejected = f"; {self.rejected} rejected" if self.rejected else ""
            result = f"{self.found} of {self.count} rows reach the target{rejected}"
            print_to_stderr(result if self.count else NO_ROWS)
        enough = self.firm if self.strict else self.found
        return ExitCode.ALL_FOUND if enough == self.count else ExitCode.NOT_ALL_FOUND


def can_stream(rows: RowsFile, evidence: str | None, budget: float | None) -> bool:
    """Whether rows come line by line on standard input: not those of a log, and not with a budget for all of them."""
    if rows.path != STANDARD_STREAM or evidence is not None or budget is not None:
        return False
    return rows.kind == PLAIN_TABLE or (rows.kind is None and not rows.is_log_on_standard_input())


def answer_lines(source: LineSource, answers: StreamAnswers, *, quiet: bool) -> int:
    """Answer the lines of a source until it ends; gives the exit code."""
    gc.collect()
    gc.freeze()  # the model and the reference stay: looking through them for garbage would hold up lines
    try:
        answer_stream(source, answers, hold=SIGNALS.hold)
    except (KeyboardInterrupt, Interrupted):
        answers.finish(quiet=quiet)
        return SIGNALS.exit_code
    except BrokenPipeError:
        raise
    except ModelError as error:
        print_to_stderr(f"counterpoise: {error}; {answers.count} rows were answered")
        return ExitCode.STOPPED
    except OSError as error:
        print_to_stderr(
            f"counterpoise: the output must be writable; {error.strerror or error}; {answers.count} rows were answered"
        )
        return ExitCode.STOPPED
    return answers.finish(quiet=quiet)


def lines_of_standard_input() -> PipeLines:
    """The lines that come on standard input, with what somebody has looked at already."""
    buffered: Any = sys.stdin.buffer
    try:
        descriptor = sys.stdin.fileno()
    except OSError:  # not a file: somebody has put something else in its place
        return PipeLines(None, bytes(buffered.read()))
    return PipeLines(descriptor, bytes(buffered.read(len(buffered.peek()))))


def answer_standard_input(prepared: PreparedQuestion, given: Mapping[str, Any], standard: TextIO) -> int:
    """Answer the rows on standard input as they come; gives the exit code. ``given`` are the options of explain."""
    where = None if given["where"] is None else RowFilter(prepared.explainer, given["where"])
    path = given["out"]
    with nullcontext(standard) if path == STANDARD_STREAM else open(path, "w", encoding="utf-8") as stream:

        def write(text: str) -> None:
            with SIGNALS.hold():
                write_whole_lines(stream, text)

        answers = StreamAnswers(
            prepared, write, given["name"], where, given["limit"], redact=given["redact"], strict=given["strict"]
        )
        return answer_lines(lines_of_standard_input(), answers, quiet=given["quiet"])
