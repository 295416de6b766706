"""What a pipeline does to the columns before its last step, read into arithmetic: scalers, encoders, selections.

Each column that the last step sees comes from one column of the row: by an increasing function of a number, mostly a
piecewise linear one, or by a table of a category's levels. So derivatives and split points can be carried back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from counterpoise.types import Array, Index, Mask

SHIFT_AND_SCALE_KINDS = ("subtract", "divide", "multiply", "add")


OperationKind = Literal[
    "subtract", "divide", "multiply", "add", "fill", "floor", "ceiling",
    "log", "log2", "log10", "log1p", "arcsinh", "tanh", "exp", "expm1",
]  # fmt: skip


class ColumnOperation(NamedTuple):
    """One step of arithmetic on every column, in the scaler's own order so that the bits are its own."""

    kind: OperationKind
    operand: Array  # (q,)


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """Columns of numbers: ``source_columns`` ``(q,)`` of the row, then arithmetic."""

    source_columns: Index
    operations: tuple[ColumnOperation, ...] = ()

    def __call__(self, x: Array) -> Array:
        return _apply_operations(
            self.operations,
            x if self._reads_first_columns and len(self.source_columns) == x.shape[1] else x[:, self.source_columns],
        )

    @cached_property
    def _reads_first_columns(self) -> bool:
        return np.array_equal(self.source_columns, np.arange(len(self.source_columns)))

    def slopes(self, x: Array) -> Array:
        """Derivative ``(p, q)`` of each column by its source."""
        return _slopes_of_operations(self.operations, x[:, self.source_columns])


@dataclass(frozen=True, eq=False)
class CategoryColumns:
    """Columns made from one category: ``table`` ``(levels + 1, q)``, the last line for a missing cell."""

    source_columns: Index
    table: Array

    def __call__(self, x: Array) -> Array:
        codes = x[:, self.source_columns[0]]
        return self.table[np.where(np.isnan(codes), -1, codes).astype(np.intp)]

    def slopes(self, x: Array) -> Array:
        """Zero: a category has no derivative."""
        return np.zeros((len(x), len(self.source_columns)))


@dataclass(frozen=True, eq=False)
class ColumnwiseSteps:
    """All columns ``(p, q)`` that the last step sees: the parts side by side, then arithmetic on the whole."""

    parts: tuple[NumericColumns | CategoryColumns, ...]
    numeric: Mask  # (d,): the row's columns that have derivatives
    operations: tuple[ColumnOperation, ...] = ()
    selection: Index | None = None  # of the columns side by side, those that a selection kept

    def __call__(self, x: Array) -> Array:
        return _apply_operations(self.operations, self._join_parts([part(x) for part in self.parts]))

    @cached_property
    def source_columns(self) -> Index:
        """The row's column behind each column, ``(q,)``."""
        beside = np.concatenate([part.source_columns for part in self.parts])
        return beside if self.selection is None else beside[self.selection]

    def push_direction(self, x: Array, v: Array) -> Array:
        """A direction ``(p, d)`` of the row as one of the columns ``(p, q)``."""
        return v[:, self.source_columns] * self._rates(x)

    def pull_gradient(self, x: Array, slopes: Array) -> Array:
        """A gradient ``(p, q)`` by the columns as one by the row ``(p, d)``."""
        rates = self._rates(x)
        if self._keeps_column_order:
            out = slopes * rates
            return out if self.numeric.all() else out * self.numeric
        numbers, source, each_once = self._differentiable_columns
        rated, out = slopes[:, numbers] * rates[:, numbers], np.zeros(x.shape)
        if each_once:
            out[:, source] = rated
        else:
            np.add.at(out.T, source, rated.T)
        return out

    def _join_parts(self, columns: list[Array]) -> Array:
        beside = columns[0] if len(columns) == 1 else np.hstack(columns)
        return beside if self.selection is None else beside[:, self.selection]

    @cached_property
    def _keeps_column_order(self) -> bool:
        """Whether the columns are the row's own, all of them and in its order."""
        return np.array_equal(self.source_columns, np.arange(len(self.numeric)))

    @cached_property
    def _differentiable_columns(self) -> tuple[Index, Index, bool]:
        """Columns that come from a number with a derivative, their sources in the row, and whether sources differ."""
        coded = np.concatenate(
            [np.full(len(part.source_columns), isinstance(part, CategoryColumns)) for part in self.parts]
        )
        numbers = np.flatnonzero(
            ~(coded if self.selection is None else coded[self.selection]) & self.numeric[self.source_columns]
        )
        return numbers, self.source_columns[numbers], len(np.unique(self.source_columns[numbers])) == len(numbers)

    @cached_property
    def _constant_rates(self) -> Array | None:
        """The constant slopes ``(1, q)``, if numbers are only shifted and scaled; else None."""
        ops = [op for part in self.parts if isinstance(part, NumericColumns) for op in part.operations]
        if not all(op.kind in SHIFT_AND_SCALE_KINDS for op in (*ops, *self.operations)):
            return None
        return self._rates_at(np.zeros((1, len(self.numeric))))

    @cached_property
    def is_curved(self) -> bool:
        """Whether some column is a curved function of its source."""
        ops = [op for part in self.parts if isinstance(part, NumericColumns) for op in part.operations]
        return any(op.kind in CURVED_FUNCTIONS for op in (*ops, *self.operations))

    def _rates(self, x: Array) -> Array:
        return self._rates_at(x) if self._constant_rates is None else self._constant_rates

    def _rates_at(self, x: Array) -> Array:
        rates = self._join_parts([part.slopes(x) for part in self.parts])
        beside = self._join_parts([part(x) for part in self.parts])
        return rates * _slopes_of_operations(self.operations, beside)


