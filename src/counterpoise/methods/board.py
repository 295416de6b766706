"""Board: the best points of every row so far, which all parts of a search write to and read from."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.base import Run
from counterpoise.methods.starts import Points, joined
from counterpoise.types import Index


class Board:
    """The best points of every row so far, up to as many as there are chains."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.done = points.lowest == 0
        self.steps = 0

    @property
    def open(self) -> Index:
        """Rows that could have a nearer valid point than they have, if they have one."""
        return np.flatnonzero(~self.done)

    def enter(self, rows: Index, points: Points) -> None:
        """New points of some rows, kept where they are among the best of the row."""
        here = self.points.at(rows)
        # a point that is there already would take the place of another one that sweeps could start from
        row, theirs, mine = np.nonzero(
            (points.effort[:, :, None] == here.effort[:, None, :]) & points.valid[:, :, None]
        )
        same = (points.x[row, theirs] == here.x[row, mine]).all(axis=1)
        again = np.zeros(points.effort.shape, dtype=bool)
        again[row[same], theirs[same]] = True
        fresh = Points(points.x, np.where(again, -np.inf, points.margin), np.where(again, np.inf, points.effort))
        kept = joined(here, fresh).best(self.points.effort.shape[1])
        for array, best in zip(self.points, kept, strict=True):
            array[rows] = best
        self.steps += 1

    def run(self) -> Run:
        """The run so far."""
        return Run(*self.points, self.done, self.steps)
