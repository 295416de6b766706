"""Other categories, for methods that otherwise move numbers alone."""

from __future__ import annotations

import numpy as np

from counterpoise.problem import Problem
from counterpoise.types import Array, Mask


def switchable(problem: Problem) -> list[tuple[int, Array]]:
    """The columns of categories that have a choice of values, and these; which of its cells may change, a row says."""
    return [
        (column, values)
        for column, values in problem.region.lattice.choices
        if not problem.numeric[column] and len(values) > 1
    ]


def redrawn(problem: Problem, x: Array, draws: Array, taken: Mask) -> Array:
    """Points ``x`` ``(n, k, d)`` whose ``taken`` categories have a random allowed value, by uniform ``draws``.

    A cell that may not change, or is missing, stays as it is; ``draws`` and ``taken`` are ``(n, k, d)``.
    """
    y = np.array(np.broadcast_to(x, draws.shape))
    for column, values in switchable(problem):
        cells = y[..., column]
        open_cells = taken[..., column] & problem.region.free[:, None, column] & ~np.isnan(cells)
        y[..., column] = np.where(open_cells, values[(draws[..., column] * len(values)).astype(np.intp)], cells)
    return y


def single(problem: Problem, x: Array) -> Array:
    """Points ``x`` ``(n, d)`` with one category switched, every allowed value of every column, ``(n, s, d)``."""
    n, d = x.shape
    parts = [np.empty((n, 0, d))]
    for column, values in switchable(problem):
        tried = np.repeat(x[:, None, :], len(values), axis=1)
        may = problem.region.free[:, column] & ~np.isnan(x[:, column])
        tried[..., column] = np.where(may[:, None], values, x[:, None, column])
        parts.append(tried)
    return np.concatenate(parts, axis=1)
