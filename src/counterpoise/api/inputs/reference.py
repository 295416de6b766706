"""Reference: the data that rows are compared with: its schema, its encoded rows, the model's outputs for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.tables import population_quantiles
from counterpoise.model_calls import Tally, call_model, model_outputs
from counterpoise.models.inputs import fitted_column_names
from counterpoise.models.links import softmax
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.discover.discover import Discoveries, discover_strict
from counterpoise.space.nearest_rows import spread_places
from counterpoise.space.schema.column import Feature, infer_feature
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import as_pandas, as_table, quote_names
from counterpoise.space.schema.values import ValuesSetting, resolve_values
from counterpoise.types import Array, Index, Model

PROBE_ROWS = 256  # reference rows that a model is tried on when it is opened


Seen = TypeVar("Seen")


def fill_assumed_scales(schema: Schema, table: pd.DataFrame) -> Schema:
    """The schema with scales, decimals and dtypes from the reference in features that had none or assumed ones.

    What a schema does not say of the median absolute deviation of numbers comes from the reference too.
    """
    features = []
    for feature in schema:
        if feature.assumed and feature.name in table.columns:
            seen = infer_feature(table[feature.name], feature.name, "std")
            if seen.is_numeric:
                decimals = seen.decimals if feature.decimals is None else feature.decimals
                found = replace(feature, scale=seen.scale, decimals=decimals, dtype=seen.dtype, assumed=False)
                features.append(replace(found, mad=seen.mad if feature.mad is None else feature.mad))
                continue
        if feature.is_numeric and feature.mad is None and not feature.fixed and feature.name in table.columns:
            feature = replace(feature, mad=infer_feature(table[feature.name], feature.name, "std").mad)
        if feature.name in table.columns:
            feature = _fill_category_dtype(feature, table[feature.name].dtype)
        features.append(feature)
    return replace(schema, features=tuple(features))


def _fill_category_dtype(feature: Feature, seen: Any) -> Feature:
    """The feature with the reference's dtype ``category`` where it has no dtype but the one of its values.

    A schema file may leave dtypes out, and a model that was fitted to columns of categories refuses texts.
    """
    if feature.is_numeric or not isinstance(seen, pd.CategoricalDtype) or not feature.has_default_dtype:
        return feature
    if not set(feature.categories) <= set(seen.categories):
        seen = pd.CategoricalDtype(pd.Index(feature.categories, tupleize_cols=False), ordered=seen.ordered)
    return replace(feature, dtype=seen)


RelationsSetting = Literal["discovered"] | None


class Reference:
    """Schema and reference rows of one model; the model is asked about the rows once.

    A reference of more than ``max_rows`` is sampled: of ten thousand rows some are near enough to start from.

    >>> Reference(None, pd.DataFrame({"a": [0.5, 1.5]}), None).x
    array([[0.5],
           [1.5]])
    """

    def __init__(
        self,
        model: Any,
        data: pd.DataFrame | Array | None,
        schema: Schema | None,
        max_rows: int = 10_000,
        values: ValuesSetting = "auto",
        relations: RelationsSetting = None,
    ) -> None:
        if schema is None and data is None:
            raise InputError(
                "a reference or a schema is needed: it gives scales, ranges and categories",
                "neither",
                "give reference=, the data the model was trained on or a sample of it",
            )
        if schema is not None and not isinstance(schema, Schema):
            file = hasattr(schema, "schema")
            hint = "give its .schema, and its .constraints as constraints=" if file else "make one with Schema.infer"
            raise InputError("schema must be a Schema", f"a {type(schema).__name__}", hint)
        data = as_pandas(data)
        self.notes: tuple[str, ...] = ()
        table = None if data is None else self._drop_unused_columns(model, as_table(data, "reference"))
        is_given = schema is not None
        if schema is None:
            assert table is not None
            schema = Schema.infer(table if isinstance(data, pd.DataFrame) else table.to_numpy())
        elif table is not None:
            schema = fill_assumed_scales(schema, table)
        schema = resolve_values(schema, self._name_columns(data, table, schema), values, is_given=is_given)
        self.schema: Schema = schema
        named = self._name_columns(data, table, schema)
        self.relations = Discoveries(()) if named is None or relations is None else discover_strict(named, schema)
        self.x: Array = np.empty((0, len(schema))) if table is None else self._encode_rows(data, table, max_rows)
        self._donors: dict[str, tuple[ReferenceRows, dict[Any, Array]]] = {}
        self._remembered: dict[tuple[str, str], Any] = {}

    @classmethod
    def from_parts(cls, schema: Schema, x: Array, relations: Discoveries, notes: tuple[str, ...]) -> Reference:
        """A reference whose rows ``x`` ``(r, d)`` are encoded already, and whose relations are known."""
        if x.ndim != 2 or x.shape[1] != len(schema):
            raise ValueError(f"rows of the shape {x.shape} for {len(schema)} features")
        made = cls(None, None, schema)
        made.x, made.relations, made.notes = np.asarray(x, dtype=np.float64), relations, notes
        return made

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_donors": {}, "_remembered": {}}  # the model can be asked again

    def sample_rows(self, count: int) -> Array:
        """At most ``count`` of the rows, evenly spread: the head of a sorted table may show one class only."""
        return self.x[self._sample_positions(count)]

    def donors(self, model: Model) -> ReferenceRows:
        """The reference rows with the outputs of this model."""
        return self._donors_and_quantiles(model)[0]

    def quantiles(self, model: Model) -> dict[Any, Array]:
        """By class, the quantiles ``(q, d)`` of the numbers of the reference rows that the model gives that class."""
        return self._donors_and_quantiles(model)[1]

    def has_softmax_probabilities(self, model: Model) -> bool:
        """Whether the model's probabilities are the softmax of its outputs, as seen on up to 256 reference rows."""
        return self.remember("softmax", model, lambda: self._probe_softmax(model))

    def remember(self, what: str, model: Model, ask: Callable[[], Seen]) -> Seen:
        """What ``ask`` finds out about a model, asked once and then remembered by the name ``what``."""
        key = what, type(model).__qualname__  # tells a model from the same model asked for probabilities
        if key not in self._remembered:
            self._remembered[key] = ask()
        found: Seen = self._remembered[key]
        return found

    def _probe_softmax(self, model: Model, tolerance: float = 1e-12) -> bool:
        """The same, seen anew; ``tolerance`` is what rounding makes between two computations of one probability."""
        if model.has_softmax_probabilities:  # seen when the model was opened
            return True
        if not len(self.x) or model.labels is None or model.link != "identity":
            return False
        places = self._sample_positions(PROBE_ROWS)
        probabilities = call_model(model.probabilities, self.x[places], places, Tally(), "reference row")
        outputs = self.donors(model).outputs[places]
        return (
            probabilities is not None
            and probabilities.shape == outputs.shape
            and bool(np.abs(softmax(outputs) - probabilities).max() <= tolerance)
        )

    def _sample_positions(self, count: int) -> Index:
        return spread_places(len(self.x), count)

    def _donors_and_quantiles(self, model: Model) -> tuple[ReferenceRows, dict[Any, Array]]:
        key = type(model).__qualname__  # tells a model from the same model asked for probabilities
        if key not in self._donors:
            width = max(1, len(model.members)) if model.labels is None else len(model.labels)
            outputs = np.empty((0, width))
            if len(self.x):
                outputs = model_outputs(model, self.x, np.arange(len(self.x)), Tally(), "reference row")
            self._donors[key] = ReferenceRows(self.x, outputs), self._class_quantiles(model, outputs)
        return self._donors[key]

    def _class_quantiles(self, model: Model, outputs: Array) -> dict[Any, Array]:
        if not len(self.x):
            return {}
        if model.labels is None:
            return {"reference": population_quantiles(self.schema, self.x)}
        winner = outputs.argmax(axis=1)
        members = ((label, winner == place) for place, label in enumerate(model.labels))
        return {label: population_quantiles(self.schema, self.x[mine]) for label, mine in members if mine.any()}

    def _drop_unused_columns(self, model: Any, table: pd.DataFrame) -> pd.DataFrame:
        """The reference without columns that the model was not fitted on, such as a label left in it."""
        names = fitted_column_names(model)
        if names is None or not set(names) < set(table.columns):
            return table
        extra = [name for name in table.columns if name not in set(names)]
        self.notes += (f"the model was not fitted on {quote_names(extra)}: left out of the reference",)
        return table[[name for name in table.columns if name in set(names)]]

    @staticmethod
    def _name_columns(data: Any, table: pd.DataFrame | None, schema: Schema) -> pd.DataFrame | None:
        """The table with the names of the schema, in whose order the columns of an array are."""
        if table is None or isinstance(data, pd.DataFrame) or table.shape[1] != len(schema):
            return table
        return table.set_axis(pd.Index(schema.names, tupleize_cols=False), axis=1)

    def _encode_rows(self, data: Any, table: pd.DataFrame, max_rows: int) -> Array:
        named, names = self._name_columns(data, table, self.schema), self.schema.names
        assert named is not None
        table = named
        absent = [name for name in names if name not in table.columns]
        if absent:
            raise InputError(
                "the reference must have every feature of the schema",
                f"it has no {quote_names(absent)}",
                "add the columns, or leave them out of the schema",
            )
        if len(table) > max_rows:
            picked = np.sort(np.random.default_rng(0).choice(len(table), max_rows, replace=False))
            table = table.iloc[picked]
        return encode(self.schema, table, "reference row")
