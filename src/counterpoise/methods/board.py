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
        """New points of some rows, kept where they are among the best of the row; none is kept twice."""
        every = joined(self.points.at(rows), points)
        every = every.best(every.effort.shape[1])
        alike = (every.effort[:, 1:] == every.effort[:, :-1]) & every.valid[:, 1:]
        row, place = np.nonzero(alike)
        one, other = every.x[row, place], every.x[row, place + 1]
        # what is there already would take the place of another one that a search could go on from
        same = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
        every.effort[row[same], place[same] + 1], every.margin[row[same], place[same] + 1] = np.inf, -np.inf
        kept = every.best(self.points.effort.shape[1])
        for array, best in zip(self.points, kept, strict=True):
            array[rows] = best
        self.steps += 1

    def run(self) -> Run:
        """The run so far."""
        return Run(*self.points, self.done, self.steps)
