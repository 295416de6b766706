"""The CSV files of NFStream and CICFlowMeter, line by line: a bad one is told, the others are rows."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from counterpoise.security.logs.log_table import LineProblem, LogTable, build_log_table, check_finite, refuse_empty

TEXT_FIELDS = frozenset(  # never numbers, whatever they look like; in small letters, without blanks around them
    (
        *("id", "src_ip", "dst_ip", "src_mac", "dst_mac", "src_oui", "dst_oui", "flow_id", "flow id", "src ip"),
        *("dst ip", "source ip", "destination ip", "timestamp", "label", "application_name"),
        *("application_category_name", "requested_server_name", "client_fingerprint", "server_fingerprint"),
        *("user_agent", "content_type"),
    )
)


def read_flow_csv(kind: str, lines: Iterable[str]) -> LogTable:
    """The table of a CSV file of flows; a cell of a column of numbers that is none makes its line a bad one.

    >>> found = read_flow_csv("nfstream", ["src_ip,src2dst_packets", "10.0.0.1,5", "10.0.0.2", "10.0.0.3,x"])
    >>> found.table.to_dict("list"), [str(each) for each in found.problems][0]
    ({'src_ip': ['10.0.0.1'], 'src2dst_packets': [5]}, 'line 3: it has 1 cells, the header 2')
    """
    reader = csv.reader(lines)
    header: list[str] = []
    kept: list[tuple[int, list[str]]] = []
    problems: list[LineProblem] = []
    try:
        for cells in reader:
            if not header:
                header = [cell.strip() for cell in cells]
                problems += _name_repeated_columns(header)
            elif len(cells) == len(header):
                kept.append((reader.line_num, cells))
            elif any(cell.strip() for cell in cells):
                problems.append(LineProblem(reader.line_num, f"it has {len(cells)} cells, the header {len(header)}"))
    except csv.Error as error:
        problems.append(LineProblem(reader.line_num, f"the rest cannot be read ({error})"))
    is_number = [
        name.lower() not in TEXT_FIELDS and _is_mostly_numbers([cells[place] for _, cells in kept])
        for place, name in enumerate(header)
    ]
    records = []
    for line, cells in kept:
        try:
            record = _parse_cells(header, is_number, cells)
            check_finite(record)
        except ValueError as error:
            problems.append(LineProblem(line, str(error)))
        else:
            records.append((line, record))
    if not records:
        refuse_empty(kind, problems)
    return build_log_table(kind, records, sorted(problems))


def _name_repeated_columns(header: Sequence[str]) -> list[LineProblem]:
    return [
        LineProblem(0, f"several columns are called {name!r}; the last of them is read")
        for name, count in Counter(header).items()
        if count > 1
    ]


def _is_mostly_numbers(cells: Sequence[str]) -> bool:
    full = [cell for cell in cells if cell.strip()]
    return bool(full) and 2 * sum(map(_is_number, full)) >= len(full)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python would read 6_2 as 62


def _parse_cells(header: Sequence[str], is_number: Sequence[bool], cells: Sequence[str]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, numeric, cell in zip(header, is_number, cells, strict=True):
        text = cell.strip()
        if not text:
            record[name] = None
        elif not numeric:
            record[name] = text
        else:
            if not _is_number(text):
                raise ValueError(f"{name!r} has {text!r}, which is no number")
            record[name] = int(text) if text.lstrip("+-").isdecimal() and len(text) < 300 else float(text)
    return record
