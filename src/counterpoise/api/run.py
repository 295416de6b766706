"""One call: the question, the rows it is asked of, and the answers as they come in, chunk by chunk."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.api.assemble import ExplanationContext, assemble_explanation
from counterpoise.api.evidence import nearest_target_rows
from counterpoise.api.firm import Firmness, FirmnessRequest, find_firm_answers
from counterpoise.api.mu import choose_mu
from counterpoise.api.plausibility import fit_regularizers
from counterpoise.api.progress import ProgressSetting, show_progress
from counterpoise.api.reference import Reference
from counterpoise.api.rows_in import InputRows, first_predictions
from counterpoise.api.solve import Answers, AnswerTask, answer_rows
from counterpoise.api.targets import RowTargets, current_decisions, resolve_target
from counterpoise.errors import Interrupted, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.methods.base import Method
from counterpoise.model_calls import Tally
from counterpoise.objective.energy import Energy
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.problem import Problem
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Bounds, Region
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import take_rows
from counterpoise.types import Array, Index, Model, ProgressCallback

CHUNK_CELLS = 4_000_000  # rows x columns x chains worked on at once: bounds the memory of a call
ASSUMED_CHAINS_PER_ROW = 16
MAX_CHUNK_ROWS = 128  # in a chunk: beyond it a row gets no cheaper, and more is lost when a run is interrupted
MAX_SLOW_CHUNK_ROWS = 32  # where each row takes a third of a second: firm answers,
SLOW_TREE_NODES = 300_000  # and trees of more nodes than this


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
    start_time: float
    budget: float | None
    firmness_request: FirmnessRequest | None  # None: the minimal answer
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
        settings |= {} if self.firmness_request is None else self.firmness_request.settings
        settings |= {} if self.threshold is None else {"threshold": f"{self.threshold:g}"}
        return settings | ({} if self.budget is None else {"budget": f"{self.budget:g} s"})

    @property
    def deadline(self) -> float:
        """When the time for the whole call is over."""
        return np.inf if self.budget is None else self.start_time + self.budget


class ExplanationRun:
    """A question being answered for some rows."""

    def __init__(self, question: Question, intake: InputRows) -> None:
        self.question, self.input_rows = question, intake
        self.tally = Tally()
        self.finished_rows: list[Index] = []
        self.finished_answers: list[Answers] = []
        self.firm_answers: list[tuple[Answers, Firmness]] = []
        self.evidence: list[Array] = []  # the nearest real rows; none where there is no reference
        self.rows_out_of_time = 0  # rows whose search the budget may have ended

    def run(self, progress: ProgressSetting) -> Explanation:
        """The explanation of all rows, or an error whose ``partial`` is that of the rows that were finished."""
        question = self.question
        try:
            self.row_predictions = first_predictions(question.model, self.input_rows, question.schema, self.tally)
        except ModelError as error:
            if error.row:  # as if the rows had been explained one after the other
                error.partial = self._run_of_rows_before(error.row).run(progress)
            raise
        self.row_targets = self._resolve_targets()
        self.donors = question.reference.donors(question.model)
        n = len(self.input_rows)
        try:
            with show_progress(progress, n) as tell:
                chunks = self._split_into_chunks()
                for number, rows in enumerate(chunks):
                    left = max(question.deadline - time.perf_counter(), 0.0) / (len(chunks) - number)
                    self._answer_chunk(rows, time.perf_counter() + left, tell)
                    tell(sum(map(len, self.finished_rows)), n)
        except KeyboardInterrupt:
            raise Interrupted(
                "a run must be left to finish",
                f"it was interrupted after {sum(map(len, self.finished_rows))} of {n} rows",
                "the finished rows are in .partial",
                partial=self.build_explanation(),
            ) from None
        except ModelError as error:
            error.partial = self.build_explanation()
            raise
        return self.build_explanation()

    def build_explanation(self) -> Explanation:
        """The Explanation of the rows that are finished."""
        question = self.question
        rows = np.concatenate([np.arange(0), *self.finished_rows])
        order = np.argsort(rows, kind="stable")
        answers = Answers.concatenate(self.finished_answers or [self._no_answers()], order)
        case = ExplanationContext(
            question.schema,
            self.input_rows,
            self.row_targets,
            self.row_predictions,
            question.lam,
            question.held,
            question.reference.quantiles(question.model),
            question.settings,
            (
                *question.reference.notes,
                *question.model.notes,
                *self.input_rows.notes,
                *self._missing_donor_notes(),
                *self._budget_notes(),
            ),
            question.seed,
            question.fingerprint,
        )
        seconds = time.perf_counter() - question.start_time
        explain = partial(assemble_explanation, case, rows[order], seconds=seconds, model_rows=self.tally.rows)
        evidence = np.concatenate(self.evidence)[order] if self.evidence else None
        if question.firmness_request is None:
            return explain(answers, evidence=evidence)
        firmness = Firmness.concatenate([Firmness.empty(), *(found for _, found in self.firm_answers)], order)
        firmer = Answers.concatenate([self._no_answers(), *(found for found, _ in self.firm_answers)], order)
        found = explain(firmer, evidence=evidence)
        tipping = explain(answers, evidence=None)
        return replace(found, firm=firmness.to_frame(found.rows.index), tipping=tipping)

    def _no_answers(self) -> Answers:
        return Answers.empty(self.question.alternatives, len(self.question.schema))

    def _run_of_rows_before(self, row: int) -> ExplanationRun:
        """The same question about the rows before one."""
        target = self.question.target
        if np.ndim(target) == 1 and not isinstance(target, (list, tuple)):
            target = target[:row]
        return ExplanationRun(replace(self.question, target=target), self.input_rows.take_first(row))

    def _split_into_chunks(self) -> list[Index]:
        """Rows worked on together; answers do not depend on how they are cut."""
        n, d = self.input_rows.x0.shape
        trees = self.question.model.trees
        slow = self.question.firmness_request is not None or (
            trees is not None and len(trees.feature) > SLOW_TREE_NODES
        )
        most = MAX_SLOW_CHUNK_ROWS if slow else MAX_CHUNK_ROWS
        size = min(most, max(1, CHUNK_CELLS // (d * ASSUMED_CHAINS_PER_ROW)))
        return [np.arange(n)] if n <= size else np.split(np.arange(n), range(size, n, size))

    def _answer_chunk(self, rows: Index, deadline: float, tell: ProgressCallback) -> None:
        """Answer some rows; where the model fails on one of them, those before it, and then the error."""
        done, n = sum(map(len, self.finished_rows)), len(self.input_rows)
        over = bool(self.finished_rows) and time.perf_counter() >= self.question.deadline
        try:
            wish = self.question.firmness_request
            now = time.perf_counter()
            soon = deadline if wish is None else now + (deadline - now) / 2  # the other half is for firm answers
            task = self._build_task(rows, soon)
            answers = answer_rows(task, lambda finished: tell(done + finished, n), search=not over)
            wrong = self._record_predictions(rows, answers.before)
            if len(wrong):  # asked for what the model did not call them
                right = answer_rows(self._build_task(rows[wrong], soon), lambda _: None, search=not over)
                order = np.arange(len(rows))
                order[wrong] = len(rows) + np.arange(len(wrong))
                answers = Answers.concatenate([answers, right], order)
            firmer = None if wish is None else find_firm_answers(self._build_task(rows, deadline), answers, wish)
        except ModelError as error:
            earlier = rows[:0] if error.row is None else rows[rows < error.row]
            if len(earlier):
                self._answer_chunk(earlier, deadline, tell)
            raise
        goal = self.row_targets.goal.take(rows)
        near = nearest_target_rows(self.question.schema, self.input_rows.x0[rows], goal, self.donors)
        self.evidence.extend([] if near is None else [near])
        self.rows_out_of_time += len(rows) if time.perf_counter() >= deadline else 0
        self.finished_rows.append(rows)
        self.finished_answers.append(answers)
        self.firm_answers.extend([] if firmer is None else [firmer])

    def _build_task(self, rows: Index, deadline: float) -> AnswerTask:
        question, x0 = self.question, self.input_rows.x0[rows]
        now = self.row_predictions.take(rows)
        goal = self.row_targets.goal.take(rows)
        penalties = fit_regularizers(question.regularizers, goal, self.donors, question.distance, question.schema)
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
            first_unknown_codes=question.schema.listed_category_counts,
        )
        if question.mu is None:
            margin: Array = goal.margin(now.outputs[:, None, :])[:, 0]
            problem = replace(problem, energy=replace(problem.energy, mu=choose_mu(problem, margin)))
        return AnswerTask(
            problem,
            take_rows(self.input_rows.table, rows),
            self.row_targets.take(rows),
            now,
            question.schema,
            question.method,
            question.alternatives,
            question.seed,
            question.constraints,
            question.bounds,
            question.reference.has_softmax_probabilities(question.model),
            self.input_rows.is_all_float64,
        )

    def _resolve_targets(self) -> RowTargets:
        """What is asked of the rows, as the model now sees them."""
        question = self.question
        now = current_decisions(question.model, self.input_rows.x0, self.row_predictions.predicted)
        return resolve_target(question.model, question.target, question.threshold, now)

    def _record_predictions(self, rows: Index, before: NDArray[np.object_]) -> Index:
        """Take down what the user's own predict says of rows; the places of those whose outputs told another class."""
        wrong = np.flatnonzero(self.row_predictions.predicted[rows] != before)
        self.row_predictions.predicted[rows], self.row_predictions.is_from_predict[rows] = before, True
        if len(wrong):
            self.row_targets = self._resolve_targets()
        return wrong

    def _budget_notes(self) -> tuple[str, ...]:
        """A note where the budget ended a search."""
        if not self.rows_out_of_time:
            return ()
        whose = (
            "of the row"
            if len(self.input_rows) == 1
            else f"of {self.rows_out_of_time} of the {len(self.input_rows)} rows"
        )
        return (
            f"the budget of {self.question.budget:g} s ended the search {whose}: more time may find nearer answers",
        )

    def _missing_donor_notes(self) -> tuple[str, ...]:
        """A note where the reference has no row to start a search from."""
        if not len(self.donors.x):
            return ("there are no reference rows: the search starts from random directions",)
        goal = self.row_targets.goal
        for group in goal.group_rows():
            if not len(self.donors.find_target_rows(goal.take(group[:1]))):
                said = self.row_targets.target[group[0]]
                return (f"no reference row is {said}: the search starts from random directions",)
        return ()
