"""Input of a fitted model: the columns it was fitted on, by name where it knows their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from counterpoise.errors import InputError
from counterpoise.space.schema.encode import decode, encode
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.schema.tables_in import quote_names
from counterpoise.types import Array, Index, Points

InputFunction = Callable[[Points], Any]
"""Encoded rows ``(p, d)``, or a frame in the user's own form, to the model's input: always a copy."""


def find_model_columns(schema: Schema, names: Sequence[Hashable] | None, width: int | None) -> Index:
    """Positions, in the schema, of the columns that a model was fitted on, in the model's order.

    ``names`` are those the model remembers, or None; ``width`` is how many columns it remembers, or None.

    >>> table = pd.DataFrame({"rate": [0.5, 1.5], "size": [1.5, 2.5]})
    >>> find_model_columns(Schema.infer(table), ["size", "rate"], 2)
    array([1, 0])
    """
    if names is not None and schema.frame:
        places = {name: place for place, name in enumerate(schema.names)}
        absent = [name for name in names if name not in places]
        if absent:
            raise InputError(
                "the reference must have the columns that the model was fitted on",
                f"it has no {_list_names(absent)}; it has {_list_names(schema.names)}",
                "give the reference the model's own column names",
            )
        return np.array([places[name] for name in names], dtype=np.intp)
    expected = width if names is None else len(names)
    if expected is not None and expected != len(schema):
        raise InputError(
            f"the reference must have the {expected} columns that the model was fitted on",
            f"it has {len(schema)}: {_list_names(schema.names)}",
            "give the columns of the training data, in their order",
        )
    return np.arange(len(schema), dtype=np.intp)


def make_input_function(
    schema: Schema, names: Sequence[Hashable] | None, width: int | None, *, frame: bool
) -> InputFunction:
    """A function that turns encoded rows into what the model was fitted on: its columns, order and dtypes.

    A model that knows names gets a frame with them; any other gets a frame or an array, as ``frame`` says.

    >>> table = pd.DataFrame({"rate": [0.5, 1.5], "size": [1.5, 2.5]})
    >>> make_input_function(Schema.infer(table), ["size"], 1, frame=True)(np.array([[0.5, 2.0]])).to_dict("list")
    {'size': [2.0]}
    """
    columns = find_model_columns(schema, names, width)
    whole = np.array_equal(columns, np.arange(len(schema)))
    if schema.frame and (frame or names is not None):
        picked = [schema.names[place] for place in columns]
        index = schema.columns[columns]
        return _InputMaker(
            partial(decode, schema) if whole else partial(_decode_columns, schema, picked),
            pd.DataFrame.copy if names is None else partial(_copy_columns, index),
        )
    in_order = list(schema.names)
    if names is not None:  # fitted on a frame, asked about an array: the columns are the same, in the same order
        index = pd.Index(list(names))
        return _InputMaker(partial(_decode_and_name, schema, index), partial(_copy_and_name, in_order, index))
    return _InputMaker(
        partial(_decode_as_array, schema) if schema.frame else partial(decode, schema),
        partial(_copy_as_array, in_order),
    )


def _decode_columns(schema: Schema, names: list[Hashable], x: Array) -> pd.DataFrame:
    """Some columns of encoded rows, as the reference has them."""
    table: pd.DataFrame = decode(schema, x)[names]
    return table


def _decode_as_array(schema: Schema, x: Array) -> Any:
    return np.asarray(decode(schema, x))


def _decode_and_name(schema: Schema, names: pd.Index[Any], x: Array) -> pd.DataFrame:
    return pd.DataFrame(decode(schema, x), columns=names)


def _copy_as_array(names: list[Hashable], given: pd.DataFrame) -> Any:
    return given[names].to_numpy(copy=True)


def _copy_and_name(names: list[Hashable], new: pd.Index[Any], given: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(_copy_as_array(names, given), columns=new)


def _copy_columns(names: pd.Index[Any], given: pd.DataFrame) -> pd.DataFrame:
    """A frame with these columns, in this order, that nobody else holds."""
    return given.copy() if given.columns.equals(names) else given[names.tolist()].copy()


@dataclass(frozen=True)
class _InputMaker:
    """Two ways to the model's input: from encoded rows, and from a frame in the user's own form. It can be pickled."""

    from_encoded: Callable[[Array], Any]
    from_frame: Callable[[pd.DataFrame], Any]

    def __call__(self, x: Points) -> Any:
        return self.from_frame(x) if isinstance(x, pd.DataFrame) else self.from_encoded(x)


def make_frame_input_function(schema: Schema) -> InputFunction:
    """A function that gives a model rows as the user has them: encoded ones as the reference has them."""
    return _InputMaker(
        partial(decode, schema),
        pd.DataFrame.copy if schema.frame else partial(_copy_as_array, list(schema.names)),
    )


def make_ordered_input_function(schema: Schema) -> InputFunction:
    """A function that gives a model rows as the user has them, but the columns in the reference's order."""
    return _InputMaker(
        partial(decode, schema),
        partial(_copy_columns, schema.columns) if schema.frame else partial(_copy_as_array, list(schema.names)),
    )


