"""Schema files: features and constraints in YAML, to be read, edited and kept beside the data.

columns:
- name: rate
  kind: continuous        # continuous, integer, binary, boolean, categorical or ordinal
  min: 0                  # what the value can be at all; observed_min and observed_max: what was seen
  unit: kB/s              # unit, label, description, decimals, scale: optional
  immutable: false
  monotone: increase      # or decrease
relations:
- fwd >= bwd              # or, with options:
- {rule: fwd + bwd == total, tolerance: 0.001}
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

from counterpoise.errors import InputError, name_kind
from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.constraints.words import Constraint, Decreasing, Immutable, Increasing, Range
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.yaml.column_entries import check_known_categories, read_column, read_entries
from counterpoise.space.yaml.constraint_entries import CONSTRAINT_SPELLINGS, RULE_EXAMPLE, read_constraints, read_rules
from counterpoise.space.yaml.key_forms import FLAG, read_keys, shorten_repr
from counterpoise.space.yaml.text import load_yaml_file
from counterpoise.types import Array

COPIED_KEYS = (  # as Feature has them
    *("unit", "label", "description", "decimals", "resolution", "values", "scale", "mad", "missing", "fixed", "mark"),
)
COLUMN_EXAMPLE = "{name: age, kind: integer}"


@dataclass(frozen=True)
class SchemaFile:
    """The content of a schema file: features, constraints and further keys about the data."""

    schema: Schema
    constraints: tuple[Constraint, ...]
    about: Mapping[str, Any]


def load_schema(path: str | Path, reference: pd.DataFrame | Array | None = None) -> SchemaFile:
    """The schema and the constraints of a YAML file.

    Reference data gives what the file does not: scales, decimals and dtypes. Where neither
    gives a scale, one unit of distance is the range that the file states for a feature, or 1 where it states none.

    path: the YAML file.
    reference: a frame or an array ``(r, d)`` that gives what the file does not; None: nothing.
    """
    content = read_yaml(path)
    columns = [
        read_column(entry, f"entry {number} of columns:")
        for number, entry in enumerate(read_entries(content, "columns", COLUMN_EXAMPLE), start=1)
    ]
    if not columns:
        raise InputError(
            "a schema file must list the columns", f"{path} has none", f"add columns:, with - {COLUMN_EXAMPLE} ..."
        )
    frame = read_keys("the file", {"frame": content.get("frame", True)}, {"frame": FLAG})["frame"]
    rules = read_rules(read_entries(content, "relations", RULE_EXAMPLE))
    words = read_constraints(read_entries(content, "constraints", CONSTRAINT_SPELLINGS["Immutable"].example))
    seen = None if reference is None else Schema.infer(reference)
    features = tuple(_build_feature(entry, seen) for entry in columns)
    schema = Schema(features, frame=frame if seen is None else seen.frame)
    if not schema.frame:
        _check_array_columns(schema)
    about = {
        key: value for key, value in content.items() if key not in ("columns", "relations", "constraints", "frame")
    }
    return SchemaFile(schema, (*_column_constraints(columns), *rules, *words), about)


def save_schema(
    path: str | Path, schema: Schema, constraints: Sequence[Constraint] = (), about: Mapping[str, Any] | None = None
) -> None:
    """Write features and constraints as YAML; `load_schema` reads the same back.

    path: the file to write.
    schema: the features.
    constraints: the constraints, none of them a function; none by default.
    about: what else the file should hold, such as where the data comes from; None: nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_schema(folder + "/s.yaml", Schema.infer(pd.DataFrame({"ports": [1, 9]})))
    ...     load_schema(folder + "/s.yaml").schema["ports"].kind
    'integer'
    """
    if not isinstance(schema, Schema) or not isinstance(path, str | Path):
        raise InputError(
            "save_schema takes a path, then a Schema",
            f"{name_kind(path)} and {name_kind(schema)} were given",
            'for instance save_schema("features.yaml", schema)',
        )
    relations = [_unusual_fields(word) for word in constraints if isinstance(word, Rule)]
    entries = [_constraint_entry(word) for word in constraints if not isinstance(word, Rule)]
    content: dict[str, Any] = dict(about or {})
    content |= {} if schema.frame else {"frame": False}
    content |= {"columns": [_column_entry(feature) for feature in schema]}
    content |= {"relations": [{"rule": rule.pop("text"), **rule} for rule in relations]} if relations else {}
    content |= {"constraints": entries} if entries else {}
    try:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
    except yaml.representer.RepresenterError as error:
        raise InputError(
            "a schema file must hold numbers, texts and booleans",
            f"{shorten_repr(error.args[-1])} is a {type(error.args[-1]).__name__}",
            "convert the column's categories to texts",
        ) from None
    Path(path).write_text(text, encoding="utf-8")


def read_yaml(path: str | Path) -> dict[Any, Any]:
    """The content of a schema file, within the limits of `YamlLimits`."""
    try:
        content = load_yaml_file(path)
    except (OSError, ValueError) as error:
        raise InputError("a schema file must be readable YAML", f"{path}: {error}", "correct the file") from error
    if not isinstance(content, dict):
        raise InputError(
            "a schema file must list the columns",
            f"{path} holds {shorten_repr(content)}",
            f"add columns:, with - {COLUMN_EXAMPLE} ...",
        )
    return content


def _check_array_columns(schema: Schema) -> None:
    """The rows of an array are numbers: categories can only be those that count from 0, as their codes do."""
    for feature in schema:
        counted = feature.is_numeric or feature.categories == tuple(range(len(feature.categories)))
        if not counted or not isinstance(feature.dtype, np.dtype) or feature.dtype.kind not in "biuf":
            values = "" if feature.is_numeric else f" with categories: {shorten_repr(list(feature.categories))}"
            raise InputError(
                "the columns of an array must be numbers, or categories 0, 1, 2 …, in a dtype of NumPy",
                f"the column {feature.name!r} is {feature.kind}{values}, and has dtype: {feature.dtype}",
                "give the reference as a frame, without frame: false in the file; or correct the column",
            )


def _build_feature(entry: Mapping[str, Any], seen: Schema | None) -> Feature:
    """The feature of an entry, completed by what the reference shows of its column."""
    name, kind = entry["name"], entry["kind"]
    inferred = seen[name] if seen is not None else None
    numeric = kind in ("continuous", "integer")
    categories = () if numeric else _choose_categories(entry, inferred)
    changes: dict[str, Any] = {key: entry[key] for key in COPIED_KEYS if key in entry}
    if "why" in entry:
        changes.setdefault("description", entry["why"])
    changes |= _read_observed_ends(entry, inferred) if numeric else {}
    changes["unseen"] = entry.get("unseen", ())
    known = f"the column {name!r} has unseen: {shorten_repr(list(changes['unseen']))}"
    check_known_categories("unseen", known, changes["unseen"], categories)
    if inferred is not None or "dtype" in entry:
        changes["dtype"] = _choose_dtype(entry, categories, inferred)
    if inferred is not None and inferred.is_numeric == numeric:
        return replace(inferred, kind=kind, categories=categories, **changes)
    if inferred is not None:  # a column of numbers that are categories, or the other way round
        changes.setdefault("missing", inferred.missing)
    changes["assumed"] = numeric and inferred is None and "scale" not in changes
    changes.setdefault("scale", _assumed_scale(changes) if numeric else 1.0)
    return Feature(name, kind, categories=categories, **changes)


def _assumed_scale(ends: Mapping[str, Any]) -> float:
    """The scale of a number without reference data: the width of its range, or 1 if it has none."""
    width = float(ends.get("upper", np.inf) - ends.get("lower", -np.inf))
    return width if 0 < width < np.inf else 1.0


def _choose_categories(entry: Mapping[str, Any], inferred: Feature | None) -> tuple[Any, ...]:
    """The categories that a file lists, or else those of the reference.

    An ordinal column must list its own: a reference of texts has them in the order of the alphabet, not of rank.
    """
    listed: tuple[Any, ...] = entry.get("categories", ())
    if listed or inferred is None or (entry["kind"] == "ordinal" and inferred.kind != "ordinal"):
        return listed
    return inferred.categories


def _read_observed_ends(entry: Mapping[str, Any], inferred: Feature | None) -> dict[str, float]:
    """The observed range of a feature in a file; min and max fill in missing ends unless they contradict it."""
    observed, allowed = (
        {
            end: float(entry[key + suffix])
            for end, suffix in (("lower", "min"), ("upper", "max"))
            if key + suffix in entry
        }
        for key in ("observed_", "")
    )
    sample = {} if inferred is None or not inferred.is_numeric else {"lower": inferred.lower, "upper": inferred.upper}
    for ends in (allowed | observed, observed):
        whole = {"lower": -np.inf, "upper": np.inf} | sample | ends
        if whole["lower"] <= whole["upper"]:
            return ends
    raise InputError(
        "observed_min and observed_max must fit the reference",
        f"the column {entry['name']!r} would go from {whole['lower']:g} to {whole['upper']:g}",
        "correct them, or leave them out: the reference shows its own",
    )


def _choose_dtype(entry: Mapping[str, Any], categories: tuple[Any, ...], inferred: Feature | None) -> Any:
    """The dtype that a file names, or else the reference's own, where it can hold the values of the column."""
    kind, stated = entry["kind"], entry.get("dtype")
    numeric, seen = kind in ("continuous", "integer"), None if inferred is None else inferred.dtype
    if stated is None and numeric:
        return None if isinstance(seen, pd.CategoricalDtype) else seen
    if stated is None and inferred is not None and categories == inferred.categories:
        return seen
    try:
        dtype: Any = pd.api.types.pandas_dtype(seen if stated is None else stated)
        if isinstance(dtype, pd.CategoricalDtype):  # a name alone, or with other categories than the file's
            ordered = dtype.ordered if stated is None else kind == "ordinal"
            dtype = pd.CategoricalDtype(pd.Index(categories, tupleize_cols=False), ordered=ordered)
        fits = _holds_numbers(dtype) if numeric else _holds_categories(dtype, categories)
    except Exception:  # each dtype has its own ways to refuse a name or a value
        fits = False
    if not fits:
        raise _make_dtype_error(entry, categories, seen)
    return dtype


