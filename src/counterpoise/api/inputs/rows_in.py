"""Rows in: their encoded values, what the model predicts for them, and a check of the settings of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import CounterpoiseError, InputError, ModelError
from counterpoise.model_calls import Tally, call_model, model_outputs
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import (
    as_python_value,
    as_rows,
    holds_only_doubles,
    is_exact_whole,
    quote_names,
)
from counterpoise.types import Array, Index, Mask, Model, Points, is_number, is_whole_number


@dataclass(frozen=True)
class CallLimits:
    """How much a call may ask for."""

    alternatives: int = 1000  # for each row; room for all of them is made at once


CALL_LIMITS = CallLimits()

Rows: TypeAlias = "pd.DataFrame | pd.Series[Any] | NDArray[Any] | Mapping[Any, Any] | Sequence[Mapping[Any, Any]]"
"""Rows to explain: a frame, an array with the reference's columns, a list of dicts; for one row a Series or a dict."""


@dataclass(frozen=True, eq=False)
class InputRows:
    """The rows as they came and as the search sees them."""

    table: pd.DataFrame
    x0: Array  # (n, d)
    notes: tuple[str, ...]
    is_all_float64: bool  # every column is float64, so the table takes any answer as it is
    owns_table: bool  # the table was made here, so nobody else can change it

    def __len__(self) -> int:
        return len(self.table)

    def take_first(self, count: int) -> InputRows:
        """The first ``count`` rows."""
        return replace(self, table=self.table.iloc[:count], x0=self.x0[:count])


class RowPredictions(NamedTuple):
    """What a model predicts for n rows, and its outputs."""

    predicted: NDArray[Any]  # (n,) by the user's own predict, or, until that is asked, by the outputs
    outputs: Array  # (n, c)
    is_from_predict: Mask  # (n,) whether predict has been asked

    def take(self, rows: Index) -> RowPredictions:
        """The predictions for some of the rows."""
        return RowPredictions(self.predicted[rows], self.outputs[rows], self.is_from_predict[rows])


def read_rows(data: Any, schema: Schema) -> InputRows:
    """Rows in any form, checked against the schema and encoded; columns that the schema does not have get a note."""
    table = as_rows(data, schema.columns)
    absent, extra = [], []
    if not schema.matches_columns(table):
        given = dict.fromkeys(table.columns.tolist())
        absent = [name for name in schema.names if name not in given]
        extra = [name for name in given if name not in schema]
    if absent:
        hint = f"; they have {quote_names(extra)}, which the reference has not" if extra else ""
        raise InputError(
            "rows must have every column of the reference",
            f"they have no {quote_names(absent)}{hint}",
            "add or rename the columns",
        )
    notes: tuple[str, ...] = (f"carried through and not shown to the model: {quote_names(extra)}",) if extra else ()
    x0 = encode(schema, table)
    notes += _note_large_integers(schema, x0)
    notes += _note_new_gaps(schema, x0, table.index)
    doubles = (isinstance(data, np.ndarray) and data.dtype == np.float64) or holds_only_doubles(table)
    is_copied = isinstance(data, np.ndarray) and not np.may_share_memory(data, table.to_numpy())
    return InputRows(table, x0, notes, doubles and bool(schema.numeric.all()), is_copied)


def check_has_rows(count: int) -> None:
    """Refuse no rows, for what has nothing to say without one: a sample, a curve, a comparison."""
    if not count:
        raise InputError("there must be at least one row", "no rows", "give one row or more")


def _note_large_integers(schema: Schema, x0: Array) -> tuple[str, ...]:
    """A note where columns of whole numbers have such as double precision does not tell apart."""
    if not schema.integer.any():
        return ()
    large = (~is_exact_whole(x0) & ~np.isnan(x0)).any(axis=0) & schema.integer
    names = [
        name
        for name, feature, in_row in zip(schema.names, schema, large.tolist(), strict=True)
        if in_row or feature.has_large_integers
    ]
    return (f"held fixed to the digit, as whole numbers reach 2**53: {quote_names(names)}",) if names else ()


def _note_new_gaps(schema: Schema, x0: Array, index: pd.Index[Any]) -> tuple[str, ...]:
    """A note where cells are missing in columns that are never so in the reference: the model may not know of it."""
    missing = np.isnan(x0)
    if not missing.any():
        return ()
    columns = [place for place, feature in enumerate(schema) if not feature.missing and missing[:, place].any()]
    cells = "; ".join(
        f"{schema.names[place]!r} of {name_first_row(index, np.flatnonzero(missing[:, place]))}" for place in columns
    )
    return (f"missing, as in no reference row, and decided on by the model as it is: {cells}",) if columns else ()


def name_first_row(index: pd.Index[Any], places: Index) -> str:
    """The first of the rows at ``places`` ``(p,)``, by its label, and how many more there are.

    >>> name_first_row(pd.Index(["web", "mail", "dns"]), np.array([1, 2]))
    "row 'mail' and 1 more"
    """
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"row {as_python_value(index[places[0]])!r}{more}"


