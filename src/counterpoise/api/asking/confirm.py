"""Whether the user's own model says what was asked for: once for most models, more often where its habits ask for it.

This is what "valid" means. A model whose outputs depend on the size of a call is asked in blocks of one size, and alone
where the margin is small; one that answers differently each time is asked many times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.api.asking.row_form import RowForm
from counterpoise.api.asking.steadiness import DEFAULT_ASKING, AskingSettings
from counterpoise.api.inputs.rows_in import model_predictions
from counterpoise.model_calls import Tally, call_model, check_outputs
from counterpoise.models.goals import ClassGoal, Goal, ThresholdGoal
from counterpoise.problem import Problem
from counterpoise.space.schema.tables_in import take_points
from counterpoise.types import Array, Index, Mask, Model, Points


class Confirmation(NamedTuple):
    """Which points hold however the model is asked, and the share of askings that agree, NaN for one, ``(n,)``."""

    holds: Mask
    share: Array


def reaches_target(problem: Problem, points: Points, predicted: NDArray[Any]) -> Mask:
    """Whether the user's own prediction for each row's point, ``(n, d)``, is the one asked for, ``(n,)``."""
    return meets_goal(problem.model, problem.goal, points, predicted, problem.row_numbers, problem.tally)


def meets_goal(model: Model, goal: Goal, x: Points, predicted: NDArray[Any], owners: Index, tally: Tally) -> Mask:
    """Whether what the user's own model says of points ``x`` ``(n, d)`` is what ``goal`` asks of each, ``(n,)``.

    ``predicted`` ``(n,)`` is the model's own predict; a threshold asks for its probabilities as well. ``owners``
    ``(n,)`` are the rows that an exception of the model is blamed on.
    """
    if isinstance(goal, ThresholdGoal):
        outputs = call_model(model.probabilities, x, owners, tally)
    elif model.labels is None:  # of several models that must agree, each predicts a number
        each = model.predict_each
        outputs = predicted.astype(np.float64)[:, None] if each is None else call_model(each, x, owners, tally)
    else:
        places = {label: place for place, label in enumerate(model.labels)}
        codes = np.array([places[label] for label in predicted.tolist()], dtype=np.intp)
        outputs = np.eye(len(places))[codes]
    return goal.is_reached(outputs[:, None, :])[:, 0]


def confirm(
    problem: Problem, form: RowForm, points: Points, holds: Mask, settings: AskingSettings = DEFAULT_ASKING
) -> Confirmation:
    """Of points ``(n, d)`` that the model gave their target once, ``holds`` ``(n,)``, those that hold for good.

    Those of a model whose outputs depend on the size of a call must lie farther inside than its rounding.
    """
    share, places = np.full(len(holds), np.nan), np.flatnonzero(holds)
    if form.steadiness.is_plain or not len(places):
        return Confirmation(holds, share)
    part, points, kept = problem.take(places), take_points(points, places), holds.copy()
    if form.steadiness.changed:
        agreed = 1.0 + sum(_passes_again(part, points).astype(np.float64) for _ in range(settings.askings - 1))
        share[places] = agreed / settings.askings
        kept[places] = agreed == settings.askings
    else:
        kept[places] = _passes_in_any_call(part, form, points, settings)
    return Confirmation(kept, share)


def passes_in_one_call(problem: Problem, form: RowForm, x: Array, holds: Mask) -> Mask:
    """Which answers ``x`` ``(n, a, d)`` of those that hold, ``(n, a)``, hold in one call with all others as well.

    For a model whose answers jump with the company: all best answers and misses, then all alternatives, in order and
    in reverse. Where one does not hold, those after it are given up too.
    """
    out = holds.copy()
    listed = holds.copy()
    listed[:, 0] = True
    for rows, slots in (np.nonzero(listed[:, :1]), np.nonzero(listed)):
        part, points = problem.take(rows), form.write(rows, x[rows, slots])
        backwards = np.arange(len(rows))[::-1]
        out[rows, slots] &= _passes_again(part, points)
        out[rows, slots] &= _passes_again(part.take(backwards), take_points(points, backwards))[::-1]
    return np.logical_and.accumulate(out | ~holds, axis=1) & holds


def _passes_again(problem: Problem, points: Points) -> Mask:
    predicted = model_predictions(problem.model, points, problem.row_numbers, problem.tally)
    return reaches_target(problem, points, predicted)


def _passes_in_any_call(problem: Problem, form: RowForm, points: Points, settings: AskingSettings) -> Mask:
    """Which points keep the target in calls of other sizes: their margin is above the model's rounding."""
    rounding = form.steadiness.rounding
    margin, sure = _margins(problem, points), settings.sure_roundings * rounding
    near = np.flatnonzero(margin < sure) if not form.steadiness.needs_other_company else np.arange(len(margin))
    if len(near):
        size = settings.block_rows if problem.tally.row_budget is None else 1  # a full block is more than may be asked
        margin[near] = _margins_in_blocks(problem.take(near), take_points(points, near), size)
    least = settings.min_roundings * rounding
    wilful = margin < -least  # it predicts otherwise than its outputs say, so they tell nothing
    holds = wilful | (margin >= least)
    for place in near[holds[near]].tolist():
        alone, point = problem.take([place]), take_points(points, slice(place, place + 1))
        seen = np.array([margin[place], _margins(alone, point)[0]])
        is_clear = wilful[place] or seen.min() >= settings.min_spreads * np.ptp(seen)
        holds[place] = bool(is_clear) and bool(_passes_again(alone, point)[0])
    return holds


def _margins_in_blocks(problem: Problem, points: Points, size: int) -> Array:
    """Margins ``(n,)`` by the user's own methods, in calls of one size, so that they do not depend on the company."""
    found = []
    for start in range(0, len(problem), size):
        places = np.minimum(np.arange(start, start + size), len(problem) - 1)
        found.append(_margins(problem.take(places), take_points(points, places))[: len(problem) - start])
    return np.concatenate(found)


def _margins(problem: Problem, points: Points) -> Array:
    own = problem.model.own
    goal = replace(problem.goal, link=own.link) if isinstance(problem.goal, ClassGoal) else problem.goal
    answered = call_model(own.outputs, points, problem.row_numbers, problem.tally)
    outputs = check_outputs(answered, points, problem.row_numbers)
    return np.array(goal.margin(outputs[:, None, :])[:, 0])
