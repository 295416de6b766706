"""LogTable: the rows of a log, where each was, and the lines that could not be read; lines of JSON made flat."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import pandas as pd

from counterpoise.errors import InputError


def read_json_objects(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """For each line that is not blank: its number, and its object or the reason why it has none.

    >>> list(read_json_objects(['{"a": 1}', "", "[1]"]))
    [(1, {'a': 1}), (3, 'it is not a JSON object')]
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line, parse_constant=_refuse_constant)
        except RecursionError:
            yield number, "it is nested too deeply"
        except json.JSONDecodeError as error:
            yield number, f"it is no JSON ({error.msg}, character {error.pos + 1})"
        except ValueError as error:
            yield number, f"it is no JSON ({str(error).split(';')[0]})"
        else:
            yield number, found if isinstance(found, dict) else "it is not a JSON object"


def flatten_record(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as fields whose names have dots; a list is its parts with commas.

    >>> flatten_record({"flow": {"age": 3}, "tags": ["a", "b"], "vlan": None})
    {'flow.age': 3, 'tags': 'a,b', 'vlan': None}
    """
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            flat |= flatten_record(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            flat[prefix + key] = ",".join(part if isinstance(part, str) else json.dumps(part) for part in value)
        else:
            flat[prefix + key] = value
    return flat


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number that JSON has")


LARGEST_NUMBER = sys.float_info.max


class LineProblem(NamedTuple):
    """A line of a log that was left out, counted from 1, and why; line 0 stands for the whole log."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}" if self.line else self.why


@dataclass(frozen=True, eq=False)
class LogTable:
    """The rows of a log, their lines, counted from 1, ``(n,)``, and the lines that were left out."""

    kind: str
    table: pd.DataFrame
    lines: tuple[int, ...]
    problems: tuple[LineProblem, ...]


def build_log_table(
    kind: str, records: Iterable[tuple[int, Mapping[str, Any]]], problems: Iterable[LineProblem]
) -> LogTable:
    """The table of records with their line numbers; a field that a record does not have is a missing cell.

    >>> build_log_table("zeek", [(9, {"a": 1}), (10, {"b": "x"})], []).table.to_dict("list")
    {'a': [1.0, nan], 'b': [nan, 'x']}
    """
    found = list(records)
    names = list(dict.fromkeys(name for _, record in found for name in record))
    columns = {name: _make_column([record.get(name) for _, record in found]) for name in names}
    table = pd.DataFrame(columns, index=pd.RangeIndex(len(found)))
    return LogTable(kind, table, tuple(line for line, _ in found), tuple(problems))


def _make_column(values: list[Any]) -> pd.Series[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        whole = kinds == {int} and None not in values
        return pd.Series(values, dtype="int64" if whole and max(map(abs, values)) < 2**63 else "float64")
    return pd.Series([float("nan") if value is None else value for value in values], dtype=object).infer_objects()


def check_finite(record: Mapping[str, Any]) -> None:
    """Raise a ValueError that names the first field that is infinite, or too large for a number.

    >>> check_finite({"age": 10**400})
    Traceback (most recent call last):
    ValueError: 'age' is too large
    """
    for name, value in record.items():
        if isinstance(value, float) and not isfinite(value) and value == value:
            raise ValueError(f"{name!r} is infinite")
        if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
            raise ValueError(f"{name!r} is too large")


def set_wrong_apart(
    records: Iterable[tuple[int, Mapping[str, Any]]], problems: list[LineProblem]
) -> list[tuple[int, Mapping[str, Any]]]:
    """The records that can be rows; one with a number that is none, or text among numbers, is added to ``problems``.

    A field is of numbers where more than half of its cells are.

    >>> problems = []
    >>> found = set_wrong_apart([(1, {"age": 3}), (2, {"age": "x"}), (3, {"age": 1e999}), (4, {"age": 5})], problems)
    >>> [line for line, _ in found], [str(each) for each in problems]
    ([1, 4], ["line 2: 'age' has 'x', which is no number", "line 3: 'age' is infinite"])
    """
    listed = list(records)
    texts = Counter(name for _, record in listed for name, value in record.items() if isinstance(value, str))
    filled = Counter(name for _, record in listed for name, value in record.items() if value is not None)
    numeric = {name for name, count in texts.items() if 2 * count < filled[name]}
    kept = []
    for line, record in listed:
        wrong = next((name for name in numeric if isinstance(record.get(name), str)), None)
        try:
            check_finite(record)
        except ValueError as error:
            problems.append(LineProblem(line, str(error)))
        else:
            if wrong is None:
                kept.append((line, record))
            else:
                problems.append(LineProblem(line, f"{wrong!r} has {str(record[wrong])[:40]!r}, which is no number"))
    return kept


def refuse_empty(kind: str, problems: Iterable[LineProblem]) -> None:
    """Raise an error about a log of which no line can be read; it names the first problem."""
    listed = list(problems)
    why = f"{len(listed)} could not be read; {listed[0]}" if listed else "it has none"
    raise InputError(f"a log of {kind} must have at least one record", why, "check where the log is from, or --format")
