"""Schema files: features and constraints in YAML, to be read, edited and kept beside the data.

columns:
- name: rate
  kind: continuous        # continuous, integer, binary, boolean, categorical or ordinal
  min: 0                  # what the value can be at all; observed_min and observed_max: what was seen
  unit: kB/s              # unit, label, description, decimals, scale: optional
  immutable: false
  monotone: increase      # or decrease
relations:
- rule: fwd + bwd == total
  tolerance: 0.001
constraints:
- {word: MaxChanges, count: 4}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from counterpoise.errors import InputError
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
from counterpoise.space.features import Feature, Schema
from counterpoise.space.relating import TOLERANCE, Derived, Linked, Lookup, Rule
from counterpoise.types import Array

NAMING = (Immutable, Mutable, Increasing, Decreasing, Integer, Linked)  # words made of names alone
WORDS: dict[str, Callable[..., Any]] = {
    word.__name__: word for word in (*NAMING, Range, OneOf, MaxChanges, Rule, Derived, Lookup, Step, Within, Cost)
}
COPIED = ("unit", "label", "description", "decimals", "scale", "missing", "fixed", "mark")  # as Feature has them
KEYS = {"name", "kind", "min", "max", "observed_min", "observed_max", "categories", "ordinal", "order", "immutable"}
KEYS |= {"monotone", "why", "dtype", "unseen", *COPIED}


@dataclass(frozen=True)
class SchemaFile:
    """What a schema file says: features, constraints, and whatever else it has about the data."""

    schema: Schema
    constraints: tuple[Constraint, ...]
    about: Mapping[str, Any]


def load_schema(path: str | Path, reference: pd.DataFrame | Array | None = None) -> SchemaFile:
    """The schema and the constraints of a YAML file.

    Reference data gives what the file does not: scales, decimals and dtypes. Without either, one unit of distance is
    the whole observed range of a feature.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        said = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError("a schema file must be readable YAML", f"{path}: {error}", "correct the file") from error
    if not isinstance(said, dict) or not isinstance(said.get("columns"), list) or not said["columns"]:
        raise InputError("a schema file must list the columns", f"{path} has none", "add columns:, one entry for each")
    for entry in said["columns"]:
        _check(entry, path)
    seen = None if reference is None else Schema.infer(reference)
    features = tuple(_feature(entry, seen) for entry in said["columns"])
    schema = Schema(features, frame=said.get("frame", True) if seen is None else seen.frame)
    words = [*_flags(said["columns"]), *_rules(said.get("relations") or ()), *_words(said.get("constraints") or ())]
    about = {key: value for key, value in said.items() if key not in ("columns", "relations", "constraints", "frame")}
    return SchemaFile(schema, tuple(words), about)


