"""One call: the question, the rows it is asked of, and the answers as they come in, chunk by chunk."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.api.answering import Answers, Task, answer
from counterpoise.api.balance import balanced
from counterpoise.api.evidence import nearest_rows
from counterpoise.api.firmness import Firmness, Wish, firm
from counterpoise.api.intake import Intake, first_opinion
from counterpoise.api.plausible import fitted
from counterpoise.api.progress import Wanted, showing
from counterpoise.api.reference import Reference
from counterpoise.api.reporting import Case, assemble
from counterpoise.api.targets import Aim, aim, standing
from counterpoise.asking import Tally
from counterpoise.errors import Interrupted, ModelError
from counterpoise.explanation import Explanation
from counterpoise.methods.base import Method
from counterpoise.physics.energy import Energy
from counterpoise.physics.plausibility import Fittable
from counterpoise.physics.regularizers import Regularizer
from counterpoise.problem import Problem
from counterpoise.space.constraints import Constraint
from counterpoise.space.distance import Distance
from counterpoise.space.features import Schema
from counterpoise.space.frames import rows_at
from counterpoise.space.region import Bounds, Region
from counterpoise.types import Array, Index, Model, Progress

CHUNK_CELLS = 4_000_000  # rows x columns x chains worked on at once: bounds the memory of a call
CHAINS_ASSUMED = 16
MOST_ROWS = 128  # in a chunk: beyond it a row gets no cheaper, and more is lost when a run is interrupted
MOST_SLOW_ROWS = 32  # where each row takes a third of a second: firm answers,
MANY_NODES = 300_000  # and trees of more nodes than this


@dataclass(frozen=True, eq=False)
class Question:
    """What was asked: everything that does not depend on the rows."""

    model: Model
    schema: Schema
    reference: Reference
    held: Mapping[Any, str]
    constraints: Sequence[Constraint]
    bounds: Bounds
    target: Any
    threshold: float | None
    distance: Distance
    lam: float
    mu: float | None  # None: weighed row by row
    regularizers: tuple[Regularizer | Fittable, ...]
    alternatives: int
    method: Method
    seed: int
    started: float
    budget: float | None
    wish: Wish | None  # None: the minimal answer
    fingerprint: str = ""  # of the model, for the report

    @property
    def settings(self) -> dict[str, str]:
        """How people read it in a report."""
        several = isinstance(self.target, (list, set, frozenset)) or np.ndim(self.target) == 0
        settings = {
            "target": str(self.target) if several or isinstance(self.target, tuple) else "one per row",
            "distance": self.distance.name,
            "lam": f"{self.lam:g}",
            "mu": "auto" if self.mu is None else f"{self.mu:g}",
            "regularizers": ", ".join(map(repr, self.regularizers[1:])) or "none",
            "bounds": str(self.bounds),
            "constraints": ", ".join(map(repr, self.constraints)) or "none",
            "alternatives": str(self.alternatives),
            "method": repr(self.method),
        }
        settings |= {} if self.wish is None else self.wish.settings
        settings |= {} if self.threshold is None else {"threshold": f"{self.threshold:g}"}
        return settings | ({} if self.budget is None else {"budget": f"{self.budget:g} s"})

    @property
    def deadline(self) -> float:
        """When the time for the whole call is over."""
        return np.inf if self.budget is None else self.started + self.budget


class Inquiry:
    """A question being answered for some rows."""

    def __init__(self, question: Question, intake: Intake) -> None:
        self.question, self.intake = question, intake
        self.tally = Tally()
        self.rows: list[Index] = []
        self.parts: list[Answers] = []
        self.firm: list[tuple[Answers, Firmness]] = []
        self.evidence: list[Array] = []  # the nearest real rows; none where there is no reference
        self.hurried = 0  # rows whose search the budget may have ended

    def run(self, progress: Wanted) -> Explanation:
        """The explanation of all rows, or an error whose ``partial`` is that of the rows that were finished."""
        question = self.question
        try:
            self.now = first_opinion(question.model, self.intake, question.schema, self.tally)
        except ModelError as error:
            if error.row:  # as if the rows had been explained one after the other
                error.partial = self._before(error.row).run(progress)
            raise
        self.aim = self._aimed()
        self.donors = question.reference.donors(question.model)
        n = len(self.intake)
        try:
            with showing(progress, n) as tell:
                chunks = self._chunks()
                for number, rows in enumerate(chunks):
                    left = max(question.deadline - time.perf_counter(), 0.0) / (len(chunks) - number)
                    self._finish(rows, time.perf_counter() + left, tell)
                    tell(sum(map(len, self.rows)), n)
        except KeyboardInterrupt:
            raise Interrupted(
                "a run must be left to finish",
                f"it was interrupted after {sum(map(len, self.rows))} of {n} rows",
                "the finished rows are in .partial",
                partial=self.report(),
            ) from None
        except ModelError as error:
            error.partial = self.report()
            raise
        return self.report()

    def report(self) -> Explanation:
        """The Explanation of the rows that are finished."""
        question = self.question
        rows = np.concatenate([np.arange(0), *self.rows])
        order = np.argsort(rows, kind="stable")
        answers = Answers.joined(self.parts or [self._none()], order)
        case = Case(
            question.schema,
            self.intake,
            self.aim,
            self.now,
            question.lam,
            question.held,
            question.reference.quantiles(question.model),
            question.settings,
            (
                *question.reference.notes,
                *getattr(question.model, "notes", ()),
                *self.intake.notes,
                *self._missing_donors(),
                *self._haste(),
            ),
            question.seed,
            question.fingerprint,
        )
        seconds = time.perf_counter() - question.started
        explain = partial(assemble, case, rows[order], seconds=seconds, model_rows=self.tally.rows)
        evidence = np.concatenate(self.evidence)[order] if self.evidence else None
        if question.wish is None:
            return explain(answers, evidence=evidence)
        firmness = Firmness.joined([Firmness.none(), *(found for _, found in self.firm)], order)
        firmer = Answers.joined([self._none(), *(found for found, _ in self.firm)], order)
        found = explain(firmer, evidence=evidence)
        tipping = explain(answers, evidence=None)
        return replace(found, firm=firmness.frame(found.rows.index), tipping=tipping)

    def _none(self) -> Answers:
        return Answers.none(self.question.alternatives, len(self.question.schema))

    def _before(self, row: int) -> Inquiry:
        """The same question about the rows before one."""
        target = self.question.target
        if np.ndim(target) == 1 and not isinstance(target, (list, tuple)):
            target = target[:row]
        return Inquiry(replace(self.question, target=target), self.intake.first(row))

    def _chunks(self) -> list[Index]:
        """Rows worked on together; answers do not depend on how they are cut."""
        n, d = self.intake.x0.shape
        trees = getattr(self.question.model, "trees", None)
        slow = self.question.wish is not None or (trees is not None and len(trees.feature) > MANY_NODES)
        most = MOST_SLOW_ROWS if slow else MOST_ROWS
        size = min(most, max(1, CHUNK_CELLS // (d * CHAINS_ASSUMED)))
        return [np.arange(n)] if n <= size else np.split(np.arange(n), range(size, n, size))

    def _finish(self, rows: Index, deadline: float, tell: Progress) -> None:
        """Answer some rows; where the model fails on one of them, those before it, and then the error."""
        done, n = sum(map(len, self.rows)), len(self.intake)
        over = bool(self.rows) and time.perf_counter() >= self.question.deadline
        try:
            wish = self.question.wish
            now = time.perf_counter()
            soon = deadline if wish is None else now + (deadline - now) / 2  # the other half is for firm answers
            task = self._task(rows, soon)
            answers = answer(task, lambda finished: tell(done + finished, n), search=not over)
            wrong = self._corrected(rows, answers.before)
            if len(wrong):  # asked for what the model did not call them
                right = answer(self._task(rows[wrong], soon), lambda _: None, search=not over)
                order = np.arange(len(rows))
                order[wrong] = len(rows) + np.arange(len(wrong))
                answers = Answers.joined([answers, right], order)
            firmer = None if wish is None else firm(self._task(rows, deadline), answers, wish)
        except ModelError as error:
            earlier = rows[:0] if error.row is None else rows[rows < error.row]
            if len(earlier):
                self._finish(earlier, deadline, tell)
            raise
        goal = self.aim.goal.take(rows)
        near = nearest_rows(self.question.schema, self.intake.x0[rows], goal, self.donors)
        self.evidence.extend([] if near is None else [near])
        self.hurried += len(rows) if time.perf_counter() >= deadline else 0
        self.rows.append(rows)
        self.parts.append(answers)
        self.firm.extend([] if firmer is None else [firmer])

    def _task(self, rows: Index, deadline: float) -> Task:
        question, x0 = self.question, self.intake.x0[rows]
        now = self.now.take(rows)
        goal = self.aim.goal.take(rows)
        penalties = fitted(question.regularizers, goal, self.donors, question.distance, question.schema)
        problem = Problem(
            x0,
            question.model,
            goal,
            Region.build(question.schema, x0, question.constraints, question.bounds),
            Energy(question.distance, question.lam, penalties, np.full(len(rows), question.mu or 0.0)),
            question.schema.scales,
            question.schema.numeric,
            self.donors,
            rows,
            deadline,
            self.tally,
            known=question.schema.known,
        )
        if question.mu is None:
            margin: Array = goal.margin(now.outputs[:, None, :])[:, 0]
            problem = replace(problem, energy=replace(problem.energy, mu=balanced(problem, margin)))
        return Task(
            problem,
            rows_at(self.intake.table, rows),
            self.aim.take(rows),
            now,
            question.schema,
            question.method,
            question.alternatives,
            question.seed,
            question.constraints,
            question.bounds,
            question.reference.repeats(question.model),
            self.intake.exact,
        )

    def _aimed(self) -> Aim:
        """What is asked of the rows, as the model now sees them."""
        question = self.question
        now = standing(question.model, self.intake.x0, self.now.predicted)
        return aim(question.model, question.target, question.threshold, now)

    def _corrected(self, rows: Index, before: NDArray[np.object_]) -> Index:
        """Take down what the user's own predict says of rows; the places of those whose outputs told another class."""
        wrong = np.flatnonzero(self.now.predicted[rows] != before)
        self.now.predicted[rows], self.now.asked[rows] = before, True
        if len(wrong):
            self.aim = self._aimed()
        return wrong

    def _haste(self) -> tuple[str, ...]:
        """A note where the budget ended a search."""
        if not self.hurried:
            return ()
        whose = "of the row" if len(self.intake) == 1 else f"of {self.hurried} of the {len(self.intake)} rows"
        return (
            f"the budget of {self.question.budget:g} s ended the search {whose}: more time may find nearer answers",
        )

    def _missing_donors(self) -> tuple[str, ...]:
        """A note where the reference has no row to start a search from."""
        if not len(self.donors.x):
            return ("there are no reference rows: the search starts from random directions",)
        goal = self.aim.goal
        for group in goal.groups():
            if not len(self.donors.of_target(goal.take(group[:1]))):
                said = self.aim.target[group[0]]
                return (f"no reference row is {said}: the search starts from random directions",)
        return ()
