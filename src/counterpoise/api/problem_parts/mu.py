"""mu, the weight of the decision in the energy, and the reference rows of the target that are near each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask, has_no_missing, split_rows


class Neighbours(NamedTuple):
    """For each row, reference rows that have its target, nearest first; ``is_present`` is False in empty slots."""

    x: Array  # (n, k, d)
    effort: Array  # (n, k)
    margin: Array  # (n, k)
    is_present: Mask  # (n, k)


def find_neighbours(problem: Problem, count: int = 8) -> Neighbours:
    """The ``count`` nearest reference rows that the model gives each row's target, from an even sample of them."""
    n, d = problem.x0.shape
    found = Neighbours(
        np.full((n, count, d), np.nan),
        np.zeros((n, count)),
        np.zeros((n, count)),
        np.zeros((n, count), dtype=bool),
    )
    for rows, x, effort, margin in _compare_with_reference(problem):
        near = np.argsort(effort, axis=1, kind="stable")[:, :count]
        width, at = near.shape[1], (np.arange(len(rows))[:, None], near)
        found.x[rows, :width], found.effort[rows, :width] = x[at], effort[at]
        found.margin[rows, :width] = margin[near]
        found.is_present[rows, :width] = True
    return found


def _compare_with_reference(
    problem: Problem, max_reference_rows: int = 64, max_cells: int = 1_000_000
) -> Iterator[tuple[Index, Array, Array, Array]]:
    """Batches: rows ``(m,)``, reference rows of their target ``(m, s, d)``, efforts ``(m, s)``, margins ``(s,)``.

    The reference rows are spread evenly over the reference; ``max_cells`` are compared at once.
    """
    n, donors = len(problem), problem.reference_rows
    for group in problem.goal.group_rows() if len(donors.x) else ():
        given, margin = donors.sample_target_rows(problem.goal.take(group[:1]), max_reference_rows)
        for chunk in split_rows(len(group), max_cells, given.size) if len(given) else ():
            rows = group[chunk]
            part = problem if len(rows) == n else problem.take(rows)
            x = given[None].repeat(len(rows), axis=0)
            if not has_no_missing(given):
                x = np.where(np.isnan(x), part.x0[:, None, :], x)
            yield rows, x, part.energy.effort(x, part.x0), margin


def choose_mu(problem: Problem, margin: Array, neighbours: int = 8) -> Array:
    """mu of each row ``(n,)``: twice the effort that a unit of margin takes on the way to the nearest of the target.

    A minimum of E is valid only where mu times the slope of the score exceeds the slope of the effort (Eq. (3) with a
    one-sided phi); the factor 2 leaves room for slopes that vary. ``margin`` ``(n,)`` is that of the rows themselves.
    Rows that have reached the target, or have no such neighbours, get 1.
    """
    mu = np.ones(len(problem))
    for rows, _, effort, theirs in _compare_with_reference(problem):
        row_margin = margin[rows]
        near = np.argsort(effort, axis=1, kind="stable")[:, :neighbours]
        gain = theirs[near] - row_margin[:, None]
        with np.errstate(
            over="ignore", divide="ignore", invalid="ignore"
        ):  # a tiny gain gives an infinite slope, which the last line bounds
            slope = np.where(gain > 0, effort[np.arange(len(rows))[:, None], near] / gain, np.inf)
        count = np.count_nonzero(gain > 0, axis=1)
        known = np.flatnonzero((count > 0) & (row_margin <= 0))
        ordered, count = np.sort(slope, axis=1)[known], count[known]  # infinite slopes come last
        every = np.arange(len(known))
        mu[rows[known]] = ordered[every, (count - 1) // 2] + ordered[every, count // 2]  # twice the median
    return np.minimum(np.maximum(mu, 1e-6), 1e6)
