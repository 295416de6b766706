"""Which rows a table of answers is about: one that explain wrote says so, by place and by name."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.exports.flat import ADDED_COLUMN_PREFIX
from counterpoise.types import Index

PLACE, NAME = ADDED_COLUMN_PREFIX + "position", ADDED_COLUMN_PREFIX + "row"


def rows_of_answers(table: pd.DataFrame, answers: pd.DataFrame, features: Collection[Hashable]) -> pd.DataFrame:
    """The rows that ``answers`` are about, a row for each of them; ``table`` itself where they do not say.

    With --limit there are answers to the first rows alone; with --where places count the chosen rows, and names tell
    which they were. ``features``: the model's; other columns are the same in a row and in its answer.

    >>> rows = pd.DataFrame({"load": [7, 8, 9]}, index=["a", "b", "c"])
    >>> rows_of_answers(rows, pd.DataFrame({"load": [1], "cp_position": [0], "cp_row": ["b"]}), ["load"])
       load
    b     8
    """
    if PLACE not in answers.columns:
        return table
    for places in _candidates(table, answers, features):
        return table.iloc[places]
    raise InputError(
        "answers with cp_position must be about these rows",
        f"their places and names in {PLACE} and {NAME} are not those of --rows",
        "give the rows and the --id that explain was given",
    )


def _candidates(table: pd.DataFrame, answers: pd.DataFrame, features: Collection[Hashable]) -> Iterator[Index]:
    """The places of rows that answers may be about, the surest first."""
    labels = table.index.astype(str)
    names = answers[NAME].astype(str) if NAME in answers.columns else None
    numbers = pd.to_numeric(answers[PLACE], errors="coerce").to_numpy(dtype=np.float64)
    are_places = bool(np.isin(numbers, np.arange(len(table))).all())
    places = numbers.astype(np.intp) if are_places else np.empty(0, dtype=np.intp)
    if are_places and (names is None or (labels[places] == names.to_numpy()).all()):
        yield places
    carried = [name for name in table.columns.intersection(answers.columns) if name not in features]
    if names is not None and labels.is_unique and names.isin(labels).all():
        named = labels.get_indexer(pd.Index(names)).astype(np.intp)
        if _are_same(table[carried].iloc[named], answers[carried]):
            yield named
    if are_places and carried and _are_same(table[carried].iloc[places], answers[carried]):
        yield places


def _are_same(rows: pd.DataFrame, answers: pd.DataFrame) -> bool:
    """Whether all cells are the same, as they are read."""
    return all(_texts(rows[name]) == _texts(answers[name]) for name in rows.columns)


def _texts(column: pd.Series[Any]) -> list[str]:
    """Cells as texts; numbers as floats, and without the ' that makes a text safe to open."""
    if pd.api.types.is_numeric_dtype(column):
        return [str(float(cell)) for cell in column]
    return [str(cell).removeprefix("'") for cell in column]
