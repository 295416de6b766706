"""Agreement: how many of further models, such as refits of the one that was explained, give answers their target too.

Whether an answer is valid is for the user's own model to say, in `api/verify.py`. Here other models are asked about
the same final rows, in the form in which these are returned. A model that fails tells nothing, and costs no other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set, ValuesView
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from counterpoise.api.asking.confirm import meets_goal
from counterpoise.api.asking.row_form import RowForm, choose_form
from counterpoise.api.asking.steadiness import Steadiness
from counterpoise.api.inputs.rows_in import model_predictions, read_rows
from counterpoise.api.inputs.targets import resolve_target
from counterpoise.errors import CapabilityError, CounterpoiseError, InputError, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import Question
from counterpoise.model_calls import Tally, call_model
from counterpoise.models.goals import Goal, ThresholdGoal
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import take_points
from counterpoise.types import Array, Index, Mask, Model

MODELS_MUST = "models that may agree must be a list of fitted models"


@dataclass(frozen=True)
class AgreementSettings:
    """How further models are asked."""

    failing_rows: int = 8
    """Rows that a model may fail on: on one more, it is not asked about the others."""


DEFAULT_AGREEMENT = AgreementSettings()


class OtherModel(NamedTuple):
    """A further model, or why it cannot be asked."""

    name: str
    model: Model | None
    failure: str = ""


class ModelVotes(NamedTuple):
    """What further models say of answers."""

    gives_target: Array  # (models, n, a) 1 where one gives the target, 0 where not, NaN where it was not to be had
    notes: tuple[str, ...]  # which models could not be asked about what, and why

    @property
    def asked(self) -> Array:
        """How many models could be asked about each answer, ``(n, a)``; NaN where there is no answer."""
        models = (~np.isnan(self.gives_target)).sum(axis=0)
        return np.asarray(np.where(models > 0, models, np.nan))

    @property
    def share(self) -> Array:
        """The share of these that give it the target, ``(n, a)``."""
        return np.asarray(np.nansum(self.gives_target, axis=0) / self.asked)


def adapt_models(models: Sequence[Any], schema: Schema, probe: Array) -> tuple[OtherModel, ...]:
    """Further models, ready to be asked; ``probe`` ``(r, d)`` are rows to learn from what a callable gives.

    An error where they are no list, or where none of them is a model.
    """
    if not isinstance(models, (Sequence, Set, Iterator, ValuesView, np.ndarray)) or isinstance(models, (str, bytes)):
        raise InputError(MODELS_MUST, f"{type(models).__name__} was given", "for instance [refit_1, refit_2]")
    found = []
    for place, model in enumerate(listed := tuple(models)):
        name = f"model {place + 1} of the {len(listed)} that may agree ({type(model).__name__})"
        try:
            found.append(OtherModel(name, as_model(model, schema, probe)))
        except CounterpoiseError as error:
            found.append(OtherModel(name, None, error.given))
    if found and all(each.model is None for each in found):
        raise InputError(MODELS_MUST, f"none of {len(found)} can be asked: {found[0].failure}", "give fitted ones")
    return tuple(found)


def ask_models(
    explanation: Explanation,
    models: Sequence[OtherModel],
    deadline: float = np.inf,
    settings: AgreementSettings = DEFAULT_AGREEMENT,
) -> ModelVotes:
    """What each of the models says of every valid answer of an explanation; none is asked after the ``deadline``."""
    gives_target, notes = np.full((len(models), *explanation.answers.shape[:2]), np.nan), list[str]()
    valid = np.flatnonzero(explanation.valid)
    answered_part = explanation[valid] if len(models) and len(valid) else None
    for place, other in enumerate(models):
        failures = [other.failure] if other.model is None else []
        if answered_part is not None and other.model is not None:
            if time.perf_counter() >= deadline:
                failures.append("the time was up")
            else:
                gives_target[place, valid], failures = _ask(answered_part, other.model, settings)
        notes += [f"{other.name} was left out: {why}" for why in failures]
    return ModelVotes(gives_target, tuple(notes))


def with_agreement(
    explanation: Explanation, models: Sequence[OtherModel], start_time: float, budget: float | None
) -> Explanation:
    """The explanation with the share of the models that give each answer its target, the minimal ones included.

    ``budget`` are the seconds since ``start_time`` in which they may be asked; None: no limit.
    """
    if not models:
        return explanation
    tipping = explanation.tipping
    if tipping is not None:
        tipping = replace(with_agreement(tipping, models, start_time, budget), notes=tipping.notes)
    found = ask_models(explanation, models, np.inf if budget is None else start_time + budget)
    measures = replace(explanation.measures, agree=found.share, agree_of=found.asked)
    return replace(explanation, measures=measures, tipping=tipping, notes=(*explanation.notes, *found.notes))


def _ask(explanation: Explanation, model: Model, settings: AgreementSettings) -> tuple[Array, list[str]]:
    """Whether a model gives answers their target, ``(n, a)``, and why it could not be asked about some of them."""
    n, a = explanation.answers.shape[:2]
    out, tally, question = np.full((n, a), np.nan), Tally(), explanation.question
    try:
        rows_in = read_rows(explanation.rows, explanation.schema)
        form = choose_form(model, rows_in, explanation.schema, Steadiness(), tally).form
        goals = list(_resolve_goals(model, question, np.asarray(explanation.model_scores.before)))
    except CounterpoiseError as error:
        return out, [error.given]
    failures = [why for _, _, why in goals if why]
    for places, goal, _ in goals:
        if goal is None:
            continue
        listed = np.arange(a) < explanation.count[places, None]
        rows, slots = np.nonzero(listed)
        try:
            reached = _gives_target(
                form, model, goal.take(rows), places[rows], explanation.answers[places[rows], slots], settings, tally
            )
        except CounterpoiseError as error:
            failures.append(error.given)
            continue
        out[places[rows], slots] = reached
        if np.isnan(reached).any():
            failures.append(f"it fails on {len(np.unique(places[rows[np.isnan(reached)]]))} of {n} rows")
    return out, list(dict.fromkeys(failures))


def _resolve_goals(model: Model, question: Question, before: Array) -> Iterator[tuple[Index, Goal | None, str]]:
    """Places of rows and what is asked of them, as this model has it; None with a reason where it knows no such class.

    ``before`` ``(n,)`` is what the model that was explained says of the rows.
    """
    every = np.arange(len(before))
    try:
        yield every, resolve_target(model, question.target, question.threshold, before).goal, ""
        return
    except InputError as error:
        labels = question.target if question.has_target_per_row else before
        if len(set(map(repr, np.asarray(labels).tolist()))) < 2:
            yield every, None, error.given
            return
    by_class: dict[str, list[int]] = {}
    for place, label in enumerate(np.asarray(labels).tolist()):
        by_class.setdefault(repr(label), []).append(place)
    for group in by_class.values():
        places = np.array(group, dtype=np.intp)
        try:
            goal = resolve_target(model, question.take(places).target, question.threshold, before[places]).goal
            yield places, goal, ""
        except InputError as error:
            yield places, None, error.given


def _gives_target(
    form: RowForm, model: Model, goal: Goal, rows: Index, x: Array, settings: AgreementSettings, tally: Tally
) -> Array:
    """1 where the model gives an answer ``x`` ``(p, d)`` to ``rows`` its target, 0 where not, NaN: it fails."""
    points, left, failed = form.write(rows, x), np.arange(len(rows)), set[int]()
    while len(left):
        try:
            reached = _meets_goal(model, goal.take(left), take_points(points, left), rows[left], tally)
            out = np.full(len(rows), np.nan)
            out[left] = reached
            return out
        except ModelError as error:
            failed.add(-1 if error.row is None else error.row)
            if error.row is None or len(failed) > settings.failing_rows:
                raise
            left = left[rows[left] != error.row]
    return np.full(len(rows), np.nan)


def _meets_goal(model: Model, goal: Goal, points: Any, owners: Index, tally: Tally) -> Mask:
    if isinstance(goal, ThresholdGoal) and call_model(model.probabilities, points, owners, tally) is None:
        raise CapabilityError("a threshold needs probabilities", "the model gives none", "leave the threshold out")
    predicted = model_predictions(model, points, owners, tally)
    return meets_goal(model, goal, points, predicted, owners, tally)
