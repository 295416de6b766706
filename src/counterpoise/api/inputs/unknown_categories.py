"""Unknown categories: values that neither the reference nor the schema has, in rows that the model accepts.

A pipeline whose encoder ignores unknown categories can decide on a row with a new protocol, so the row can be
explained: an answer may keep or replace the unknown category, and no other row gets it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.inputs.rows_in import InputRows, model_predictions, name_first_row
from counterpoise.errors import InputError, ModelError
from counterpoise.model_calls import Tally
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.schema.tables_in import as_rows
from counterpoise.types import Model


def add_unknown_categories(schema: Schema, data: Any, error: InputError) -> Schema | None:
    """The schema with the unknown categories of these rows added; ``error`` is the one that they were refused with.

    None where the error is about something else, or a value cannot be a category of its column.
    """
    if not hasattr(error, "unknown"):
        return None
    table = as_rows(data, schema.columns)
    features: list[Feature] = []
    for feature in schema:
        strange = () if feature.is_numeric else _unknown_values(feature, table[feature.name])
        if strange is None:
            return None
        more = (*feature.categories, *strange), (*feature.unseen, *strange), (*feature.strange, *strange)
        features.append(replace(feature, categories=more[0], unseen=more[1], strange=more[2]) if strange else feature)
    return replace(schema, features=tuple(features))


def _unknown_values(feature: Feature, column: pd.Series[Any]) -> tuple[Any, ...] | None:
    """The values of a column that are no categories of the feature; None where they could not become such."""
    values = column[column.notna()].tolist()
    if not all(isinstance(value, Hashable) for value in values):
        return None
    strange = [value for value in dict.fromkeys(values) if value not in feature.code_by_category]
    # ordered categories and categorical dtypes take no new one, and 1 is not '1'
    listed = feature.kind != "categorical" or isinstance(feature.dtype, pd.CategoricalDtype)
    if strange and (listed or {*map(type, strange)} - {*map(type, feature.categories)}):
        return None
    return tuple(strange)


def note_unknown_categories(
    model: Model, intake: InputRows, schema: Schema, error: InputError, held: Collection[Hashable] = ()
) -> InputRows:
    """The rows with a note on their unknown categories; an error where the model does not accept them.

    Columns that are ``held`` fixed, such as identifiers and dates, are new in every row, which needs no note.
    """
    assert schema.listed_category_counts is not None, "there are unknown categories"
    strange = intake.x0 >= schema.listed_category_counts
    rows = np.flatnonzero(strange.any(axis=1))
    try:
        model_predictions(model, intake.x0[rows], rows, Tally())
    except ModelError as refusal:
        raise InputError(
            error.must, error.given, f"{error.todo}, or let the model's encoder ignore what it does not know"
        ) from refusal
    cells = []
    for column in np.flatnonzero(strange.any(axis=0)).tolist():
        if schema.names[column] in held:
            continue
        places = np.flatnonzero(strange[:, column])
        # the note does not name the category: notes are on redacted pages too
        cells.append(f"{schema.names[column]!r} of {name_first_row(intake.table.index, places)}")
    note = f"a category that no reference row has, and no answer takes: {'; '.join(cells)}"
    return replace(intake, notes=(*intake.notes, note)) if cells else intake
