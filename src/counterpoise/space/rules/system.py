"""All relations of a region: which of them bind which row, where they hold, and how points are moved to obey them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeGuard

import numpy as np

from counterpoise.space.rules.cell_formulas import OneHotGroup, TableLookup
from counterpoise.space.rules.clause_set import ClauseSet
from counterpoise.space.rules.expressions import ColumnTable
from counterpoise.space.rules.formulas import Compare, RuleFormula
from counterpoise.space.rules.orderings import follow_orderings
from counterpoise.space.rules.relations import (
    Derivation,
    FormulaRelation,
    FunctionRelation,
    Relation,
    compile_clauses,
    determined_columns,
    order_derivations,
)
from counterpoise.space.rules.repair import repair
from counterpoise.space.rules.repair_workspace import Grid, PointSelection, RepairWorkspace
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask

EMPTY_CLAUSE_SET = ClauseSet.of(())


@dataclass(frozen=True, eq=False)
class RelationSystem:
    """Relations between the features of n rows, compiled.

    >>> import pandas as pd
    >>> from counterpoise.space.constraints.between_features import Rule
    >>> schema = Schema.infer(pd.DataFrame({"a": [0, 4], "b": [0, 9]}))
    >>> system = RelationSystem.of(schema, [Rule("a <= b").compile_relation(schema)], np.array([[1.0, 2.0]]))
    >>> system.holds(np.array([[[3.0, 9.0], [3.0, 2.0]]]))
    array([[ True, False]])
    """

    relations: tuple[Relation, ...]
    derivations: tuple[Derivation, ...]  # each after those that it reads
    clause_set: ClauseSet  # the relations as clauses about columns that may be moved
    balance_equations: tuple[Compare, ...]  # equations between numbers: what one part gains another must lose
    is_derived: Mask  # (d,) columns that are computed
    x0: Array  # (n, d)
    is_binding: Mask  # (n, r) which relations bind a row: all but those with relax=True that the row itself breaks
    refusal_counts: Array  # (N, r) proposals that each relation has refused each row of the call; counted in place
    row_numbers: Index  # (n,) which of the N these rows are
    scales: Array  # (d,)
    numeric: Mask  # (d,)

    @classmethod
    def of(
        cls,
        schema: Schema,
        relations: Sequence[Relation],
        x0: Array,
        choices: Sequence[Array | None] | None = None,
    ) -> RelationSystem:
        """The system of some relations for the rows ``x0`` ``(n, d)``; ``choices`` are listed values by column."""
        if not relations:
            return cls((), (), EMPTY_CLAUSE_SET, (), *_initial_arrays(schema, x0, 0))
        derivations = order_derivations(relations, schema)
        parts = compile_clauses(relations, derivations, choices or [None] * len(schema), len(schema))
        balances = tuple(part.formula for part in parts if _is_balance_equation(part.formula, schema.numeric))
        system = cls(
            tuple(relations), derivations, ClauseSet.of(parts), balances, *_initial_arrays(schema, x0, len(relations))
        )
        system.is_derived[[derivation.number for derivation in derivations]] = True
        relax = np.array([relation.relax for relation in relations], dtype=bool)
        if not relax.any():
            return system
        return replace(system, is_binding=~relax | system.holds_each(x0[:, None, :])[:, 0, :])

    @property
    def is_derivation_source(self) -> Mask:
        """Which columns derived ones are computed from, ``(d,)``."""
        read = [column for derivation in self.derivations for column in derivation.expression.columns]
        found = np.zeros(len(self.is_derived), dtype=bool)
        found[read] = True
        return found & ~self.is_derived

    @property
    def is_following(self) -> Mask:
        """Which cells an equation that binds their row computes from others, ``(n, d)``, if they may move."""
        found = np.zeros(self.x0.shape, dtype=bool)
        for follower in self.clause_set.followers:
            found[:, follower.column] = self.is_binding[:, follower.relation_number]
        return found

    @cached_property
    def has_only_orders(self) -> bool:
        """Whether all relations are comparisons, so that no column has to move along with another."""
        return not (self.derivations or self.clause_set.followers) and all(
            isinstance(clause.formula, Compare) and clause.formula.operator in ("<=", "<")
            for clause in self.clause_set.clauses
        )

    @property
    def change_shares(self) -> Array:
        """How much a change of each column counts, ``(d,)``: 0 where a relation moves it along, 1/2 in a one-hot group.

        A switch from one column of a group to another changes two of them.
        """
        share = np.ones(len(self.is_derived))
        for relation in self.relations:
            if isinstance(relation, FormulaRelation) and isinstance(relation.formula, OneHotGroup):
                share[list(relation.formula.numbers)] *= 0.5
            elif isinstance(relation, FormulaRelation) and isinstance(relation.formula, TableLookup):
                share[relation.formula.number] = 0.0
        share[list(determined_columns(self.relations))] = 0.0
        return share

    def without_relations(self) -> RelationSystem:
        """A system of no relations, for the same rows."""
        return replace(
            self,
            relations=(),
            derivations=(),
            clause_set=EMPTY_CLAUSE_SET,
            balance_equations=(),
            is_derived=np.zeros_like(self.is_derived),
            is_binding=self.is_binding[:, :0],
            refusal_counts=self.refusal_counts[:, :0],
        )

    def __len__(self) -> int:
        return len(self.relations)

    @property
    def relation_texts(self) -> tuple[str, ...]:
        """Each relation as the user wrote it."""
        return tuple(relation.constraint_text for relation in self.relations)

    def take(self, rows: Index) -> RelationSystem:
        """The system of some of the rows."""
        return replace(self, x0=self.x0[rows], is_binding=self.is_binding[rows], row_numbers=self.row_numbers[rows])

    def holds_each(self, x: Array) -> Mask:
        """Which relations hold at ``x`` ``(n, k, d)``, ``(n, k, r)``; relations waived for a row count as held."""
        point, row = np.moveaxis(x, -1, 0), self.x0.T[:, :, None]
        out = np.empty((*x.shape[:2], len(self.relations)), dtype=bool)
        with np.errstate(all="ignore"):
            for number, relation in enumerate(self.relations):
                out[..., number] = relation.holds(point, row)
        return out | ~self.is_binding[:, None, :]

    def holds(self, x: Array, *, count: bool = False) -> Mask:
        """Whether all relations hold at ``x`` ``(n, k, d)``, ``(n, k)``; ``count``: count refused points.

        The user's own functions are called last, on points where everything else holds.
        """
        point, row = np.moveaxis(x, -1, 0), self.x0.T[:, :, None]
        out: Mask = np.ones(x.shape[:2], dtype=bool)
        everyone = np.asarray(self.is_binding.all(axis=0))
        with np.errstate(all="ignore"):
            for number, relation in sorted(
                enumerate(self.relations), key=lambda each: isinstance(each[1], FunctionRelation)
            ):
                if isinstance(relation, FunctionRelation):
                    where = np.nonzero(out)
                    held = np.ones_like(out)
                    held[where] = relation.holds(x[where].T, row)
                else:
                    held = relation.holds(point, row)
                held = held if everyone[number] else held | ~self.is_binding[:, None, number]
                if not held.all():
                    out = np.asarray(out & held)
                    if count:
                        missed = np.count_nonzero(np.broadcast_to(~held, out.shape), axis=1)
                        np.add.at(self.refusal_counts[:, number], self.row_numbers, missed)
        return out

    def defects(self, x: Array) -> Array:
        """How far each relation is from holding, ``(n, k, r)``: 0 where it holds, NaN where it is undefined."""
        point, row = np.moveaxis(x, -1, 0), self.x0.T[:, :, None]
        out = np.zeros((*x.shape[:2], len(self.relations)))
        with np.errstate(all="ignore"):
            for number, relation in enumerate(self.relations):
                out[..., number] = relation.defect(point, row)
        return np.where(self.is_binding[:, None, :], out, 0.0)

    def violations(self, x: Array) -> list[tuple[str, ...]]:
        """For one point of each row, ``x`` ``(n, d)``: the relations it breaks, and by how much."""
        return [
            tuple(
                _describe_defect(word, defect)
                for word, defect in zip(self.relation_texts, row, strict=True)
                if defect != 0
            )
            for row in self.defects(x[:, None, :])[:, 0, :]
        ]

    def obstacles(self, most: int = 3) -> list[tuple[str, ...]]:
        """For each row, the relations that have refused the most of its proposals, the worst first."""
        out: list[tuple[str, ...]] = []
        for counts in self.refusal_counts[self.row_numbers]:
            worst = [place for place in np.argsort(-counts, kind="stable")[:most] if counts[place] > 0]
            out.append(tuple(self.relation_texts[place] for place in worst))
        return out

    def waived_relations(self) -> list[tuple[str, ...]]:
        """For each row, the relations that do not bind it because it breaks them itself."""
        if self.is_binding.all():
            return [()] * len(self.is_binding)
        words = np.asarray(self.relation_texts, dtype=object)
        return [tuple(words[~row]) for row in self.is_binding]

    def follow_orderings(self, x: Array, base: Array) -> Array:
        """``x`` ``(n, k, d)`` in which columns follow one that was moved from ``base``, where an order binds them.

        A repair would take such a move back, since only it differs from what was.
        """
        return follow_orderings(self.clause_set.orderings, x, base, self.is_binding)

    def repair(self, x: Array, lower: Array, upper: Array, free: Mask, grid: Grid) -> Array:
        """``x`` ``(n, k, d)``, in the box ``(n, d)`` and on the lattice, moved to where the relations hold if possible.

        Points where they hold already stay as they are, except that derived features are computed.
        """
        return self._repair(x, lower, upper, free, grid)[0]

    def repair_and_check(self, x: Array, lower: Array, upper: Array, free: Mask, grid: Grid) -> tuple[Array, Mask]:
        """Repaired points, and where all relations then hold, ``(n, k)``; refused points are counted."""
        y, broken = self._repair(x, lower, upper, free, grid)
        if not all(isinstance(relation, FormulaRelation) for relation in self.relations):
            return y, self.holds(y, count=True)
        held = np.ones(x.shape[:2], dtype=bool)  # the clauses are all that is stated
        if len(broken[0]):
            held[broken] = self.take(broken[0]).holds(y[broken][:, None, :], count=True)[:, 0]
        return y, held

    def _repair(self, x: Array, lower: Array, upper: Array, free: Mask, grid: Grid) -> tuple[Array, tuple[Index, ...]]:
        """The repaired points, and which of them had broken a clause."""
        made = (derivation.expression.columns | {derivation.number} for derivation in self.derivations)
        columns = sorted(set(self.clause_set.clauses_by_column).union(*made))  # no relation reads the others
        y = dict(zip(columns, np.moveaxis(x[..., columns], -1, 0).copy(), strict=True))
        given = np.concatenate([self.x0, lower, upper], axis=1).T[:, :, None]
        out = x.copy()
        for follower in self.clause_set.followers:
            column = follower.column
            may = (free & ~self.is_derived)[:, column], self.is_binding[:, follower.relation_number]
            if follower.follow(y, given, *may, (lower[:, column], upper[:, column]), grid):
                out[..., column] = y[column]
        suspects, broken = self._find_broken(y, given, x.shape[:2])
        if suspects:
            rows = broken[0]
            workspace = RepairWorkspace(
                {column: y[column][broken] for column in self.clause_set.clauses_by_column},
                PointSelection(given[..., 0], rows),
                PointSelection((free & ~self.is_derived).T, rows),
                None if self.is_binding.all() else self.is_binding.T[:, rows],
                rows,
                x.shape[2],
                self.scales,
                self.numeric,
                grid,
            )
            repair(workspace, self.clause_set, suspects)
            for column, cells in workspace.x.items():
                y[column][broken] = cells
                out[..., column][broken] = cells
        self._compute_derived(y, given, x.shape[2])
        for derivation in self.derivations:
            out[..., derivation.number] = y[derivation.number]
        return out, broken

    def compute_derived(self, x: Array) -> Array:
        """``x`` ``(n, k, d)`` with its derived features computed."""
        if not self.derivations:
            return x
        endless = np.full_like(self.x0, np.inf)
        y = np.moveaxis(x, -1, 0).copy()
        self._compute_derived(y, np.concatenate([self.x0, -endless, endless], axis=1).T[:, :, None], len(y))
        return np.ascontiguousarray(np.moveaxis(y, 0, -1))

    def _find_broken(self, y: ColumnTable, given: Array, shape: tuple[int, ...]) -> tuple[list[int], tuple[Index, ...]]:
        """The clauses that some of the points, ``shape`` of them, break, and those points."""
        suspects, wrong = [], np.zeros(shape, dtype=bool)
        with np.errstate(all="ignore"):
            for number, clause in enumerate(self.clause_set.clauses):
                held = clause.formula.holds(y, given)
                if not held.all():
                    suspects.append(number)
                    wrong |= ~held & self.is_binding[:, None, clause.relation_number]
        return suspects, np.nonzero(wrong)

    def _compute_derived(self, y: Array | dict[int, Array], given: Array, width: int) -> None:
        number_of = {id(relation): number for number, relation in enumerate(self.relations)}
        with np.errstate(all="ignore"):
            for derivation in self.derivations:
                made = derivation.compute_column(y, given, width)
                binds = self.is_binding[:, None, number_of[id(derivation)]]
                y[derivation.number] = np.where(binds, made, given[derivation.number])


def _initial_arrays(schema: Schema, x0: Array, count: int) -> tuple[Mask, Array, Mask, Array, Index, Array, Mask]:
    """The arrays of a system of ``count`` relations: no column is derived, all relations bind, none has refused."""
    n = len(x0)
    counted = np.full((n, count), True), np.zeros((n, count)), np.arange(n)
    return np.zeros(len(schema), dtype=bool), x0, *counted, schema.scales, schema.numeric


def _is_balance_equation(formula: RuleFormula, numeric: Mask) -> TypeGuard[Compare]:
    return isinstance(formula, Compare) and formula.operator == "==" and numeric[list(formula.columns)].sum() > 1


def _describe_defect(word: str, defect: float) -> str:
    if np.isnan(defect):
        return f"{word} (undefined: it divides by zero or reads a missing cell)"
    return f"{word} (by {defect:.3g})"
