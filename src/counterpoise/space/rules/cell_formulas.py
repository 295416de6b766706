"""Formulas about whole cells: "the same as in the row", "as a table says"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from counterpoise.space.rules.expressions import Column, ColumnTable, Expression
from counterpoise.space.rules.formulas import Combination, Membership, RuleFormula, Truth
from counterpoise.types import Array


@dataclass(frozen=True)
class SameAsRow(RuleFormula):
    """A column has the row's own value, to the bit; missing equals missing. Or (``is_same=False``) it has another.

    >>> SameAsRow(0).holds(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]]))
    array([ True, False])
    """

    number: int
    is_same: bool = True

    @property
    def columns(self) -> frozenset[int]:
        return frozenset((self.number,))

    @property
    def row_columns(self) -> frozenset[int]:
        return frozenset((self.number,))

    def truth(self, x: ColumnTable, x0: ColumnTable) -> Truth:
        now, before = x[self.number], x0[self.number]
        same = np.asarray((now == before) | (np.isnan(now) & np.isnan(before)))
        return Truth(same, ~same) if self.is_same else Truth(~same, same)

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.where(self.truth(x, x0).is_true, 0.0, 1.0)

    def negate(self) -> RuleFormula:
        return SameAsRow(self.number, not self.is_same)

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        return self


@dataclass(frozen=True)
class TableLookup(RuleFormula):
    """A column has the value that a table gives for the value of another column.

    >>> TableLookup(1, 0, (0.0, 1.0), (80.0, 443.0)).holds(np.array([[0.0, 1.0], [80.0, 80.0]]), np.zeros((2, 2)))
    array([ True, False])
    """

    number: int
    key_column: int
    keys: tuple[float, ...]  # ascending
    values: tuple[float, ...]

    @property
    def columns(self) -> frozenset[int]:
        return frozenset((self.number, self.key_column))

    @property
    def row_columns(self) -> frozenset[int]:
        return frozenset()

    def look_up(self, keys: Array) -> Array:
        """What the table gives for these values of the other column; NaN where it has none."""
        known = np.asarray(self.keys)
        place = np.clip(np.searchsorted(known, keys), 0, len(known) - 1)
        return np.where(known[place] == keys, np.asarray(self.values)[place], np.nan)

    def truth(self, x: ColumnTable, x0: ColumnTable) -> Truth:
        wanted, value = self.look_up(x[self.key_column]), x[self.number]
        return Truth(np.asarray(wanted == value), np.asarray((wanted != value) & ~np.isnan(wanted) & ~np.isnan(value)))

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        truth = self.truth(x, x0)
        return np.asarray(np.where(truth.is_true, 0.0, np.where(truth.is_false, 1.0, np.nan)))

    def negate(self) -> RuleFormula:
        pairs = zip(self.keys, self.values, strict=True)
        other = (
            Combination(
                "any", (Membership(Column(self.key_column), (k,), True), Membership(Column(self.number), (v,), True))
            )
            for k, v in pairs
        )
        return Combination("all", tuple(other))

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        return self


@dataclass(frozen=True)
class OneHotGroup(RuleFormula):
    """Exactly one of several 0/1 columns is 1 (``is_negated``: not exactly one).

    >>> OneHotGroup((0, 1)).holds(np.array([[0.0, 1.0], [1.0, 1.0]]), np.zeros((2, 2)))
    array([ True, False])
    """

    numbers: tuple[int, ...]
    is_negated: bool = False

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(self.numbers)

    @property
    def row_columns(self) -> frozenset[int]:
        return frozenset()

    def truth(self, x: ColumnTable, x0: ColumnTable) -> Truth:
        cells = np.stack([x[number] for number in self.numbers])
        held = ((cells == 1).sum(axis=0) == 1) & ((cells == 0).sum(axis=0) == len(cells) - 1)
        return Truth(held != self.is_negated, held == self.is_negated)

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.where(self.truth(x, x0).is_true, 0.0, 1.0)

    def negate(self) -> RuleFormula:
        return OneHotGroup(self.numbers, not self.is_negated)

    def substitute(self, table: Mapping[int, Expression]) -> RuleFormula:
        return self
