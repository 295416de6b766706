"""Outputs that are affine in the row, known by their weights: linear models, also behind scalers and encoders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from counterpoise.types import Array, Index, Mask

AffineLink = Literal["identity", "exp", "softmax"]


@dataclass(frozen=True, eq=False)
class AffineOutputs:
    """``link(weights @ x + offset)``: a number counts by its weight, a category by the line of its table.

    ``size`` and ``offset_size`` bound what is added up on the way to each output, so that rounding can be bounded:
    ``size`` times the absolute value of the row, and ``offset_size``. ``tables`` hold a column and, for each of its
    codes, what that adds to the outputs; the last line is that of a missing cell.

    >>> known = AffineOutputs.of(np.array([[2.0, 0.0]]), np.array([1.0]))
    >>> known(np.array([[3.0, 9.0]]))
    array([[7.]])
    """

    weights: Array  # (c, d)
    offset: Array  # (c,)
    size: Array  # (c, d)
    offset_size: Array  # (c,)
    tables: tuple[tuple[int, Array], ...] = ()  # column, (levels + 1, c)
    missing: Array | None = None  # (c, d) what a missing number adds; None: such a row has no outputs
    link: AffineLink = "identity"
    rounding: float = 2.0**-52  # relative, of the precision that the model adds up in

    @classmethod
    def of(cls, weights: Array, offset: Array, **words: object) -> AffineOutputs:
        """Outputs of numbers alone, added up as they are."""
        return cls(weights, offset, np.abs(weights), np.abs(offset), **words)  # type: ignore[arg-type]

    def __call__(self, x: Array) -> Array:
        """What the link is given, ``(p, c)``, for rows ``(p, d)``."""
        missing = np.isnan(x)
        # dot by dot: sums of a row do not depend on the rows beside it
        out = np.vecdot(np.where(missing, 0.0, x)[:, None, :], self.weights) + self.offset
        if self.missing is not None and missing.any():
            out += missing @ self.missing.T
        for column, table in self.tables:
            out += table[np.where(missing[:, column], -1, x[:, column]).astype(np.intp)]
        return np.asarray(out)

    def error(self, largest: Array) -> Array:
        """How far the model's sums ``(n, c)`` may be from exact ones, in rows whose cells are no larger ``(n, d)``."""
        terms = len(self.weights.T) + 4 + self.weights.shape[0]
        tables = sum((np.nanmax(np.abs(table), axis=0) for _, table in self.tables), np.zeros(len(self.offset)))
        sizes = np.vecdot(largest[:, None, :], self.size) + self.offset_size + tables
        return np.asarray(4 * terms * self.rounding * sizes)

    def against_zero(self) -> AffineOutputs:
        """One output as two: 0, and itself."""
        pad = ((1, 0), (0, 0))
        tables = tuple((column, np.pad(table, ((0, 0), (1, 0)))) for column, table in self.tables)
        missing = None if self.missing is None else np.pad(self.missing, pad)
        known = replace(self, weights=np.pad(self.weights, pad), size=np.pad(self.size, pad), tables=tables)
        ends = np.pad(self.offset, (1, 0)), np.pad(self.offset_size, (1, 0))
        return replace(known, offset=ends[0], offset_size=ends[1], missing=missing)

    def behind(self, first: AffineOutputs) -> AffineOutputs:
        """These outputs of columns ``(p, q)`` that are themselves affine in the row."""
        tables = tuple((column, table @ self.weights.T) for column, table in first.tables)
        return replace(
            first,
            weights=self.weights @ first.weights,
            offset=self.weights @ first.offset + self.offset,
            size=self.size @ first.size,
            offset_size=self.size @ first.offset_size + self.offset_size,
            tables=tables,
            missing=None if first.missing is None else self.weights @ first.missing,
            link=self.link,
            rounding=max(self.rounding, first.rounding) * (2 + len(self.weights.T) / max(1, len(first.weights.T))),
        )

    def spread(self, columns: Index, d: int, is_number: Mask) -> AffineOutputs:
        """The same for rows of d columns, of which these are read; those that are no numbers become tables."""
        weights, size = np.zeros((len(self.offset), d)), np.zeros((len(self.offset), d))
        np.add.at(weights.T, columns, self.weights.T)
        np.add.at(size.T, columns, self.size.T)
        coded = [column for column in np.unique(columns).tolist() if not is_number[column]]
        tables = tuple(
            (column, np.vstack([np.zeros_like(weights[:, column]), weights[:, column], np.full(len(weights), np.nan)]))
            for column in coded
        )
        weights[:, coded] = 0.0
        return replace(self, weights=weights, size=size, tables=tables)
