"""The entries of a schema file, key by key: what each may hold, or an error that says what to write instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from reprlib import Repr
from typing import Any, NamedTuple

from counterpoise.errors import InputError
from counterpoise.space.schema.column import KINDS
from counterpoise.space.schema.tables_in import quote_names

EXPONENT_PATTERN = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")  # 1e-6, which YAML takes for a text
MAX_DECIMALS = 15  # a double has no more
MISSING_MARK_NAMES = ("nan", "None", "NA")
QUOTING_HINT = "in quotes where YAML would read something else: 5, yes, no, on, off, null, a date"


class KeyForm(NamedTuple):
    """What a key may hold: in words, what to do where it holds something else, and how it is read."""

    must: str
    todo: str
    read: Callable[[Any], Any]  # raises ValueError or OverflowError


def _accept_only(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not fits(value):
            raise ValueError
        return value

    return read


def _shorten_integer(value: Any) -> Any:
    """A whole number that NumPy would keep as an object, as a double; anything else as it is."""
    return float(value) if type(value) is int and not -(2**63) <= value < 2**63 else value


def _read_number(value: Any) -> int | float:
    read = _shorten_integer(float(value) if isinstance(value, str) and EXPONENT_PATTERN.fullmatch(value) else value)
    if isinstance(read, bool) or not isinstance(read, (int, float)) or math.isnan(read):
        raise ValueError
    return read


def _read_finite(value: Any) -> float:
    read = float(_read_number(value))
    if math.isinf(read):
        raise ValueError
    return read


def _read_length(value: Any) -> float:
    read = _read_finite(value)
    if read <= 0:
        raise ValueError
    return read


def _read_single(value: Any) -> Any:
    if not isinstance(value, (str, bool, int, float, date)) or value != value:
        raise ValueError
    return _shorten_integer(value)


def _read_values(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return [_read_single(each) for each in value]


def _read_categories(value: Any) -> tuple[Any, ...]:
    if len(set(_read_values(value))) < len(value):
        raise ValueError
    return tuple(value)


def _read_table(value: Any) -> dict[Any, Any]:
    pairs = [list(pair) for pair in value.items()] if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError
    read = {_read_single(key): _read_single(each) for key, each in pairs}
    if len(read) < len(pairs):
        raise ValueError
    return read


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and value == value


FLAG = KeyForm(
    "true or false", "write true or false, without quotes", _accept_only(lambda value: isinstance(value, bool))
)
TEXT = KeyForm("a text", f"write a text, {QUOTING_HINT}", _accept_only(lambda value: isinstance(value, str)))
NUMBER = KeyForm("a number", "write a number, without quotes", _read_number)
FINITE_NUMBER = KeyForm(
    "a finite number", "write a number, without quotes; leave the key out where there is none", _read_finite
)
LENGTH = KeyForm("a number above 0", "give the length of one unit of distance", _read_length)
WHOLE_NUMBER = KeyForm(
    "a whole number", "write for instance 2", _accept_only(lambda value: type(value) is int and value < 2**31)
)
SINGLE_VALUE = KeyForm("one number, text or boolean", "write one value", _read_single)
VALUES = KeyForm("a list of numbers, texts or booleans", "write for instance [tcp, udp]", _read_values)
CATEGORIES = KeyForm(
    "a list of numbers, texts or booleans, each once", "write for instance [tcp, udp]", _read_categories
)
TABLE = KeyForm("a table of values, each once", "write for instance {http: 80, https: 443}", _read_table)
NAME = KeyForm("the name of a column", f"write one name, {QUOTING_HINT}", _accept_only(_is_name))
NAMES = KeyForm(
    "the name of a column, or a list of names",
    "write for instance [age, sex]",
    _accept_only(
        lambda value: _is_name(value) or (isinstance(value, list) and bool(value) and all(map(_is_name, value)))
    ),
)
DECIMALS = KeyForm(
    f"a whole number from 0 to {MAX_DECIMALS}",
    "give the digits behind the decimal point",
    _accept_only(lambda value: type(value) is int and 0 <= value <= MAX_DECIMALS),
)


def _choice_form(*words: str) -> KeyForm:
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    return KeyForm(listed, "choose one", _accept_only(lambda value: isinstance(value, str) and value in words))


TEXT_KEYS = ("unit", "label", "description", "why", "fixed", "dtype")
COLUMN_FORMS: dict[str, KeyForm] = {
    "name": NAME,
    "kind": _choice_form(*KINDS, "binary"),
    **dict.fromkeys(("immutable", "ordinal", "missing"), FLAG),
    **dict.fromkeys(("min", "max"), SINGLE_VALUE),
    **dict.fromkeys(("observed_min", "observed_max"), FINITE_NUMBER),
    **dict.fromkeys(("categories", "order", "unseen"), CATEGORIES),
    **dict.fromkeys(TEXT_KEYS, TEXT),
    "monotone": _choice_form("increase", "decrease"),
    "decimals": DECIMALS,
    "scale": LENGTH,
    "mark": _choice_form(*MISSING_MARK_NAMES),
}
_SHORT_REPR = Repr()
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = _SHORT_REPR.maxlong = 80


def shorten_repr(value: Any) -> str:
    """A value for a message, cut where it is long.

    >>> shorten_repr("no"), shorten_repr([1, [2, {"a": list(range(9))}]])
    ("'no'", "[1, [2, {'a': [0, 1, 2, 3, 4, 5, ...]}]]")
    """
    return _SHORT_REPR.repr(value)


def read_keys(where: str, entry: Mapping[Any, Any], forms: Mapping[str, KeyForm]) -> dict[str, Any]:
    """What the keys of an entry hold, each in its form; a key that holds nothing is as good as none.

    >>> read_keys("the column 'age'", {"immutable": "no"}, COLUMN_FORMS)
    Traceback (most recent call last):
    counterpoise.errors.InputError: immutable must be true or false; the column 'age' has immutable: 'no'; write ...
    """
    unknown = [str(key) for key in entry if key not in forms]
    if unknown:
        raise InputError(
            f"{where} must be described in known words",
            f"it has {', '.join(unknown)}",
            f"the words are {', '.join(sorted(forms))}",
        )
    out: dict[str, Any] = {}
    for key, value in entry.items():
        form = forms[key]
        if value is None and form is not FLAG:  # an empty flag could mean either
            continue
        try:
            out[key] = form.read(value)
        except (ValueError, OverflowError):
            raise InputError(
                f"{key} must be {form.must}", f"{where} has {key}: {shorten_repr(value)}", form.todo
            ) from None
    return out


def read_entries(said: Mapping[Any, Any], heading: str, example: str) -> list[Any]:
    """The entries under a heading of a schema file; none where there is no such heading, or nothing under it."""
    entries = said.get(heading)
    if entries is not None and not isinstance(entries, list):
        raise InputError(
            f"{heading}: must be a list of entries",
            f"it is {shorten_repr(entries)}",
            f"begin each entry with a dash, for instance - {example}",
        )
    return entries or []


def read_column(entry: Any, where: str) -> dict[str, Any]:
    """A column as a schema file describes it, with the kind that the search knows and categories in order.

    >>> read_column({"name": "ftp", "kind": "binary"}, "entry 1 of columns:")
    {'name': 'ftp', 'kind': 'boolean', 'categories': (0, 1)}
    """
    if not isinstance(entry, dict) or entry.get("name") is None or entry.get("kind") is None:
        raise InputError(
            "a column must have a name and a kind",
            f"{where} is {shorten_repr(entry)}",
            "write {name: age, kind: integer}",
        )
    named = entry["name"]
    where = f"the column {named!r}" if isinstance(named, (str, int, float)) else where
    out = read_keys(where, entry, COLUMN_FORMS)
    kind = out["kind"]
    if out.pop("ordinal", False):
        out["kind"] = "ordinal"
    elif kind == "binary":
        _check_two_values(where, out)
        two: dict[str, Any] = {"kind": "boolean", "categories": (0, 1)}
        out |= {"kind": "integer", "min": 0, "max": 1} if "monotone" in out else two
    elif kind == "boolean":
        _check_two_values(where, out)
    _check_categories(where, out)
    _check_ends(where, out)
    return out


def _check_two_values(where: str, out: dict[str, Any]) -> None:
    """A feature with two values has 0 and 1, or false and true, and no others; its ends say nothing more."""
    said: dict[str, Any] = {key: out.pop(key) for key in ("min", "max") if key in out}
    usual: dict[str, Any] = {"categories": (0, 1), "min": 0, "max": 1}
    said["categories"] = out.get("categories") or (0, 1)
    for key, value in said.items():
        if value != usual[key]:
            raise InputError(
                "a boolean or binary feature must have the values 0 and 1, or false and true",
                f"{where} has {key}: {shorten_repr(list(value) if isinstance(value, tuple) else value)}",
                "write kind: categorical for other values, and immutable: true or OneOf where it may not take both",
            )
    if out["kind"] == "binary":
        out.pop("categories", None)


def _check_categories(where: str, out: dict[str, Any]) -> None:
    """Categories belong to kinds that have some; their order to ordinal ones."""
    numeric, ordinal = out["kind"] in ("continuous", "integer"), out["kind"] == "ordinal"
    for key in ("categories", "order", "unseen"):
        if out.get(key) and (numeric or (key == "order" and not ordinal)):
            kinds = "an ordinal feature" if key == "order" else "a categorical or ordinal feature"
            raise InputError(
                f"{key} must belong to {kinds}", f"{where} is {out['kind']}", f"drop {key}, or correct kind"
            )
    order = out.pop("order", ())
    if order and out.get("categories") and set(order) != set(out["categories"]):
        raise InputError(
            "order must list the same values as categories",
            f"{where} has {shorten_repr(list(order))} and {shorten_repr(list(out['categories']))}",
            "drop categories: order alone is enough",
        )
    out |= {"categories": order} if order else {}


def _check_ends(where: str, out: dict[str, Any]) -> None:
    """The ends of a number are numbers, those of an ordinal feature categories; the lower one comes first."""
    kind = out["kind"]
    ends: dict[str, Any] = {key: out[key] for key in ("min", "max") if key in out}
    if kind == "categorical" and ends:
        key = next(iter(ends))
        raise InputError(
            f"{key} must belong to a feature whose values have an order",
            f"{where} is categorical",
            "list the values it may take under constraints:, as {word: OneOf, name: ..., values: [...]}",
        )
    if kind == "ordinal" and out.get("categories"):
        for key, value in ends.items():
            check_known_categories(key, f"{where} has {key}: {shorten_repr(value)}", [value], out["categories"])
        ends = {key: out["categories"].index(value) for key, value in ends.items()}
    elif kind != "ordinal":
        ends = read_keys(where, ends, dict.fromkeys(("min", "max"), NUMBER))
        out |= ends
        if ends.get("min") == math.inf or ends.get("max") == -math.inf:
            raise InputError("min and max must leave some values", f"{where} has {shorten_repr(ends)}", "correct them")
    ends |= {key: out[key] for key in ("observed_min", "observed_max") if key in out}
    for low, high in (("min", "max"), ("observed_min", "observed_max")):
        if low in ends and high in ends and ends[low] > ends[high]:
            raise InputError(
                f"{low} must not be above {high}", f"{where} has {out[low]!r} and {out[high]!r}", "correct them"
            )


def check_known_categories(key: str, given: str, values: Iterable[Any], categories: tuple[Any, ...]) -> None:
    """What a key names is among the categories of the feature."""
    if any(value not in categories for value in values):
        raise InputError(
            f"{key} must name categories of the feature",
            f"{given}; there are {quote_names(categories)}",
            "correct it, or add to the feature's categories",
        )
