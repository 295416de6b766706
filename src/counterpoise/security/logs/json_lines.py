"""JSON objects, one a line: read, and made flat."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def read_json_objects(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """For each line that is not blank its number, and the object in it or a text that says why there is none.

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
