"""Relations: what must hold between the features of an answer, as data that a region carries.

A relation judges: ``holds`` and ``defect`` read the final columns and nothing else. How points are moved to where the
relations hold is in `counterpoise.space.rules.repair`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from counterpoise.errors import ConstraintError
from counterpoise.space.rules.expressions import Column, ColumnTable, Expression, Number, RowColumn
from counterpoise.space.rules.formulas import Combination, Compare, RuleFormula, split_into_clauses
from counterpoise.space.rules.rounded import RoundedEquation
from counterpoise.space.schema.column import round_to_decimals
from counterpoise.space.schema.encode import decode_column
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Mask


class Relation(Protocol):
    """A relation of columns ``x`` ``(d, ...)`` and of the row's own ``x0`` ``(d, ...)``, both columns first."""

    @property
    def constraint_text(self) -> str:
        """The relation as the user wrote it."""
        ...

    @property
    def relax(self) -> bool:
        """Whether it is waived for rows that break it themselves."""
        ...

    def holds(self, x: ColumnTable, x0: ColumnTable) -> Mask:
        """Where it holds, ``(...)``; what is undefined does not."""
        ...

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        """How far it is from holding, ``(...)``: 0 where it holds, NaN where it is undefined."""
        ...


@dataclass(frozen=True)
class FormulaRelation:
    """A relation that a formula states."""

    constraint_text: str
    formula: RuleFormula
    relax: bool = False

    def holds(self, x: ColumnTable, x0: ColumnTable) -> Mask:
        return self.formula.holds(x, x0)

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return self.formula.defect(x, x0)


@dataclass(frozen=True)
class Derivation:
    """A column that is computed from others: what the expression says, to the bit of the column's dtype.

    The row's own value stays where the expression gives the very number that it gives for the row, if the column's
    decimals allow for it: a table that writes 23.5 for 23.4561 is not wrong. Any other number gets all of its digits.
    """

    constraint_text: str
    number: int
    expression: Expression
    tolerance: float
    step: float  # whole numbers: 1; 0: none
    decimals: int | None
    storage_dtype: np.dtype[Any] | None  # a float dtype below double precision
    relax: bool = False
    size: float = 1.0  # the tolerance is relative to the two values, and at least to this

    def round_to_column(self, value: Array) -> Array:
        """Values as the column's dtype holds them."""
        whole = np.rint(value / self.step) * self.step if self.step else value
        return whole if self.storage_dtype is None else whole.astype(self.storage_dtype).astype(np.float64)

    def is_computed_value(self, cell: Array, value: Array) -> Mask:
        """Whether cells hold the computed values, within the tolerance or as the dtype holds them."""
        size = np.maximum(np.maximum(np.abs(cell), np.abs(value)), self.size)
        slack = self.tolerance * np.where(np.isfinite(size), size, 0.0)  # beyond double precision nothing is near
        return np.asarray((np.abs(cell - value) <= slack) | (self.round_to_column(value) == cell))

    def is_rows_own(self, value: Array, x0: ColumnTable) -> Mask:
        """Whether the row's own cell stays: the expression gives the row's number again, or the cell itself."""
        row_result, before = self.expression.value(x0, x0), np.asarray(x0[self.number])
        fits = self.is_computed_value(before, value)
        if self.decimals is not None and not self.step:
            fits = fits | (round_to_decimals(value, self.decimals, self.storage_dtype) == before)
        blur = 4 * np.spacing(np.maximum(np.abs(value), np.abs(before)))  # sums of the same parts in another order
        return np.asarray((fits & (value == row_result)) | (np.abs(value - before) <= blur))

    def _rounding_error(self, x: ColumnTable, x0: ColumnTable) -> Array:
        """What the rounding of double precision does to the computed values at most, ``(...)``."""
        value, slopes = self.expression.value_and_slopes(x, x0)
        parts = (np.abs(slope * x[column]) for column, slope in slopes.items())
        return 2 * np.spacing(np.maximum(np.abs(value), np.nan_to_num(sum(parts, np.zeros(())))))

    def holds(self, x: ColumnTable, x0: ColumnTable) -> Mask:
        value, cell = self.expression.value(x, x0), x[self.number]
        return np.asarray(
            self.is_computed_value(cell, value) | ((cell == x0[self.number]) & self.is_rows_own(value, x0))
        )

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.where(self.holds(x, x0), 0.0, np.abs(x[self.number] - self.expression.value(x, x0)))

    def compute_column(self, x: ColumnTable, given: ColumnTable, width: int) -> Array:
        """The column, computed anew, given ``(x0, lower, upper)`` side by side, ``width`` columns each.

        It is the row's own value where that stays, the end of its box where only rounding parts them, and the old one
        where it is undefined, or beyond double precision.
        """
        value, before = self.expression.value(x, given), np.asarray(given[self.number])
        ends = np.finfo(self.storage_dtype or np.float64)  # beyond them no model could be asked
        made = np.clip(self.round_to_column(value), float(ends.min), float(ends.max))
        inside = np.minimum(np.maximum(made, given[width + self.number]), given[2 * width + self.number])
        if (inside != made).any():
            made = np.where(np.abs(inside - made) <= self._rounding_error(x, given), inside, made)
        made = np.where(self.is_rows_own(value, given), before, made)
        return np.where(np.isfinite(value), made, x[self.number])


