"""One chunk of rows: search, verify, fill in alternatives, and give each row its status and reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.api.alternatives import fill_alternatives
from counterpoise.api.asking.confirm import confirm, passes_in_one_call, reaches_target
from counterpoise.api.asking.row_form import RowForm, obeys_functions
from counterpoise.api.asking.steadiness import DEFAULT_ASKING
from counterpoise.api.infeasible import InfeasibleRows
from counterpoise.api.inputs.rows_in import RowPredictions, model_predictions
from counterpoise.api.inputs.targets import RowTargets
from counterpoise.api.problem_parts.mu import find_neighbours
from counterpoise.api.problem_parts.row_plan import RowPlan
from counterpoise.api.verify import verify
from counterpoise.explanation.fields import gap_to_bound
from counterpoise.explanation.question import Question
from counterpoise.methods.base import Method, Run
from counterpoise.methods.baselines.nearest import NearestNeighbour
from counterpoise.model_calls import call_model, model_outputs
from counterpoise.models.goals import RangeGoal
from counterpoise.models.links import softmax
from counterpoise.problem import Problem
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask, is_identity_index

FinishedRowsCallback = Callable[[int], None]
"""Called with the number of rows that a search has finished so far."""


class Answers(NamedTuple):
    """Verified answers to n rows and everything that is reported of them."""

    x: Array  # (n, a, d)
    answer_count: Index  # (n,) how many of them are answers, or the nearest miss
    valid: Mask  # (n,)
    status: NDArray[np.object_]  # (n,)
    reason: NDArray[np.object_]  # (n,)
    before: NDArray[np.object_]  # (n,) what the user's own predict says of the rows,
    predicted: NDArray[np.object_]  # (n,) and of the answers
    margin: Array  # (n,)
    probability: Array  # (n, 2) of the target, before and after
    terms: Array  # (n, 3) distance, regulariser, decision
    mu: Array  # (n,)
    bound: Array  # (n,) of effort: NaN where none is known, infinite where it is proven that there is no answer
    efforts: Array  # (n, a) of each answer, NaN where there is none
    probabilities: Array  # (n, a) of the target, at each answer
    bounds: Array  # (n, a) of what could stand in the place of each answer; NaN where none is known

    def take(self, rows: Index) -> Answers:
        """The answers to some of the rows."""
        return Answers.concatenate([self], rows)

    @classmethod
    def concatenate(cls, parts: list[Answers], order: Index) -> Answers:
        """Several parts as one; ``order`` places their rows."""
        if len(parts) == 1 and is_identity_index(order, len(parts[0].valid)):
            return parts[0]
        return cls(*(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)))

    @classmethod
    def empty(cls, alternatives: int, d: int) -> Answers:
        """The answers to no rows at all."""
        words, numbers, flags = np.empty(0, dtype=object), np.empty(0), np.empty(0, dtype=bool)
        empty = np.empty((0, alternatives, d)), np.empty(0, dtype=np.intp), flags, words, words, words, words
        each = np.empty((0, alternatives))
        return cls(*empty, numbers, np.empty((0, 2)), np.empty((0, 3)), numbers, numbers, each, each, each)


class AnswerTask(NamedTuple):
    """Everything needed to answer one chunk of rows: question, problem and the form of the output."""

    question: Question
    problem: Problem
    method: Method  # the question's, or what takes its place for firm answers and when the time is up
    schema: Schema
    form: RowForm  # the rows as they came, and how answers to them are written
    row_targets: RowTargets
    row_predictions: RowPredictions  # what the model says of the rows as they are
    probabilities_are_softmax: bool  # whether the probabilities are the softmax of the outputs
    plan: RowPlan | None = None  # how a limited number of model rows is shared out

    def begin_alternatives(self) -> None:
        """Let the search of further answers spend its part of a limited number of model rows."""
        budget = self.problem.tally.row_budget
        if self.plan is not None and budget is not None and self.problem.cloud is None:
            self.plan.begin("second search", budget)

    def take(self, rows: Index) -> AnswerTask:
        """The task of some of the rows."""
        return self._replace(
            problem=self.problem.take(rows),
            form=self.form.take(rows),
            row_targets=self.row_targets.take(rows),
            row_predictions=self.row_predictions.take(rows),
        )


def answer_rows(task: AnswerTask, watch: FinishedRowsCallback, *, search: bool = True) -> Answers:
    """The answers to a task's rows; without ``search`` they are the nearest allowed reference rows."""
    problem, n, d = task.problem, *task.problem.x0.shape
    alternatives = task.question.alternatives
    already = reaches_target(problem, task.form.own_rows, task.row_predictions.predicted)
    if already.any():
        already &= problem.region.contains(problem.x0[:, None, :])[:, 0]
        already &= obeys_functions(problem, task.form, np.arange(n), problem.x0)
    already, share = confirm(problem, task.form, task.form.own_rows, already)
    x = np.full((n, alternatives, d), np.nan)
    x[:, 0] = np.where(problem.region.feasible[:, None], problem.region.nearest_feasible, problem.x0)
    holds = np.zeros((n, alternatives), dtype=bool)
    holds[:, 0] = already
    before = np.empty(n, dtype=object)
    before[:] = task.row_predictions.predicted.tolist()
    predicted = before.copy()
    outputs = task.row_predictions.outputs[:, None, :].repeat(1 + alternatives, axis=1)
    bound, proven_infeasible = np.where(already, 0.0, np.nan), np.zeros(n, dtype=bool)
    further = np.full(n, np.nan)  # bounds of alternatives
    searched = problem.region.feasible & ~already
    open_rows, shut = np.flatnonzero(searched), np.flatnonzero(~searched & ~task.row_predictions.is_from_predict)
    if len(open_rows):
        part = problem.take(open_rows)
        run = _run_method(task if search else task._replace(method=NearestNeighbour()), part, watch)
        form = task.form.take(open_rows)
        known_predictions = before[open_rows] if task.row_predictions.is_from_predict[open_rows].all() else None
        verdict = verify(part, form, run, alternatives, known_predictions)
        if search and alternatives > 1 and run.rank is None:
            task.begin_alternatives()
            verdict = fill_alternatives(part, form, run, verdict, task.method, task.question.seed)
        x[open_rows], holds[open_rows], predicted[open_rows], before[open_rows], share[open_rows] = verdict
        answered, slots = np.nonzero(holds[open_rows] | (np.arange(alternatives) == 0))
        outputs[open_rows[answered], 1 + slots] = model_outputs(
            part.model, x[open_rows[answered], slots], part.row_numbers[answered], part.tally
        )
        bound[open_rows] = np.nan if run.bound is None else run.bound
        proven_infeasible[open_rows] = False if run.is_infeasible is None else run.is_infeasible & ~holds[open_rows, 0]
        bound[proven_infeasible] = np.inf
        further[open_rows] = np.nan if run.further_bound is None else run.further_bound
    if len(shut):
        shown = task.form.take(shut).own_rows
        later_predictions = model_predictions(problem.model, shown, problem.row_numbers[shut], problem.tally)
        before[shut] = predicted[shut] = later_predictions.tolist()
    # where no row that obeys every relation is known, there is no nearest miss to show, only the row itself
    known = problem.region.feasible & holds[:, 0]
    if not known.all():
        known |= problem.region.feasible & problem.region.contains(x[:, :1])[:, 0]
    known &= ~proven_infeasible
    lost = np.flatnonzero(problem.region.feasible & ~known)
    x[lost, 0], predicted[lost], outputs[lost, 1] = problem.x0[lost], before[lost], outputs[lost, 0]
    margin = problem.goal.margin(outputs)[:, 1]
    filled = np.where(holds[..., None], x, x[:, :1])
    probability = _target_probabilities(task, filled, outputs)
    terms = problem.energy.terms(x[:, :1], problem.x0, margin[:, None])
    if task.form.steadiness.needs_other_company:
        holds = passes_in_one_call(problem, task.form, x, holds)
    undecided = _is_undecided(task, outputs)
    holds &= ~undecided[:, None]
    valid = holds[:, 0]
    effort = np.where(valid, terms.distance[:, 0] + terms.regularizer[:, 0], np.inf)
    bound = np.where(valid, np.minimum(bound, effort), bound)  # what is verified is right, whatever was proven
    gap = gap_to_bound(effort, bound)
    status, reason = _status_and_reason(task, valid, already, np.where(known, margin, np.nan), bound)
    _add_habits_of_model(reason, share, undecided)
    status[valid & (bound > 0)] = "bounded"
    status[valid & (gap == 0)] = "optimal"
    found = np.where(known, np.maximum(holds.sum(axis=1), 1), 0).astype(np.intp)
    numbers = margin, probability[:, :2], np.concatenate(terms, axis=1), problem.energy.mu, bound
    is_listed = np.arange(alternatives) < found[:, None]
    efforts = np.where(is_listed, problem.energy.effort(filled, problem.x0), np.nan)
    bounds = np.column_stack([bound, np.minimum(further[:, None], efforts[:, 1:])])
    each = efforts, np.where(is_listed, probability[:, 1:], np.nan), bounds
    return Answers(x, found, valid, status, reason, before, predicted, *numbers, *each)


