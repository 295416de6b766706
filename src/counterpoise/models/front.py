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

SHIFTS_AND_SCALES = ("subtract", "divide", "multiply", "add")

STEEPEST = 1e8  # a slope where there is none, as of a logarithm at 0

OpKind = Literal[
    "subtract", "divide", "multiply", "add", "fill", "floor", "ceiling",
    "log", "log2", "log10", "log1p", "arcsinh", "tanh", "exp", "expm1",
]  # fmt: skip


class Op(NamedTuple):
    """One step of arithmetic on every column, in the scaler's own order so that the bits are its own."""

    kind: OpKind
    by: Array  # (q,)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns that are numbers: ``source`` ``(q,)`` in the row, then arithmetic."""

    source: Index
    ops: tuple[Op, ...] = ()

    def __call__(self, x: Array) -> Array:
        return _apply(self.ops, x if self._as_they_are and len(self.source) == x.shape[1] else x[:, self.source])

    @cached_property
    def _as_they_are(self) -> bool:
        return np.array_equal(self.source, np.arange(len(self.source)))

    def slopes(self, x: Array) -> Array:
        """Derivative ``(p, q)`` of each column by its source."""
        return _slopes(self.ops, x[:, self.source])


@dataclass(frozen=True, eq=False)
class Levels:
    """Columns made from one category: ``table`` ``(levels + 1, q)``, the last line for a missing cell."""

    source: Index
    table: Array

    def __call__(self, x: Array) -> Array:
        codes = x[:, self.source[0]]
        return self.table[np.where(np.isnan(codes), -1, codes).astype(np.intp)]

    def slopes(self, x: Array) -> Array:
        """Zero: a category has no derivative."""
        return np.zeros((len(x), len(self.source)))


@dataclass(frozen=True, eq=False)
class Front:
    """All columns ``(p, q)`` that the last step sees: the parts side by side, then arithmetic on the whole."""

    parts: tuple[Numbers | Levels, ...]
    numeric: Mask  # (d,): the row's columns that have derivatives
    ops: tuple[Op, ...] = ()
    kept: Index | None = None  # of the columns side by side, those that a selection kept

    def __call__(self, x: Array) -> Array:
        return _apply(self.ops, self._beside([part(x) for part in self.parts]))

    @cached_property
    def source(self) -> Index:
        """The row's column behind each column, ``(q,)``."""
        beside = np.concatenate([part.source for part in self.parts])
        return beside if self.kept is None else beside[self.kept]

    def push(self, x: Array, v: Array) -> Array:
        """A direction ``(p, d)`` of the row as one of the columns ``(p, q)``."""
        return v[:, self.source] * self._rates(x)

    def pull(self, x: Array, slopes: Array) -> Array:
        """A gradient ``(p, q)`` by the columns as one by the row ``(p, d)``."""
        rates = self._rates(x)
        if self._in_order:
            out = slopes * rates
            return out if self.numeric.all() else out * self.numeric
        numbers, source, each_once = self._numbers
        rated, out = slopes[:, numbers] * rates[:, numbers], np.zeros(x.shape)
        if each_once:
            out[:, source] = rated
        else:
            np.add.at(out.T, source, rated.T)
        return out

    def _beside(self, columns: list[Array]) -> Array:
        beside = columns[0] if len(columns) == 1 else np.hstack(columns)
        return beside if self.kept is None else beside[:, self.kept]

    @cached_property
    def _in_order(self) -> bool:
        """Whether the columns are the row's own, all of them and in its order."""
        return np.array_equal(self.source, np.arange(len(self.numeric)))

    @cached_property
    def _numbers(self) -> tuple[Index, Index, bool]:
        """The columns that a number with a derivative is behind, the row's columns of these, and if each is of one."""
        coded = np.concatenate([np.full(len(part.source), isinstance(part, Levels)) for part in self.parts])
        numbers = np.flatnonzero(~(coded if self.kept is None else coded[self.kept]) & self.numeric[self.source])
        return numbers, self.source[numbers], len(np.unique(self.source[numbers])) == len(numbers)

    @cached_property
    def _steady(self) -> Array | None:
        """The rates ``(1, q)``, where they are the same everywhere: numbers are only shifted and scaled."""
        ops = [op for part in self.parts if isinstance(part, Numbers) for op in part.ops]
        if not all(op.kind in SHIFTS_AND_SCALES for op in (*ops, *self.ops)):
            return None
        return self._varying(np.zeros((1, len(self.numeric))))

    @cached_property
    def bent(self) -> bool:
        """Whether some column is a curved function of its source."""
        ops = [op for part in self.parts if isinstance(part, Numbers) for op in part.ops]
        return any(op.kind in CURVED for op in (*ops, *self.ops))

    def _rates(self, x: Array) -> Array:
        return self._varying(x) if self._steady is None else self._steady

    def _varying(self, x: Array) -> Array:
        rates = self._beside([part.slopes(x) for part in self.parts])
        beside = self._beside([part(x) for part in self.parts])
        return rates * _slopes(self.ops, beside)


def _apply(ops: tuple[Op, ...], z: Array) -> Array:
    for kind, by in ops:
        if kind in CURVED:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                z = CURVED[kind][0](z)
        else:
            z = np.where(np.isnan(z), by, z) if kind == "fill" else _ARITHMETIC[kind](z, by)
    return z


def _slopes(ops: tuple[Op, ...], z: Array) -> Array:
    slopes = np.ones_like(z)
    for kind, by in ops:
        if kind in ("multiply", "divide"):
            slopes = _ARITHMETIC[kind](slopes, by)
        elif kind in CURVED:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                steep = CURVED[kind][1](z)
            slopes = slopes * np.where(np.isinf(steep), STEEPEST, steep)
        elif kind == "fill":
            slopes = np.where(np.isnan(z), 0.0, slopes)
        elif kind in ("floor", "ceiling"):
            slopes = np.where(_ARITHMETIC[kind](z, by) == z, slopes, 0.0)
        z = _apply((Op(kind, by),), z)
    return slopes


_ARITHMETIC: dict[str, np.ufunc] = {
    "subtract": np.subtract,
    "divide": np.divide,
    "multiply": np.multiply,
    "add": np.add,
    "floor": np.maximum,
    "ceiling": np.minimum,
}

CURVED: dict[str, tuple[np.ufunc, Callable[[Array], Array]]] = {
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
