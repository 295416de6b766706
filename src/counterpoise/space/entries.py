"""The entries of a schema file, key by key: what each may hold, or an error that says what to write instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from reprlib import Repr
from typing import Any, NamedTuple

from counterpoise.errors import InputError
from counterpoise.space.columns import KINDS
from counterpoise.space.frames import quoted

EXPONENT = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")  # 1e-6, which YAML takes for a text
MOST_DECIMALS = 15  # a double has no more
MARKS = ("nan", "None", "NA")
QUOTES = "in quotes where YAML would read something else: 5, yes, no, on, off, null, a date"


class Form(NamedTuple):
    """What a key may hold: in words, what to do where it holds something else, and how it is read."""

    must: str
    todo: str
    read: Callable[[Any], Any]  # raises ValueError or OverflowError


def _only(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not fits(value):
            raise ValueError
        return value

    return read


def _short(value: Any) -> Any:
    """A whole number that NumPy would keep as an object, as a double; anything else as it is."""
    return float(value) if type(value) is int and not -(2**63) <= value < 2**63 else value


def _number(value: Any) -> int | float:
    read = _short(float(value) if isinstance(value, str) and EXPONENT.fullmatch(value) else value)
    if isinstance(read, bool) or not isinstance(read, (int, float)) or math.isnan(read):
        raise ValueError
    return read


def _finite(value: Any) -> float:
    read = float(_number(value))
    if math.isinf(read):
        raise ValueError
    return read


def _length(value: Any) -> float:
    read = _finite(value)
    if read <= 0:
        raise ValueError
    return read


def _single(value: Any) -> Any:
    if not isinstance(value, (str, bool, int, float, date)) or value != value:
        raise ValueError
    return _short(value)


def _values(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return [_single(each) for each in value]


def _categories(value: Any) -> tuple[Any, ...]:
    if len(set(_values(value))) < len(value):
        raise ValueError
    return tuple(value)


def _table(value: Any) -> dict[Any, Any]:
    pairs = [list(pair) for pair in value.items()] if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError
    read = {_single(key): _single(each) for key, each in pairs}
    if len(read) < len(pairs):
        raise ValueError
    return read


def _named(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and value == value


FLAG = Form("true or false", "write true or false, without quotes", _only(lambda value: isinstance(value, bool)))
TEXT = Form("a text", f"write a text, {QUOTES}", _only(lambda value: isinstance(value, str)))
NUMBER = Form("a number", "write a number, without quotes", _number)
FINITE = Form("a finite number", "write a number, without quotes; leave the key out where there is none", _finite)
LENGTH = Form("a number above 0", "give the length of one unit of distance", _length)
WHOLE = Form("a whole number", "write for instance 2", _only(lambda value: type(value) is int and value < 2**31))
SINGLE = Form("one number, text or boolean", "write one value", _single)
VALUES = Form("a list of numbers, texts or booleans", "write for instance [tcp, udp]", _values)
CATEGORIES = Form("a list of numbers, texts or booleans, each once", "write for instance [tcp, udp]", _categories)
TABLE = Form("a table of values, each once", "write for instance {http: 80, https: 443}", _table)
NAME = Form("the name of a column", f"write one name, {QUOTES}", _only(_named))
NAMES = Form(
    "the name of a column, or a list of names",
    "write for instance [age, sex]",
    _only(lambda value: _named(value) or (isinstance(value, list) and bool(value) and all(map(_named, value)))),
)
DECIMALS = Form(
    f"a whole number from 0 to {MOST_DECIMALS}",
    "give the digits behind the decimal point",
    _only(lambda value: type(value) is int and 0 <= value <= MOST_DECIMALS),
)


def _one_of(*words: str) -> Form:
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    return Form(listed, "choose one", _only(lambda value: isinstance(value, str) and value in words))


TEXTS = ("unit", "label", "description", "why", "fixed", "dtype")
KEYS: dict[str, Form] = {
    "name": NAME,
    "kind": _one_of(*KINDS, "binary"),
    **dict.fromkeys(("immutable", "ordinal", "missing"), FLAG),
    **dict.fromkeys(("min", "max"), SINGLE),
    **dict.fromkeys(("observed_min", "observed_max"), FINITE),
    **dict.fromkeys(("categories", "order", "unseen"), CATEGORIES),
    **dict.fromkeys(TEXTS, TEXT),
    "monotone": _one_of("increase", "decrease"),
    "decimals": DECIMALS,
    "scale": LENGTH,
    "mark": _one_of(*MARKS),
}
_SHOWN = Repr()
_SHOWN.maxstring = _SHOWN.maxother = _SHOWN.maxlong = 80


def shown(value: Any) -> str:
    """A value for a message, cut where it is long.

    >>> shown("no"), shown([1, [2, {"a": list(range(9))}]])
    ("'no'", "[1, [2, {'a': [0, 1, 2, 3, 4, 5, ...]}]]")
    """
    return _SHOWN.repr(value)


def read_keys(where: str, entry: Mapping[Any, Any], forms: Mapping[str, Form]) -> dict[str, Any]:
    """What the keys of an entry hold, each in its form; a key that holds nothing is as good as none.

    >>> read_keys("the column 'age'", {"immutable": "no"}, KEYS)
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
            raise InputError(f"{key} must be {form.must}", f"{where} has {key}: {shown(value)}", form.todo) from None
    return out


