"""Constraints as plain values and back: the name of the class and its fields, for schema files and hashes.

What a class holds is read from its dataclass fields, so a new constraint is packed as soon as it is listed in
`EXAMPLES`. Lists stay lists; a tuple is a list where the field is declared as one, and ``{"tuple": [...]}`` where it
is a value, such as the name of a column with several levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from counterpoise.errors import InputError
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
from counterpoise.space.schema.tables_in import as_python_value

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


def pack_constraint(constraint: Constraint) -> dict[str, Any]:
    """The class of a constraint under "word", and those of its fields that differ from their defaults.

    >>> pack_constraint(Range("age", 18)), pack_constraint(OneOf("proto", ["tcp"]))
    ({'word': 'Range', 'name': 'age', 'low': 18}, {'word': 'OneOf', 'name': 'proto', 'values': ['tcp']})
    """
    name = type(constraint).__name__
    if CONSTRAINT_CLASSES.get(name) is not type(constraint):
        raise InputError(
            f"a constraint that is stored must be one of {', '.join(sorted(CONSTRAINT_CLASSES))}",
            f"{constraint!r}",
            "give a constraint of your own, or a function, by argument where the rest is read back",
        )
    packed: dict[str, Any] = {"word": name}
    for field in fields(CONSTRAINT_CLASSES[name]):
        value = getattr(constraint, field.name)
        if value != field.default or type(value) is not type(field.default):
            packed[field.name] = _pack_value(value, _tuple_depth(field))
    return packed


def unpack_constraint(packed: Mapping[str, Any]) -> Constraint:
    """The constraint that `pack_constraint` packed.

    >>> unpack_constraint({"word": "Immutable", "names": ["age", "sex"]})
    Immutable('age', 'sex')
    """
    known = CONSTRAINT_CLASSES.get(packed.get("word", "")) if isinstance(packed.get("word"), str) else None
    if known is None:
        raise InputError(
            f"a stored constraint must have a word, one of {', '.join(sorted(CONSTRAINT_CLASSES))}",
            f"{dict(packed)!r}",
            "correct the word",
        )
    by_name = {field.name: field for field in fields(known)}
    given = {key: value for key, value in packed.items() if key != "word"}
    extra = [key for key in given if key not in by_name]
    lacking = [name for name, field in by_name.items() if name not in given and field.default is MISSING]
    if extra or lacking:
        raise InputError(
            f"a stored {known.__name__} must have the fields {', '.join(by_name)}",
            f"{dict(packed)!r}",
            f"leave out {', '.join(map(repr, extra))}" if extra else f"add {', '.join(lacking)}",
        )
    values = {key: _unpack_value(value, _tuple_depth(by_name[key])) for key, value in given.items()}
    constraint: Constraint = build_constraint(known, values)
    return constraint


def build_constraint(constraint_class: type[Any], values: Mapping[str, Any]) -> Any:
    """The constraint with these fields; its names, where it takes any number of them, are given one by one."""
    options = dict(values)
    names = options.pop("names", ())
    return constraint_class(*(names if isinstance(names, (list, tuple)) else [names]), **options)


def _tuple_depth(field: Field[Any]) -> int:
    """How many levels of tuples a field is declared as: 1 for a list of names, 2 for a table of pairs."""
    return str(field.type).count("tuple[")


def _pack_value(value: Any, depth: int) -> Any:
    if isinstance(value, tuple):
        packed = [_pack_value(each, max(depth - 1, 0)) for each in value]
        return packed if depth else {"tuple": packed}
    if isinstance(value, list):
        return [_pack_value(each, 0) for each in value]
    plain = as_python_value(value)
    if plain is None or isinstance(plain, (bool, int, float, str)):
        return plain
    raise InputError(
        "a constraint that is stored must hold numbers, texts and booleans",
        f"{value!r} is a {type(value).__name__}",
        "write it as one of these",
    )


def _unpack_value(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        if set(value) == {"tuple"}:
            return tuple(_unpack_value(each, 0) for each in value["tuple"])
        raise InputError("a stored value must be plain, or {'tuple': [...]}", f"{dict(value)!r}", "correct it")
    if isinstance(value, list):
        return [_unpack_value(each, max(depth - 1, 0)) for each in value]
    return value
