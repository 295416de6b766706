"""One pure function from rows to a table of answers, whose columns and types depend on the explainer alone.

Nothing in the table was measured by a clock, and no line of it depends on the rows beside it: rows may be cut into
chunks, shuffled, and sent to other processes and machines, and each line keeps its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.asking.steadiness import depends_on_call_size
from counterpoise.api.batch.ask_rows import explain_no_rows
from counterpoise.api.batch.make_question import make_question
from counterpoise.api.batch.rejected import put_back
from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError, Interrupted, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.exports.flat import ADDED_COLUMN_PREFIX, tabulate_flat
from counterpoise.explanation.question import Question
from counterpoise.scale.unreadable import empty_cells, split_unreadable
from counterpoise.space.constraints.relative_to_row import prices_of_changes
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Feature
from counterpoise.types import is_number

ADDED_DTYPES: Mapping[str, str] = {  # of the columns that are added to the input's own
    "row": "str",
    "position": "int64",
    "alternative": "int64",
    "status": "str",
    "reason": "str",
    "target": "str",
    "before": "label",
    "after": "label",
    "probability_before": "float64",
    "probability_after": "float64",
    "distance": "float64",
    "effort": "float64",
    "bound": "float64",
    "gap": "float64",
    "changed": "str",
    "changes": "str",
    "kept": "float64",
    "kept_low": "float64",
    "kept_high": "float64",
    "agree": "float64",
    "agree_of": "float64",
    "fragile": "bool",
    "edge": "bool",
    "unusual": "str",
    "evidence_distance": "float64",
}


UNASKED = ("on_error", "n_jobs", "progress", "agree")  # settings of a call that are no part of the question


def explain_table(explainer: Explainer, frame: pd.DataFrame, *, first: int = 0, **settings: Any) -> pd.DataFrame:
    """The answers to the rows of a frame: a line for each, the input columns, then what is known of it.

    explainer: the model with its reference and constraints.
    frame: the rows.
    first: the place of the frame's first row in the whole input, from which ``cp_position`` counts; 0 by default.
    settings: those of a call of the explainer, such as ``target="benign"``.

    A row that cannot be read has the status "rejected" and its reason, also where there is no other row. No rows give
    no lines and all columns. The line of a row does not depend on the other rows.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5], "ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> rows = pd.DataFrame({"load": [4.0, "high"], "ports": [8, 8]}, index=["a", "b"])
    >>> table = explain_table(Explainer(model, reference=train), rows, target="benign")
    >>> table[["cp_row", "cp_status", "cp_after"]].values.tolist()
    [['a', 'optimal', 'benign'], ['b', 'rejected', nan]]
    """
    return tabulate_answers(explainer, explain_rows(explainer, frame, **settings), first=first)


def explain_rows(explainer: Explainer, frame: pd.DataFrame, **settings: Any) -> Explanation:
    """The explanation of the rows of a frame; of none, or of rejected rows alone, where no row can be answered."""
    explainer = ask_in_blocks(explainer)
    rows, reasons = split_unreadable(frame)
    if reasons:
        return _explain_around(explainer, rows, reasons, settings)
    if not len(rows):
        return explain_no_rows(explainer, rows, _make_question(explainer, settings))
    try:
        return explainer(rows, **settings)
    except (InputError, ModelError) as error:
        rejected = getattr(error, "rejected", None)
        if rejected is None:
            raise
        return rejected  # type: ignore[no-any-return]


def _make_question(explainer: Explainer, settings: Mapping[str, Any]) -> Question:
    given = {name: value for name, value in settings.items() if name not in UNASKED}
    return make_question(explainer, **given)


def _explain_around(
    explainer: Explainer, rows: pd.DataFrame, reasons: Mapping[int, str], settings: Mapping[str, Any]
) -> Explanation:
    """The explanation of the readable rows of a table, with broken lines rejected in their places."""
    if settings.get("on_error") == "raise":
        place, reason = min(reasons.items())
        raise InputError("every line must be a row", f"{reason} (row {place}, counted from 0)", "mend the line")
    question = _make_question(explainer, settings)
    places = np.setdiff1d(np.arange(len(rows)), np.fromiter(reasons, dtype=np.intp))
    shown = empty_cells(rows, reasons)
    try:
        found = explain_rows(explainer, rows.iloc[places], **settings)
    except (Interrupted, ModelError) as stopped:
        if stopped.partial is not None:
            places = places[: len(stopped.partial)]
            earlier = {place: reason for place, reason in reasons.items() if place < places.max(initial=-1)}
            stopped.partial = put_back(stopped.partial, places, shown, earlier, question)
        raise
    return put_back(found, places, shown, reasons, question)


@dataclass(frozen=True)
class CallSettings:
    """How a model is asked whose outputs depend on the size of a call."""

    rows: int = 256
    """Rows of every such call: fewer cost more calls, more are mostly filling where few rows are asked about."""


DEFAULT_CALLS = CallSettings()


def ask_in_blocks(explainer: Explainer, settings: CallSettings = DEFAULT_CALLS) -> Explainer:
    """An explainer that asks its model in calls of one size if outputs depend on it; else the explainer itself."""
    if explainer.chunks.call_rows or not depends_on_call_size(explainer.model, explainer.reference):
        return explainer
    return explainer.in_chunks(replace(explainer.chunks, call_rows=settings.rows))


def tabulate_answers(
    explainer: Explainer, explanation: Explanation, *, first: int = 0, redact: bool = False
) -> pd.DataFrame:
    """The answers of an explanation as a table with types that depend on the explainer alone."""
    prices = prices_of_changes(explainer.schema, explainer.constraints)
    spec: Any = explanation.question.distance
    table = tabulate_flat(explanation, Distance.of(explanation.schema, spec, prices), redact=redact)
    labels = explainer.model.labels
    label_dtype = "float64" if labels is None else common_dtype(labels)
    columns: dict[Any, Any] = {}
    for name in table.columns:
        column = table[name]
        added = ADDED_DTYPES.get(str(name).removeprefix(ADDED_COLUMN_PREFIX)) if is_added(name) else None
        if added is not None:
            columns[str(name)] = cast_column(column, label_dtype if added == "label" else added)
        elif name in explainer.schema:
            columns[str(name)] = cast_column(column, feature_dtype(explainer.schema[name]))
        else:
            columns[str(name)] = carry_column(column)
    out = pd.DataFrame(columns, index=table.index)
    if len(out):
        out[ADDED_COLUMN_PREFIX + "position"] += first
    return out


def is_added(name: Any) -> bool:
    """Whether a column was added to the input's own."""
    return str(name).startswith(ADDED_COLUMN_PREFIX)


