"""Zeek's logs: lines of cells under a header (#fields, #types), or a JSON object a line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from counterpoise.security.logs.log_table import (
    LineProblem,
    LogTable,
    build_log_table,
    check_finite,
    flatten_record,
    read_json_objects,
    refuse_empty,
    set_wrong_apart,
)

NUMBER_TYPES = {"time": float, "interval": float, "double": float, "count": int, "int": int, "port": int}
ESCAPED_BYTES = re.compile(r"(?:\\x[0-9a-fA-F]{2})+")


@dataclass(frozen=True)
class ZeekHeader:
    """What the lines that begin with # say of the cells below them."""

    separator: str = "\t"
    set_separator: str = ","
    empty: str = "(empty)"
    unset: str = "-"
    path: str = ""
    fields: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def add_line(self, line: str) -> ZeekHeader:
        """The header with one of its lines read.

        >>> ZeekHeader().add_line("#unset_field\\t?").unset
        '?'
        """
        if line.startswith("#separator"):
            return replace(self, separator=_decode(line.split(" ", 1)[-1].strip()) or "\t")
        key, *cells = line[1:].split(self.separator)
        names = {"set_separator": "set_separator", "empty_field": "empty", "unset_field": "unset", "path": "path"}
        if key in names and cells:
            return replace(self, **{names[key]: cells[0]})  # type: ignore[arg-type]
        if key == "fields":
            return replace(self, fields=tuple(cells), types=())
        return replace(self, types=tuple(cells)) if key == "types" else self

    def parse_line(self, line: str) -> dict[str, Any]:
        """The record in a line of cells; a ValueError if it has none."""
        cells = line.split(self.separator)
        if len(cells) != len(self.fields):
            raise ValueError(f"it has {len(cells)} cells, the header {len(self.fields)} fields")
        kinds = self.types or ("string",) * len(cells)
        return {name: self._parse_cell(*each) for name, *each in zip(self.fields, kinds, cells, strict=True)}

    def _parse_cell(self, kind: str, text: str) -> Any:
        if text == self.unset:
            return None
        if kind.startswith(("set[", "vector[")):
            parts = [] if text == self.empty else text.split(self.set_separator)
            return ",".join(_decode(part) for part in parts)
        if text == self.empty:
            return ""
        if kind == "bool":
            if text not in ("T", "F"):
                raise ValueError(f"{text!r} is neither T nor F")
            return text == "T"
        if kind in NUMBER_TYPES:
            try:
                return NUMBER_TYPES[kind](text if "_" not in text else "")  # Python would read 6_2 as 62
            except ValueError:
                raise ValueError(f"{text!r} is no {kind}") from None
        return _decode(text)


def read_zeek(lines: Iterable[str]) -> LogTable:
    r"""The table of a log that Zeek wrote as lines of cells.

    Numbers by their type, T and F as booleans, the mark for unset as a missing cell, a set as its parts with commas.

    >>> log = "#separator \\x09\n#path\tconn\n#fields\tuid\torig_pkts\n#types\tstring\tcount\nC1\t5\nC2\tx\n"
    >>> found = read_zeek(log.splitlines())
    >>> found.table.to_dict("list"), [str(each) for each in found.problems]
    ({'uid': ['C1'], 'orig_pkts': [5]}, ["line 6: 'x' is no count"])
    """
    header, records, problems = ZeekHeader(), [], []
    first_path, has_reported_other = "", False
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")
        if line.startswith("#"):
            header = header.add_line(line)
            continue
        if not line.strip():
            continue
        first_path = first_path or header.path
        if header.path != first_path:
            if not has_reported_other:
                problems.append(
                    LineProblem(number, f"from here on it is a log of {header.path!r}, not of {first_path!r}")
                )
            has_reported_other = True
            continue
        try:
            _check_header(header)
            record = header.parse_line(line)
            check_finite(record)
        except ValueError as error:
            problems.append(LineProblem(number, str(error)))
        else:
            records.append((number, record))
    if not records:
        refuse_empty("zeek", problems)
    if not header.types:
        problems.append(LineProblem(0, "the header has no #types: every cell was read as text"))
    return build_log_table("zeek", records, problems)


def read_zeek_json(lines: Iterable[str]) -> LogTable:
    """The table of a log that Zeek wrote as JSON, one object a line; nested fields get names with dots.

    >>> read_zeek_json(['{"uid": "C1", "id": {"orig_p": 53}}', "{"]).table.to_dict("list")
    {'uid': ['C1'], 'id.orig_p': [53]}
    """
    records, problems = [], []
    first_path, other_path = None, None
    for number, found in read_json_objects(lines):
        if isinstance(found, str):
            problems.append(LineProblem(number, found))
        elif "event_type" in found and "uid" not in found:
            problems.append(LineProblem(number, "it is a record of Suricata, not of Zeek"))
        else:
            path = found.get("_path")
            first_path = path if first_path is None else first_path
            if path == first_path:
                records.append((number, flatten_record(found)))
            elif other_path is None:
                other_path = path
                problems.append(LineProblem(number, f"it is of a log of {path!r}; those of {first_path!r} are read"))
    kept = set_wrong_apart(records, problems)
    if not kept:
        refuse_empty("zeek", problems)
    return build_log_table("zeek", kept, problems)


def _check_header(header: ZeekHeader) -> None:
    if not header.fields:
        raise ValueError("no #fields line above it says what its cells are")
    if header.types and len(header.types) != len(header.fields):
        raise ValueError(f"the header has {len(header.fields)} fields and {len(header.types)} types")


def _decode(text: str) -> str:
    r"""Text whose bytes may be written as \xHH.

    >>> _decode("a\\xc3\\xa4")
    'aä'
    """
    return ESCAPED_BYTES.sub(
        lambda found: bytes.fromhex(found[0].replace("\\x", "")).decode("utf-8", errors="replace"), text
    )
