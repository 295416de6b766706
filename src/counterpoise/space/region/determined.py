"""Columns that an equation between free columns determines: which one it is, and how it follows from the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.space.region.region import Region
from counterpoise.space.rules.expressions import BinaryOperation, Column
from counterpoise.space.rules.formulas import Compare
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class DeterminedColumns:
    """For each equation that a rule states, the one free column that is computed from its other columns.

    It is the column that stands alone on one side ("packets" in "fwd + bwd == packets") where that one is free, and
    otherwise the last free column, in the order of the table, that no other equation determines. No column is chosen
    that would follow from itself by way of other equations, so that all can be computed one after the other.
    """

    region: Region
    equations: tuple[Compare, ...]
    chosen: (
        Index  # (n, e) column that each equation determines in each row; -1: it does not bind there, -2: it leaves none
    )
    passes: int = 1  # times that all equations are gone through until each has what it is computed from

    @classmethod
    def of(cls, region: Region) -> DeterminedColumns:
        """The determined columns of a region's rows.

        >>> import pandas as pd
        >>> from counterpoise.space.constraints.between_features import Rule
        >>> from counterpoise.space.schema.schema import Schema
        >>> schema = Schema.infer(pd.DataFrame({"fwd": [0, 4], "bwd": [0, 9], "all": [0, 13]}))
        >>> region = Region.build(schema, np.array([[1.0, 2.0, 3.0]]), [Rule("fwd + bwd == all")])
        >>> DeterminedColumns.of(region).chosen
        array([[2]])
        """
        system = region.system
        stated = [
            part for part in system.clause_set.clauses if any(part.formula is e for e in system.balance_equations)
        ]
        equations = tuple(part.formula for part in stated if isinstance(part.formula, Compare))
        made_from = {derivation.number: frozenset(derivation.expression.columns) for derivation in system.derivations}
        chosen = np.full((len(region.x0), len(equations)), -1, dtype=np.intp)
        passes = 1
        for row, free in enumerate(region.free & system.numeric):
            binds = [bool(system.is_binding[row, part.relation_number]) for part in stated]
            chosen[row], needed = _choose_columns(equations, binds, free, made_from)
            passes = max(passes, needed)
        return cls(region, equations, chosen, passes)

    @property
    def is_determined(self) -> Mask:
        """Which cells are computed from others by an equation, ``(n, d)``."""
        found = np.zeros(self.region.x0.shape, dtype=bool)
        rows, numbers = np.nonzero(self.chosen >= 0)
        found[rows, self.chosen[rows, numbers]] = True
        return found

    def take(self, rows: Index) -> DeterminedColumns:
        """The determined columns of some rows."""
        return replace(self, region=self.region.take(rows), chosen=self.chosen[rows])

    def compute(self, x: Array) -> Array:
        """Points ``x`` ``(n, k, d)`` with determined and derived columns computed from the others.

        What is computed depends on the other columns alone. Whether the relations then hold is for the region to say.
        """
        y = x
        for _ in range(self.passes):
            y = self.region.system.compute_derived(self._compute_equations(y))
        return y

    def _compute_equations(self, x: Array) -> Array:
        """Points ``x`` ``(n, k, d)`` with the determined column of each equation computed, one after the other."""
        region, y = self.region, x
        for number, equation in enumerate(self.equations):
            column = self.chosen[:, number]
            rows = np.flatnonzero(column >= 0)
            if not len(rows):
                continue
            y = y.copy() if y is x else y
            row_values = region.x0[rows, column[rows]]
            y[rows, :, column[rows]] = np.nan_to_num(row_values)[:, None]
            given = np.concatenate([region.x0, region.lower, region.upper], axis=1)[rows].T[:, :, None]
            difference = BinaryOperation("-", equation.left, equation.right)
            with np.errstate(all="ignore"):
                value, slopes = difference.value_and_slopes(np.moveaxis(y[rows], -1, 0), given)
                for target in np.unique(column[rows]).tolist():
                    mine = np.flatnonzero(column[rows] == target)
                    lacking = np.broadcast_to(value, (len(rows), x.shape[1]))[mine]
                    slope = np.broadcast_to(slopes[target], (len(rows), x.shape[1]))[mine]
                    start = np.nan_to_num(row_values[mine])[:, None]
                    small = np.abs(lacking) <= equation.tolerance * np.maximum(np.abs(start), 1.0)
                    made = start - np.where(small, 0.0, lacking / slope)
                    owners = np.repeat(rows[mine], x.shape[1])
                    snapped = region.lattice.snap(target, made.ravel(), owners).reshape(made.shape)
                    y[rows[mine], :, target] = np.where(small & ~np.isnan(row_values[mine])[:, None], start, snapped)
        return y

    def describe(self, names: tuple[object, ...], row: int) -> list[str]:
        """For one row, in words: which columns are computed from which."""
        out = []
        for number, equation in enumerate(self.equations):
            column = int(self.chosen[row, number])
            if column >= 0:
                sources = ", ".join(str(names[c]) for c in sorted(equation.columns) if c != column)
                out.append(f"{names[column]} is computed from {sources}")
            elif column == -2 and self.region.free[row, sorted(equation.columns)].any():
                columns = ", ".join(str(names[c]) for c in sorted(equation.columns))
                out.append(f"no column is computed from the equation of {columns}: ways that keep it may be missing")
        return out


def _choose_columns(
    equations: tuple[Compare, ...], binds: list[bool], free: Mask, made_from: Mapping[int, frozenset[int]]
) -> tuple[list[int], int]:
    """The column that each equation determines in one row, and the passes that computing them takes.

    ``made_from`` has for each derived column those that it is computed from.
    """
    sources, chosen = dict(made_from), []
    for equation, is_binding in zip(equations, binds, strict=True):
        column = -1
        if is_binding:
            usable = [
                c
                for c in sorted(equation.columns)
                if free[c] and c not in sources and not _leads_to(c, equation.columns - {c}, sources)
            ]
            column = _choose_column(equation, usable)
        if column >= 0:
            sources[column] = equation.columns - {column}
        chosen.append(column)
    return chosen, _count_passes(chosen, sources)


def _choose_column(equation: Compare, usable: list[int]) -> int:
    """The column that an equation determines: one that is alone on a side, else the last possible; -2: no column."""
    sides = (equation.left, equation.right)
    alone = [side.number for side in sides if isinstance(side, Column) and side.number in usable]
    return (alone or usable or [-2])[-1]


def _leads_to(column: int, start: Iterable[int], sources: Mapping[int, Iterable[int]]) -> bool:
    """Whether any of the columns in ``start`` is computed, by way of others or not, from ``column``."""
    open_columns, seen = list(start), set()
    while open_columns:
        now = open_columns.pop()
        if now == column:
            return True
        if now not in seen:
            seen.add(now)
            open_columns += sources.get(now, ())
    return False


def _count_passes(order: list[int], sources: Mapping[int, Iterable[int]]) -> int:
    """Number of passes over columns in this order, derived ones after each pass, until all are up to date."""
    places = {column: place for place, column in enumerate(order) if column >= 0}

    def count(column: int, by: int) -> int:
        """Passes after which a column is right, for one that is computed at the place ``by``."""
        column_place = places.get(column, len(order))  # derived columns come last in each pass
        inner = max((count(source, column_place) for source in sources[column] if source in sources), default=1)
        return inner + (column_place > by or (column_place == by and column in places))

    return max((count(column, len(order) + 1) for column in sources), default=1)
