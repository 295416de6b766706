"""Ties: formulas about whole cells, such as "as it was in the row" or "as a table says"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from counterpoise.space.expressions import Column, Columns, Expression
from counterpoise.space.formulas import Among, Formula, Joined, Truth
from counterpoise.types import Array


@dataclass(frozen=True)
class Kept(Formula):
    """A column has the row's own value, to the bit; missing equals missing. Or (``kept=False``) it has another.

    >>> Kept(0).holds(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]]))
    array([ True, False])
    """

    number: int
    kept: bool = True

    @property
    def columns(self) -> frozenset[int]:
        return frozenset((self.number,))

    @property
    def origins(self) -> frozenset[int]:
        return frozenset((self.number,))

    def truth(self, x: Columns, x0: Columns) -> Truth:
        now, before = x[self.number], x0[self.number]
        same = np.asarray((now == before) | (np.isnan(now) & np.isnan(before)))
        return Truth(same, ~same) if self.kept else Truth(~same, same)

    def defect(self, x: Columns, x0: Columns) -> Array:
        return np.where(self.truth(x, x0).yes, 0.0, 1.0)

    def negated(self) -> Formula:
        return Kept(self.number, not self.kept)

    def replaced(self, table: Mapping[int, Expression]) -> Formula:
        return self


@dataclass(frozen=True)
class Mapped(Formula):
    """A column has the value that a table gives for the value of another column.

    >>> Mapped(1, 0, (0.0, 1.0), (80.0, 443.0)).holds(np.array([[0.0, 1.0], [80.0, 80.0]]), np.zeros((2, 2)))
    array([ True, False])
    """

    number: int
    on: int
    keys: tuple[float, ...]  # ascending
    values: tuple[float, ...]

    @property
    def columns(self) -> frozenset[int]:
        return frozenset((self.number, self.on))

    @property
    def origins(self) -> frozenset[int]:
        return frozenset()

    def looked_up(self, keys: Array) -> Array:
        """What the table gives for these values of the other column; NaN where it has none."""
        known = np.asarray(self.keys)
        place = np.clip(np.searchsorted(known, keys), 0, len(known) - 1)
        return np.where(known[place] == keys, np.asarray(self.values)[place], np.nan)

    def truth(self, x: Columns, x0: Columns) -> Truth:
        wanted, value = self.looked_up(x[self.on]), x[self.number]
        return Truth(np.asarray(wanted == value), np.asarray((wanted != value) & ~np.isnan(wanted) & ~np.isnan(value)))

    def defect(self, x: Columns, x0: Columns) -> Array:
        truth = self.truth(x, x0)
        return np.asarray(np.where(truth.yes, 0.0, np.where(truth.no, 1.0, np.nan)))

    def negated(self) -> Formula:
        pairs = zip(self.keys, self.values, strict=True)
        other = (
            Joined("any", (Among(Column(self.on), (k,), True), Among(Column(self.number), (v,), True)))
            for k, v in pairs
        )
        return Joined("all", tuple(other))

    def replaced(self, table: Mapping[int, Expression]) -> Formula:
        return self
