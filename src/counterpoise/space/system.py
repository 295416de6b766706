"""The system of all relations of a region: who judges, who is let off, and how points are brought to obey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from counterpoise.space.bench import Bench, Grid, Picked
from counterpoise.space.expressions import Columns
from counterpoise.space.features import Schema
from counterpoise.space.formulas import Compare, Formula
from counterpoise.space.relations import Checked, Derivation, Relation, Stated, ordered, written_out
from counterpoise.space.repair import Rules, repair
from counterpoise.types import Array, Index, Mask

NO_RULES = Rules.of(())
FOLLOWED = 2  # times that orders are gone through: chains of three columns follow to the end


@dataclass(frozen=True, eq=False)
class System:
    """Relations between the features of n rows, compiled.

    >>> import pandas as pd
    >>> from counterpoise.space.relating import Rule
    >>> schema = Schema.infer(pd.DataFrame({"a": [0, 4], "b": [0, 9]}))
    >>> system = System.of(schema, [Rule("a <= b").compiled(schema)], np.array([[1.0, 2.0]]))
    >>> system.holds(np.array([[[3.0, 9.0], [3.0, 2.0]]]))
    array([[ True, False]])
    """

    relations: tuple[Relation, ...]
    derivations: tuple[Derivation, ...]  # each after those that it reads
    rules: Rules  # the relations as clauses about columns that may be moved
    balances: tuple[Compare, ...]  # the equations between numbers: what one part of them gains another must lose
    derived: Mask  # (d,) columns that are computed
    x0: Array  # (n, d)
    active: Mask  # (n, r) which relations bind a row: all, but for those that it breaks itself and that let it off
    refused: Array  # (N, r) how many proposals each relation has refused each row of the whole call; counted in place
    numbers: Index  # (n,) which of the N these rows are
    scales: Array  # (d,)
    numeric: Mask  # (d,)

    @classmethod
    def of(
        cls,
        schema: Schema,
        relations: Sequence[Relation],
        x0: Array,
        choices: Sequence[Array | None] | None = None,
        step: Array | None = None,
    ) -> System:
        """The system of some relations for the rows ``x0`` ``(n, d)``.

        ``choices`` and ``step`` are the values and the lattice that the user gave each column.
        """
        if not relations:
            return cls((), (), NO_RULES, (), *_blank(schema, x0, 0))
        relations = [
            replace(relation, step=max(relation.step, float(step[relation.number])))
            if isinstance(relation, Derivation) and step is not None
            else relation
            for relation in relations
        ]
        derivations = ordered(relations, schema)
        parts = written_out(relations, derivations, choices or [None] * len(schema), len(schema))
        balances = tuple(part.formula for part in parts if _balances(part.formula, schema.numeric))
        system = cls(tuple(relations), derivations, Rules.of(parts), balances, *_blank(schema, x0, len(relations)))
        system.derived[[derivation.number for derivation in derivations]] = True
        relax = np.array([relation.relax for relation in relations], dtype=bool)
        if not relax.any():
            return system
        return replace(system, active=~relax | system.verdicts(x0[:, None, :])[:, 0, :])

    @property
    def sources(self) -> Mask:
        """Which columns derived ones are computed from, ``(d,)``."""
        read = [column for derivation in self.derivations for column in derivation.expression.columns]
        found = np.zeros(len(self.derived), dtype=bool)
        found[read] = True
        return found & ~self.derived

    def without(self) -> System:
        """A system of no relations, for the same rows."""
        return replace(
            self,
            relations=(),
            derivations=(),
            rules=NO_RULES,
            balances=(),
            derived=np.zeros_like(self.derived),
            active=self.active[:, :0],
            refused=self.refused[:, :0],
        )

    def __len__(self) -> int:
        return len(self.relations)

    @property
    def words(self) -> tuple[str, ...]:
        """The user's words for each relation."""
        return tuple(relation.word for relation in self.relations)

    def take(self, rows: Index) -> System:
        """The system of some of the rows."""
        return replace(self, x0=self.x0[rows], active=self.active[rows], numbers=self.numbers[rows])

    def verdicts(self, x: Array) -> Mask:
        """Which relations hold at ``x`` ``(n, k, d)``, ``(n, k, r)``; one that a row is let off counts as held."""
        point, row = np.moveaxis(x, -1, 0), self.x0.T[:, :, None]
        out = np.empty((*x.shape[:2], len(self.relations)), dtype=bool)
        with np.errstate(all="ignore"):
            for number, relation in enumerate(self.relations):
                out[..., number] = relation.holds(point, row)
        return out | ~self.active[:, None, :]

    def holds(self, x: Array, *, count: bool = False) -> Mask:
        """Whether all relations hold at ``x`` ``(n, k, d)``, ``(n, k)``; with ``count``, what they refuse is counted.

        A function of the user's is only asked about points where everything else holds.
        """
        point, row = np.moveaxis(x, -1, 0), self.x0.T[:, :, None]
        out: Mask = np.ones(x.shape[:2], dtype=bool)
        everyone = np.asarray(self.active.all(axis=0))
        with np.errstate(all="ignore"):
            for number, relation in sorted(enumerate(self.relations), key=lambda each: isinstance(each[1], Checked)):
                if isinstance(relation, Checked):
                    where = np.nonzero(out)
                    held = np.ones_like(out)
                    held[where] = relation.holds(x[where].T, row)
                else:
                    held = relation.holds(point, row)
                held = held if everyone[number] else held | ~self.active[:, None, number]
                if not held.all():
                    out = np.asarray(out & held)
                    if count:
                        missed = np.count_nonzero(np.broadcast_to(~held, out.shape), axis=1)
                        np.add.at(self.refused[:, number], self.numbers, missed)
        return out

    def defects(self, x: Array) -> Array:
        """How far each relation is from holding, ``(n, k, r)``: 0 where it holds, NaN where it is undefined."""
        point, row = np.moveaxis(x, -1, 0), self.x0.T[:, :, None]
        out = np.zeros((*x.shape[:2], len(self.relations)))
        with np.errstate(all="ignore"):
            for number, relation in enumerate(self.relations):
                out[..., number] = relation.defect(point, row)
        return np.where(self.active[:, None, :], out, 0.0)

    def violations(self, x: Array) -> list[tuple[str, ...]]:
        """For one point of each row, ``x`` ``(n, d)``: the relations it breaks, and by how much."""
        return [
            tuple(_said(word, defect) for word, defect in zip(self.words, row, strict=True) if defect != 0)
            for row in self.defects(x[:, None, :])[:, 0, :]
        ]

    def obstacles(self, most: int = 3) -> list[tuple[str, ...]]:
        """For each row, the relations that have refused the most of its proposals, the worst first."""
        out: list[tuple[str, ...]] = []
        for counts in self.refused[self.numbers]:
            worst = [place for place in np.argsort(-counts, kind="stable")[:most] if counts[place] > 0]
            out.append(tuple(self.words[place] for place in worst))
        return out

    def waived(self) -> list[tuple[str, ...]]:
        """For each row, the relations that it breaks itself and is therefore let off."""
        if self.active.all():
            return [()] * len(self.active)
        words = np.asarray(self.words, dtype=object)
        return [tuple(words[~row]) for row in self.active]

    def carried(self, x: Array, base: Array) -> Array:
        """``x`` ``(n, k, d)`` in which columns follow one that was moved from ``base``, where an order binds them.

        Mending would take such a move back, since only it differs from what was.
        """
        if not self.rules.orders:
            return x
        y, moved = x.copy(), x != base
        for _ in range(FOLLOWED):
            for orders in self.rules.orders:
                sides = list(orders.left), list(orders.right)
                left, right = y[..., sides[0]], y[..., sides[1]]
                wrong = (left > right) & self.active[:, None, orders.sources]
                if wrong.any():
                    up = wrong & moved[..., sides[0]]
                    down = wrong & ~up
                    y[..., sides[1]], moved[..., sides[1]] = np.where(up, left, right), moved[..., sides[1]] | up
                    y[..., sides[0]], moved[..., sides[0]] = np.where(down, right, left), moved[..., sides[0]] | down
        return y

    def mended(self, x: Array, lower: Array, upper: Array, free: Mask, grid: Grid) -> Array:
        """``x`` ``(n, k, d)``, in the box ``(n, d)`` and on the lattice, moved to where the relations hold if possible.

        Points where they hold already stay as they are, except that derived features are computed.
        """
        return self._mended(x, lower, upper, free, grid)[0]

    def settled(self, x: Array, lower: Array, upper: Array, free: Mask, grid: Grid) -> tuple[Array, Mask]:
        """The same, and where all relations hold then, ``(n, k)``; what they refuse is counted."""
        y, broken = self._mended(x, lower, upper, free, grid)
        if not all(isinstance(relation, Stated) for relation in self.relations):
            return y, self.holds(y, count=True)
        held = np.ones(x.shape[:2], dtype=bool)  # the clauses are all that is stated
        if len(broken[0]):
            held[broken] = self.take(broken[0]).holds(y[broken][:, None, :], count=True)[:, 0]
        return y, held

    def _mended(self, x: Array, lower: Array, upper: Array, free: Mask, grid: Grid) -> tuple[Array, tuple[Index, ...]]:
        """Points mended, and which of them broke a clause."""
        made = (derivation.expression.columns | {derivation.number} for derivation in self.derivations)
        columns = sorted(set(self.rules.touching).union(*made))  # the others are nobody's business
        y = dict(zip(columns, np.moveaxis(x[..., columns], -1, 0).copy(), strict=True))
        given = np.concatenate([self.x0, lower, upper], axis=1).T[:, :, None]
        suspects, broken = self._broken(y, given, x.shape[:2])
        out = x.copy()
        if suspects:
            rows = broken[0]
            bench = Bench(
                {column: y[column][broken] for column in self.rules.touching},
                Picked(given[..., 0], rows),
                Picked((free & ~self.derived).T, rows),
                None if self.active.all() else self.active.T[:, rows],
                rows,
                x.shape[2],
                self.scales,
                self.numeric,
                grid,
            )
            repair(bench, self.rules, suspects)
            for column, cells in bench.x.items():
                y[column][broken] = cells
                out[..., column][broken] = cells
        self._derive(y, given, x.shape[2])
        for derivation in self.derivations:
            out[..., derivation.number] = y[derivation.number]
        return out, broken

    def computed(self, x: Array) -> Array:
        """``x`` ``(n, k, d)`` with its derived features computed."""
        if not self.derivations:
            return x
        endless = np.full_like(self.x0, np.inf)
        y = np.moveaxis(x, -1, 0).copy()
        self._derive(y, np.concatenate([self.x0, -endless, endless], axis=1).T[:, :, None], len(y))
        return np.ascontiguousarray(np.moveaxis(y, 0, -1))

    def _broken(self, y: Columns, given: Array, shape: tuple[int, ...]) -> tuple[list[int], tuple[Index, ...]]:
        """The clauses that some of the points, ``shape`` of them, break, and those points."""
        suspects, wrong = [], np.zeros(shape, dtype=bool)
        with np.errstate(all="ignore"):
            for number, clause in enumerate(self.rules.clauses):
                held = clause.formula.holds(y, given)
                if not held.all():
                    suspects.append(number)
                    wrong |= ~held & self.active[:, None, clause.source]
        return suspects, np.nonzero(wrong)

    def _derive(self, y: Array | dict[int, Array], given: Array, width: int) -> None:
        own = {id(relation): number for number, relation in enumerate(self.relations)}
        with np.errstate(all="ignore"):
            for derivation in self.derivations:
                made = derivation.derived(y, given, width)
                binds = self.active[:, None, own[id(derivation)]]
                y[derivation.number] = np.where(binds, made, given[derivation.number])


def _blank(schema: Schema, x0: Array, count: int) -> tuple[Mask, Array, Mask, Array, Index, Array, Mask]:
    """What a system of so many relations begins with: none of them derives a column, all bind, none has refused."""
    n = len(x0)
    counted = np.full((n, count), True), np.zeros((n, count)), np.arange(n)
    return np.zeros(len(schema), dtype=bool), x0, *counted, schema.scales, schema.numeric


def _balances(formula: Formula, numeric: Mask) -> TypeGuard[Compare]:
    return isinstance(formula, Compare) and formula.relation == "==" and numeric[list(formula.columns)].sum() > 1


def _said(word: str, defect: float) -> str:
    if np.isnan(defect):
        return f"{word} (undefined: it divides by zero or reads a missing cell)"
    return f"{word} (by {defect:.3g})"
