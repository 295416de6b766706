"""The form in which the user has the rows: the user's own model is asked in it, about rows and answers alike.

What is returned and what the model is asked about is written in one place, `RowForm.write`: columns and their order,
dtypes, the order of categories, the marks of missing cells and the sign of zero are those of the rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.api.asking.steadiness import Steadiness
from counterpoise.api.inputs.rows_in import InputRows, has_raised, model_predictions
from counterpoise.errors import CounterpoiseError
from counterpoise.explanation.tables import keep_own_cells, restore_table
from counterpoise.model_calls import Tally
from counterpoise.problem import Problem
from counterpoise.space.rules.relations import FunctionRelation
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import is_exact_whole, take_rows
from counterpoise.types import Array, Index, Mask, Model, Points


def obeys_functions(problem: Problem, form: RowForm, rows: Index, x: Array) -> Mask:
    """Which of ``x`` ``(p, d)``, answers to ``rows`` ``(p,)``, the user's functions allow as they are returned.

    All of them where double precision holds every digit: the region has asked the functions about such cells itself.
    """
    obeyed = np.ones(len(x), dtype=bool)
    functions = [each for each in problem.region.system.relations if isinstance(each, FunctionRelation)]
    if not functions or not len(x) or not _has_hidden_digits(form):
        return obeyed
    points = form.write(rows, x)
    if isinstance(points, pd.DataFrame):
        for function in functions:
            obeyed &= function.judge(points[list(form.schema.names)].copy())
    return obeyed


def _has_hidden_digits(form: RowForm) -> bool:
    """Whether a cell of the rows is a whole number that double precision does not tell from its neighbours."""
    large: Mask = np.any(~is_exact_whole(form.x0) & ~np.isnan(form.x0), axis=0)
    names = [name for name, reaches in zip(form.schema.names, large.tolist(), strict=True) if reaches]
    return any(getattr(form.table[name].dtype, "kind", "") in ("i", "u", "O") for name in names)


Way = Literal["own", "reordered", "reference"]
"""As the rows are; with the columns in the reference's order; as the reference is."""


@dataclass(frozen=True, eq=False)
class RowForm:
    """Rows as they came, ``(n,)``, and how they and their answers are shown to the model.

    table: the columns that the model is shown; x0: the same encoded, ``(n, d)``; is_exact: any answer can be written
    as it is, so that there is nothing to check; steadiness: how far the model's answers can be relied on;
    is_reference_form: the model is shown what it is shown in the search.
    """

    schema: Schema
    table: pd.DataFrame
    x0: Array
    way: Way
    is_exact: bool
    steadiness: Steadiness
    is_reference_form: bool = False

    @classmethod
    def of(cls, schema: Schema, rows: InputRows, steadiness: Steadiness, way: Way = "own") -> RowForm:
        """The form of rows, for a model that is so steady."""
        table = rows.table
        if not schema.matches_columns(table):
            shown = [name for name in table.columns if name in schema] if way == "own" else list(schema.names)
            table = table[shown]
        return cls(schema, table, rows.x0, way, rows.is_all_float64, steadiness)

    def take(self, rows: Index) -> RowForm:
        """The form of some of the rows."""
        return replace(self, table=take_rows(self.table, rows), x0=self.x0[rows])

    @property
    def own_rows(self) -> Points:
        """The rows themselves, as the model is shown them."""
        return self.x0 if self.way == "reference" else self.table

    def write(self, rows: Index, x: Array) -> Points:
        """Answers ``x`` ``(p, d)`` to ``rows`` ``(p,)``, as they are returned and as the model is shown them."""
        row_values = self.x0[rows]
        if self.way == "reference":
            return keep_own_cells(row_values, x)
        if self.is_exact and self.schema.matches_columns(self.table):  # as `restore_table`, in a tenth of the time
            index = self.table.index.take(rows)
            return pd.DataFrame(keep_own_cells(row_values, x), index=index, columns=self.table.columns)
        return restore_table(self.schema, take_rows(self.table, rows), row_values, x)

    def overflows(self, x: Array) -> Mask:
        """Which answers ``x`` ``(p, d)`` have a number that is beyond what its column's dtype can hold, ``(p,)``."""
        beyond = np.zeros(len(x), dtype=bool)
        dtypes: dict[Hashable, Any] = dict(zip(self.table.columns.tolist(), self.table.dtypes.tolist(), strict=True))
        for number, feature in enumerate(self.schema):
            dtype = dtypes.get(feature.name)
            kind = getattr(dtype, "numpy_dtype", dtype)
            if isinstance(kind, np.dtype) and kind.kind == "f" and kind.itemsize < 8:
                beyond |= np.abs(x[:, number]) > np.finfo(kind).max
        return beyond

    def says(self, points: Points, x: Array) -> Mask:
        """Which of the written answers say what ``x`` ``(p, d)`` says, ``(p,)``: no dtype altered a cell."""
        if self.is_exact or not isinstance(points, pd.DataFrame):
            return np.ones(len(x), dtype=bool)
        written = encode(self.schema, points)
        return np.asarray(((written == x) | (np.isnan(written) & np.isnan(x))).all(axis=1))


