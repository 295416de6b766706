"""Replay: the question of an explanation, asked again of its model: the problems that its answers solve.

Everything that looks at an explanation later begins here, so the constraints, the distance and the target that were
asked for bind there as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.api.inputs.reference import PROBE_ROWS, Reference
from counterpoise.api.inputs.targets import current_decisions, resolve_target
from counterpoise.api.problem_parts.problems import ExplainedModel, build_problem
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation, check_explanation
from counterpoise.explanation.question import Question
from counterpoise.explanation.stored_objects import StoredObject, are_same
from counterpoise.models.registry import as_model
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.constraints.between_features import ConstraintOrFunction, as_constraints
from counterpoise.space.nearest_rows import spread_places
from counterpoise.types import Array, Index, Mask, Model

Constraints = Sequence[ConstraintOrFunction] | ConstraintOrFunction
"""Constraints as users give them: one, or a list of them."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Rows of an explanation and the problem that their answers solve.

    rows: the places of the rows in the explanation, ``(n,)``.
    x: their best answers, ``(n, d)``.
    problem: what was asked about them, of the model.
    question: the same as data, with the user's own objects in their places.
    """

    rows: Index
    x: Array
    problem: Problem
    question: Question

    def take(self, rows: Index) -> Replay:
        """The replay of some of its rows, by their places in it."""
        return replace(self, rows=self.rows[rows], x=self.x[rows], problem=self.problem.take(rows))

    def split_by_target(self) -> Iterator[Replay]:
        """A replay for each target: the rows that ask for it."""
        return (self.take(group) for group in self.problem.goal.group_rows())

    def margins(self, x: Array) -> Array:
        """``f - c`` of points ``(p, d)`` for the first row, ``(p,)``: at least 0 where its target is reached."""
        return np.asarray(self.problem.take([0]).score(x[None]).margin[0])

    def probabilities(self, x: Array) -> Array:
        """Probability of the first row's target at points ``(p, d)``: ``(p,)``; NaN where the model has none."""
        wanted: Mask | None = getattr(self.problem.goal, "wanted_classes", None)
        found = None if wanted is None else self.problem.model.probabilities(x)
        if found is None or wanted is None:
            return np.full(len(x), np.nan)
        return np.asarray(np.where(wanted[0], found, 0.0).sum(axis=1))


def replay(
    explanation: Explanation,
    model: Any,
    *,
    reference: Any = None,
    constraints: Constraints = (),
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer | Fittable] = (),
) -> Replay:
    """The problem of all rows of an explanation, rebuilt from its question.

    ``constraints``, ``weights`` and ``regularizers`` are needed only where the explanation could not store them; others
    than those that it was made with are refused. ``reference`` is the data that plausibility and rank noise need.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> explanation = explain(model, train[3:], reference=train)
    >>> bool(replay(explanation, model).margins(explanation.x)[0] >= 0)
    True
    """
    question = complete_question(explanation.question, constraints, weights, regularizers)
    schema = explanation.schema
    adapted = as_model(model, schema, sample_probe_rows(explanation))
    explained = ExplainedModel.for_question(adapted, schema, question)
    goal = _resolve_goal(explanation, question, explained.model)
    if reference is None:
        reference_rows = ReferenceRows(explanation.x0[:0], np.empty((0, 1)))
    else:
        reference_rows = as_reference(reference, model, explanation).donors(explained.model)
    rows = np.arange(len(explanation))
    problem = build_problem(
        question, explained, reference_rows, explanation.x0, goal, rows, np.asarray(explanation.terms.mu, dtype=float)
    )
    return Replay(rows, explanation.x, problem, question)


def replay_valid_rows(explanation: Explanation, model: Any, **given: Any) -> Iterator[Replay]:
    """The rows with a valid answer, those with one target together; the arguments are those of `replay`."""
    valid = np.flatnonzero(explanation.valid)
    if not len(valid):
        raise InputError("there must be an answer to check", "no row has a valid one", "see the reasons of the rows")
    return replay(explanation, model, **given).take(valid).split_by_target()


