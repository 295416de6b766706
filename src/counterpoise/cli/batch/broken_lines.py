"""A file of CSV or NDJSON with lines that are no rows: read without them, and marked where they are."""

from __future__ import annotations

import csv
import io

import pandas as pd

from counterpoise.cli.batch.tolerant_lines import UNDECODED, Header, iterate_cells, parse_object
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
