"""Verification: the user's own model and every constraint judge each answer again, as the row that is returned.

The searcher never certifies itself. What comes out of here is what `counterpoise.api` reports.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.api.asking.confirm import confirm, reaches_target
from counterpoise.api.asking.row_form import RowForm, obeys_functions
from counterpoise.api.inputs.rows_in import model_predictions
from counterpoise.api.problem_parts.mu import find_neighbours
from counterpoise.explanation.tables import keep_own_cells
from counterpoise.methods.base import Run
from counterpoise.methods.tidy import tidy_run
from counterpoise.problem import Problem
from counterpoise.space.schema.tables_in import take_points
from counterpoise.types import Array, Index, Mask, Points


class VerifiedAnswers(NamedTuple):
    """The answers, best first, and which of them hold: valid by the user's own model, and inside every constraint.

    Where none holds, the first slot has the nearest miss. Slots without an answer are NaN.
    """

    x: Array  # (n, a, d)
    holds: Mask  # (n, a)
    predicted: NDArray[Any]  # (n,) what the user's own predict says of the first
    before: NDArray[Any]  # (n,) and of the row itself
    share: Array  # (n,) of the askings about the first that agree; NaN where one asking tells all


def verify(
    problem: Problem,
    form: RowForm,
    run: Run,
    alternatives: int,
    before: NDArray[Any] | None = None,
) -> VerifiedAnswers:
    """The best verified answers with distinct sets of changed features, up to ``alternatives`` per row.

    ``form`` is that of the rows: an answer is judged as it is returned. ``before`` ``(n,)`` is what the user's own
    predict says of the rows; None: it is asked here. A run that ranks its answers is given in this order, and whole.
    """
    n, _, d = run.x.shape
    run = _compute_derived(problem, tidy_run(problem, run))
    judge = _Judge(problem, form, before)
    none = np.zeros((n, alternatives), dtype=bool)
    unknown = np.empty(n, dtype=object)
    blank = np.full((n, alternatives, d), np.nan)
    verdict = VerifiedAnswers(blank, none, unknown, unknown.copy(), judge.share)
    inside = problem.region.contains(run.x)
    order = problem.energy.effort(run.x, problem.x0) if run.rank is None else run.rank
    effort = np.where(run.valid & inside, order, np.inf)
    best = effort.argmin(axis=1)
    # the last slot is for the best answer moved a little farther out, where predict refuses it as it is
    x, effort = np.concatenate([run.x, run.x[:, :1]], axis=1), np.concatenate([effort, np.full((n, 1), np.inf)], axis=1)
    sets = np.packbits(problem.region.is_changed(x), axis=-1)
    count, refused = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=bool)
    while True:
        slots = effort.argmin(axis=1)
        rows = np.flatnonzero(np.isfinite(effort[np.arange(n), slots]) & (count < alternatives))
        if not len(rows):
            break
        picks = slots[rows]
        predicted, holds = judge(rows, x[rows, picks])
        effort[rows, picks] = np.inf
        good, picks = rows[holds], picks[holds]
        verdict.x[good, count[good]], verdict.holds[good, count[good]] = x[good, picks], True
        first = count[good] == 0
        verdict.predicted[good[first]] = predicted[holds][first]
        if run.rank is None:  # an answer that changes the same features, or a superset of them, is no alternative
            picked = sets[good, picks][:, None]
            effort[good] = np.where(((sets[good] & picked) == picked).all(axis=-1), np.inf, effort[good])
        count[good] += 1
        lost = rows[~holds & (count[rows] == 0) & ~refused[rows]]
        if len(lost):  # predict and outputs disagree: go on in the same direction until predict agrees
            part = problem.take(lost)
            x[lost, -1], effort[lost, -1] = _nearest_that_holds(
                judge, lost, _stretched_candidates(part, x[lost, slots[lost]])
            )
            sets[lost, -1] = np.packbits(part.region.is_changed(x[lost, -1:]), axis=-1)[:, 0]
            refused[lost] = True
    _rescue_missed_rows(judge, verdict, run, inside, refused, best)
    verdict.x[:] = keep_own_cells(problem.x0[:, None, :], verdict.x)
    verdict.before[:] = judge.before
    return verdict


def _compute_derived(problem: Problem, run: Run) -> Run:
    """The run with derived cells that are near enough for a rule set to what their expressions say, where they may."""
    region = problem.region
    made = region.system.compute_derived(run.x)
    other = ((made != run.x) & ~np.isnan(run.x)).any(axis=-1)
    if not other.any():
        return run
    moved = other & region.contains(made)
    return run._replace(x=np.where(moved[..., None], made, run.x))


def _rescue_missed_rows(
    judge: _Judge, verdict: VerifiedAnswers, run: Run, inside: Mask, refused: Mask, best: Index
) -> None:
    """Give each row without an answer that holds one farther out, a reference row, or else its nearest miss.

    Rows that are ``refused`` ``(n,)`` have been tried farther out before; ``best`` ``(n,)`` are the places of the best
    points that the search took for valid.
    """
    problem = judge.problem
    missed = np.flatnonzero(~verdict.holds[:, 0])
    if not len(missed):
        return
    taken = (run.valid & inside)[missed].any(axis=1)  # the search took their answers for valid
    picks = np.where(taken, best[missed], inside[missed].argmax(axis=1))
    nearest = np.where(inside[missed, picks, None], run.x[missed, picks], problem.region.nearest_feasible[missed])
    lost = np.flatnonzero(run.valid[missed].any(axis=1))  # the search took their answers for valid
    for other in (_stretched_candidates, _reference_candidates):
        places = lost[~refused[missed[lost]]] if other is _stretched_candidates else lost
        if len(places):
            rows = missed[places]
            x, effort = _nearest_that_holds(judge, rows, other(problem.take(rows), run.x[rows, 0]))
            found = places[np.isfinite(effort)]
            nearest[found], lost = x[np.isfinite(effort)], np.setdiff1d(lost, found)
    nearest = np.where(obeys_functions(problem, judge.form, missed, nearest)[:, None], nearest, problem.x0[missed])
    verdict.x[missed, 0] = nearest
    verdict.predicted[missed], verdict.holds[missed, 0] = judge(missed, nearest, is_last=True)


def _nearest_that_holds(judge: _Judge, rows: Index, x: Array) -> tuple[Array, Array]:
    """Of points ``x`` ``(p, s, d)`` for ``rows`` ``(p,)`` the nearest that holds, and its effort; infinite: none."""
    problem = judge.problem.take(rows)
    _, holds = judge(np.repeat(rows, x.shape[1]), x.reshape(-1, x.shape[2]))
    effort = np.where(holds.reshape(x.shape[:2]), problem.energy.effort(x, problem.x0), np.inf)
    picks = np.arange(len(rows)), effort.argmin(axis=1)
    return x[picks], effort[picks]


def _reference_candidates(problem: Problem, x: Array) -> Array:
    """Reference rows of the target near each row, ``(n, k, d)``, projected into the region; ``x`` in empty slots."""
    near = find_neighbours(problem)
    given = np.where(np.isnan(near.x), problem.x0[:, None, :], near.x)
    return problem.region.project(np.where(near.is_present[..., None], given, x[:, None, :]))


class _Judge:
    """Judges points by the user's own model and every constraint, in the very form in which they are returned."""

    def __init__(self, problem: Problem, form: RowForm, before: NDArray[Any] | None) -> None:
        self.problem, self.form = problem, form
        self.before: list[Any] | None = None if before is None else before.tolist()
        self.share = np.full(len(problem), np.nan)  # of the askings about the latest point of each row

    def __call__(self, rows: Index, x: Array, *, is_last: bool = False) -> tuple[NDArray[Any], Mask]:
        """What the model predicts for ``x`` ``(p, d)``, answers to ``rows`` ``(p,)``, and which of them hold.

        Where model rows are limited, answers that cannot be checked with what is left do not hold; enough is kept back
        for the one that is asked about last.
        """
        budget = self.problem.tally.row_budget
        if budget is None:
            return self._judge(rows, x)
        kept_back = 0 if is_last else budget.judgement
        some = np.flatnonzero(budget.can_verify(self.problem.row_numbers[rows], budget.judgement, kept_back))
        objects, held = np.empty(len(rows), dtype=object), np.zeros(len(rows), dtype=bool)
        if len(some) or self.before is None:  # many models refuse to be asked about no rows
            objects[some], held[some] = self._judge(rows[some], x[some])
        assert self.before is not None
        others = np.setdiff1d(np.arange(len(rows)), some)
        objects[others] = [self.before[row] for row in rows[others].tolist()]
        return objects, held

    def _judge(self, rows: Index, x: Array) -> tuple[NDArray[Any], Mask]:
        part = self.problem.take(rows)
        beyond = self.form.overflows(x)
        if beyond.any():  # the model would be shown infinite numbers: the row itself stands in
            x = np.where(beyond[:, None], part.x0, x)
        points, predicted = self._predict(rows, x, part.row_numbers)
        holds = reaches_target(part, points, predicted) & part.region.contains(x[:, None, :])[:, 0]
        holds &= self.form.says(points, x) & ~beyond & obeys_functions(part, self.form, rows, x)
        holds, self.share[rows] = confirm(part, self.form, points, holds)
        objects = np.empty(len(x), dtype=object)
        objects[:] = predicted.tolist()
        return objects, holds

    def _predict(self, rows: Index, x: Array, owners: Index) -> tuple[Points, NDArray[Any]]:
        """The points as they are shown to the model, and what it predicts for them.

        In the same call it is asked about the rows, if that is not known yet.
        """
        problem, form = self.problem, self.form
        if self.before is not None:
            points = form.write(rows, x)
            return points, model_predictions(problem.model, points, owners, problem.tally)
        n = len(problem)
        both = form.write(np.concatenate([np.arange(n), rows]), np.concatenate([problem.x0, x]))
        predicted = model_predictions(problem.model, both, np.concatenate([problem.row_numbers, owners]), problem.tally)
        self.before = predicted[:n].tolist()
        return take_points(both, slice(n, None)), predicted[n:]


def _stretched_candidates(problem: Problem, x: Array) -> Array:
    """Points ``(n, s, d)`` a little farther from the row than ``x`` ``(n, d)``, projected into the region."""
    start = np.where(np.isnan(problem.x0), x, problem.x0)
    factors = 1.0 + np.array([1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2])
    line = start[:, None, :] + factors[None, :, None] * (x - start)[:, None, :]
    return problem.region.project(np.where(problem.numeric, line, x[:, None, :]))
