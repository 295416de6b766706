"""Whether a table fits a schema file: values outside a column, and rules that rows break."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.sentences import name_row
from counterpoise.space.region.region import Region
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.yaml.load_save import SchemaFile
from counterpoise.types import Index, Mask, is_number


def find_misfits(file: SchemaFile, table: pd.DataFrame) -> list[str]:
    """Where a table does not fit a schema file: a line for each value a column cannot hold and each rule broken."""
    lines, lost = [], False
    foreign = np.zeros((len(table), len(file.schema)), dtype=bool)
    readable = table.copy(deep=False)
    for number, feature in enumerate(file.schema):
        if feature.name not in table.columns:
            lines.append(f"{feature.name}: the column is missing")
            lost = True
            continue
        column = _parse_numbers(feature, table[feature.name])
        for value, rows in _foreign_values(feature, column).items():
            what = "no number" if feature.is_numeric else "none of its categories"
            count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
            first = name_row(table.index, rows[0])
            lines.append(f"{feature.name}: {value!r} is {what}; {count}, the first is {first}")
            foreign[rows, number] = True
        column = column.mask(foreign[:, number])
        readable[feature.name] = column
        try:
            encode(Schema((feature,)), column.to_frame())
        except InputError as error:
            lines.append(f"{feature.name}: {error.must}; {error.given}")
            lost = True
    # rules speak of several columns, so they are checked only where every column can be read
    return lines if lost else [*lines, *_find_broken_rules(file, readable, foreign)]


def _parse_numbers(feature: Feature, column: pd.Series[Any]) -> pd.Series[Any]:
    """Turn text into numbers for a numeric feature: one cell of text makes the whole column text."""
    if pd.api.types.is_numeric_dtype(column) or not (feature.is_numeric or all(map(is_number, feature.categories))):
        return column
    numbers = pd.to_numeric(column.astype(object), errors="coerce")
    return column.astype(object).where(numbers.isna(), numbers)


def _foreign_values(feature: Feature, column: pd.Series[Any]) -> dict[Any, list[int]]:
    """The values of a column that the feature cannot hold, and the places of the rows that have them."""
    if feature.is_numeric and pd.api.types.is_numeric_dtype(column):
        return {}
    codes, values = pd.factorize(column.astype(object))
    wrong = [
        code
        for code, value in enumerate(values)
        if not (isinstance(value, (Real, np.bool_)) if feature.is_numeric else value in feature.code_by_category)
    ]
    found: dict[Any, list[int]] = {values[code]: [] for code in wrong}
    for place in np.flatnonzero(np.isin(codes, wrong)).tolist():
        found[values[codes[place]]].append(place)
    return found


def _find_broken_rules(file: SchemaFile, table: pd.DataFrame, foreign: Mask) -> list[str]:
    """The ranges and rules that rows of a table break, a line each; ``foreign`` ``(n, d)`` cells are left out."""
    lines, x = [], encode(file.schema, table)
    region = Region.build(file.schema, x, file.constraints, None)
    broken = region.is_broken(x[:, None, :])[:, 0, :] & ~foreign
    for column in np.flatnonzero(broken.any(axis=0)):
        rows = np.flatnonzero(broken[:, column])
        words = " and ".join(dict.fromkeys(region.constraint_texts[column])) or "its kind"
        name = file.schema.features[column].name
        value = table[name].astype(object).iloc[rows[0]]
        lines.append(
            f"{name}: {_format_count(rows)} {words}; the first is {name_row(table.index, rows[0])}, with {value!r}"
        )
    off = (region.system.defects(x[:, None, :])[:, 0, :] != 0) & ~foreign.any(axis=1, keepdims=True)
    for relation in np.flatnonzero(off.any(axis=0)):
        rows = np.flatnonzero(off[:, relation])
        first = name_row(table.index, rows[0])
        lines.append(f"{_format_count(rows)} {region.system.relation_texts[relation]}; the first is {first}")
    return lines


def _format_count(rows: Index) -> str:
    return "1 row breaks" if len(rows) == 1 else f"{len(rows)} rows break"