def _apply_operations(ops: tuple[ColumnOperation, ...], z: Array) -> Array:
    for kind, by in ops:
        if kind in CURVED_FUNCTIONS:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                z = CURVED_FUNCTIONS[kind][0](z)
        else:
            z = np.where(np.isnan(z), by, z) if kind == "fill" else _UFUNC_BY_KIND[kind](z, by)
    return z


def _slopes_of_operations(ops: tuple[ColumnOperation, ...], z: Array) -> Array:
    slopes = np.ones_like(z)
    for kind, by in ops:
        if kind in ("multiply", "divide"):
            slopes = _UFUNC_BY_KIND[kind](slopes, by)
        elif kind in CURVED_FUNCTIONS:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                steep = CURVED_FUNCTIONS[kind][1](z)
            slopes = slopes * np.where(np.isinf(steep), 1e8, steep)  # infinite as of a logarithm at 0: steep will do
        elif kind == "fill":
            slopes = np.where(np.isnan(z), 0.0, slopes)
        elif kind in ("floor", "ceiling"):
            slopes = np.where(_UFUNC_BY_KIND[kind](z, by) == z, slopes, 0.0)
        z = _apply_operations((ColumnOperation(kind, by),), z)
    return slopes


_UFUNC_BY_KIND: dict[str, np.ufunc] = {
    "subtract": np.subtract,
    "divide": np.divide,
    "multiply": np.multiply,
    "add": np.add,
    "floor": np.maximum,
    "ceiling": np.minimum,
}

CURVED_FUNCTIONS: dict[str, tuple[np.ufunc, Callable[[Array], Array]]] = {
    "log": (np.log, lambda z: 1 / z),
    "log2": (np.log2, lambda z: 1 / (z * np.log(2))),
    "log10": (np.log10, lambda z: 1 / (z * np.log(10))),
    "log1p": (np.log1p, lambda z: 1 / (1 + z)),
    "arcsinh": (np.arcsinh, lambda z: 1 / np.sqrt(1 + z**2)),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "exp": (np.exp, np.exp),
    "expm1": (np.expm1, np.exp),
}
"""Increasing functions, and their slopes."""