def _add_habits_of_model(reason: NDArray[np.object_], share: Array, undecided: Mask) -> None:
    """Say of rows what the model's habits did to them: answers that change, and decisions within its rounding."""
    for row in np.flatnonzero(~np.isnan(share)).tolist():
        reason[row] = _add_reason(reason[row], f"the model gave the target in {share[row]:.0%} of the askings")
    for row in np.flatnonzero(undecided).tolist():
        reason[row] = _add_reason("the row itself is decided within the model's rounding: name a target", reason[row])


def _is_undecided(task: AnswerTask, outputs: Array) -> Mask:
    """Which rows have no opposite, ``(n,)``: how the model decides them changes with how it is asked.

    ``outputs`` ``(n, 1 + a, c)`` are those of the rows first.
    """
    target, rounding = task.question.target, task.form.steadiness.rounding
    if not (isinstance(target, str) and target == "opposite" and rounding):
        return np.zeros(len(outputs), dtype=bool)
    return np.asarray(np.abs(task.problem.goal.margin(outputs)[:, 0]) < DEFAULT_ASKING.min_roundings * rounding)


def _target_probabilities(task: AnswerTask, x: Array, outputs: Array) -> Array:
    """Probability of the target at the rows and at ``x`` ``(n, a, d)``, ``(n, 1 + a)``; NaN where there is none."""
    (n, a), problem, model = x.shape[:2], task.problem, task.problem.model
    wanted = problem.goal.wanted_classes
    if wanted is None:
        return np.full((n, 1 + a), np.nan)
    is_read = model.trees is not None  # sums of leaves, the same for every scale of the columns
    repeats = model.link == "log" and (is_read or (_is_own(model) and task.form.is_reference_form))
    if is_read and task.probabilities_are_softmax:
        outputs = softmax(outputs)
    elif not repeats:
        both = np.concatenate([problem.x0[:, None], x], axis=1)
        asked = (both != both[:, :1]).any(axis=2)  # an answer that is the row is not asked about again
        asked[:, 0] = True
        rows, slots = np.nonzero(asked)
        points = task.form.write(rows, both[rows, slots])
        found = call_model(model.probabilities, points, problem.row_numbers[rows], problem.tally)
        if found is None:
            return np.full((n, 1 + a), np.nan)
        place = np.cumsum(asked).reshape(n, 1 + a) - 1
        outputs = np.asarray(found)[np.where(asked, place, place[:, :1])]
    total = np.where(wanted[:, None, :], outputs, 0.0).sum(axis=-1)
    return np.where(total > 1 + 1e-5, 1.0, total)  # far out some models are sure of several classes at once


