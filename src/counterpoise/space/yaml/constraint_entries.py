"""What a schema file states under relations: and constraints:, as words.

relations:
- fwd + bwd == total
- {rule: fwd + bwd == total, tolerance: 0.001, relax: true}
constraints:
- {word: Range, name: age, low: 18, high: 65}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from counterpoise.errors import CounterpoiseError, InputError
from counterpoise.space.constraints.between_features import Derived, Linked, Lookup, Rule
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
from counterpoise.space.yaml.column_entries import (
    FLAG,
    NAME,
    NAMES,
    NUMBER,
    SINGLE_VALUE,
    TABLE,
    TEXT,
    VALUES,
    WHOLE_NUMBER,
    KeyForm,
    read_keys,
    shorten_repr,
)

RULE_EXAMPLE = "{rule: fwd + bwd == total, tolerance: 0.001}"
RULE_FORMS: dict[str, KeyForm] = {"rule": TEXT, "tolerance": NUMBER, "relax": FLAG, "holds": NUMBER}
OPTION_FORMS: dict[str, KeyForm] = {"tolerance": NUMBER, "relax": FLAG}
OPTIONAL_KEYS = {"low", "high", "percent", "distance", "up", "down", *OPTION_FORMS}


class ConstraintSpelling(NamedTuple):
    """How a schema file writes a word: its keys, and an example."""

    constraint_class: Callable[..., Constraint]
    forms: Mapping[str, KeyForm]
    example: str


CONSTRAINT_SPELLINGS: dict[str, ConstraintSpelling] = {
    "Immutable": ConstraintSpelling(Immutable, {"names": NAMES}, "{word: Immutable, names: [age, sex]}"),
    "Mutable": ConstraintSpelling(Mutable, {"names": NAMES}, "{word: Mutable, names: [rate, packets]}"),
    "Increasing": ConstraintSpelling(Increasing, {"names": NAMES}, "{word: Increasing, names: [age]}"),
    "Decreasing": ConstraintSpelling(Decreasing, {"names": NAMES}, "{word: Decreasing, names: [debt]}"),
    "Integer": ConstraintSpelling(Integer, {"names": NAMES}, "{word: Integer, names: [packets]}"),
    "Linked": ConstraintSpelling(Linked, {"names": NAMES}, "{word: Linked, names: [source, destination]}"),
    "Range": ConstraintSpelling(
        Range, {"name": NAMES, "low": SINGLE_VALUE, "high": SINGLE_VALUE}, "{word: Range, name: age, low: 18, high: 65}"
    ),
    "OneOf": ConstraintSpelling(
        OneOf, {"name": NAMES, "values": VALUES}, "{word: OneOf, name: proto, values: [tcp, udp]}"
    ),
    "MaxChanges": ConstraintSpelling(MaxChanges, {"count": WHOLE_NUMBER}, "{word: MaxChanges, count: 4}"),
    "Step": ConstraintSpelling(Step, {"name": NAMES, "size": NUMBER}, "{word: Step, name: days, size: 7}"),
    "Within": ConstraintSpelling(
        Within, {"name": NAMES, "percent": NUMBER, "distance": NUMBER}, "{word: Within, name: latency, percent: 10}"
    ),
    "Cost": ConstraintSpelling(
        Cost, {"name": NAMES, "up": NUMBER, "down": NUMBER}, "{word: Cost, name: debt, up: .inf, down: 3}"
    ),
    "Rule": ConstraintSpelling(Rule, {"text": TEXT, **OPTION_FORMS}, '{word: Rule, text: "fwd + bwd == total"}'),
    "Derived": ConstraintSpelling(
        Derived, {"name": NAME, "text": TEXT, **OPTION_FORMS}, "{word: Derived, name: rate, text: bytes / duration}"
    ),
    "Lookup": ConstraintSpelling(
        Lookup,
        {"name": NAME, "of": NAME, "table": TABLE, "relax": FLAG},
        "{word: Lookup, name: port, of: service, table: {http: 80, https: 443}}",
    ),
}


def read_rules(entries: Iterable[Any]) -> list[Rule]:
    """The rules under relations: each a text, or a text with its options.

    >>> read_rules(["age > 3", {"rule": "min <= mean <= max", "tolerance": 0.001}])
    [Rule('age > 3'), Rule('min <= mean <= max', tolerance=0.001)]
    """
    out = []
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number} of relations:"
        said = {"rule": entry} if isinstance(entry, str) else entry
        if not isinstance(said, dict) or said.get("rule") is None:
            raise InputError(
                "a relation must be a rule",
                f"{where} is {shorten_repr(entry)}",
                f"write the text alone, or {RULE_EXAMPLE}",
            )
        read = read_keys(where, said, RULE_FORMS)
        read.pop("holds", None)  # what the data shows, for people to read
        out.append(_build_constraint(where, Rule, (read.pop("rule"),), read))
    return out


def read_constraints(entries: Iterable[Any]) -> list[Constraint]:
    """The words under constraints:.

    >>> read_constraints([{"word": "Immutable", "names": "age"}, {"word": "Range", "name": "rate", "low": 0}])
    [Immutable('age'), Range(name='rate', low=0, high=None)]
    """
    out = []
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number} of constraints:"
        spelling = _find_spelling(where, entry)
        read = read_keys(where, {key: value for key, value in entry.items() if key != "word"}, spelling.forms)
        if any(key not in read for key in spelling.forms if key not in OPTIONAL_KEYS):
            _refuse(where, entry, spelling.example)
        names = [read.pop("names")] if "names" in read else []
        out.append(_build_constraint(where, spelling.constraint_class, names, read))
    return out


def _find_spelling(where: str, entry: Any) -> ConstraintSpelling:
    """How the word of an entry is written."""
    word = entry.get("word") if isinstance(entry, dict) else None
    if isinstance(word, str) and word in CONSTRAINT_SPELLINGS:
        return CONSTRAINT_SPELLINGS[word]
    # a hostile file may hold a million keys or one of a million letters: few are looked at, and shortened
    said = [word] if word is not None else list(entry)[:8] if isinstance(entry, (dict, list)) else [entry]
    titles = [shorten_repr(each).strip("'").title() for each in said]
    meant = [near for title in titles for near in get_close_matches(title, CONSTRAINT_SPELLINGS, n=1)]
    if word is None:
        _refuse(where, entry, CONSTRAINT_SPELLINGS[meant[0] if meant else "Immutable"].example)
    raise InputError(
        "a constraint in a schema file must be one of Counterpoise's words",
        f"{where} has word: {shorten_repr(word)}",
        f"the words are {', '.join(sorted(CONSTRAINT_SPELLINGS))}; "
        f"for instance {CONSTRAINT_SPELLINGS[meant[0] if meant else 'Immutable'].example}",
    )


def _refuse(where: str, entry: Any, example: str) -> NoReturn:
    raise InputError(
        "a constraint in a schema file must be a word with all that it takes",
        f"{where} is {shorten_repr(entry)}",
        f"write for instance {example}",
    )


def _build_constraint(where: str, word: Callable[..., Any], names: Iterable[Any], options: Mapping[str, Any]) -> Any:
    """The word; where it refuses what it was given, its error says which entry of the file that was."""
    try:
        return word(*names, **options)
    except CounterpoiseError as error:
        found = {key: value for key, value in vars(error).items() if key not in ("must", "given", "todo")}
        raise type(error)(error.must, f"{where} {error.given}", error.todo, **found) from None
