"""Singles: each number changed alone, at every value that could matter or at values spread over all of them."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.categories import values_like_reference
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.search import DEFAULTS, SearchSettings
from counterpoise.problem import Problem
from counterpoise.types import Array


def try_single_numbers(
    problem: Problem, cells: Cells | None, reach: Array, count: int, settings: SearchSettings = DEFAULTS
) -> Points:
    """The ``count`` best points of each row that change one number alone.

    Every cell between known split points is tried; where none are known, ``values_tried_per_number`` values, half of
    them evenly within ``reach`` ``(n,)`` and half as the reference has them.
    """
    n, d = problem.x0.shape
    tried = (
        int(cells.split_counts.sum()) + len(cells.columns)
        if cells is not None
        else settings.trials.values_tried_per_number * d
    )
    size = max(1, settings.batches.cells // (d * (tried + 1)))
    parts = []
    for rows in np.split(np.arange(n), range(size, n, size)):
        part = problem.take(rows)
        moved = _scan_values(part, reach[rows], settings=settings) if cells is None else cells.change_one_feature(part)
        parts.append(
            score_points(part, np.concatenate([part.region.nearest_feasible[:, None, :], moved], axis=1)).best(count)
        )
    return Points(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _scan_values(problem: Problem, reach: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """The rows' nearest feasible points with one number changed, ``(n, t, d)``."""
    home, columns = problem.region.nearest_feasible, np.flatnonzero(problem.numeric)
    n, f, d = len(home), len(columns), home.shape[1]
    start, far = home[:, columns, None], (reach[:, None] * problem.scales[columns])[..., None]
    usual = values_like_reference(problem, columns, settings.trials.values_tried_per_number // 2, settings=settings)
    # a missing number has no reach
    low = np.where(np.isnan(start), usual[..., :1], np.maximum(problem.region.lower[:, columns, None], start - far))
    high = np.where(np.isnan(start), usual[..., -1:], np.minimum(problem.region.upper[:, columns, None], start + far))
    low = np.where(np.isfinite(low), low, np.minimum(usual[..., :1], start))
    high = np.where(np.isfinite(high), high, np.maximum(usual[..., -1:], start))
    even = low + np.linspace(0, 1, settings.trials.values_tried_per_number // 2) * (high - low)
    value = np.concatenate([even, np.minimum(np.maximum(usual, low), high)], axis=2)  # (n, f, SCANNED)
    points = np.repeat(home, f * settings.trials.values_tried_per_number, axis=0).reshape(
        n, f, settings.trials.values_tried_per_number, d
    )
    points[:, np.arange(f), :, columns] = value.swapaxes(0, 1)
    return points.reshape(n, f * settings.trials.values_tried_per_number, d)