@dataclass(frozen=True)
class FunctionRelation:
    """A relation that the user's own function judges: a frame in, one truth value per row out."""

    constraint_text: str
    check: Callable[[pd.DataFrame], Any]
    schema: Schema
    relax: bool = False

    def holds(self, x: ColumnTable, x0: ColumnTable) -> Mask:
        cells = [np.asarray(x[number]) for number in range(len(self.schema))]
        shape = np.broadcast_shapes(*(cell.shape for cell in cells))
        flat = {n: decode_column(f, np.ravel(cells[n])) for n, f in enumerate(self.schema)}
        frame = pd.DataFrame(flat)
        frame.columns = pd.Index(self.schema.names)
        return self.judge(frame).reshape(shape) if len(frame) else np.zeros(shape, dtype=bool)

    def judge(self, frame: pd.DataFrame) -> Mask:
        """The function's verdict on each row of a frame with the schema's columns, ``(p,)``."""
        try:
            verdicts = np.asarray(self.check(frame))
        except Exception as error:
            raise ConstraintError(
                "a function given as a constraint must judge every frame of rows",
                f"{self.constraint_text} raised {type(error).__name__}: {error}",
                "mend the function",
            ) from error
        truths = verdicts.dtype == bool or (
            verdicts.dtype == object and all(isinstance(each, bool) for each in verdicts.flat)
        )
        if verdicts.shape != (len(frame),) or not truths:
            raise ConstraintError(
                "a function given as a constraint must return one truth value per row",
                f"{self.constraint_text} returned {verdicts.dtype} values of shape {verdicts.shape} for "
                f"{len(frame)} rows",
                "return a boolean array or column",
            )
        return verdicts.astype(bool)

    def defect(self, x: ColumnTable, x0: ColumnTable) -> Array:
        return np.where(self.holds(x, x0), 0.0, 1.0)


@dataclass(frozen=True)
class Clause:
    """A part of a relation, written in the columns that may be moved: derived ones are written out.

    ``relation_number`` is the number of the relation: where that relation is waived for a row, its clauses do not bind.
    """

    formula: RuleFormula
    relation_number: int
    rounded: RoundedEquation | None = None  # the equation of a rounded column, at the first of its two clauses