def model_predictions(model: Model, x: Points, owners: Index, tally: Tally) -> NDArray[Any]:
    """The user's own ``predict`` at points ``x`` ``(n, d)``, checked: labels of the model, or finite numbers."""
    predicted = np.asarray(call_model(model.predict, x, owners, tally))
    if predicted.shape != (len(x),):
        raise ModelError(
            "the model must give one prediction per row",
            f"{len(x)} rows gave predictions of shape {predicted.shape}",
            "correct the model",
        )
    known = set(model.labels or ())
    wrong = [
        place
        for place, value in enumerate(predicted.tolist())
        if (value not in known if known else not np.isfinite(value))
    ]
    if wrong:
        place = min(wrong, key=lambda place: int(owners[place]))
        row = int(owners[place])
        raise ModelError(
            f"the model must predict {'one of its own classes' if known else 'finite numbers'}",
            f"it predicted {predicted.tolist()[place]!r} for row {row}, counted from 0",
            "correct the model",
            row=row,
        )
    return predicted


def first_predictions(
    model: Model, intake: InputRows, schema: Schema, shown: Points, predicted: NDArray[Any] | None, tally: Tally
) -> RowPredictions:
    """What the model predicts for the rows as they are ``shown`` to it; ``predicted`` is that, if asked before.

    A call of ``predict`` can take longer than a search, however few its rows. So classes come from the outputs at
    first, and ``predict`` is called later, for rows and answers together. This is the model's first call: where it
    fails on missing cells, the error names them.
    """
    rows = np.arange(len(intake))
    later = (
        predicted is None and model.labels is not None and model.abstention is None and not np.isnan(intake.x0).any()
    )
    try:
        if predicted is None and not later:
            predicted = model_predictions(model, shown, rows, tally)
        outputs = model_outputs(model, intake.x0, rows, tally)
    except ModelError as error:
        blame_missing_cells(error, intake, schema)
        raise
    return RowPredictions(
        _largest_output_labels(model, outputs) if predicted is None else predicted,
        outputs,
        np.full(len(rows), not later),
    )


def has_raised(error: CounterpoiseError) -> bool:
    """Whether the model itself raised, rather than answered with something that is no prediction of its own."""
    return error.__cause__ is not None and not isinstance(error.__cause__, CounterpoiseError)


def blame_missing_cells(error: ModelError, intake: InputRows, schema: Schema) -> None:
    """An error that names the missing cells of the row that a model failed on, if there are any."""
    gone = [] if error.row is None else np.flatnonzero(np.isnan(intake.x0[error.row])).tolist()
    if gone:
        names = quote_names([schema.names[place] for place in gone])
        raise InputError(
            "the model must accept the rows as they are",
            f"{names} missing in row {error.row}, counted from 0, and {error.given}",
            "fill the missing cells, or explain a pipeline that begins with an imputer",
            row=error.row,
        ) from error


def _largest_output_labels(model: Model, outputs: Array) -> NDArray[np.object_]:
    """The class with the largest output in each row, ``(n,)``; of equal ones the first."""
    return np.asarray(np.fromiter(model.labels or (), dtype=object)[outputs.argmax(axis=1)])


def check_settings(
    lam: Any,
    penalty: Any,
    mu: Any,
    alternatives: Any,
    budget: Any,
    seed: Any,
    proof: Any = "auto",
    gap: Any = 0.0,
    model_rows: Any = None,
) -> None:
    """An error for a setting of a call that makes no sense."""
    checks = (
        (
            _is_auto(lam) or _is_amount(lam),
            "lam must be 'auto' or a number of at least 0",
            lam,
            "0 gives the bare distance",
        ),
        (
            penalty in ("changes", "l1"),
            "penalty must be 'changes' or 'l1'",
            penalty,
            "'changes' counts changed features",
        ),
        (_is_auto(mu) or _is_amount(mu), "mu must be 'auto' or a number of at least 0", mu, "leave it at 'auto'"),
        (
            is_whole_number(alternatives) and 1 <= alternatives <= CALL_LIMITS.alternatives,
            f"alternatives must be a whole number from 1 to {CALL_LIMITS.alternatives}",
            alternatives,
            "for instance 3",
        ),
        (budget is None or _is_amount(budget), "budget must be seconds, or None", budget, "for instance 10.0"),
        (
            isinstance(proof, bool) or _is_auto(proof),
            "proof must be 'auto', True or False",
            proof,
            "leave it at 'auto'",
        ),
        (_is_amount(gap), "gap must be a share of at least 0", gap, "for instance 0.01"),
        (
            model_rows is None or (is_whole_number(model_rows) and model_rows >= 1),
            "model_rows must be a whole number of at least 1, or None",
            model_rows,
            "for instance 1000",
        ),
        (is_whole_number(seed), "seed must be a whole number", seed, "for instance 0"),
    )
    for holds, must, given, todo in checks:
        if not holds:
            raise InputError(must, f"{given!r}", todo)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _is_amount(value: Any) -> bool:
    return is_number(value) and 0 <= value < np.inf
