"""One call: a question asked of a model about some rows, answered chunk by chunk."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterpoise.api.asking.row_form import choose_form
from counterpoise.api.asking.steadiness import find_steadiness
from counterpoise.api.batch.finished import is_model_down
from counterpoise.api.batch.join_answers import join_answers
from counterpoise.api.batch.rejected import OnError, state_reason
from counterpoise.api.batch.workers import ChunkSettings, Workers
from counterpoise.api.evidence import nearest_target_rows
from counterpoise.api.firmness.firm import CHECK, Firmness, find_firm_answers
from counterpoise.api.firmness.kept import KeptSettings, KeptShares, measure_kept, reason_to_skip
from counterpoise.api.inputs.binding import record_rows_let_off
from counterpoise.api.inputs.reference import Reference
from counterpoise.api.inputs.rows_in import (
    InputRows,
    blame_missing_cells,
    first_predictions,
    has_raised,
    model_predictions,
)
from counterpoise.api.inputs.targets import RowTargets, current_decisions, resolve_target
from counterpoise.api.problem_parts.mu import choose_mu
from counterpoise.api.problem_parts.problems import ExplainedModel, build_problem
from counterpoise.api.problem_parts.row_plan import RowPlan, Stage, plan_model_rows
from counterpoise.api.progress import ProgressSetting, show_progress
from counterpoise.api.solve import Answers, AnswerTask, answer_rows
from counterpoise.errors import Interrupted, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import Question
from counterpoise.methods.base import Method
from counterpoise.model_calls import RowBudget, Tally
from counterpoise.space.region.region import Region
from counterpoise.types import Array, Index, ProgressCallback, split_rows

LOGGER = logging.getLogger("counterpoise")


class ExplanationRun:
    """A question being answered for some rows, with the answers finished so far."""

    def __init__(
        self,
        question: Question,
        explained: ExplainedModel,
        method: Method,
        reference: Reference,
        intake: InputRows,
        start_time: float,
        chunks: ChunkSettings,
        on_error: OnError = "raise",
        workers: Workers | None = None,
    ) -> None:
        self.question, self.explained, self.method = question, explained.with_question(question), method
        self.reference, self.input_rows, self.start_time, self.chunks = reference, intake, start_time, chunks
        self.on_error, self.workers = on_error, workers
        self.deadline = np.inf if question.budget is None else start_time + question.budget
        self.tally = Tally(block_rows=chunks.call_rows)
        if question.model_rows is not None:
            self.tally.row_budget = RowBudget(len(intake), question.model_rows)
        self.plan: RowPlan | None = None  # how these model rows are shared out
        self.finished_rows: list[Index] = []
        self.finished_answers: list[Answers] = []
        self.firm_answers: list[tuple[Answers, Firmness]] = []
        self.kept: list[KeptShares] = []  # of the answers,
        self.firm_kept: list[KeptShares] = []  # and of the firm ones
        self.kept_notes: list[str] = []
        self.rows_let_off: dict[str, set[int]] = {}  # by relation, the rows that break it themselves
        self.evidence: list[Array] = []  # the nearest reference rows; empty where there is no reference
        self.rows_out_of_time = 0  # rows whose search the budget may have ended
        self.rows_out_of_model_rows = 0  # rows whose search the limit of model rows ended
        self.rejected: dict[int, str] = {}  # rows that the model failed on, with reasons
        self.has_asked = False  # whether the model was asked about the rows themselves

    def ask_about_rows(self) -> None:
        """Ask the model about the rows themselves: what it predicts for them, and in which form it takes them."""
        if self.has_asked:
            return
        model, schema = self.explained.model, self.explained.schema
        steadiness = find_steadiness(model, self.reference, self.input_rows.x0)
        self.form, predicted, self.form_notes = choose_form(model, self.input_rows, schema, steadiness, self.tally)
        if predicted is None and steadiness.needs_other_company:  # what it says must not depend on the answers beside
            try:
                predicted = model_predictions(model, self.form.own_rows, np.arange(len(self.input_rows)), self.tally)
            except ModelError as error:
                if has_raised(error):
                    blame_missing_cells(error, self.input_rows, schema)
                raise
        self.row_predictions = first_predictions(
            model, self.input_rows, schema, self.form.own_rows, predicted, self.tally
        )
        self.has_asked = True

    def run(self, progress: ProgressSetting) -> Explanation:
        """The explanation of all rows, or an error whose ``partial`` is that of the rows that were finished."""
        try:
            self.ask_about_rows()
        except ModelError as error:
            if error.row:  # the rows before the failing one are answered
                error.partial = self._run_of_rows_before(error.row).run(progress)
            raise
        self.resolve_goals()
        n = len(self.input_rows)
        try:
            with show_progress(progress, n) as tell:
                if self.workers is not None:
                    self._answer_in_workers(self.workers, tell)
                else:
                    self.answer_all(tell)
        except KeyboardInterrupt:
            raise Interrupted(
                "a run must be left to finish",
                f"it was interrupted after {sum(map(len, self.finished_rows))} of {n} rows",
                "the finished rows are in .partial",
                partial=join_answers(self),
            ) from None
        except ModelError as error:
            error.partial = join_answers(self)
            raise
        found = join_answers(self)
        LOGGER.info(
            "%d of %d rows reach the target; %.3g s, %d rows asked of the model, %d put to what was read of it",
            *(int(found.valid.sum()), len(found), found.seconds, found.model_rows, self.tally.opened_rows),
        )
        for note in found.notes:
            LOGGER.info("note: %s", note)
        return found

    def resolve_goals(self) -> None:
        """Find the targets of the rows, and the reference rows to start from."""
        self.row_targets = self._resolve_targets()
        self.reference_rows = self.reference.donors(self.explained.model)
        if self.tally.row_budget is not None:
            model, goal, copies = self.explained.model, self.row_targets.goal, (KeptSettings().copies, CHECK.copies)
            self.plan = plan_model_rows(self.question, model, goal, self.form.steadiness, *copies)
            self.tally.row_budget.remember_rows(self.input_rows.x0, self.row_predictions.outputs)

    def answer_all(self, tell: ProgressCallback) -> None:
        """Answer the rows chunk by chunk; a row that the model fails on ends the run, or is set aside."""
        n, chunks = len(self.input_rows), self._split_into_chunks()
        for number, chunk in enumerate(chunks):
            left = max(self.deadline - time.perf_counter(), 0.0) / (len(chunks) - number)
            LOGGER.debug("rows %d to %d of %d", chunk[0], chunk[-1], n)
            rows = chunk
            while len(rows):
                try:
                    self._answer_chunk(rows, time.perf_counter() + left, tell)
                    break
                except ModelError as error:
                    if self.on_error == "raise" or error.row is None or is_model_down(self):
                        raise
                    self.rejected[error.row] = state_reason(error)
                    rows = rows[rows > error.row]  # those before it are answered
            tell(sum(map(len, self.finished_rows)), n)

    def _answer_in_workers(self, workers: Workers, tell: ProgressCallback) -> None:
        """Have chunks of the rows answered in other processes, and gather what they found."""
        n, most = len(self.input_rows), max(map(len, self._split_into_chunks()))
        size = workers.chunk_rows(n, most)
        chunks = [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
        targets = self.question.target if self.question.has_target_per_row else None
        found_parts = workers.answer(self.input_rows.table, chunks, targets, self.question.budget)
        for rows, found in zip(chunks, found_parts, strict=True):
            found.add_to(self, rows)
            tell(sum(map(len, self.finished_rows)), n)

    def _run_of_rows_before(self, row: int) -> ExplanationRun:
        """A run of the same question about the rows before ``row``."""
        question, intake = self.question.take(np.arange(row)), self.input_rows.take_first(row)
        return ExplanationRun(
            question, self.explained, self.method, self.reference, intake, self.start_time, self.chunks
        )

    def _split_into_chunks(self) -> list[Index]:
        """The rows in chunks that are searched together; answers do not depend on the chunks.

        With a limit of model rows each row is searched by itself: a search whose rows run out of them at different
        steps would go on for some of them.
        """
        settings, (n, d) = self.chunks, self.input_rows.x0.shape
        if self.question.model_rows is not None:
            return [np.array([row]) for row in range(n)]
        trees = self.explained.model.trees
        is_slow = trees is not None and len(trees.feature) > settings.slow_tree_nodes
        fast_rows = settings.firm_rows if self.question.asks_for_firmness else settings.rows
        most = min(fast_rows, settings.slow_rows) if is_slow else fast_rows
        cells_per_row = max(d * settings.chains_per_row, settings.cells // most)
        return split_rows(n, settings.cells, cells_per_row)

    def _answer_chunk(self, rows: Index, deadline: float, tell: ProgressCallback) -> None:
        """Answer some rows. Where the model fails on one of them, answer those before it, then raise the error."""
        done, n = sum(map(len, self.finished_rows)), len(self.input_rows)
        over = bool(self.finished_rows) and time.perf_counter() >= self.deadline
        try:
            now, firm = time.perf_counter(), self.question.asks_for_firmness
            end = deadline - self._seconds_for_checks(deadline - now, CHECK.copies * len(rows) if firm else 0)
            soon = now + (end - now) / 2 if firm else end  # the other half is for firm answers
            task = self._build_task(rows, soon)
            region = task.problem.region
            record_rows_let_off(self.rows_let_off, self.question.relations, region, rows)
            self._begin("first search")
            answers = answer_rows(task, lambda finished: tell(done + finished, n), search=not over)
            wrong = self.record_predictions(rows, answers.before)
            if len(wrong):  # rows whose target was chosen for another class than predict now says
                again = self._build_task(rows[wrong], soon, region.take(wrong))
                self._begin("first search")
                right = answer_rows(again, lambda _: None, search=not over)
                order = np.arange(len(rows))
                order[wrong] = len(rows) + np.arange(len(wrong))
                answers = Answers.concatenate([answers, right], order)
            self._begin("second search")
            firmer = find_firm_answers(self._build_task(rows, end, region), answers, deadline) if firm else None
            searched_until = time.perf_counter()
            judged = task if not len(wrong) else self._build_task(rows, end, region)
            self.rows_out_of_model_rows += self.tally.count_rows_cut(rows)
            self._begin("kept", 0 if firmer is None else self.question.alternatives)
            kept = self._measure_kept(judged, answers)
            self._begin("kept")
            firm_kept = kept if firmer is None else self._measure_kept(judged, firmer[0])
        except ModelError as error:
            earlier = rows[:0] if error.row is None else rows[rows < error.row]
            if len(earlier):
                self._answer_chunk(earlier, deadline, tell)
            raise
        goal = self.row_targets.goal.take(rows)
        near = nearest_target_rows(self.explained.schema, self.input_rows.x0[rows], goal, self.reference_rows)
        self.evidence.extend([] if near is None else [near])
        self.rows_out_of_time += len(rows) if searched_until >= end else 0
        self.tally.forget_rows(rows)
        self.finished_rows.append(rows)
        self.finished_answers.append(answers)
        self.kept.append(kept)
        self.firm_answers.extend([] if firmer is None else [firmer])
        self.firm_kept.extend([] if firmer is None else [firm_kept])

    def _seconds_for_checks(
        self, left: float, copies: int, calls: int = 4, calls_for_copies: int = 6, max_share: float = 0.5
    ) -> float:
        """How long before the time is up searches end, so that a slow model can be asked about what they found.

        ``copies`` are noisy ones of firm answers that it is asked about then.
        """
        if np.isinf(left):
            return 0.0
        calls += calls_for_copies if copies else 0
        each = self.tally.seconds_of_call[1]
        return min(calls * self.tally.seconds / max(self.tally.calls, 1) + each * copies, max_share * left)

    def _begin(self, stage: Stage, later: int = 0) -> None:
        """Let a stage of the work spend its part of a limited number of model rows."""
        if self.plan is not None and self.tally.row_budget is not None:
            self.plan.begin(stage, self.tally.row_budget, later)

    def _measure_kept(self, task: AnswerTask, answers: Answers) -> KeptShares:
        """The share of noisy copies that keep the answers; empty, with a note, where that is not to be measured."""
        setting, settings = self.question.kept, KeptSettings()
        nothing = KeptShares.unknown(len(task.problem), self.question.alternatives)
        if setting is False:
            return nothing
        skipped = reason_to_skip(task, settings)
        if not skipped:
            try:
                return measure_kept(task, answers, settings)
            except ModelError as error:
                if setting is True:
                    raise
                skipped = f"the model fails on noisy copies ({error.given})"
        if task.question.asks_for_firmness:  # the share of the best firm answers has been counted by then
            consequence = "noisy copies were drawn for the best firm answer of each row alone"
        else:
            consequence = "the share of noisy copies that keep the answers was not measured"
        self.kept_notes.append(f"{consequence}: {skipped}")
        return nothing

    def _build_task(self, rows: Index, deadline: float, region: Region | None = None) -> AnswerTask:
        """What it takes to answer some rows by ``deadline``; ``region`` is theirs, if it is compiled already."""
        question, explained, now = self.question, self.explained, self.row_predictions.take(rows)
        goal, mu = self.row_targets.goal.take(rows), np.full(len(rows), question.mu or 0.0)
        x0 = self.input_rows.x0[rows]
        problem = build_problem(question, explained, self.reference_rows, x0, goal, rows, mu, region)
        problem = replace(problem, deadline=deadline, tally=self.tally)
        if question.mu is None:
            margin: Array = goal.margin(now.outputs[:, None, :])[:, 0]
            problem = replace(problem, energy=replace(problem.energy, mu=choose_mu(problem, margin)))
        return AnswerTask(
            question,
            problem,
            self.method,
            explained.schema,
            self.form.take(rows),
            self.row_targets.take(rows),
            now,
            self.reference.has_softmax_probabilities(explained.model),
            self.plan,
        )

    def _resolve_targets(self) -> RowTargets:
        """The targets of the rows, given what the model predicts for them so far."""
        model, question = self.explained.model, self.question
        now = current_decisions(model, self.form.own_rows, self.row_predictions.predicted)
        return resolve_target(model, question.target, question.threshold, now)

    def record_predictions(self, rows: Index, before: NDArray[np.object_]) -> Index:
        """Store the user's own predictions for rows; return the places where the outputs had told another class."""
        wrong = np.flatnonzero(self.row_predictions.predicted[rows] != before)
        self.row_predictions.predicted[rows], self.row_predictions.is_from_predict[rows] = before, True
        if len(wrong):
            self.row_targets = self._resolve_targets()
        return wrong