def determined_columns(relations: Sequence[Relation]) -> set[int]:
    """Columns that relations determine: computed ones, and those alone on a side of an equation."""
    formulas = [relation.formula for relation in relations if isinstance(relation, FormulaRelation)]
    rounded = [formula for formula in formulas if isinstance(formula, RoundedEquation)]
    same_columns = {equation.columns for equation in rounded}  # a product of the same three says nothing further
    found = {equation.column.number for equation in rounded}
    found |= {relation.number for relation in relations if isinstance(relation, Derivation)}
    for formula in formulas:
        if formula.columns not in same_columns:
            found |= set([column for column in _lone_columns(formula) if column not in found][:1])
    return found  # of a == b one follows the other


def _lone_columns(formula: RuleFormula) -> list[int]:
    """The columns that stand alone on a side of an equation of several columns."""
    if not isinstance(formula, Compare) or formula.operator != "==" or len(formula.columns) < 2:
        return []
    return [side.number for side in (formula.left, formula.right) if isinstance(side, Column)]


def equation_columns(relations: Sequence[Relation]) -> set[int]:
    """The columns that equations bind: they need values that no grid of other columns foresees."""
    found: set[int] = set()
    for relation in relations:
        if isinstance(relation, Derivation):
            found |= {relation.number} | set(relation.expression.columns)
        elif isinstance(relation, FormulaRelation) and "==" in relation.constraint_text:
            is_rounded = isinstance(relation.formula, RoundedEquation)  # which asks for the column's own decimals
            found |= set() if is_rounded else set(relation.formula.columns)
    return found


def order_derivations(relations: Sequence[Relation], schema: Schema) -> tuple[Derivation, ...]:
    """Derivations in an order in which each comes after those that it reads; a cycle is an error that shows it."""
    by_column: dict[int, Derivation] = {}
    for relation in relations:
        if isinstance(relation, Derivation):
            if relation.number in by_column:
                raise ConstraintError(
                    "a feature must be derived in one way",
                    f"{by_column[relation.number].constraint_text} and {relation.constraint_text}",
                    "drop one of them",
                )
            by_column[relation.number] = relation
    done: dict[int, Derivation] = {}

    def visit(column: int, path: tuple[int, ...]) -> None:
        if column in path:
            shown = " -> ".join(str(schema.names[c]) for c in (*path[path.index(column) :], column))
            raise ConstraintError(
                "derived features must not depend on themselves",
                f"each of these is made of the next: {shown}",
                "derive one of them from something else",
            )
        if column in by_column and column not in done:
            for other in sorted(by_column[column].expression.columns):
                visit(other, (*path, column))
            done[column] = by_column[column]

    for column in by_column:
        visit(column, ())
    return tuple(done.values())


def compile_clauses(
    relations: Sequence[Relation], derivations: Sequence[Derivation], choices: Sequence[Array | None], width: int
) -> tuple[Clause, ...]:
    """The clauses of all relations, in columns that may be moved.

    The box of a derived feature becomes clauses about what it is made of: the ends are read from what is given about
    the row, ``(x0, lower, upper)`` side by side, ``width`` columns each.
    """
    table: dict[int, Expression] = {}
    for derivation in derivations:
        table[derivation.number] = derivation.expression.substitute(table)
    out: list[Clause] = []
    for source, relation in enumerate(relations):
        if isinstance(relation, FormulaRelation):
            formula = relation.formula.substitute(table)
            rounded = formula if isinstance(formula, RoundedEquation) else None
            first, *further = split_into_clauses(formula)
            out += [Clause(first, source, rounded), *(Clause(other, source) for other in further)]
        if isinstance(relation, Derivation):
            made = table[relation.number]
            if made.columns:
                low, high = RowColumn(width + relation.number), RowColumn(2 * width + relation.number)
                out.append(Clause(Compare("<=", low, made), source))
                out.append(Clause(Compare("<=", made, high), source))
                values = choices[relation.number]
                if values is not None:
                    options = (Compare("==", made, Number(float(value)), relation.tolerance) for value in values)
                    out.append(Clause(Combination("any", tuple(options)), source))
    return tuple(clause for clause in out if clause.formula.columns)
