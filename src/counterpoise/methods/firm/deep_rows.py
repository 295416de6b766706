"""Points deep inside the target: for each effort, the one whose score is farthest past the decision.

They are real rows, and changes of a single feature to what others there have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from counterpoise.methods.points import score_points
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, split_rows


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
            for place, row, taken in _pick_deepest(effort, np.broadcast_to(margin, effort.shape), rows, count):
                out[row, : len(taken)] = mixed[place, taken]
    return out


def find_single_changes(problem: Problem, x: Array, count: int, values: int, cells_together: int = 2_000_000) -> Array:
    """Single changes of points ``x`` ``(n, q, d)`` that reach the target, near and deep ones, ``(n, q * count, d)``.

    Every feature takes so many ``values`` of the reference rows of the target, evenly spread over their ranks: what
    many of them have in common withstands noise. Places that are left over have the row itself.
    """
    plain, (q, d) = replace(problem, cloud=None), x.shape[1:]
    out = np.repeat(problem.x0[:, None, :], q * count, axis=1)
    for group in problem.goal.group_rows() if len(problem.reference_rows.x) else ():
        columns, value = _list_common_values(problem.take(group), values)
        for some in split_rows(len(group), cells_together, q * len(columns) * d):
            rows = group[some]
            part = plain.take(rows)
            tried = np.repeat(x[rows][:, :, None, :], len(columns), axis=2)
            tried[:, :, np.arange(len(columns)), columns] = value
            points = score_points(part, tried.reshape(len(rows), -1, d))
            begun, ends = part.region.bring_inside(x[rows])[0], np.arange(q + 1) * len(columns)
            for base in range(q):
                mine = slice(ends[base], ends[base + 1])
                found, depth = points.x[:, mine], points.margin[:, mine]
                here = begun[:, base, None]
                moved = ((found != here) & ~(np.isnan(found) & np.isnan(here))).any(axis=-1)  # not what it is already
                effort = np.where(moved, points.effort[:, mine], np.inf)
                for place, row, taken in _pick_nearest_and_deepest(effort, depth, rows, count):
                    out[row, base * count : base * count + len(taken)] = found[place, taken]
    return out


def _list_common_values(problem: Problem, values: int, looked_at: int = 2000) -> tuple[Index, Array]:
    """Columns ``(t,)`` and values ``(t,)`` of theirs that the reference rows of a target have."""
    x = np.sort(
        problem.reference_rows.sample_target_rows(problem.goal.take([0]), looked_at)[0], axis=0
    )  # missing cells last
    columns, found = [np.empty(0, dtype=np.intp)], [np.empty(0)]
    for column in np.flatnonzero(problem.region.free.any(axis=0)).tolist():
        known = x[: np.count_nonzero(~np.isnan(x[:, column])), column]
        if len(known):
            some = np.unique(known[np.linspace(0, len(known) - 1, values).astype(np.intp)])
            columns.append(np.full(len(some), column))
            found.append(some)
    return np.concatenate(columns), np.concatenate(found)


def _pick_nearest_and_deepest(effort: Array, depth: Array, rows: Index, count: int) -> Iterator[tuple[int, int, Index]]:
    """For each row its place, its number, and the nearest of its points ``(n, k)`` before the deepest, half of each."""
    nearest = np.argsort(effort, axis=1, kind="stable")[:, : count // 2]
    for place, row in enumerate(rows.tolist()):
        near = nearest[place, np.isfinite(effort[place, nearest[place]])]
        deep = [taken for *_, taken in _pick_deepest(effort[[place]], depth[[place]], rows[[place]], count // 2)]
        yield place, row, np.concatenate([near, *deep])


def _pick_deepest(effort: Array, depth: Array, rows: Index, count: int) -> Iterator[tuple[int, int, Index]]:
    """For each row its place, its number and some of its points ``(n, k)``, each deeper than every nearer one.

    They are spread evenly from the nearest to the deepest; what has no effort is none.
    """
    order = np.argsort(effort, axis=1, kind="stable")
    depth = np.take_along_axis(np.where(np.isfinite(effort), depth, -np.inf), order, axis=1)
    before = np.maximum.accumulate(depth, axis=1)
    is_front = np.concatenate([np.isfinite(depth[:, :1]), depth[:, 1:] > before[:, :-1]], axis=1)
    for place, row in enumerate(rows.tolist()):
        front = order[place, np.flatnonzero(is_front[place])]
        if len(front):
            yield place, row, front[np.unique(np.linspace(0, len(front) - 1, count).astype(np.intp))]
