"""The formats of logs: which one a text is in, and its table."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice

from counterpoise.errors import InputError
from counterpoise.security.logs.eve import read_eve
from counterpoise.security.logs.flow_csv import common_name, read_flow_csv
from counterpoise.security.logs.log_table import LogTable
from counterpoise.security.logs.zeek import read_zeek, read_zeek_json

FORMATS = ("zeek", "eve", "nfstream", "cicflowmeter")
CIC_MARKS = {"tot_fwd_pkts", "flow_byts_s", "fwd_pkt_len_max"}  # columns that tables of other tools do not have


def recognise_format(lines: Sequence[str], peek_lines: int = 20) -> str | None:
    """The format of a text by its first lines; None if it is no known log, such as a plain table.

    >>> recognise_format(["#separator \\\\x09"]), recognise_format(["dur,proto", "1,tcp"])
    ('zeek', None)
    """
    for line in lines[:peek_lines]:
        text = line.lstrip("\ufeff").strip()
        if not text:
            continue
        if text.startswith(("#separator", "#fields", "#path", "#set_separator", "#types")):
            return "zeek"
        if text.startswith("{"):
            kind, is_whole = _recognise_object(text)
            if kind is not None or is_whole:
                return kind
            continue  # a broken line; the next one may say it
        names = next(csv.reader([text]), [])
        if {"src2dst_packets", "bidirectional_packets"} & set(names):
            return "nfstream"
        return "cicflowmeter" if CIC_MARKS & {common_name(name) for name in names} else None
    return None


def read_log(lines: Iterable[str], kind: str | None = None, peek_lines: int = 20) -> LogTable:
    """The table of a log.

    lines: the lines of the file.
    kind: one of `FORMATS`; None: recognised by the first lines.
    peek_lines: how many lines are looked at to recognise it; 20 by default.

    >>> read_log(['{"event_type": "flow", "flow": {"age": 3}}']).kind
    'eve'
    """
    rest = iter(lines)
    first = list(islice(rest, peek_lines))
    found = recognise_format(first) if kind is None else kind
    if found not in FORMATS:
        given = "its first lines are of none" if kind is None else f"{kind!r}"
        raise InputError(f"a log must be of {', '.join(FORMATS)}", given, "give --format, or a table as CSV")
    return _READERS[found](chain([line.lstrip("\ufeff") for line in first[:1]], first[1:], rest))


def _recognise_object(text: str) -> tuple[str | None, bool]:
    """The format of a line that begins an object, and whether the line is whole."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return ("eve" if '"event_type"' in text else None), False
    if "event_type" in record:
        return "eve", True
    has_endpoints = "id.orig_h" in record or isinstance(record.get("id"), dict)
    return ("zeek" if "uid" in record and ("ts" in record or has_endpoints) else None), True


def _read_any_zeek(lines: Iterable[str]) -> LogTable:
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    return (read_zeek_json if first.lstrip().startswith("{") else read_zeek)(chain([first], rest))


_READERS: dict[str, Callable[[Iterable[str]], LogTable]] = {
    "zeek": _read_any_zeek,
    "eve": read_eve,
    "nfstream": lambda lines: read_flow_csv("nfstream", lines),
    "cicflowmeter": lambda lines: read_flow_csv("cicflowmeter", lines),
}
