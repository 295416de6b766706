"""A mapping of a log's fields to a model's columns, from a small YAML file.

columns:                                          # the model's column: the log's field
  dur: duration
  spkts: {field: orig_pkts, unset: 0}             # what stands where the log has nothing
  dur_ms: {field: duration, scale: 1000}          # another unit
  proto: {field: proto, values: {tcp: 6, udp: 17}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.errors import InputError
from counterpoise.security.logs.log_table import LogTable
from counterpoise.space.yaml.key_forms import shorten_repr
from counterpoise.space.yaml.text import load_yaml_file
from counterpoise.types import is_number

MUST = "a mapping must be YAML with columns:, each the model's column and the log's field"
EXAMPLE = "for instance columns: {dur: duration}"
KEYS = ("field", "scale", "unset", "values")


@dataclass(frozen=True)
class FieldUse:
    """How a column is made of a field: ``scale`` times it, ``unset`` where it is missing, its ``values`` replaced."""

    field: str
    scale: float | None = None
    unset: Any = None
    values: Mapping[Any, Any] | None = None

    def make_column(self, cells: pd.Series[Any]) -> pd.Series[Any]:
        """The model's column from the log's."""
        made: Any = cells
        if self.values is not None:
            table = dict(self.values)
            made = cells.map(lambda cell: table.get(cell, cell), na_action="ignore")
        if self.scale is not None:
            made = pd.to_numeric(made) * self.scale
        if self.unset is not None:
            made = made.where(made.notna(), self.unset)
        return made.infer_objects()  # type: ignore[no-any-return]


def load_mapping(path: str | Path) -> dict[str, FieldUse]:
    """The mapping in a file, by the model's columns."""
    try:
        content = load_yaml_file(path)
    except OSError as error:
        raise InputError("the mapping must be readable", f"{path}: {error.strerror}", "correct the path") from error
    except ValueError as error:
        first = str(error).splitlines()[0]
        raise InputError(MUST, f"{Path(path).name}: {first}", EXAMPLE) from error
    if not isinstance(content, dict) or list(content) != ["columns"] or not isinstance(content["columns"], dict):
        raise InputError(MUST, f"{Path(path).name} has something else", EXAMPLE)
    return {str(name): _read_use(str(name), entry) for name, entry in content["columns"].items()}


def apply_mapping(log: LogTable, mapping: Mapping[str, FieldUse]) -> pd.DataFrame:
    """The log's table with the model's columns beside its own fields, which are carried through.

    >>> from counterpoise.security.logs.log_table import build_log_table
    >>> log = build_log_table("zeek", [(1, {"duration": 2.0}), (2, {"duration": None})], [])
    >>> apply_mapping(log, {"dur_ms": FieldUse("duration", scale=1000.0, unset=0.0)})["dur_ms"].tolist()
    [2000.0, 0.0]
    """
    table, made = log.table, {}
    for name, use in mapping.items():
        if use.field not in table.columns:
            near = get_close_matches(use.field, [str(field) for field in table.columns], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "correct the mapping"
            raise InputError("a mapping must name fields of the log", f"{use.field!r}, for {name!r}", hint)
        try:
            made[name] = use.make_column(table[use.field])
        except (ValueError, TypeError) as error:
            raise InputError("scale is for fields of numbers", f"{use.field!r}: {error}", "leave it out") from error
    return table.drop(columns=[name for name in made if name in table.columns]).assign(**made)


def _read_use(name: str, entry: Any) -> FieldUse:
    if isinstance(entry, str):
        return FieldUse(entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("field"), str):
        raise InputError(
            MUST, f"{name!r} has {shorten_repr(entry)}", f"for instance {name}: {{field: duration, unset: 0}}"
        )
    unknown = [str(key) for key in entry if key not in KEYS]
    if unknown:
        raise InputError(f"a field's entry has {', '.join(KEYS)}", f"{name!r} has {unknown[0]!r}", "correct it")
    scale, values = entry.get("scale"), entry.get("values")
    if scale is not None and not (is_number(scale) and isfinite(scale)):
        raise InputError("scale must be a number", f"{name!r} has {shorten_repr(scale)}", "for instance 1000")
    if values is not None and not isinstance(values, dict):
        raise InputError(
            "values must map the log's to the model's", f"{name!r} has {shorten_repr(values)}", "for instance {tcp: 6}"
        )
    return FieldUse(entry["field"], None if scale is None else float(scale), entry.get("unset"), values)
