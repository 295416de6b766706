"""Logs of network tools read as tables; each bad line is reported with its number."""

from __future__ import annotations

import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.cli import table_files
from counterpoise.cli.csv_dialect import TextSource, open_text, why_not_text
from counterpoise.cli.exit_codes import ExitCode, print_to_stderr
from counterpoise.errors import InputError
from counterpoise.security.logs.flow_csv import rename_to_match
from counterpoise.security.logs.formats import FORMATS, read_log, recognise_format
from counterpoise.security.logs.log_table import LogTable
from counterpoise.security.logs.mapping import FieldUse, apply_mapping, load_mapping
from counterpoise.space.yaml.unset_marks import UnsetMarks

PLAIN_TABLE = "table"


class RowsFile:
    """The file of --rows: a table, or a log whose bad lines are reported by number.

    ``kind`` is what --format says: one of the formats, "table", or None: recognised by the first lines.
    """

    def __init__(self, path: str, kind: str | None, mapping: str | None) -> None:
        if kind is not None and kind not in (*FORMATS, PLAIN_TABLE):
            known = ", ".join((*FORMATS, PLAIN_TABLE))
            raise InputError(f"--format must be one of {known}", f"{kind!r}", "choose one, or leave it out")
        self.path, self.kind = path, kind
        self.mapping: dict[str, FieldUse] | None = None if mapping is None else load_mapping(mapping)
        self.bad_lines = 0

    @property
    def exit_code(self) -> ExitCode:
        """What the command ends with at least: a line that was left out is a row without an answer."""
        return ExitCode.NOT_ALL_FOUND if self.bad_lines else ExitCode.ALL_FOUND

    def is_log_on_standard_input(self) -> bool:
        """Whether what comes first on standard input is a log; it is looked at, and not taken away."""
        if self.mapping is not None:
            return True
        buffered: Any = sys.stdin.buffer  # whose class, unlike its type, can be looked into
        shown: bytes = buffered.peek(1)
        return _recognise(shown) is not None

    def read(
        self, reference: pd.DataFrame, name: str | None, unset: UnsetMarks | None, *, rejects: bool = False
    ) -> pd.DataFrame:
        """The rows, named by column ``name``, with the columns of the reference made by the mapping.

        ``rejects``: there may be no rows, and cells that are no numbers stay as they are, so that their rows are
        rejected; else either is an error.
        """
        source = self._open_source()
        kind = self.kind or _recognise(source)
        if kind in (None, PLAIN_TABLE):
            if self.mapping is not None:
                raise InputError("--mapping is for logs", f"{self.path!r} is a table", "leave it out, or give --format")
            given = source if self.path == "-" else None
            table = table_files.read_table(self.path, "--rows", unset, given, rejects=rejects)
        else:
            table = self._make_table(_read_source(source, kind, self.path), reference)
        named = table_files.name_rows_by(table, name)
        return table_files.convert_to_numbers(named, reference, "--rows", keep_wrong=rejects)

    def _open_source(self) -> TextSource:
        if self.path == table_files.STANDARD_STREAM:
            return sys.stdin.buffer.read()
        if not Path(self.path).is_file():
            raise InputError("--rows must name a file", f"there is no file {self.path!r}", "correct the path")
        return Path(self.path)

    def _make_table(self, log: LogTable, reference: pd.DataFrame) -> pd.DataFrame:
        for problem in log.problems:
            print_to_stderr(f"note: {problem}{'; left out' if problem.line else ''}")
        self.bad_lines = sum(1 for problem in log.problems if problem.line)
        table = log.table if self.mapping is None else apply_mapping(log, self.mapping)
        if log.kind == "cicflowmeter":
            table = table.rename(columns=rename_to_match(map(str, table.columns), map(str, reference.columns)))
        return table.set_axis(pd.Index([f"line {line}" for line in log.lines]), axis=0)


def _recognise(source: TextSource, peek_lines: int = 20) -> str | None:
    """The format of a log by its first lines; None for a table or a binary file."""
    if isinstance(source, Path) and source.suffix.lower() == ".parquet":
        return None
    try:
        with open_text(source) as text:
            return recognise_format(list(islice(text, peek_lines)))
    except (ValueError, OSError, EOFError, zlib.error):  # the reader of tables will say what is wrong
        return None


def _read_source(source: TextSource, kind: str, path: str) -> LogTable:
    try:
        with open_text(source) as text:
            return read_log(text, kind)
    except UnicodeError as error:
        why = why_not_text(source, error)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        why = str(error)
    raise InputError("--rows must be text", f"{path!r}: {why}", "save it in UTF-8")