def feature_dtype(feature: Feature) -> str:
    """The dtype of a feature's column in a table of answers: it can hold every answer, and a missing cell.

    >>> feature_dtype(Feature("ports", "integer")), feature_dtype(Feature("proto", "categorical", categories=("tcp",)))
    ('Int64', 'str')
    """
    if feature.kind == "integer":
        if feature.storage_dtype is None and feature.has_large_integers:
            return "str"  # which holds all of their digits
        return "UInt64" if getattr(feature.dtype, "kind", "") == "u" else "Int64"
    return "float64" if feature.is_numeric else common_dtype(feature.categories)


def common_dtype(values: Any) -> str:
    """The dtype that holds all of some labels or categories: truth values, whole numbers, numbers, else texts.

    >>> common_dtype((0, 1)), common_dtype((True, False)), common_dtype(("a", 1))
    ('Int64', 'boolean', 'str')
    """
    kinds = {
        "boolean"
        if isinstance(value, (bool, np.bool_))
        else "Int64"
        if isinstance(value, (int, np.integer))
        else "float64"
        if is_number(value)
        else "str"
        for value in values
    }
    return next(iter(kinds)) if len(kinds) == 1 else "float64" if kinds == {"Int64", "float64"} else "str"


def cast_column(column: pd.Series[Any], dtype: str) -> Any:
    """A column in a dtype; a cell that does not fit is empty (that of a rejected row, whose reason names it)."""
    if str(column.dtype) == dtype:
        return column
    if dtype == "str":
        gone = column.isna()
        return column.astype(object).map(str).where(~gone, np.nan).astype("str")
    if dtype == "bool":
        return column.fillna(value=False).astype(bool)
    if dtype == "boolean":
        return pd.array([bool(cell) if cell in (0, 1) else None for cell in column.astype(object)], dtype="boolean")
    if dtype == "float64":
        return pd.to_numeric(column, errors="coerce").astype("float64")
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == ("i" if dtype == "Int64" else "u"):
        return column.astype("Int64" if dtype == "Int64" else "UInt64")
    ends = np.iinfo(np.int64 if dtype == "Int64" else np.uint64)
    wholes = [_as_whole(cell) for cell in column.astype(object)]
    fitting = [None if whole is None or not ends.min <= whole <= ends.max else whole for whole in wholes]
    whole: Any = pd.Series(fitting, index=column.index, dtype=object)
    return whole.astype(dtype)


def _as_whole(cell: Any) -> int | None:
    whole = is_number(cell) and np.isfinite(cell) and int(cell) == cell
    return int(cell) if whole else None


def carry_column(column: pd.Series[Any]) -> Any:
    """A column that the model does not see, as it came; objects of several kinds become texts, nested ones JSON."""
    if isinstance(column.dtype, pd.StringDtype):
        return column.astype("str")  # texts have one type here, whichever of theirs they came in
    if column.dtype != object:
        return column
    gone = [pd.api.types.is_scalar(cell) and pd.isna(cell) for cell in column]
    texts = [
        np.nan if lost else cell if isinstance(cell, str) else json.dumps(cell, default=str, ensure_ascii=False)
        for cell, lost in zip(column, gone, strict=True)
    ]
    return pd.Series(texts, index=column.index, dtype="str")
