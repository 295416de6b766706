"""Whether the parts of a saved explanation fit together, so that a file altered by hand is refused when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterpoise.explanation.fields import ENERGY_COLUMNS, SCORE_COLUMNS
from counterpoise.explanation.question import Question
from counterpoise.explanation.stored_objects import StoredObject
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array, is_number

_TEXT_FIELDS = ("fixed", "unit", "label", "description")
_NUMBER_FIELDS = (
    "threshold",
    "lam",
    "mu",
    "keep",
    "temperature",
    "alternatives",
    "seed",
    "budget",
    "gap",
    "model_rows",
)


def check_fields(fields: dict[str, Any], max_decimals: int = 400, rounding: float = 1e-5) -> None:
    """A ValueError where fields of an explanation do not belong together; ``max_decimals`` of a double are enough.

    Probabilities are the model's own, which may be above 1 by its ``rounding``.
    """
    schema: Schema = fields["schema"]
    columns = fields["rows"].columns
    absent = [name for name in schema.names if name not in columns]
    if absent or not columns.is_unique:
        raise ValueError(f"the rows have no column for each of {list(schema.names)[:4]}")
    for feature in schema:
        _check_feature(feature, max_decimals)
    for cells in (fields["x0"], fields["answers"], *(() if fields["evidence"] is None else (fields["evidence"],))):
        _check_codes(schema, cells)
    if fields["count"].dtype.kind not in "iu" or fields["valid"].dtype != np.bool_:
        raise ValueError("the numbers of answers are not whole, or the validities no truth values")
    most = fields["answers"].shape[1]
    if not ((fields["count"] >= 0) & (fields["count"] <= most)).all():
        raise ValueError(f"a row has a number of answers that is not from 0 to {most}")
    if not all(isinstance(text, str) for name in ("status", "reason") for text in fields[name].tolist()):
        raise ValueError("a status or a reason is no text")
    _check_numbers(fields, rounding)
    _check_question(fields["question"])


def _check_feature(feature: Feature, max_decimals: int) -> None:
    if not all(isinstance(getattr(feature, name), str) for name in _TEXT_FIELDS):
        raise ValueError(f"a text of {feature.name!r} is none")
    if not all(is_number(end) for end in (feature.lower, feature.upper, feature.scale)):
        raise ValueError(f"an end of {feature.name!r} is no number")
    for places in (feature.decimals, feature.resolution):
        if places is not None and not (type(places) is int and 0 <= places <= max_decimals):
            raise ValueError(f"{feature.name!r} has {places!r} decimals")
    if isinstance(feature.dtype, pd.CategoricalDtype) and feature.dtype.categories is None:
        raise ValueError(f"the dtype of {feature.name!r} lists no categories")
    if not all(type(each) is bool for each in (feature.missing, feature.assumed)):
        raise ValueError(f"missing or assumed of {feature.name!r} is no truth value")


def _check_codes(schema: Schema, cells: Array) -> None:
    """Cells ``(..., d)`` of categories are whole numbers that stand for one of them, or missing."""
    if cells.ndim < 2 or cells.shape[-1] != len(schema) or cells.dtype.kind != "f" or np.isinf(cells).any():
        raise ValueError(f"cells of shape {cells.shape} and {cells.dtype} for {len(schema)} features, or infinite ones")
    for number, feature in enumerate(schema):
        if not feature.is_numeric:
            codes = cells[..., number][~np.isnan(cells[..., number])]
            if not np.isin(codes, np.arange(len(feature.categories))).all():
                raise ValueError(f"{feature.name!r} has codes that stand for no category")


def _check_numbers(fields: dict[str, Any], rounding: float) -> None:
    """What was measured is numbers, and shares are between 0 and 1 or unknown."""
    measures = {} if fields["measures"] is None else vars(fields["measures"])
    numbers = {name: part for name, part in measures.items() if name != "noise"} | {"bound": fields["bound"]}
    for table, names in (("scores", SCORE_COLUMNS[2:]), ("energy", ENERGY_COLUMNS)):
        given = {} if fields[table] is None else fields[table]  # a column that is not there is missed by its reader
        numbers |= {name: given[name].to_numpy() for name in names if name in given}
    for name, part in numbers.items():
        if part.dtype.kind != "f":
            raise ValueError(f"{name} has {part.dtype} values")
        if name == "agree_of" and not (np.isnan(part) | ((part >= 1) & np.isfinite(part))).all():
            raise ValueError("agree_of has values that are no numbers of models")
        is_share = name.startswith(("kept", "probability")) or name == "agree"
        if is_share and not _are_shares(part, rounding):
            raise ValueError(f"{name} has values that are no shares")


def _are_shares(numbers: Array, rounding: float) -> bool:
    return bool((np.isnan(numbers) | ((numbers >= 0) & (numbers <= 1 + rounding))).all())


def _check_question(question: Question) -> None:
    for name in _NUMBER_FIELDS:
        value = getattr(question, name)
        if value is not None and value != "auto" and not is_number(value):
            raise ValueError(f"{name} of the question is {value!r}")
    for part in question.regularizers:
        if not (callable(part) or hasattr(part, "fit_to") or isinstance(part, StoredObject)):
            raise ValueError(f"a regularizer of the question is {part!r}")