def _is_own(model: Any) -> bool:
    """Whether a model's outputs are what the user's own methods say."""
    return model.own is model


def _run_method(task: AnswerTask, problem: Problem, watch: FinishedRowsCallback) -> Run:
    run = None
    for run in task.method.iterate(problem, problem.make_streams(task.question.seed)):
        watch(int(np.count_nonzero(run.done)))
    assert run is not None, "a method yields at least one run"
    return run


def _status_and_reason(
    task: AnswerTask, valid: Mask, already: Mask, margin: Array, bound: Array
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Status and reason of each row, ``(n,)``; ``margin`` ``(n,)`` is that of the answer or miss, NaN without one."""
    problem, n = task.problem, len(valid)
    status, reason = np.full(n, "valid", dtype=object), np.full(n, "", dtype=object)
    number = isinstance(problem.goal, RangeGoal)
    for row in np.flatnonzero(already).tolist():
        predicted = f"{task.row_predictions.predicted[row]:g}" if number else task.row_predictions.predicted[row]
        reason[row] = f"the model already says {predicted}"
    if not problem.region.feasible.all():
        conflicts = problem.region.conflicts()
        for row in np.flatnonzero(~problem.region.feasible).tolist():
            status[row], reason[row] = "infeasible", _describe_conflict(task, row, conflicts[row])
    missed = np.flatnonzero(problem.region.feasible & ~valid)
    if len(missed):
        status[missed] = "not_found"
        reason[missed] = _describe_obstacles(task, problem.take(missed), missed, margin[missed])
    none = missed[np.isposinf(bound[missed])]  # it is proven that there is no answer
    if len(none):
        held = InfeasibleRows(problem.take(none), task.form.take(none), task.question, task.method)
        status[none], reason[none] = "infeasible", held.describe()
    for row, words in enumerate(problem.region.system.waived_relations()):
        if words:
            reason[row] = _add_reason(reason[row], f"let off {' and '.join(words)}, which the row itself breaks")
    return status, reason


def _add_reason(reason: str, text: str) -> str:
    return f"{reason}; {text}" if reason else text


def _describe_conflict(task: AnswerTask, row: int, words: tuple[str, ...]) -> str:
    region = task.problem.region.take([row])
    stuck = np.flatnonzero(region.is_broken(region.nearest_feasible[:, None, :])[0, 0])
    names = [task.schema.names[column] for column in stuck]
    cells = [f"{name!r} is {task.form.table[name].iloc[row]}" for name in names]
    where = f", because {' and '.join(cells)}" if cells else ""
    return f"no row satisfies {' and '.join(words)}{where}"


def _describe_obstacles(task: AnswerTask, problem: Problem, rows: Index, margin: Array) -> list[str]:
    """Why each row has no answer: the constraints that the nearest reference rows of the target would break."""
    late = " before the model rows were used up" if problem.has_expired else ""
    late = " before the time was up" if problem.is_out_of_time else late
    near = find_neighbours(problem)
    x = np.where(near.is_present[..., None], near.x, problem.x0[:, None, :])
    broken = np.asarray((problem.region.is_broken(x) & near.is_present[..., None]).any(axis=1))
    crowded = ~np.asarray((problem.region.has_few_changes(x) & near.is_present).any(axis=1))
    refused = problem.region.system.obstacles()
    out = []
    for place, row in enumerate(rows.tolist()):
        message = f"no feasible row was found{late} {task.row_targets.phrases[row]}"
        if np.isnan(margin[place]):
            message = f"no row was found{late} that satisfies every relation"
        columns = np.flatnonzero(broken[place])
        words = list(dict.fromkeys(word for column in columns for word in problem.region.constraint_texts[column]))
        if problem.region.max_changes is not None and crowded[place]:
            words.append(problem.region.max_changes_text)
        if not problem.region.free[place].any():
            message += f"; every feature is held fixed{_describe_fixed_features(problem)}"
        elif not near.is_present[place].any():
            message += "; no reference row is one"
        elif words:
            more = f" and {len(words) - 6} more" if len(words) > 6 else ""
            message += f"; in the way of the nearest reference rows: {', '.join(words[:6])}{more}"
        if refused[place]:
            message += f"; most proposals were refused by {', '.join(refused[place])}"
        if margin[place] < 0:
            message += f"; the nearest miss lacks {-margin[place]:.3g} of the score"
        out.append(message)
    return out


def _describe_fixed_features(problem: Problem) -> str:
    """The constraints that hold features fixed, in words."""
    words = list(dict.fromkeys(word for column in problem.region.constraint_texts for word in column))
    more = f" and {len(words) - 2} more" if len(words) > 2 else ""
    return f": {', '.join(words[:2])}{more}" if words else ""