def check_one_row(explanation: Explanation) -> None:
    """An error for what is no explanation, or one of several rows."""
    check_explanation(explanation)
    if len(explanation) != 1:
        raise InputError(
            "an explanation of one row is needed", f"this one has {len(explanation)}", "choose one: explanation[0]"
        )


def as_reference(reference: Any, model: Any, explanation: Explanation) -> Reference:
    """Reference data as a `Reference` over the features of an explanation."""
    return reference if isinstance(reference, Reference) else Reference(model, reference, explanation.schema)


def complete_question(
    question: Question,
    constraints: Constraints = (),
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer | Fittable] = (),
) -> Question:
    """The question with the user's own objects in the places where a saved explanation has only their records.

    What the question knows may be given again; anything else is refused.
    """
    words = as_constraints(constraints)
    if are_same(words, question.binding_constraints):
        words = question.constraints if not _has_records(question.constraints) else words
    question = replace(
        question,
        constraints=_complete_list("constraints", question.constraints, words),
        regularizers=_complete_list("regularizers", question.regularizers, tuple(regularizers)),
    )
    if weights is None or dict(weights) == dict(question.weights):
        return question
    if question.is_complete:
        _refuse("weights", question.weights, weights)
    return replace(question, weights=dict(weights))


def _complete_list(name: str, stored: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The objects of a question; those that are given must be the stored ones, and stand in for records of them."""
    if not _has_records(stored):
        if given and not are_same(given, stored):
            _refuse(name, stored, given)
        return stored
    if not given:
        raise InputError(
            f"{name} that a saved explanation cannot hold must be given again",
            f"it was made with {_list_reprs(stored)}",
            f"give {name}= as in the call that made it",
        )
    if not are_same(given, stored) and _list_reprs(given) != _list_reprs(stored):
        _refuse(name, stored, given)
    return given


def _has_records(parts: Sequence[object]) -> bool:
    return any(isinstance(part, StoredObject) for part in parts)


def _list_reprs(parts: Sequence[object]) -> str:
    return ", ".join(map(repr, parts)) or "none"


def _refuse(name: str, stored: Any, given: Any) -> None:
    shown = [repr(dict(each)) if isinstance(each, Mapping) else _list_reprs(each) for each in (stored, given)]
    raise InputError(
        f"{name} must be those of the explanation",
        f"it was made with {shown[0]}, given were {shown[1]}",
        f"leave {name} out: the explanation has its own",
    )


def _resolve_goal(explanation: Explanation, question: Question, model: Model) -> Any:
    """The goal of each row, which must ask for what the explanation says it asks for."""
    if isinstance(question.target, StoredObject):
        raise InputError(
            "the target must be known",
            f"this document of version 1 tells only {question.target!r}",
            "explain the rows again",
        )
    before = explanation.model_scores.before
    now = current_decisions(model, explanation.x0, before) if len(before) else before
    try:
        found = resolve_target(model, question.target, question.threshold, now)
    except InputError as error:
        raise _make_other_model_error(explanation.target.tolist()) from error
    if [str(target) for target in found.target] != [str(target) for target in explanation.target]:
        raise _make_other_model_error(explanation.target.tolist())
    return found.goal


def _make_other_model_error(targets: list[Any]) -> InputError:
    named = " or ".join(dict.fromkeys(repr(target) for target in targets))
    return InputError(
        "the model must be the one that the explanation is of",
        f"this one has no target {named}",
        "give the model that was explained",
    )


def sample_probe_rows(explanation: Explanation) -> Array:
    """Rows that show what a model gives, ``(p, d)``: the rows, their answers and the real rows beside them.

    A row alone is on one side of the decision: what a callable says of it does not show what it can say.
    """
    d = len(explanation.schema)
    parts = [explanation.x0, explanation.answers.reshape(-1, d)]
    parts += [] if explanation.evidence is None else [explanation.evidence.reshape(-1, d)]
    rows = np.concatenate(parts)
    there = rows[~np.isnan(rows).all(axis=1)] if d else rows
    return np.asarray(there[spread_places(len(there), PROBE_ROWS)])
