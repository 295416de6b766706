"""The classes of constraints, an example of each, and how a schema file writes them: a word, and the class's fields.

What a class holds is read from its dataclass fields, so schema files know a new constraint as soon as it is listed in
`EXAMPLES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from counterpoise.space.constraints.between_features import Derived, Linked, Lookup, OneHot, Rule
from counterpoise.space.constraints.relative_to_row import Cost, Step, Within
from counterpoise.space.constraints.words import (
    Constraint,
    Decreasing,
    Immutable,
    Increasing,
    Integer,
    MaxChanges,
    Mutable,
    OneOf,
    Range,
)

EXAMPLES: tuple[Constraint, ...] = (
    Immutable("age", "sex"),
    Mutable("rate", "packets"),
    Increasing("age"),
    Decreasing("debt"),
    Integer("packets"),
    Linked("source", "destination"),
    Range("age", 18, 65),
    OneOf("proto", ["tcp", "udp"]),
    MaxChanges(4),
    Step("days", 7),
    Within("latency", percent=10),
    Cost("debt", float("inf"), 3),
    Rule("fwd + bwd == total"),
    Derived("rate", "bytes / duration"),
    Lookup("port", of="service", table={"http": 80, "https": 443}),
    OneHot("tcp", "udp", "icmp"),
)
CONSTRAINT_CLASSES: dict[str, type[Any]] = {type(example).__name__: type(example) for example in EXAMPLES}


def pack_constraint(constraint: Any) -> dict[str, Any]:
    """The class of a constraint under "word", and those of its fields that differ from their defaults.

    >>> pack_constraint(Range("age", 18)), pack_constraint(OneOf("proto", ["tcp"]))
    ({'word': 'Range', 'name': 'age', 'low': 18}, {'word': 'OneOf', 'name': 'proto', 'values': ['tcp']})
    """
    packed: dict[str, Any] = {"word": type(constraint).__name__}
    for field in fields(constraint):
        value = getattr(constraint, field.name)
        if value != field.default or type(value) is not type(field.default):
            packed[field.name] = _tuples_as_lists(value)
    return packed


def build_constraint(constraint_class: type[Any], values: Mapping[str, Any]) -> Any:
    """The constraint with these fields; a list of names becomes positional arguments."""
    options = dict(values)
    names = options.pop("names", ())
    return constraint_class(*(names if isinstance(names, (list, tuple)) else [names]), **options)


def _tuples_as_lists(value: Any) -> Any:
    return [_tuples_as_lists(each) for each in value] if isinstance(value, (tuple, list)) else value