def save_schema(
    path: str | Path, schema: Schema, constraints: Sequence[Constraint] = (), about: Mapping[str, Any] | None = None
) -> None:
    """Write features and constraints as YAML; `load_schema` reads the same back."""
    relations = [_fields(word) for word in constraints if isinstance(word, Rule)]
    others = [_entry(word) for word in constraints if not isinstance(word, Rule)]
    said: dict[str, Any] = dict(about or {})
    said |= {} if schema.frame else {"frame": False}
    said |= {"columns": [_column(feature) for feature in schema]}
    said |= {"relations": [{"rule": rule.pop("text"), **rule} for rule in relations]} if relations else {}
    said |= {"constraints": others} if others else {}
    Path(path).write_text(yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")


def _check(entry: Any, path: str | Path) -> None:
    if not isinstance(entry, dict) or "name" not in entry or "kind" not in entry:
        raise InputError("a column must have a name and a kind", f"{entry!r} in {path}", "add what is missing")
    unknown = [str(key) for key in entry if key not in KEYS]
    if unknown:
        raise InputError(
            "a column must be described in known words",
            f"{entry['name']!r} has {', '.join(unknown)}",
            f"the words are {', '.join(sorted(KEYS))}",
        )
    if entry.get("monotone") not in (None, "increase", "decrease"):
        raise InputError(
            "monotone must be increase or decrease", f"{entry['name']!r} has {entry['monotone']!r}", "correct it"
        )


def _feature(entry: Mapping[str, Any], seen: Schema | None) -> Feature:
    name, kind = entry["name"], entry["kind"]
    own = seen[name] if seen is not None else None
    categories: tuple[Any, ...] = tuple(entry.get("order") or entry.get("categories") or ())
    if entry.get("ordinal"):
        kind = "ordinal"
    if kind == "binary":
        kind, categories = ("integer", ()) if entry.get("monotone") else ("boolean", (0, 1))
    numeric = kind in ("continuous", "integer")
    if not categories and own is not None and not numeric:
        categories = own.categories
    changes: dict[str, Any] = {key: entry[key] for key in COPIED if key in entry}
    if "why" in entry:
        changes.setdefault("description", str(entry["why"]))
    if numeric:
        low, high = (entry.get(f"observed_{end}", entry.get(end)) for end in ("min", "max"))
        changes |= {} if low is None else {"lower": float(low)}
        changes |= {} if high is None else {"upper": float(high)}
    changes["unseen"] = tuple(entry.get("unseen", ()))
    if "dtype" in entry:
        ordered = kind == "ordinal"
        index = pd.Index(categories, tupleize_cols=False)
        changes["dtype"] = (
            pd.CategoricalDtype(index, ordered=ordered) if entry["dtype"] == "category" else entry["dtype"]
        )
    if own is not None and own.numeric == numeric:
        return replace(own, kind=kind, categories=categories, **changes)
    if own is not None:  # a column of numbers that are categories, or the other way round
        changes = {"dtype": own.dtype, "missing": own.missing, **changes}
    width = changes.get("upper", np.inf) - changes.get("lower", -np.inf)
    changes["assumed"] = numeric and own is None and "scale" not in changes
    changes.setdefault("scale", float(width) if numeric and 0 < width < np.inf else 1.0)
    return Feature(name, kind, categories=categories, **changes)


def _flags(entries: Iterable[Mapping[str, Any]]) -> list[Constraint]:
    """The constraints that columns carry: immutable, monotone, min and max."""
    out: list[Constraint] = []
    flags: list[tuple[Callable[..., Constraint], Callable[[Mapping[str, Any]], bool]]] = [
        (Immutable, lambda entry: bool(entry.get("immutable"))),
        (Increasing, lambda entry: entry.get("monotone") == "increase"),
        (Decreasing, lambda entry: entry.get("monotone") == "decrease"),
    ]
    for word, flagged in flags:
        names = [entry["name"] for entry in entries if flagged(entry)]
        out.extend([word(*names)] if names else [])
    for entry in entries:
        low, high = entry.get("min"), entry.get("max")
        number = entry["kind"] in ("continuous", "integer") or (entry["kind"] == "binary" and entry.get("monotone"))
        if number and not entry.get("ordinal") and (low is not None or high is not None):
            out.append(Range(entry["name"], low, high))
    return out


def _rules(entries: Iterable[Mapping[str, Any]]) -> list[Rule]:
    return [
        Rule(entry["rule"], float(entry.get("tolerance", TOLERANCE)), bool(entry.get("relax", False)))
        for entry in entries
    ]


def _words(entries: Iterable[Mapping[str, Any]]) -> list[Constraint]:
    out: list[Constraint] = []
    for entry in entries:
        rest = dict(entry)
        word = rest.pop("word", None)
        if word not in WORDS:
            raise InputError(
                "a constraint in a schema file must be one of Counterpoise's words",
                f"{entry!r}",
                f"the words are {', '.join(sorted(WORDS))}",
            )
        if "table" in rest:
            rest["table"] = dict(map(tuple, rest["table"]))
        made = WORDS[word](*rest["names"]) if "names" in rest else WORDS[word](**rest)
        out.append(made)
    return out


def _fields(word: Any) -> dict[str, Any]:
    """What a word holds, without what is as usual."""
    values = {each.name: getattr(word, each.name) for each in fields(word)}
    usual = {each.name: each.default for each in fields(word)}
    return {name: _plain(value) for name, value in values.items() if value is not usual[name] and value != usual[name]}


def _entry(word: Constraint) -> dict[str, Any]:
    if type(word).__name__ not in WORDS:
        raise InputError(
            "constraints in a schema file must be data",
            f"{word!r} is a function",
            "leave it out, and give it to the explainer beside the file's constraints",
        )
    return {"word": type(word).__name__, **_fields(word)}


def _column(feature: Feature) -> dict[str, Any]:
    plain = Feature(feature.name, feature.kind, categories=feature.categories, fixed=feature.fixed)
    out: dict[str, Any] = {"name": _plain(feature.name), "kind": feature.kind}
    for key, end in (("observed_min", feature.lower), ("observed_max", feature.upper)):
        out |= {key: _plain(end)} if np.isfinite(end) else {}
    if not feature.numeric:
        out["categories"] = _plain(feature.categories)
    out |= {"unseen": _plain(feature.unseen)} if feature.unseen else {}
    for key in COPIED:
        value = getattr(feature, key)
        out |= {key: _plain(value)} if value != getattr(plain, key) or (key in ("scale", "fixed") and value) else {}
    if feature.dtype != plain.dtype:
        out["dtype"] = "category" if isinstance(feature.dtype, pd.CategoricalDtype) else str(feature.dtype)
    return out


def _plain(value: Any) -> Any:
    """A value as YAML writes it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value
