"""CSV and NDJSON read line by line: a broken line is set aside and the others are kept."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import pandas as pd

from counterpoise.cli.csv_dialect import TextSource, find_separator, open_text, read_delimited
from counterpoise.scale.unreadable import insert_unreadable
from counterpoise.space.yaml.unset_marks import UnsetMarks


def read_around_broken_lines(source: TextSource, mark: str | None, unset: UnsetMarks) -> pd.DataFrame:
    """The table in a source; a line that has not as many cells as the header, or is no text, is marked."""
    reasons, place = {}, 0
    separator = find_separator(source) if mark is None else mark
    with open_text(source, errors=UNDECODED) as text:
        lines = iterate_cells(text, separator)
        first = next(lines, [])
        header = Header.parse(first if isinstance(first, list) else [], separator)
        for place, cells in enumerate(lines):
            fitted = cells if isinstance(cells, str) else header.fit(cells)
            if isinstance(fitted, str):
                reasons[place] = fitted
    if not reasons or not header.names or len(reasons) == place + 1:
        return read_delimited(source, mark, unset)
    return insert_unreadable(read_delimited(_without(source, separator, header, reasons), mark, unset), reasons)


def read_objects_around_broken_lines(source: TextSource, unset: UnsetMarks) -> pd.DataFrame:
    """The table of the objects of NDJSON in a source; a line that is none is marked."""
    with open_text(source, errors=UNDECODED) as text:
        lines = [parse_object(line) for line in text if line.strip()]
    found = pd.DataFrame([line for line in lines if not isinstance(line, str)])
    return insert_unreadable(found, {place: line for place, line in enumerate(lines) if isinstance(line, str)})


def _without(source: TextSource, separator: str, header: Header, reasons: dict[int, str]) -> bytes:
    """The text of a source without its broken lines."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    with open_text(source, errors=UNDECODED) as text:
        lines = iterate_cells(text, separator)
        writer.writerow(next(lines))
        for place, cells in enumerate(lines):
            if place not in reasons:
                writer.writerow(cells)
    return out.getvalue().encode()


NOT_AN_OBJECT = "a line must be a JSON object"
NOT_A_LINE = "a line must have as many cells as the header"
NOT_TEXT = "a line must be text in UTF-8"
UNDECODED = "surrogateescape"  # how text is opened so that bytes that are no text stay in their line


class Header(NamedTuple):
    """The header of a CSV file: column names, repeated ones numbered, and the separator."""

    names: list[str]
    separator: str

    @classmethod
    def parse(cls, cells: list[str], separator: str) -> Header:
        """The header that a line is; what ends in nothing has no column for that.

        >>> Header.parse(["load", "load", ""], ",").names
        ['load', 'load.1']
        """
        while cells and not cells[-1].strip():
            cells = cells[:-1]
        line = io.StringIO()
        csv.writer(line).writerow(cells)
        names: list[Any] = []
        if cells:
            names = pd.read_csv(io.StringIO(line.getvalue()), nrows=0, index_col=False).columns.tolist()
        return cls([str(name) for name in names], separator)

    def fit(self, cells: list[str]) -> list[str] | str:
        """The cells of a line, without empty ones beyond the header; or why they are no line of the table.

        >>> header = Header(["load", "ports"], ",")
        >>> header.fit(["1", "2", ""]), header.fit(["1"])
        (['1', '2'], 'a line must have as many cells as the header; 1 for 2')
        """
        if not all(map(is_text, cells)):
            return NOT_TEXT
        width = len(self.names)
        while len(cells) > width and not cells[-1].strip():
            cells = cells[:-1]
        return cells if len(cells) == width else f"{NOT_A_LINE}; {len(cells)} for {width}"


def parse_object(text: str) -> dict[str, Any] | str:
    """A line of NDJSON as an object, or why it is none.

    >>> parse_object('{"load": 3}'), parse_object('[3]')
    ({'load': 3}, "a line must be a JSON object; '[3]'")
    """
    if not is_text(text):
        return NOT_TEXT
    try:
        record = json.loads(text.strip())
    except (ValueError, RecursionError) as error:
        return f"{NOT_AN_OBJECT}; {error}"
    return record if isinstance(record, dict) else f"{NOT_AN_OBJECT}; {text.strip()[:60]!r}"


def is_text(line: str) -> bool:
    """Whether all bytes of a line could be decoded; the others are lone surrogates in it."""
    return line.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in line)


def iterate_cells(text: IO[str], separator: str) -> Iterator[list[str] | str]:
    """The cells of each line of CSV that is not blank, or why it cannot be read."""
    lines = csv.reader(text, delimiter=separator)
    while True:
        try:
            cells = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"{NOT_A_LINE}; {error}"
            continue
        if len(cells) > 1 or (cells and cells[0].strip()):
            yield cells


def frame_of_cells(header: Header, lines: list[list[str] | str]) -> pd.DataFrame:
    """Lines of CSV as a frame of texts, with those that are none between them."""
    fitted = [line if isinstance(line, str) else header.fit(line) for line in lines]
    good = [line for line in fitted if not isinstance(line, str)]
    frame = pd.DataFrame(good, columns=pd.Index(header.names, dtype=object), dtype=object)
    return insert_unreadable(frame, {place: line for place, line in enumerate(fitted) if isinstance(line, str)})
