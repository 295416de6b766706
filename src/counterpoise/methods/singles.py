"""Singles: each number changed alone, at every value that could matter or at values spread over all of them."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.cells import Cells
from counterpoise.methods.points import Points, scored
from counterpoise.methods.switches import fillings
from counterpoise.problem import Problem
from counterpoise.types import Array

SCANNED = 32  # values of a number that is changed alone
CELLS = 500_000  # numbers in the points tried at once


def singles(problem: Problem, cells: Cells | None, reach: Array, count: int) -> Points:
    """The ``count`` best points of each row that change one number alone.

    All that split points tell apart are tried, or where these are not known `SCANNED` values, half of them evenly over
    what lies within ``reach`` ``(n,)`` and half as the reference has them.
    """
    n, d = problem.x0.shape
    tried = int(cells.count.sum()) + len(cells.columns) if cells is not None else SCANNED * d
    size = max(1, CELLS // (d * (tried + 1)))
    parts = []
    for rows in np.split(np.arange(n), range(size, n, size)):
        part = problem.take(rows)
        moved = _scanned(part, reach[rows]) if cells is None else cells.singles(part)
        parts.append(scored(part, np.concatenate([part.region.home[:, None, :], moved], axis=1)).best(count))
    return Points(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _scanned(problem: Problem, reach: Array) -> Array:
    """The rows' nearest feasible points with one number changed, ``(n, t, d)``."""
    home, columns = problem.region.home, np.flatnonzero(problem.numeric)
    n, f, d = len(home), len(columns), home.shape[1]
    start, far = home[:, columns, None], (reach[:, None] * problem.scales[columns])[..., None]
    usual = fillings(problem, columns, SCANNED // 2)
    # a missing number has no reach
    low = np.where(np.isnan(start), usual[..., :1], np.maximum(problem.region.lower[:, columns, None], start - far))
    high = np.where(np.isnan(start), usual[..., -1:], np.minimum(problem.region.upper[:, columns, None], start + far))
    low = np.where(np.isfinite(low), low, np.minimum(usual[..., :1], start))
    high = np.where(np.isfinite(high), high, np.maximum(usual[..., -1:], start))
    even = low + np.linspace(0, 1, SCANNED // 2) * (high - low)
    value = np.concatenate([even, np.minimum(np.maximum(usual, low), high)], axis=2)  # (n, f, SCANNED)
    points = np.repeat(home, f * SCANNED, axis=0).reshape(n, f, SCANNED, d)
    points[:, np.arange(f), :, columns] = value.swapaxes(0, 1)
    return points.reshape(n, f * SCANNED, d)
