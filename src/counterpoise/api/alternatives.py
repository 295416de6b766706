"""Alternatives: rows with too few answers are searched again, with a main feature of each answer held fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.api.asking.row_form import RowForm
from counterpoise.api.verify import VerifiedAnswers, verify
from counterpoise.methods.base import Method, Run, last_run
from counterpoise.methods.proven import Proven
from counterpoise.problem import Problem
from counterpoise.types import Array, Mask


def fill_alternatives(
    problem: Problem,
    form: RowForm,
    run: Run,
    verdict: VerifiedAnswers,
    method: Method,
    seed: int,
) -> VerifiedAnswers:
    """The verified answers, with further ones in rows that have fewer than were asked for.

    An alternative must leave out at least one feature that each better answer changes. So the search runs again with
    the most changed feature of every answer held fixed, until it finds no further one. ``run`` and ``form`` are those
    that ``verdict`` was made from.
    """
    alternatives, method = verdict.holds.shape[1], method.method if isinstance(method, Proven) else method
    found = verdict._replace(x=verdict.x.copy(), holds=verdict.holds.copy(), predicted=verdict.predicted.copy())
    short = np.flatnonzero(_rows_lacking_answers(found.holds))
    run = run.at(short)
    for _ in range(alternatives - 1):
        if not len(short) or problem.has_expired:
            break
        part, before = problem.take(short), found.holds[short].sum(axis=1)
        held = _most_changed_features(part, found.x[short], found.holds[short])
        region = replace(part.region, free=part.region.free & ~held, fixed=part.region.fixed | held)
        again = last_run(method.iterate(replace(part, region=region), part.make_streams(seed)))
        x, margin, effort = (np.concatenate(pair, axis=1) for pair in zip(run[:3], again[:3], strict=True))
        run = Run(x, margin, effort, again.done, run.steps + again.steps)
        more = verify(part, form.take(short), run, alternatives, found.before[short])
        found.x[short], found.holds[short], found.predicted[short], _, found.share[short] = more
        left = np.flatnonzero(_rows_lacking_answers(more.holds) & (more.holds.sum(axis=1) > before))
        short, run = short[left], run.at(left)
    return found


def _rows_lacking_answers(holds: Mask) -> Mask:
    """Rows that have an answer, but not all of those asked for, ``(n,)``."""
    return np.asarray(holds[:, 0] & ~holds.all(axis=1))


def _most_changed_features(problem: Problem, x: Array, holds: Mask) -> Mask:
    """The features ``(n, d)`` that change most in each of the answers ``x`` ``(n, a, d)`` that hold.

    Features that are computed from others, or that change in every allowed row, are left out: they cannot be held.
    """
    region = problem.region
    choice = region.free & ~region.is_changed(region.nearest_feasible[:, None, :])[:, 0]
    far = problem.energy.distance.differences(np.where(np.isnan(x), problem.x0[:, None, :], x), problem.x0)
    far = np.where(choice[:, None, :], far, 0.0)
    out = np.zeros(problem.x0.shape, dtype=bool)
    rows, slots = np.nonzero(holds & (far.max(axis=2) > 0))
    out[rows, far[rows, slots].argmax(axis=1)] = True
    return out