def make_encoded_input_function(schema: Schema) -> InputFunction:
    """A function that gives a model encoded rows."""
    return _InputMaker(np.array, partial(encode, schema))


def fitted_column_names(model: Any) -> Sequence[Hashable] | None:
    """The names of the columns that an estimator remembers from its fit, or None."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def choose_input_function(model: Any, schema: Schema, probe: Array) -> InputFunction:
    """An estimator's input: a frame with the names it was fitted with, else an array, else a frame if it needs one."""
    names, width = fitted_column_names(model), getattr(model, "n_features_in_", None)
    if names is not None:
        return make_input_function(schema, names, width, frame=True)
    as_array = make_input_function(schema, None, width, frame=False)
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    by_dtype = any(isinstance(feature.dtype, pd.CategoricalDtype) for feature in schema)  # lost in an array
    if not schema.frame or (type(first).__module__.startswith("sklearn.") and not by_dtype):
        return as_array
    as_frame = make_input_function(schema, None, width, frame=True)
    try:  # a class of the user's own, which may read columns by name or by number
        model.predict(as_frame(probe))
    except Exception:
        return as_array
    return as_frame


def to_dense(matrix: Any) -> Array:
    """A matrix, sparse or not, as an array of numbers."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def make_up_rows(schema: Schema, count: int = 16) -> Array:
    """Made-up encoded rows ``(count, d)`` for a model whose reference is unknown: spread over each feature's range.

    >>> table = pd.DataFrame({"rate": [0.5, 1.5], "proto": ["tcp", "udp"]})
    >>> make_up_rows(Schema.infer(table), 3)
    array([[0.5, 0. ],
           [1. , 1. ],
           [1.5, 0. ]])
    """
    steps = np.linspace(0.0, 1.0, count)
    out = np.zeros((count, len(schema)))
    for number, feature in enumerate(schema):
        turned = np.roll(steps, number)  # so that the columns do not rise together
        if feature.is_numeric:
            lower = feature.lower if np.isfinite(feature.lower) else -feature.scale
            upper = feature.upper if np.isfinite(feature.upper) else lower + 2.0 * feature.scale
            values = lower + turned * (upper - lower)
            out[:, number] = np.rint(values) if feature.kind == "integer" else values
        else:
            out[:, number] = np.arange(count) % len(feature.categories)
    return out


def _list_names(names: Sequence[Hashable], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f", … ({len(names)} in all)" if len(names) > most else "")


def note_unknown_categories(feature: Feature, known: Collection[Any], *, refused: bool) -> tuple[str, ...]:
    """A note where the model does not know some of a column's categories; an InputError where that will not do.

    ``refused``: the library raises for a category that it does not know. Others read it as missing, which is right
    only if the model knows some of the column's categories.
    """
    seen = [level for level in feature.categories if level not in feature.unseen]
    strange = [level for level in seen if level not in known]
    if strange and (refused or len(strange) == len(seen)):
        raise InputError(
            f"the categories of {feature.name!r} must be those that the model was fitted on",
            f"it does not know {quote_names(strange)}; it knows {quote_names(list(known))}",
            "give the reference's column the categories of the training data",
        )
    return (f"the model does not know {quote_names(strange)} of {feature.name!r}: read as missing",) if strange else ()
