"""KnownAnswers of one row: points that a search meets, shown to the model, and the best of them by what they change."""

from __future__ import annotations

import time
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpoise.cancellation import stop_if_cancelled
from counterpoise.methods.trees.exact.cell_costs import CellCosts
from counterpoise.methods.trees.exact.row_leaves import Cells, RowLeaves
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Mask


class Answer(NamedTuple):
    """A point that the model and every constraint accept."""

    effort: float
    x: Array  # (d,)
    changed: Mask  # (d,)

    def beats(self, other: Answer) -> bool:
        """Whether it costs no more than another one, and changes no feature that the other leaves as it is."""
        return self.effort <= other.effort and bool((other.changed | ~self.changed).all())


class Shown(NamedTuple):
    """What became of points that were shown to the model, each ``(p,)``."""

    refused: Mask  # by the model
    unlawful: Mask  # the model accepts the point, a relation between features does not


class KnownAnswers:
    """The answers found so far: none of them changes all that a better one changes.

    ``number`` is the row's place in ``problem`` and ``costs``; ``wanted`` answers are looked for.
    """

    def __init__(
        self,
        problem: Problem,
        leaves: Leaves,
        costs: CellCosts,
        number: int,
        incumbent: float,
        wanted: int,
        share: float,
        deadline: float = np.inf,
    ) -> None:
        self.rows, self.leaves, self.costs, self.number = problem, leaves, costs, number
        self.wanted, self.share = wanted, share  # of the effort of an answer, below which another one is worth finding
        self.deadline = deadline  # by the clock of a budget
        self.found: list[Answer] = []
        self._limit = incumbent * share

    @cached_property
    def problem(self) -> Problem:
        """The problem of the row alone."""
        return self.rows.take([self.number])

    @property
    def has_expired(self) -> bool:
        """Whether the time for the row is over; ends the work where nobody waits for it."""
        stop_if_cancelled()
        return time.perf_counter() >= self.deadline

    @property
    def limit(self) -> float:
        """Points that cost as much are of no interest."""
        if self.wanted == 1 and self.found:
            return min(self._limit, self.found[0].effort * self.share)
        return self._limit

    def is_settled(self, least: float) -> bool:
        """Whether no point that costs ``least`` or more can be among the wanted answers."""
        return least >= self.limit or (len(self.found) >= self.wanted and self.found[self.wanted - 1].effort <= least)

    def points(self, reduced: RowLeaves, cells: Cells) -> Array:
        """Points ``(1, p, d)`` in local cells ``(p, columns)``."""
        costs, row, split = self.costs, self.number, len(self.leaves.place_of_cell)
        x = np.empty((1, len(cells), self.problem.x0.shape[1]))
        x[:, :, costs.column[split:]] = costs.value[row, split:]
        x[:, :, self.leaves.columns] = costs.value[row, costs.start[row]]
        x[0][:, self.leaves.columns[reduced.local.column]] = costs.value[row, reduced.local.cell[cells]]
        return x

    def show(self, reduced: RowLeaves, cells: Cells) -> Shown:
        """Show points in local cells ``(p, columns)`` to the model and keep those that are answers.

        A point that breaks a relation is brought to where it holds, as the region does that, and shown again.
        """
        problem, x = self.problem, self.points(reduced, cells)
        refused = ~problem.score(x).reached
        made = problem.region.system.compute_derived(x)  # a cell of a tree may be near enough for a rule, no more
        legal = problem.region.contains(x) & ((made == x) | np.isnan(x)).all(axis=-1)
        accepted, unlawful = ~refused & legal, ~refused & ~legal
        if unlawful.any():
            mended, inside = problem.region.bring_inside(x)
            x = np.where(unlawful[..., None], mended, x)
            inside &= unlawful & problem.region.contains(x)
            accepted |= inside & problem.score(x).reached
        efforts, changed = problem.energy.effort(x, problem.x0)[0], problem.region.is_changed(x)[0]
        for place in np.flatnonzero(accepted[0]).tolist():
            self._keep(Answer(float(efforts[place]), x[0, place], changed[place]))
        return Shown(refused[0], unlawful[0])

    def is_covered_by_answers(self, reduced: RowLeaves, cells: Cells, bound: Array) -> Mask:
        """Which boxes ``(p,)``, whose points change at least what the cheapest one does, hold no further answer."""
        out = np.zeros(len(bound), dtype=bool)
        if self.wanted == 1:
            return out
        changed = self.problem.region.is_changed(self.points(reduced, cells))[0]
        for answer in self.found:
            out |= (changed | ~answer.changed).all(axis=1) & (bound >= answer.effort)
        return out

    def _keep(self, new: Answer) -> None:
        if new.effort >= self.limit or any(old.beats(new) for old in self.found):
            return
        kept = [old for old in self.found if not new.beats(old)]
        self.found = sorted([*kept, new], key=lambda answer: answer.effort)
