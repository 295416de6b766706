"""The schema of a table, column by column, inferred from data or written by hand."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.readable import Readable, Summary
from counterpoise.space.schema.column import Feature, Kind, Scale, dtype_range, infer_feature
from counterpoise.space.schema.tables_in import as_pandas, as_table, quote_names
from counterpoise.types import Array, Mask

__all__ = ["Feature", "Kind", "Scale", "Schema", "array_names"]

CellType = TypeVar("CellType", np.float64, np.bool_)


@dataclass(frozen=True, repr=False)
class Schema(Readable):
    """The features of a table, in order.

    features: the columns, in order.
    frame: whether the model is given a frame (True, the default) or an array.

    >>> table = pd.DataFrame({"packets": [1, 5, 9], "proto": ["tcp", "udp", "tcp"]})
    >>> [(f.name, f.kind) for f in Schema.infer(table)]
    [('packets', 'integer'), ('proto', 'categorical')]
    """

    features: tuple[Feature, ...]
    frame: bool = True  # rows are given to the model as a frame; False: as an array

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) < len(names):
            twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            raise InputError("feature names must be unique", f"given twice: {quote_names(twice)}", "rename them")
        if not names:
            raise InputError("a schema must have at least one feature", "none was given", "give the table's columns")

    @classmethod
    def infer(cls, reference: pd.DataFrame | Array, *, scale: Scale = "std") -> Schema:
        """The schema that reference data shows: kinds, observed ranges, scales, categories, decimals.

        Constant and all-missing columns are held fixed, and their ``fixed`` says so.
        """
        if scale not in ("std", "mad", "range"):
            raise InputError("scale must be 'std', 'mad' or 'range'", f"{scale!r}", "choose one of them")
        reference = as_pandas(reference)
        table = as_table(reference, "reference")
        if not len(table):
            raise InputError(
                "the reference must have at least one row",
                "it has none",
                "give the data the model was trained on, or a sample of it",
            )
        features = tuple(infer_feature(table[name], name, scale) for name in table.columns)
        return cls(features, frame=isinstance(reference, pd.DataFrame))

    def summarize(self) -> Summary:
        """The features: kind, what values they can have, scale, and why they are held fixed."""
        lines = []
        for feature in self:
            if feature.is_numeric:
                values = f"{feature.lower:g} to {feature.upper:g}" + (f" {feature.unit}" if feature.unit else "")
            else:
                values = ", ".join(map(str, feature.categories[:6])) + (" …" if len(feature.categories) > 6 else "")
            scale = f"{feature.scale:.4g}" if feature.is_numeric else ""
            lines.append((str(feature.name), feature.kind, values, scale, feature.fixed))
        count = f"{len(self)} feature{'' if len(self) == 1 else 's'}"
        return Summary(f"Schema of {count}", ("feature", "kind", "values", "scale", "held fixed"), lines)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, Hashable) and name in self._place_by_name

    def __getitem__(self, name: Hashable) -> Feature:
        return self.features[self.position(name)]

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        """Column names, in order."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> pd.Index[Any]:
        """The names as the columns of a frame; whoever renames the index of a frame renames that one alone."""
        return self._columns.view()

    def matches_columns(self, table: pd.DataFrame) -> bool:
        """Whether the columns of a frame are these features, in this order."""
        return table.columns.equals(self._columns)

    @cached_property
    def _columns(self) -> pd.Index[Any]:
        return pd.Index(self.names, tupleize_cols=False)

    @cached_property
    def _place_by_name(self) -> dict[Hashable, int]:
        return {name: place for place, name in enumerate(self.names)}

    def position(self, name: Hashable) -> int:
        """The column number of a name."""
        if name in self:
            return self._place_by_name[name]
        raise InputError(
            "a feature must be one of the schema's",
            f"{name!r} is not among {quote_names(self.names)}",
            "correct the name",
        )

    def edit(self, name: Hashable, **changes: Any) -> Schema:
        """A copy with one feature changed.

        >>> table = pd.DataFrame({"rate": [0.5, 1.5]})
        >>> Schema.infer(table).edit("rate", unit="Mbit/s")["rate"].unit
        'Mbit/s'
        """
        place = self.position(name)
        features = list(self.features)
        features[place] = replace(features[place], **changes)
        return replace(self, features=tuple(features))

    @cached_property
    def scales(self) -> Array:
        """Raw length of one unit of distance, ``(d,)``; 1 for categories."""
        return _make_read_only(np.array([f.scale if f.is_numeric else 1.0 for f in self.features]))

    @cached_property
    def numeric(self) -> Mask:
        """Which columns are numbers, ``(d,)``."""
        return _make_read_only(np.array([f.is_numeric for f in self.features]))

    @cached_property
    def category_columns(self) -> tuple[int, ...]:
        """The columns of categories."""
        return tuple(np.flatnonzero(~self.numeric).tolist())

    @cached_property
    def listed_columns(self) -> tuple[int, ...]:
        """The columns of numbers that take listed values alone."""
        return tuple(number for number, feature in enumerate(self.features) if isinstance(feature.values, tuple))

    @cached_property
    def fixed_columns(self) -> tuple[int, ...]:
        """The columns that the schema holds fixed."""
        return tuple(number for number, feature in enumerate(self.features) if feature.fixed)

    @cached_property
    def integer(self) -> Mask:
        """Which columns are whole numbers, ``(d,)``."""
        return _make_read_only(np.array([f.kind == "integer" for f in self.features]))

    @cached_property
    def nominal(self) -> Mask:
        """Which columns are categories without an order, ``(d,)``."""
        return _make_read_only(np.array([f.kind in ("categorical", "boolean") for f in self.features]))

    @cached_property
    def listed_category_counts(self) -> Array | None:
        """How many categories of each column somebody listed, ``(d,)``, infinity for numbers; None: all of them."""
        if not any(f.strange for f in self.features):
            return None
        return _make_read_only(
            np.array([np.inf if f.is_numeric else len(f.categories) - len(f.strange) for f in self.features])
        )

    @cached_property
    def units(self) -> Array:
        """Encoded length of one unit of distance, ``(d,)``: the scale of a number, all ranks of an ordered category."""
        return _make_read_only(
            np.array([f.scale if f.is_numeric else max(len(f.categories) - 1.0, 1.0) for f in self.features])
        )

    @cached_property
    def median_deviations(self) -> Array:
        """The median absolute deviation of each number, ``(d,)``; the unit for categories, and where it is unknown.

        It is scaled so that it is the standard deviation of a Gaussian.
        """
        known = zip(self.features, self.units.tolist(), strict=True)
        return _make_read_only(np.array([unit if f.mad is None else f.mad for f, unit in known]))

    @cached_property
    def observed_spans(self) -> Array:
        """Length of each number's observed range, ``(d,)``; the unit where it has none, and for categories."""
        spans = [
            f.upper - f.lower if f.is_numeric and np.isfinite(f.upper - f.lower) and f.upper > f.lower else unit
            for f, unit in zip(self.features, self.units.tolist(), strict=True)
        ]
        return _make_read_only(np.array(spans))

    @cached_property
    def decimal_divisors(self) -> Array:
        """Into how many parts the decimals of a number divide 1, ``(d,)``; 0 where it is not rounded."""
        return _make_read_only(
            np.array([10.0**f.decimals if f.is_numeric and f.decimals is not None else 0.0 for f in self.features])
        )

    @cached_property
    def resolution_divisors(self) -> Array:
        """The same for numbers that were computed, ``(d,)``; these need not be so where an equation binds them."""
        return _make_read_only(
            np.array([10.0**f.resolution if f.is_numeric and f.resolution is not None else 0.0 for f in self.features])
        )

    @cached_property
    def has_grid(self) -> bool:
        """Whether some number is whole, or rounded to decimals."""
        return bool(self.integer.any() or self.decimal_divisors.any() or self.resolution_divisors.any())

    @cached_property
    def narrow_floats(self) -> tuple[tuple[int, np.dtype[Any]], ...]:
        """The columns of a float dtype below double precision, and that dtype."""
        kept = ((number, feature.storage_dtype) for number, feature in enumerate(self.features))
        return tuple((number, dtype) for number, dtype in kept if dtype and dtype.kind == "f" and dtype.itemsize < 8)

    @cached_property
    def has_only_doubles(self) -> bool:
        """Whether every column holds numbers in double precision."""
        return all(feature.is_numeric and feature.dtype == np.float64 for feature in self.features)

    @cached_property
    def observed_ranges(self) -> Array:
        """The ends of each number's observed range, ``(2, d)``; infinite for categories."""
        ends = [(f.lower, f.upper) if f.is_numeric else (-np.inf, np.inf) for f in self.features]
        return _make_read_only(np.array(ends).T)

    @cached_property
    def dtype_ranges(self) -> Array:
        """The least and the greatest number that each column's dtype holds, ``(2, d)``."""
        return _make_read_only(np.array([dtype_range(feature) for feature in self.features]).T)


def _make_read_only(array: NDArray[CellType]) -> NDArray[CellType]:
    """The array, made read-only: many objects share it."""
    array.flags.writeable = False
    return array


def numeric_schema(width: int) -> Schema:
    """The schema of an array of so many columns of numbers."""
    return Schema(tuple(Feature(name, "continuous") for name in array_names(width)), frame=False)


def array_names(width: int) -> list[str]:
    """The names that the columns of an array go by: f0, f1, …"""
    return [f"f{number}" for number in range(width)]
