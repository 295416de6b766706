"""Text tables as programs export them: the encoding, the mark between cells, and lines as wide as the header."""

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

Source = Path | bytes
"""A file, packed with gzip or not, or what came on standard input."""

MARKS = {  # the bytes that a text begins with, and its encoding; UTF-32's begin with those of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
UTF8 = "utf-8-sig"  # with or without a mark of its own
PEEK = 4096
FIRST_LINES = 10_000
WIDEST = 1 << 30  # letters in a cell: a long cell is none of our business


class NotText(ValueError):
    """A file that is not text in an encoding that is known."""


class UnevenLines(ValueError):
    """A table with a line that has more cells than the header."""


def open_text(source: Source) -> IO[str]:
    """The text of a source, to be read from its beginning; its first bytes say what it is written in."""
    with _open(source) as stream:
        start = stream.read(PEEK)
    encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), UTF8)
    if encoding == UTF8 and b"\0" in start:
        raise NotText("it has zero bytes, as UTF-16 without a mark at its beginning and files that are no text have")
    return io.TextIOWrapper(cast(Any, _open(source)), encoding=encoding, newline="")


def why_not_text(source: Source, error: UnicodeError) -> str:
    """What a decoder stumbled over, and where."""
    if isinstance(error, UnicodeDecodeError) and error.encoding.replace("-", "") == "utf8":
        with _open(source) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as wrong:
                    return f"line {number} has the byte 0x{line[wrong.start]:02x}, which is not UTF-8"
    return str(error)


def read_delimited(source: Source, mark: str | None = None) -> pd.DataFrame:
    """A table with commas between its cells, or with semicolons or tabs where the one name in its header has them.

    A separator too many at the end of every line adds nothing. A line that is wider than the header otherwise is an
    error: nobody knows which cell belongs to which column.
    """
    before = csv.field_size_limit(WIDEST)
    try:
        return _read(source, _mark(source), noticed=True) if mark is None else _read(source, mark)
    except csv.Error as error:
        raise ValueError(str(error)) from None
    finally:
        csv.field_size_limit(before)


def _read(source: Source, mark: str, *, noticed: bool = False) -> pd.DataFrame:
    header, width = _beginning(source, mark)
    TableLimits().check(1, len(header), 0)
    if width > len(header):
        _check_widths(source, mark)

    def read(decimal: str) -> pd.DataFrame:
        with open_text(source) as text, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # of the empty cell that ends each line
            # without index_col a line that is wider than the header would lose its first cell to the index
            return pd.read_csv(text, sep=mark, decimal=decimal, index_col=False)

    try:
        # programs that write semicolons often write 1,5 for one and a half
        tables = [read("."), read(",")] if noticed and mark != "," else [read(".")]
    except pd.errors.ParserError:
        _check_widths(source, mark)
        raise
    table = max(tables, key=lambda each: each.select_dtypes("number").shape[1])
    while len(header) > 1 and not header[-1].strip() and bool(table.iloc[:, -1].isna().all()):
        header, table = header[:-1], table.iloc[:, :-1]
    return table


def _open(source: Source) -> IO[bytes]:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    return cast(IO[bytes], Unpacked(source)) if source.suffix.lower() == ".gz" else source.open("rb")


def _lines(text: Iterable[str], mark: str) -> Iterator[tuple[int, list[str]]]:
    """The number of each line of a table, counted from 1, and its cells; blank lines are left out, as pandas does."""
    reader = csv.reader(text, delimiter=mark)
    return ((reader.line_num, cells) for cells in reader if len(cells) > 1 or (cells and cells[0].strip()))


def _mark(source: Source) -> str:
    """What stands between the cells, as far as the header tells."""
    with open_text(source) as text:
        _, header = next(_lines(text, ","), (0, [""]))
    return next((mark for mark in (";", "\t") if mark in header[0]), ",") if len(header) == 1 else ","


def _beginning(source: Source, mark: str) -> tuple[list[str], int]:
    """The cells of the header, and how many the line after it has, if there is one among the first lines."""
    with open_text(source) as text:
        lines = _lines(islice(text, FIRST_LINES), mark)
        _, header = next(lines, (0, []))
        return header, len(next(lines, (0, []))[1])


def _check_widths(source: Source, mark: str) -> None:
    """An error that names a line that is wider than the header, unless each has one cell more, and that is empty."""
    first, even = (0, 0), True
    with open_text(source) as text:
        lines = _lines(text, mark)
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