def _make_dtype_error(entry: Mapping[str, Any], categories: tuple[Any, ...], seen: Any) -> InputError:
    given = f"dtype: {entry['dtype']!r}" if "dtype" in entry else f"is {seen} in the reference"
    values = f", categories: {shorten_repr(list(categories))}" if categories else ""
    return InputError(
        "the dtype of a column must be one of pandas that holds its values",
        f"the column {entry['name']!r} has kind: {entry['kind']}{values}; {given}",
        "correct the kind or the categories, or write dtype: float64, Int64, object or category",
    )


def _holds_numbers(dtype: Any) -> bool:
    types = pd.api.types
    return types.is_any_real_numeric_dtype(dtype) or types.is_bool_dtype(dtype) or dtype == np.dtype(object)


def _holds_categories(dtype: Any, categories: tuple[Any, ...]) -> bool:
    return bool(pd.Series(list(categories), dtype=object).astype(dtype).tolist() == list(categories))


def _column_constraints(columns: Iterable[Mapping[str, Any]]) -> list[Constraint]:
    """The constraints that columns carry: immutable, monotone, min and max."""
    out: list[Constraint] = []
    flags: list[tuple[Callable[..., Constraint], str, Any]] = [
        (Immutable, "immutable", True),
        (Increasing, "monotone", "increase"),
        (Decreasing, "monotone", "decrease"),
    ]
    for word, key, value in flags:
        names = [column["name"] for column in columns if column.get(key) == value]
        out.extend([word(*names)] if names else [])
    ends = [(column["name"], column.get("min"), column.get("max")) for column in columns]
    return [*out, *(Range(*each) for each in ends if each[1:] != (None, None))]