class ChosenForm(NamedTuple):
    """A form that the model can read, what its predict says of the rows if it was asked, and notes about it."""

    form: RowForm
    predicted: NDArray[Any] | None
    notes: tuple[str, ...]


def choose_form(model: Model, rows: InputRows, schema: Schema, steadiness: Steadiness, tally: Tally) -> ChosenForm:
    """The form in which the model is asked: that of the rows, or, where it cannot read them so, the reference's.

    A form that is the reference's own needs no trial. Where the model can read none, that of the rows is kept, and the
    model's own error comes with the first question.
    """
    form = RowForm.of(schema, rows, steadiness)
    unlike = [] if rows.is_all_float64 and schema.has_only_doubles else list(_differences(form))
    if not unlike and schema.matches_columns(form.table):
        return ChosenForm(replace(form, is_reference_form=True), None, ())
    owners, failure = np.arange(len(rows)), ""
    ways: tuple[Way, ...] = ("own", "reordered", "reference")
    if any(feature.has_large_integers for feature in schema):  # the reference's form has not all of their digits
        ways = ("own", "reordered")
    for way in ways:
        tried = RowForm.of(schema, rows, steadiness, way)
        try:
            predicted = model_predictions(model, tried.own_rows, owners, tally)
        except CounterpoiseError as error:
            if not has_raised(error):
                break  # it read the rows, and its answer is of no use: another form would only hide that
            failure = failure or error.given
            continue
        return ChosenForm(tried, predicted, tuple(_form_notes(form, way, unlike, failure)))
    return ChosenForm(form, None, ())


def _differences(form: RowForm) -> Iterator[str]:
    """What of the rows' form is not the reference's, column by column; the order of columns is left out."""
    schema = form.schema
    if not schema.frame:
        return  # a model of arrays sees the numbers alone
    dtypes: dict[Hashable, Any] = dict(zip(form.table.columns.tolist(), form.table.dtypes.tolist(), strict=True))
    for number, feature in enumerate(schema):
        dtype = dtypes[feature.name]
        if dtype != feature.dtype or not _lists_same_categories(dtype, feature.dtype):
            order = " with its categories in another order" if str(dtype) == str(feature.dtype) else ""
            yield f"{feature.name!r} is {dtype}{order}, in the reference {feature.dtype}"
        elif feature.has_large_integers:
            yield f"{feature.name!r} has digits that the search does not see"
        elif dtype == np.dtype(object) and np.isnan(form.x0[:, number]).any():
            yield f"{feature.name!r} has missing cells as the rows mark them"


def _lists_same_categories(dtype: Any, other: Any) -> bool:
    """Whether two dtypes list their categories in the same order; those that list none do."""
    return not isinstance(dtype, pd.CategoricalDtype) or list(dtype.categories) == list(other.categories)


def _form_notes(form: RowForm, way: Way, unlike: list[str], failure: str) -> Iterator[str]:
    if not form.schema.matches_columns(form.table):
        if way == "own":
            yield (
                "the columns of the rows stand in another order than the reference's: a model that knows its columns "
                "by name is asked in its own order; one that was fitted without names in that of the reference, and so "
                "must whoever asks it about the answers; a function in that of the rows"
            )
        else:
            yield "the model cannot read the columns in the order of the rows: it is asked in that of the reference"
    if way == "reference" and unlike:
        more = f" and {len(unlike) - 4} more" if len(unlike) > 4 else ""
        yield (
            f"the model cannot read the rows in their own form ({failure}): it is asked in that of the reference, and "
            f"so must whoever asks it about the answers: {'; '.join(unlike[:4])}{more}"
        )
