"""Verification: every answer is judged again, on the final row, by the user's own model and every constraint.

The searcher never certifies itself. What comes out of here is what `counterpoise.api` reports.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.api.intake import predictions
from counterpoise.asking import ask
from counterpoise.methods.base import Run
from counterpoise.models.score import ThresholdGoal
from counterpoise.problem import Problem
from counterpoise.space.encoding import encode
from counterpoise.space.features import Schema
from counterpoise.space.frames import rows_at
from counterpoise.tables import restore
from counterpoise.types import Array, Index, Mask

STRETCHES = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2)


class Verdict(NamedTuple):
    """The answers, best first, and which of them hold.

    A row without one that holds has its nearest miss in the first place. Slots without an answer are NaN.
    """

    x: Array  # (n, a, d)
    holds: Mask  # (n, a)
    predicted: NDArray[Any]  # (n,) what the user's own predict says of the first
    before: NDArray[Any]  # (n,) and of the row itself


def verify(
    problem: Problem,
    schema: Schema,
    table: pd.DataFrame | None,
    run: Run,
    alternatives: int,
    before: NDArray[Any] | None = None,
) -> Verdict:
    """The best verified answers with distinct sets of changed features, up to ``alternatives`` per row.

    ``table`` has the rows as they came; an answer is judged as it will stand there. None: it takes any as it is.
    ``before`` ``(n,)`` is what the user's own predict says of the rows; None: that is asked along with the answers.
    """
    n, _, d = run.x.shape
    judge = _Judge(problem, schema, table, before)
    none = np.zeros((n, alternatives), dtype=bool)
    unknown = np.empty(n, dtype=object)
    verdict = Verdict(np.full((n, alternatives, d), np.nan), none, unknown, unknown.copy())
    inside = problem.region.contains(run.x)
    effort = np.where(run.valid & inside, problem.energy.effort(run.x, problem.x0), np.inf)
    sets = np.packbits(problem.region.changed(run.x), axis=-1)
    count = np.zeros(n, dtype=np.intp)
    while True:
        slots = effort.argmin(axis=1)
        rows = np.flatnonzero(np.isfinite(effort[np.arange(n), slots]) & (count < alternatives))
        if not len(rows):
            break
        picks = slots[rows]
        predicted, holds = judge(rows, run.x[rows, picks])
        effort[rows, picks] = np.inf
        good, picks = rows[holds], picks[holds]
        verdict.x[good, count[good]], verdict.holds[good, count[good]] = run.x[good, picks], True
        first = count[good] == 0
        verdict.predicted[good[first]] = predicted[holds][first]
        # what changes the same features, or those and more, is no alternative
        own = sets[good, picks][:, None]
        effort[good] = np.where(((sets[good] & own) == own).all(axis=-1), np.inf, effort[good])
        count[good] += 1
    _rescue(judge, verdict, run, inside)
    verdict.before[:] = judge.before
    return verdict


def _rescue(judge: _Judge, verdict: Verdict, run: Run, inside: Mask) -> None:
    """Rows without an answer that holds: one a little farther out, or the nearest miss, which is judged as well."""
    problem = judge.problem
    lost = np.flatnonzero(run.valid.any(axis=1) & ~verdict.holds[:, 0])
    if len(lost):
        # The model's predict and its scores disagree here: go on in the same direction until predict agrees.
        longer = _stretched(problem.take(lost), run.x[lost, 0])
        width = longer.shape[1]
        predicted, holds = judge(np.repeat(lost, width), longer.reshape(-1, longer.shape[2]))
        holds, predicted = holds.reshape(-1, width), predicted.reshape(-1, width)
        picks = holds.argmax(axis=1)
        saved = np.flatnonzero(holds.any(axis=1))
        verdict.x[lost[saved], 0], verdict.holds[lost[saved], 0] = longer[saved, picks[saved]], True
        verdict.predicted[lost[saved]] = predicted[saved, picks[saved]]
    missed = np.flatnonzero(~verdict.holds[:, 0])
    if len(missed):
        picks = inside[missed].argmax(axis=1)
        nearest = np.where(inside[missed, picks, None], run.x[missed, picks], problem.region.home[missed])
        verdict.x[missed, 0] = nearest
        verdict.predicted[missed], verdict.holds[missed, 0] = judge(missed, nearest)


class _Judge:
    """Judges points by the user's own model, by every constraint, and as they will stand in the table."""

    def __init__(
        self, problem: Problem, schema: Schema, table: pd.DataFrame | None, before: NDArray[Any] | None
    ) -> None:
        self.problem, self.schema, self.table = problem, schema, table
        self.before: list[Any] | None = None if before is None else before.tolist()

    def __call__(self, rows: Index, x: Array) -> tuple[NDArray[Any], Mask]:
        """What the model predicts for ``x`` ``(p, d)``, answers to ``rows`` ``(p,)``, and which of them hold."""
        part = self.problem.take(rows)
        predicted = self._predicted(x, part.numbers)
        holds = reached(part, x, predicted) & part.region.contains(x[:, None, :])[:, 0]
        if self.table is not None:
            written = encode(self.schema, restore(self.schema, rows_at(self.table, rows), part.x0, x))
            holds &= ((written == x) | (np.isnan(written) & np.isnan(x))).all(axis=1)
        objects = np.empty(len(x), dtype=object)
        objects[:] = predicted.tolist()
        return objects, holds

    def _predicted(self, x: Array, owners: Index) -> NDArray[Any]:
        """What the model predicts for points, and in the same call for the rows themselves, if that is not known."""
        problem = self.problem
        if self.before is not None:
            return predictions(problem.model, x, owners, problem.tally)
        both = np.concatenate([problem.x0, x]), np.concatenate([problem.numbers, owners])
        said = predictions(problem.model, *both, problem.tally)
        self.before = said[: len(problem)].tolist()
        return said[len(problem) :]


def reached(problem: Problem, x: Array, predicted: NDArray[Any]) -> Mask:
    """Whether the user's own prediction for each row's ``x`` ``(n, d)`` is the one asked for, ``(n,)``."""
    model, goal = problem.model, problem.goal
    if isinstance(goal, ThresholdGoal):
        said = ask(model.probabilities, x, problem.numbers, problem.tally)
    elif model.labels is None:  # where several models must agree, each has its own number
        each = getattr(model, "each", None)
        said = predicted.astype(np.float64)[:, None] if each is None else ask(each, x, problem.numbers, problem.tally)
    else:
        places = {label: place for place, label in enumerate(model.labels)}
        codes = np.array([places[label] for label in predicted.tolist()], dtype=np.intp)
        said = np.eye(len(places))[codes]
    return goal.reached(said[:, None, :])[:, 0]


def _stretched(problem: Problem, x: Array) -> Array:
    """Points ``(n, s, d)`` a little farther from the row than ``x`` ``(n, d)``, settled in the region."""
    start = np.where(np.isnan(problem.x0), x, problem.x0)
    factors = 1.0 + np.array(STRETCHES)
    line = start[:, None, :] + factors[None, :, None] * (x - start)[:, None, :]
    return problem.region.project(np.where(problem.numeric, line, x[:, None, :]))