def listed(said: Mapping[Any, Any], heading: str, example: str) -> list[Any]:
    """The entries under a heading of a schema file; none where there is no such heading, or nothing under it."""
    entries = said.get(heading)
    if entries is not None and not isinstance(entries, list):
        raise InputError(
            f"{heading}: must be a list of entries",
            f"it is {shown(entries)}",
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
            "a column must have a name and a kind", f"{where} is {shown(entry)}", "write {name: age, kind: integer}"
        )
    named = entry["name"]
    where = f"the column {named!r}" if isinstance(named, (str, int, float)) else where
    out = read_keys(where, entry, KEYS)
    kind = out["kind"]
    if out.pop("ordinal", False):
        out["kind"] = "ordinal"
    elif kind == "binary":
        _check_flags(where, out)
        two: dict[str, Any] = {"kind": "boolean", "categories": (0, 1)}
        out |= {"kind": "integer", "min": 0, "max": 1} if "monotone" in out else two
    elif kind == "boolean":
        _check_flags(where, out)
    _check_categories(where, out)
    _check_ends(where, out)
    return out


def _check_flags(where: str, out: dict[str, Any]) -> None:
    """A feature with two values has 0 and 1, or false and true, and no others; its ends say nothing more."""
    said: dict[str, Any] = {key: out.pop(key) for key in ("min", "max") if key in out}
    usual: dict[str, Any] = {"categories": (0, 1), "min": 0, "max": 1}
    said["categories"] = out.get("categories") or (0, 1)
    for key, value in said.items():
        if value != usual[key]:
            raise InputError(
                "a boolean or binary feature must have the values 0 and 1, or false and true",
                f"{where} has {key}: {shown(list(value) if isinstance(value, tuple) else value)}",
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
            f"{where} has {shown(list(order))} and {shown(list(out['categories']))}",
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
            check_known(key, f"{where} has {key}: {shown(value)}", [value], out["categories"])
        ends = {key: out["categories"].index(value) for key, value in ends.items()}
    elif kind != "ordinal":
        ends = read_keys(where, ends, dict.fromkeys(("min", "max"), NUMBER))
        out |= ends
        if ends.get("min") == math.inf or ends.get("max") == -math.inf:
            raise InputError("min and max must leave some values", f"{where} has {shown(ends)}", "correct them")
    ends |= {key: out[key] for key in ("observed_min", "observed_max") if key in out}
    for low, high in (("min", "max"), ("observed_min", "observed_max")):
        if low in ends and high in ends and ends[low] > ends[high]:
            raise InputError(
                f"{low} must not be above {high}", f"{where} has {out[low]!r} and {out[high]!r}", "correct them"
            )


def check_known(key: str, given: str, values: Iterable[Any], categories: tuple[Any, ...]) -> None:
    """What a key names is among the categories of the feature."""
    if any(value not in categories for value in values):
        raise InputError(
            f"{key} must name categories of the feature",
            f"{given}; there are {quoted(categories)}",
            "correct it, or add to the feature's categories",
        )
