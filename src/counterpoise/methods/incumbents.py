"""Board: the best points of every row so far, which all parts of a search write to and read from."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.base import Run
from counterpoise.methods.points import Points, join_points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.space.region.region import Region
from counterpoise.types import Array, Index, Mask

HASH_MULTIPLIER = np.uint64(
    0x9E3779B97F4A7C15
)  # powers of it number sets of columns, so that no two are likely to share one


def has_improved(
    before: Array, after: Array, min_share: float | None = None, settings: SearchSettings = DEFAULTS
) -> Mask:
    """Which efforts ``(n,)`` have fallen by enough to go on: by a share of what they are now, and by a distance."""
    share = settings.trials.min_gain_share if min_share is None else min_share
    return np.asarray(
        before > after + np.maximum(share * after, settings.trials.min_gain_scales)
    )  # neither has to be finite


@lru_cache(maxsize=16)
def hash_powers(count: int) -> NDArray[np.uint64]:
    """The first powers of `HASH_MULTIPLIER`, modulo 2 to the 64."""
    return np.cumprod(np.full(count, HASH_MULTIPLIER), dtype=np.uint64)


class Incumbents:
    """The best points of every row so far, up to as many as there are chains.

    ``varied``: of those that change the same features the best alone is kept, so that alternatives are at hand.
    """

    def __init__(self, points: Points, region: Region, *, keeps_one_per_feature_set: bool = False) -> None:
        self.points, self.region, self.keeps_one_per_feature_set = points, region, keeps_one_per_feature_set
        self.done = points.lowest_effort == 0
        self.locally_minimal_effort = np.full(
            len(points.x), np.nan
        )  # efforts of points that single changes do not shorten
        self.steps = 0

    @property
    def open_rows(self) -> Index:
        """Rows that could have a nearer valid point than they have, if they have one."""
        return np.flatnonzero(~self.done)

    def enter(self, rows: Index, points: Points) -> None:
        """New points of some rows, kept where they are among the best of the row; none is kept twice."""
        every = join_points(self.points.at(rows), points)
        every = every.best(every.effort.shape[1])
        # what is there already would take the place of another one that a search could go on from
        again = self._is_duplicate(rows, every) & every.valid
        every.effort[again], every.margin[again] = np.inf, -np.inf
        kept = every.best(self.points.effort.shape[1])
        for array, best in zip(self.points, kept, strict=True):
            array[rows] = best
        self.steps += 1

    def _is_duplicate(self, rows: Index, points: Points) -> Mask:
        """Which points ``(r, k)``, the best of each row first, are others once more, or change the same features."""
        found = np.zeros(points.effort.shape, dtype=bool)
        if self.keeps_one_per_feature_set:
            region = self.region if len(rows) == len(self.points.x) else self.region.take(rows)
            mark = (region.is_changed(points.x) * hash_powers(points.x.shape[2])).sum(axis=-1)
            order, line = mark.argsort(axis=1, kind="stable"), np.arange(len(mark))[:, None]
            mark = mark[line, order]
            found[line, order[:, 1:]] = mark[:, 1:] == mark[:, :-1]
            return found
        row, place = np.nonzero((points.effort[:, 1:] == points.effort[:, :-1]) & points.valid[:, 1:])
        one, other = points.x[row, place], points.x[row, place + 1]
        same = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
        found[row[same], place[same] + 1] = True
        return found

    def make_run(self) -> Run:
        """The run so far."""
        return Run(*self.points, self.done, self.steps, self.locally_minimal_effort)
