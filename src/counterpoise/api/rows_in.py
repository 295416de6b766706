"""What comes in: rows as encoded values, what the model says of them as they are, and settings that make sense."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError, ModelError
from counterpoise.model_calls import Tally, call_model, model_outputs
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import as_rows, holds_only_doubles, quote_names
from counterpoise.types import Array, Index, Mask, Model, is_number, is_whole_number


@dataclass(frozen=True, eq=False)
class InputRows:
    """The rows as they came and as the search sees them."""

    table: pd.DataFrame
    x0: Array  # (n, d)
    notes: tuple[str, ...]
    is_all_float64: bool  # the table takes any answer as it is: all of it is numbers in double precision
    owns_table: bool  # the table was made here, and nobody else can change it

    def __len__(self) -> int:
        return len(self.table)

    def take_first(self, count: int) -> InputRows:
        """The rows before one."""
        return replace(self, table=self.table.iloc[:count], x0=self.x0[:count])


class RowPredictions(NamedTuple):
    """What a model says of n rows: the prediction, and the outputs."""

    predicted: NDArray[Any]  # (n,) by the user's own predict, or, until that is asked, by the outputs
    outputs: Array  # (n, c)
    is_from_predict: Mask  # (n,) whether predict has been asked

    def take(self, rows: Index) -> RowPredictions:
        """The opinion of some of the rows."""
        return RowPredictions(self.predicted[rows], self.outputs[rows], self.is_from_predict[rows])


def read_rows(data: Any, schema: Schema) -> InputRows:
    """Rows in whatever form, checked against the schema and encoded; a note where columns are only carried through."""
    table = as_rows(data, schema.columns)
    if not len(table):
        raise InputError("there must be at least one row to explain", "no rows", "give one row or more")
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
    notes = (f"carried through and not shown to the model: {quote_names(extra)}",) if extra else ()
    doubles = (isinstance(data, np.ndarray) and data.dtype == np.float64) or holds_only_doubles(table)
    own = isinstance(data, np.ndarray) and not np.may_share_memory(data, table.to_numpy())
    return InputRows(table, encode(schema, table), notes, doubles and bool(schema.numeric.all()), own)


def model_predictions(model: Model, x: Array, owners: Index, tally: Tally) -> NDArray[Any]:
    """What the user's own ``predict`` says of points ``x`` ``(n, d)``, checked: labels it knows, or finite numbers."""
    said = np.asarray(call_model(model.predict, x, owners, tally))
    if said.shape != (len(x),):
        raise ModelError(
            "the model must give one prediction per row",
            f"{len(x)} rows gave predictions of shape {said.shape}",
            "mend the model",
        )
    known = set(model.labels or ())
    wrong = [
        place for place, value in enumerate(said.tolist()) if (value not in known if known else not np.isfinite(value))
    ]
    if wrong:
        place = min(wrong, key=lambda place: int(owners[place]))
        row = int(owners[place])
        raise ModelError(
            f"the model must predict {'one of its own classes' if known else 'finite numbers'}",
            f"it said {said.tolist()[place]!r} for row {row}, counted from 0",
            "mend the model",
            row=row,
        )
    return said


def first_predictions(model: Model, intake: InputRows, schema: Schema, tally: Tally) -> RowPredictions:
    """What the model says of the rows as they are: the first call, so the first to meet their missing cells.

    A call of ``predict`` may take longer than a search, whether it is about one row or two. So classes are taken from
    the outputs at first, and ``predict`` is asked about rows and answers together.
    """
    rows = np.arange(len(intake))
    later = model.labels is not None and model.abstention is None and not np.isnan(intake.x0).any()
    try:
        said = None if later else model_predictions(model, intake.x0, rows, tally)
        outputs = model_outputs(model, intake.x0, rows, tally)
        return RowPredictions(
            _largest_output_labels(model, outputs) if said is None else said, outputs, np.full(len(rows), not later)
        )
    except ModelError as error:
        gone = [] if error.row is None else np.flatnonzero(np.isnan(intake.x0[error.row])).tolist()
        if gone:
            names = quote_names([schema.names[place] for place in gone])
            raise InputError(
                "the model must accept the rows as they are",
                f"{names} missing in row {error.row}, counted from 0, and {error.given}",
                "fill the missing cells, or explain a pipeline that begins with an imputer",
                row=error.row,
            ) from error
        raise


def _largest_output_labels(model: Model, outputs: Array) -> NDArray[np.object_]:
    """The class of the largest output of each row, the first of equals."""
    return np.asarray(np.fromiter(model.labels or (), dtype=object)[outputs.argmax(axis=1)])


def check_settings(lam: Any, mu: Any, alternatives: Any, budget: Any, seed: Any) -> None:
    """An error for a setting of a call that makes no sense."""

    def fair(value: Any) -> bool:
        return is_number(value) and 0 <= value < np.inf

    if not (isinstance(lam, str) and lam == "auto") and not fair(lam):
        raise InputError("lam must be 'auto' or a number of at least 0", f"{lam!r}", "0 switches the regulariser off")
    if not (isinstance(mu, str) and mu == "auto") and not fair(mu):
        raise InputError("mu must be 'auto' or a number of at least 0", f"{mu!r}", "leave it at 'auto'")
    if not is_whole_number(alternatives) or alternatives < 1:
        raise InputError("alternatives must be a whole number of at least 1", f"{alternatives!r}", "for instance 3")
    if budget is not None and not fair(budget):
        raise InputError("budget must be seconds, or None", f"{budget!r}", "for instance 10.0")
    if not is_whole_number(seed):
        raise InputError("seed must be a whole number", f"{seed!r}", "for instance 0")
