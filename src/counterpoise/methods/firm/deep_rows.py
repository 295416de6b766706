"""Real rows deep inside the target: for each effort, the reference row whose score is farthest past the decision."""

from __future__ import annotations

import numpy as np

from counterpoise.problem import Problem
from counterpoise.types import Array, split_rows


def find_deep_rows(problem: Problem, count: int, looked_at: int, cells_together: int = 2_000_000) -> Array:
    """Reference rows ``(n, count, d)`` of the target, each deeper inside it than every nearer one.

    Fixed cells have the row's own value. Of more than ``count`` the ones are taken that are spread evenly from the
    nearest to the deepest; rows with fewer are filled up with the row itself. The model is not asked.
    """
    out = np.repeat(problem.x0[:, None, :], count, axis=1)
    for group in problem.goal.group_rows() if len(problem.reference_rows.x) else ():
        x, margin = problem.reference_rows.sample_target_rows(problem.goal.take(group[:1]), looked_at)
        if not len(x):
            continue
        for some in split_rows(len(group), cells_together, x.size):
            rows = group[some]
            part = problem.take(rows)
            mixed = np.where(part.region.free[:, None, :] & ~np.isnan(x), x, part.x0[:, None, :])
            effort = part.energy.effort(mixed, part.x0)
            order = np.argsort(effort, axis=1, kind="stable")
            depth = margin[order]
            deepest = np.maximum.accumulate(depth, axis=1)
            is_front = np.concatenate([np.ones((len(rows), 1), dtype=bool), depth[:, 1:] > deepest[:, :-1]], axis=1)
            for place, row in enumerate(rows.tolist()):
                front = order[place, np.flatnonzero(is_front[place])]
                taken = front[np.unique(np.linspace(0, len(front) - 1, count).astype(np.intp))]
                out[row, : len(taken)] = mixed[place, taken]
    return out
