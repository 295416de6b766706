"""Ways out of a local minimum under noise: the search again, with the largest change of a point held back.

What proposals nearer to a firm point cannot reach is often a point that changes other features: without one of its
changes the point is not firm, and needs several others before it is again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.methods.firm.guided import FirmPoints, Race, copy_margins, sort_proposals
from counterpoise.methods.firm.sweeps import climb
from counterpoise.methods.settings.search_settings import SearchSettings
from counterpoise.types import Array, Mask


def hold_change(race: Race, x: Array, holds: Mask) -> Race:
    """The race with the largest change of those points ``x`` ``(n, d)`` that ``holds`` ``(n,)`` names kept at the row.

    Rows that it does not name are free to change what they do.
    """
    problem = race.problem
    size = np.abs(problem.energy.distance.differences(x[:, None], problem.x0)[:, 0])
    size = np.where(problem.region.free & problem.region.is_changed(x[:, None])[:, 0], np.nan_to_num(size), 0.0)
    largest = size.argmax(axis=1)[:, None]
    held = np.zeros(x.shape, dtype=bool)
    np.put_along_axis(held, largest, (np.take_along_axis(size, largest, axis=1) > 0) & holds[:, None], axis=1)
    region = replace(problem.region, free=problem.region.free & ~held, fixed=problem.region.fixed | held)
    return replace(race, problem=replace(problem, region=region))


def start_without_change(race: Race, x: Array, starts: Array, leverage: Array, search: SearchSettings) -> FirmPoints:
    """Firm points among ``starts`` ``(n, k, d)`` and ``x`` ``(n, d)`` without the changes that the race holds.

    Where none is firm, sweeps lead on from the one that loses the fewest copies.
    """
    problem = race.problem
    found = FirmPoints.unknown(x, race.draws.shape[1])
    given = np.concatenate([starts, x[:, None]], axis=1)
    y, effort = sort_proposals(problem, np.where(problem.region.fixed[:, None], problem.x0[:, None], given))
    rows, places = np.nonzero(np.isfinite(effort))
    lean, may_lose = race.with_deciding_copies(found)
    assert lean.cloud is not None
    lost = np.full(effort.shape, lean.cloud.draws.shape[1] + 1)
    lost[rows, places] = np.count_nonzero(~copy_margins(lean, rows, y[rows, places], lean.cloud.draws[rows])[1], axis=1)
    best = race.count_nearest(y, effort, lost <= may_lose[:, None], found.order, race.settings.counted_starts)
    found.put(best.found, best.at(best.found))
    gone = np.flatnonzero(np.isinf(found.effort))
    if len(gone):
        climbed = climb(race.take(gone), y[gone, lost[gone].argmin(axis=1)], leverage[gone], search)
        found.put(gone[climbed.found], climbed.at(climbed.found))
    return found
