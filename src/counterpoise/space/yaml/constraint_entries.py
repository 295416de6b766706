"""The entries under relations: and constraints: of a schema file, read as constraints.

relations:
- fwd + bwd == total
- {rule: fwd + bwd == total, tolerance: 0.001, relax: true}
constraints:
- {word: Range, name: age, low: 18, high: 65}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

import yaml

from counterpoise.errors import CounterpoiseError, InputError
from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.constraints.packing import EXAMPLES, build_constraint, pack_constraint
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.yaml.key_forms import (
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
FORM_BY_TYPE: dict[str, KeyForm] = {
    "NameOrNames": NAMES,
    "tuple[Hashable, ...]": NAMES,
    "Hashable": NAME,
    "Any": SINGLE_VALUE,
    "tuple[Any, ...]": VALUES,
    "tuple[tuple[Any, Any], ...]": TABLE,
    "str": TEXT,
    "int": WHOLE_NUMBER,
    "float": NUMBER,
    "float | None": NUMBER,
    "bool": FLAG,
}
"""What a key of a schema file may hold, by the declared type of the constraint's field."""


class ConstraintSpelling(NamedTuple):
    """How a schema file writes a constraint: its keys, those of them that may be left out, and an example."""

    constraint_class: type[Any]
    forms: Mapping[str, KeyForm]
    optional: frozenset[str]
    example: str


def _derive_spelling(example: Any) -> ConstraintSpelling:
    """The spelling that the fields of a constraint's class imply."""
    known = fields(example)
    shown = {key: dict(value) if key == "table" else value for key, value in pack_constraint(example).items()}
    text = yaml.safe_dump(shown, default_flow_style=True, sort_keys=False, width=1000).strip()
    return ConstraintSpelling(
        type(example),
        {field.name: FORM_BY_TYPE[str(field.type)] for field in known},
        frozenset(field.name for field in known if field.default is not MISSING),
        text,
    )


CONSTRAINT_SPELLINGS: dict[str, ConstraintSpelling] = {
    type(example).__name__: _derive_spelling(example) for example in EXAMPLES
}


def read_rules(entries: Iterable[Any]) -> list[Rule]:
    """The rules under relations: each a text, or a text with its options.

    >>> read_rules(["age > 3", {"rule": "min <= mean <= max", "tolerance": 0.001}])
    [Rule('age > 3'), Rule('min <= mean <= max', tolerance=0.001)]
    """
    out = []
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number} of relations:"
        options = {"rule": entry} if isinstance(entry, str) else entry
        if not isinstance(options, dict) or options.get("rule") is None:
            raise InputError(
                "a relation must be a rule",
                f"{where} is {shorten_repr(entry)}",
                f"write the text alone, or {RULE_EXAMPLE}",
            )
        read = read_keys(where, options, RULE_FORMS)
        read.pop("holds", None)  # what the data shows, for people to read
        out.append(_build_or_locate(where, Rule, {"text": read.pop("rule"), **read}))
    return out


def read_constraints(entries: Iterable[Any]) -> list[Constraint]:
    """The constraints under constraints:.

    >>> read_constraints([{"word": "Immutable", "names": "age"}, {"word": "Range", "name": "rate", "low": 0}])
    [Immutable('age'), Range(name='rate', low=0, high=None)]
    """
    out = []
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number} of constraints:"
        spelling = _find_spelling(where, entry)
        read = read_keys(where, {key: value for key, value in entry.items() if key != "word"}, spelling.forms)
        if any(key not in read for key in spelling.forms if key not in spelling.optional):
            _refuse(where, entry, spelling.example)
        out.append(_build_or_locate(where, spelling.constraint_class, read))
    return out


def _find_spelling(where: str, entry: Any) -> ConstraintSpelling:
    """The spelling of the constraint that an entry names under word:."""
    word = entry.get("word") if isinstance(entry, dict) else None
    if isinstance(word, str) and word in CONSTRAINT_SPELLINGS:
        return CONSTRAINT_SPELLINGS[word]
    # a hostile file may hold a million keys or one of a million letters: few are looked at, and shortened
    given_words = [word] if word is not None else list(entry)[:8] if isinstance(entry, (dict, list)) else [entry]
    titles = [shorten_repr(each).strip("'").title() for each in given_words]
    meant = [near for title in titles for near in get_close_matches(title, CONSTRAINT_SPELLINGS, n=1)]
    if word is None:
        _refuse(where, entry, CONSTRAINT_SPELLINGS[meant[0] if meant else "Immutable"].example)
    example = CONSTRAINT_SPELLINGS[meant[0] if meant else "Immutable"].example
    raise InputError(
        "a constraint in a schema file must be one of Counterpoise's words",
        f"{where} has word: {shorten_repr(word)}",
        f"the words are {', '.join(sorted(CONSTRAINT_SPELLINGS))}; for instance {example}",
    )


def _refuse(where: str, entry: Any, example: str) -> NoReturn:
    raise InputError(
        "a constraint in a schema file must be a word with all that it takes",
        f"{where} is {shorten_repr(entry)}",
        f"write for instance {example}",
    )


def _build_or_locate(where: str, constraint_class: type[Any], values: Mapping[str, Any]) -> Any:
    """The constraint; where it refuses its values, the error says which entry of the file they are in."""
    try:
        return build_constraint(constraint_class, values)
    except CounterpoiseError as error:
        found = {key: value for key, value in vars(error).items() if key not in ("must", "given", "todo")}
        raise type(error)(error.must, f"{where} {error.given}", error.todo, **found) from None