def _unusual_fields(word: Any) -> dict[str, Any]:
    """The fields of a constraint that differ from their defaults."""
    values = {each.name: getattr(word, each.name) for each in fields(word)}
    usual = {each.name: each.default for each in fields(word)}
    return {
        name: _as_yaml_value(value)
        for name, value in values.items()
        if value is not usual[name] and value != usual[name]
    }


def _constraint_entry(word: Constraint) -> dict[str, Any]:
    if type(word).__name__ not in CONSTRAINT_SPELLINGS:
        raise InputError(
            "constraints in a schema file must be data",
            f"{word!r} is a function",
            "leave it out, and give it to the explainer beside the file's constraints",
        )
    return {"word": type(word).__name__, **_unusual_fields(word)}


def _column_entry(feature: Feature) -> dict[str, Any]:
    plain = Feature(feature.name, feature.kind, categories=feature.categories, fixed=feature.fixed)
    out: dict[str, Any] = {"name": _as_yaml_value(feature.name), "kind": feature.kind}
    for key, end in (("observed_min", feature.lower), ("observed_max", feature.upper)):
        out |= {key: _as_yaml_value(end)} if np.isfinite(end) else {}
    if not feature.is_numeric:
        out["categories"] = _as_yaml_value(feature.categories)
    out |= {"unseen": _as_yaml_value(feature.unseen)} if feature.unseen else {}
    for key in COPIED_KEYS:
        value = getattr(feature, key)
        out |= (
            {key: _as_yaml_value(value)}
            if value != getattr(plain, key) or (key in ("scale", "fixed") and value)
            else {}
        )
    if feature.dtype != plain.dtype:
        out["dtype"] = "category" if isinstance(feature.dtype, pd.CategoricalDtype) else str(feature.dtype)
    return out


def _as_yaml_value(value: Any) -> Any:
    """A value as YAML writes it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list)):
        return [_as_yaml_value(each) for each in value]
    return value
