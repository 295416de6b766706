"""Read text tables as programs export them: find the encoding and the separator, and check the width of each line."""

from __future__ import annotations

import codecs
import csv
import io
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd

from counterpoise.cli.table_limits import TableLimits, Unpacked
from counterpoise.space.yaml.unset_marks import UnsetMarks

TextSource = Path | bytes
"""A file, packed with gzip or not, or what came on standard input."""

BYTE_ORDER_MARKS = {  # the bytes that a text begins with, and its encoding; UTF-32's begin with those of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
DEFAULT_ENCODING = "utf-8-sig"  # with or without a mark of its own
EXACT_NUMBERS: dict[str, Any] = (  # how pandas is asked to read numbers to their last bit; later ones always do
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)


class NotText(ValueError):
    """The file is no text, or its encoding is not known."""


class UnevenLines(ValueError):
    """A line of the table has more cells than the header."""


def open_text(source: TextSource, peek_bytes: int = 4096, errors: str = "strict") -> IO[str]:
    """Open a source as text; a byte order mark at its beginning gives the encoding, else it is UTF-8.

    ``errors``: what becomes of bytes that are no text, as `open` has it.
    """
    with _open_bytes(source) as stream:
        start = stream.read(peek_bytes)
    encoding = next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), DEFAULT_ENCODING)
    if encoding == DEFAULT_ENCODING and b"\0" in start:
        raise NotText("it has zero bytes, as UTF-16 without a mark at its beginning and files that are no text have")
    return io.TextIOWrapper(cast(Any, _open_bytes(source)), encoding=encoding, errors=errors, newline="")


def why_not_text(source: TextSource, error: UnicodeError) -> str:
    """Say which byte of which line cannot be decoded."""
    if isinstance(error, UnicodeDecodeError) and error.encoding.replace("-", "") == "utf8":
        with _open_bytes(source) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as wrong:
                    return f"line {number} has the byte 0x{line[wrong.start]:02x}, which is not UTF-8"
    return str(error)


def read_delimited(
    source: TextSource, mark: str | None = None, unset: UnsetMarks | None = None, max_cell_letters: int = 1 << 30
) -> pd.DataFrame:
    """Read a table; the separator is a comma, or a semicolon or tab if the header has no comma but one of these.

    A cell is missing where it is empty or holds one of the marks in ``unset``; NA, None, null or nan are texts. A
    separator too many at the end of every line adds nothing. A line that is wider than the header otherwise is an
    error: nobody can tell which cell belongs to which column.
    """
    before = csv.field_size_limit(max_cell_letters)
    try:
        return (
            _read_separated(source, find_separator(source), unset or UnsetMarks(), noticed=True)
            if mark is None
            else _read_separated(source, mark, unset or UnsetMarks())
        )
    except csv.Error as error:
        raise ValueError(str(error)) from None
    finally:
        csv.field_size_limit(before)


def _read_separated(source: TextSource, mark: str, unset: UnsetMarks, *, noticed: bool = False) -> pd.DataFrame:
    header, width = _read_header(source, mark)
    TableLimits().check(1, len(header), 0)
    if width > len(header):
        _check_widths(source, mark)

    def read(decimal: str, **more: Any) -> pd.DataFrame:
        with open_text(source) as text, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # of the empty cell that ends each line
            # without index_col a line that is wider than the header would lose its first cell to the index
            table: pd.DataFrame = pd.read_csv(
                text, sep=mark, decimal=decimal, index_col=False, keep_default_na=False, **more
            )
            return table

    def read_cells(decimal: str) -> pd.DataFrame:
        names = read(decimal, nrows=0).columns  # pandas tells names apart that the header has twice
        # a number is read to its last bit: what is judged is what the file says
        return read(decimal, na_values=unset.of_columns(names), **EXACT_NUMBERS)

    try:
        # programs that write semicolons often write 1,5 for one and a half
        tables = [read_cells("."), read_cells(",")] if noticed and mark != "," else [read_cells(".")]
    except pd.errors.ParserError:
        _check_widths(source, mark)
        raise
    table = max(tables, key=lambda each: each.select_dtypes("number").shape[1])
    while len(header) > 1 and not header[-1].strip() and bool(table.iloc[:, -1].isna().all()):
        header, table = header[:-1], table.iloc[:, :-1]
    return table


def _open_bytes(source: TextSource) -> IO[bytes]:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    return cast(IO[bytes], Unpacked(source)) if source.suffix.lower() == ".gz" else source.open("rb")


def _iterate_lines(text: Iterable[str], mark: str) -> Iterator[tuple[int, list[str]]]:
    """The number of each line of a table, counted from 1, and its cells; blank lines are left out, as pandas does."""
    reader = csv.reader(text, delimiter=mark)
    return ((reader.line_num, cells) for cells in reader if len(cells) > 1 or (cells and cells[0].strip()))


def find_separator(source: TextSource) -> str:
    """The separator that the header uses."""
    with open_text(source, errors="surrogateescape") as text:  # the header alone is looked at
        _, header = next(_iterate_lines(text, ","), (0, [""]))
    return next((mark for mark in (";", "\t") if mark in header[0]), ",") if len(header) == 1 else ","


def _read_header(source: TextSource, mark: str, max_lines: int = 10_000) -> tuple[list[str], int]:
    """The cells of the header, and the number of cells in the next line, both among the first lines."""
    with open_text(source) as text:
        lines = _iterate_lines(islice(text, max_lines), mark)
        _, header = next(lines, (0, []))
        return header, len(next(lines, (0, []))[1])


def _check_widths(source: TextSource, mark: str) -> None:
    """Raise an error for a line wider than the header, unless every line ends in one separator too many."""
    first, even = (0, 0), True
    with open_text(source) as text:
        lines = _iterate_lines(text, mark)
        _, header = next(lines)
        for number, cells in lines:
            more = len(cells) - len(header)
            wrong = more > 1 or (more == 1 and bool(cells[-1].strip()))
            if wrong or (more == 1 and not first[0]):
                first = number, len(cells)
            even = even and more == 1 and not wrong
            if wrong:
                break
    if first[0] and not even:
        raise UnevenLines(f"line {first[0]} has {first[1]} cells, the header {len(header)}")


def begins_with_a_brace(given: bytes, peek_letters: int = 4096) -> bool:
    """Whether the first letter of a text is that of a JSON object; False for what is no text."""
    try:
        with open_text(given) as text:
            return text.read(peek_letters).lstrip().startswith("{")
    except ValueError:  # no text: the reader will say so
        return False
