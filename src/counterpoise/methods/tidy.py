"""Answers as the columns would show them: no change below a column's step, no digits that the column never has.

A relation gives a computed column the exact number that follows from the others. Where the relation also holds, within
its tolerance, with the row's own value or with a rounded one, people should see that. A Derived column is what its
expression says to the bit, so it is computed anew from what was rounded and never rounded itself.
"""

from __future__ import annotations

import numpy as np

from counterpoise.methods.base import Run
from counterpoise.methods.points import make_points
from counterpoise.problem import Problem


def tidy_run(problem: Problem, run: Run) -> Run:
    """A run whose valid answers keep the row's values where a change is below the step, and are rounded to it.

    Only columns that equations bind are off their step, so without relations a run is returned as it is. A tidied
    answer takes the place of the first one where it is inside the region and reaches the target by the model.
    """
    system = problem.region.system
    steps = np.where(system.is_derived, 0.0, problem.region.own_steps)
    if not len(system) or not steps.any() or problem.cloud is not None:
        return run
    x0, on_grid = problem.x0[:, None, :], steps > 0
    unit = np.where(on_grid, steps, 1.0)
    changed = problem.region.is_changed(run.x) & on_grid & run.valid[..., None]
    slight = changed & (np.abs(run.x - x0) < (1 - 1e-9) * unit)
    parts = np.rint(1.0 / unit)
    rounded = np.where(changed, np.rint(run.x * parts) / parts, run.x)
    rows = np.flatnonzero((slight | (rounded != run.x)).any(axis=(1, 2)))
    if not len(rows):
        return run
    part, slots = problem.take(rows), run.x.shape[1]
    # whole answers first, then those of which only trifles are set back
    trial = np.concatenate([np.where(slight, x0, shown)[rows] for shown in (rounded, run.x)] + [rounded[rows]], axis=1)
    trial = part.region.system.compute_derived(trial)
    found = make_points(part, trial, part.score(trial), part.region.contains(trial))
    x, margin, effort = run.x.copy(), run.margin.copy(), run.effort.copy()
    open_slots = run.valid[rows]
    for first in range(0, trial.shape[1], slots):
        taken = open_slots & found.valid[:, first : first + slots]
        at = rows[np.nonzero(taken)[0]], np.nonzero(taken)[1]
        for mine, new in zip((x, margin, effort), found, strict=True):
            mine[at] = new[:, first : first + slots][taken]
        open_slots &= ~taken
    return run._replace(x=x, margin=margin, effort=effort)
