"""Lines of CSV and NDJSON read one by one, so that a line that is no row costs no other."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import pandas as pd

from counterpoise.scale.unreadable import insert_unreadable

NOT_AN_OBJECT = "a line must be a JSON object"
NOT_A_LINE = "a line must have as many cells as the header"
NOT_TEXT = "a line must be text in UTF-8"
UNDECODED = "surrogateescape"  # how text is opened so that bytes that are no text stay in their line


class Header(NamedTuple):
    """The names of the columns of CSV, told apart where one comes twice, and what stands between cells."""

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
