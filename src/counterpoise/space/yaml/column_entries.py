"""The columns of a schema file, entry by entry: what each may hold, or an error that says what to write instead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from counterpoise.errors import InputError
from counterpoise.space.schema.column import KINDS
from counterpoise.space.schema.tables_in import quote_names
from counterpoise.space.yaml.key_forms import (
    CATEGORIES,
    DECIMALS,
    FINITE_NUMBER,
    FLAG,
    LENGTH,
    NAME,
    NUMBER,
    NUMBER_VALUES,
    SINGLE_VALUE,
    TEXT,
    TEXTS,
    KeyForm,
    choice_form,
    read_keys,
    shorten_repr,
)

MISSING_MARK_NAMES = ("nan", "None", "NA")
TEXT_KEYS = ("unit", "label", "description", "why", "fixed", "dtype")
COLUMN_FORMS: dict[str, KeyForm] = {
    "name": NAME,
    "kind": choice_form(*KINDS, "binary"),
    **dict.fromkeys(("immutable", "ordinal", "missing"), FLAG),
    **dict.fromkeys(("min", "max"), SINGLE_VALUE),
    **dict.fromkeys(("observed_min", "observed_max"), FINITE_NUMBER),
    **dict.fromkeys(("categories", "order", "unseen"), CATEGORIES),
    **dict.fromkeys(TEXT_KEYS, TEXT),
    "monotone": choice_form("increase", "decrease"),
    **dict.fromkeys(("decimals", "resolution"), DECIMALS),
    "values": NUMBER_VALUES,
    **dict.fromkeys(("scale", "mad"), LENGTH),
    "mark": choice_form(*MISSING_MARK_NAMES),
    "unset": TEXTS,
}


def read_entries(content: Mapping[Any, Any], heading: str, example: str) -> list[Any]:
    """The entries under a heading of a schema file; empty if the heading is missing or empty."""
    entries = content.get(heading)
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
    stated: dict[str, Any] = {key: out.pop(key) for key in ("min", "max") if key in out}
    usual: dict[str, Any] = {"categories": (0, 1), "min": 0, "max": 1}
    stated["categories"] = out.get("categories") or (0, 1)
    for key, value in stated.items():
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
    if "values" in out and not numeric:
        raise InputError(
            "values must belong to a feature of numbers", f"{where} is {out['kind']}", "list its categories"
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
    ends: dict[str, Any] = {key: out[key] for key in ("min", "max") if key in out}
    if out["kind"] == "categorical" and ends:
        raise InputError(
            f"{next(iter(ends))} must belong to a feature whose values have an order",
            f"{where} is categorical",
            "list the values it may take under constraints:, as {word: OneOf, name: ..., values: [...]}",
        )
    if out["kind"] == "ordinal":
        ends = _read_ranks(where, ends, out["categories"]) if out.get("categories") else ends
    else:
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


def _read_ranks(where: str, ends: dict[str, Any], categories: tuple[Any, ...]) -> dict[str, int]:
    """The ends of an ordinal feature as places among its categories."""
    for key, value in ends.items():
        check_known_categories(key, f"{where} has {key}: {shorten_repr(value)}", [value], categories)
    return {key: categories.index(value) for key, value in ends.items()}


def check_known_categories(key: str, given: str, values: Iterable[Any], categories: tuple[Any, ...]) -> None:
    """What a key names is among the categories of the feature."""
    if any(value not in categories for value in values):
        raise InputError(
            f"{key} must name categories of the feature",
            f"{given}; there are {quote_names(categories)}",
            "correct it, or add to the feature's categories",
        )
