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
from counterpoise.space.constraints import (
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
from counterpoise.space.departing import Cost, Step, Within
from counterpoise.space.entries import (
    FLAG,
    NAME,
    NAMES,
    NUMBER,
    SINGLE,
    TABLE,
    TEXT,
    VALUES,
    WHOLE,
    Form,
    read_keys,
    shown,
)
from counterpoise.space.relating import Derived, Linked, Lookup, Rule

RULE = "{rule: fwd + bwd == total, tolerance: 0.001}"
RULED: dict[str, Form] = {"rule": TEXT, "tolerance": NUMBER, "relax": FLAG, "holds": NUMBER}
OPTIONS: dict[str, Form] = {"tolerance": NUMBER, "relax": FLAG}
MOST_KEYS = 8  # in which the word that was meant is looked for
OPTIONAL = {"low", "high", "percent", "distance", "up", "down", *OPTIONS}


class Spelling(NamedTuple):
    """How a schema file writes a word: its keys, and an example."""

    word: Callable[..., Constraint]
    keys: Mapping[str, Form]
    example: str


WORDS: dict[str, Spelling] = {
    "Immutable": Spelling(Immutable, {"names": NAMES}, "{word: Immutable, names: [age, sex]}"),
    "Mutable": Spelling(Mutable, {"names": NAMES}, "{word: Mutable, names: [rate, packets]}"),
    "Increasing": Spelling(Increasing, {"names": NAMES}, "{word: Increasing, names: [age]}"),
    "Decreasing": Spelling(Decreasing, {"names": NAMES}, "{word: Decreasing, names: [debt]}"),
    "Integer": Spelling(Integer, {"names": NAMES}, "{word: Integer, names: [packets]}"),
    "Linked": Spelling(Linked, {"names": NAMES}, "{word: Linked, names: [source, destination]}"),
    "Range": Spelling(
        Range, {"name": NAMES, "low": SINGLE, "high": SINGLE}, "{word: Range, name: age, low: 18, high: 65}"
    ),
    "OneOf": Spelling(OneOf, {"name": NAMES, "values": VALUES}, "{word: OneOf, name: proto, values: [tcp, udp]}"),
    "MaxChanges": Spelling(MaxChanges, {"count": WHOLE}, "{word: MaxChanges, count: 4}"),
    "Step": Spelling(Step, {"name": NAMES, "size": NUMBER}, "{word: Step, name: days, size: 7}"),
    "Within": Spelling(
        Within, {"name": NAMES, "percent": NUMBER, "distance": NUMBER}, "{word: Within, name: latency, percent: 10}"
    ),
    "Cost": Spelling(
        Cost, {"name": NAMES, "up": NUMBER, "down": NUMBER}, "{word: Cost, name: debt, up: .inf, down: 3}"
    ),
    "Rule": Spelling(Rule, {"text": TEXT, **OPTIONS}, '{word: Rule, text: "fwd + bwd == total"}'),
    "Derived": Spelling(
        Derived, {"name": NAME, "text": TEXT, **OPTIONS}, "{word: Derived, name: rate, text: bytes / duration}"
    ),
    "Lookup": Spelling(
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
                "a relation must be a rule", f"{where} is {shown(entry)}", f"write the text alone, or {RULE}"
            )
        read = read_keys(where, said, RULED)
        read.pop("holds", None)  # what the data shows, for people to read
        out.append(_made(where, Rule, (read.pop("rule"),), read))
    return out


def read_words(entries: Iterable[Any]) -> list[Constraint]:
    """The words under constraints:.

    >>> read_words([{"word": "Immutable", "names": "age"}, {"word": "Range", "name": "rate", "low": 0}])
    [Immutable('age'), Range(name='rate', low=0, high=None)]
    """
    out = []
    for number, entry in enumerate(entries, start=1):
        where = f"entry {number} of constraints:"
        spelling = _spelling(where, entry)
        read = read_keys(where, {key: value for key, value in entry.items() if key != "word"}, spelling.keys)
        if any(key not in read for key in spelling.keys if key not in OPTIONAL):
            _refuse(where, entry, spelling.example)
        names = [read.pop("names")] if "names" in read else []
        out.append(_made(where, spelling.word, names, read))
    return out


def _spelling(where: str, entry: Any) -> Spelling:
    """How the word of an entry is written."""
    word = entry.get("word") if isinstance(entry, dict) else None
    if isinstance(word, str) and word in WORDS:
        return WORDS[word]
    said = [word] if word is not None else list(entry)[:MOST_KEYS] if isinstance(entry, (dict, list)) else [entry]
    meant = [near for each in said for near in get_close_matches(shown(each).strip("'").title(), WORDS, n=1)]
    if word is None:
        _refuse(where, entry, WORDS[meant[0] if meant else "Immutable"].example)
    raise InputError(
        "a constraint in a schema file must be one of Counterpoise's words",
        f"{where} has word: {shown(word)}",
        f"the words are {', '.join(sorted(WORDS))}; for instance {WORDS[meant[0] if meant else 'Immutable'].example}",
    )


def _refuse(where: str, entry: Any, example: str) -> NoReturn:
    raise InputError(
        "a constraint in a schema file must be a word with all that it takes",
        f"{where} is {shown(entry)}",
        f"write for instance {example}",
    )


def _made(where: str, word: Callable[..., Any], names: Iterable[Any], options: Mapping[str, Any]) -> Any:
    """The word; where it refuses what it was given, its error says which entry of the file that was."""
    try:
        return word(*names, **options)
    except CounterpoiseError as error:
        found = {key: value for key, value in vars(error).items() if key not in ("must", "given", "todo")}
        raise type(error)(error.must, f"{where} {error.given}", error.todo, **found) from None
