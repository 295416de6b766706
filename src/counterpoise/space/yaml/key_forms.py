"""What a key of a schema file may hold, in words and as a check, and how an entry is read by such forms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from reprlib import Repr
from typing import Any, NamedTuple

from counterpoise.errors import InputError

EXPONENT_PATTERN = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")  # 1e-6, which YAML takes for a text
MAX_DECIMALS = 15  # a double has no more
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
TEXTS = KeyForm(
    "a list of texts",
    f"write for instance ['NA', '-'], {QUOTING_HINT}",
    _accept_only(lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value)),
)
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


def _read_number_values(value: Any) -> str | tuple[float, ...]:
    if isinstance(value, str) and value in ("auto", "any", "seen"):
        return value
    if not isinstance(value, list) or not value:
        raise ValueError
    return tuple(_read_finite(each) for each in value)


NUMBER_VALUES = KeyForm(
    "auto, any, seen or a list of numbers", "write for instance seen, or [0, 31, 62]", _read_number_values
)


def choice_form(*words: str) -> KeyForm:
    """A text that is one of these words."""
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    return KeyForm(listed, "choose one", _accept_only(lambda value: isinstance(value, str) and value in words))


def shorten_repr(value: Any, most: int = 80) -> str:
    """A value for a message, each text or number in it cut to ``most`` characters.

    >>> shorten_repr("no"), shorten_repr([1, [2, {"a": list(range(9))}]])
    ("'no'", "[1, [2, {'a': [0, 1, 2, 3, 4, 5, ...]}]]")
    """
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = most
    return short.repr(value)


def read_keys(where: str, entry: Mapping[Any, Any], forms: Mapping[str, KeyForm]) -> dict[str, Any]:
    """The values of the keys of an entry, each checked by its form; empty keys count as left out.

    >>> read_keys("the column 'age'", {"immutable": "no"}, {"immutable": FLAG})
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
