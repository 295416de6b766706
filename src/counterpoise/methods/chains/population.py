"""The chains of all rows: Metropolis over valid states, rows x chains in one model call per step.

Each chain walks inside the set of valid, feasible points; its energy there is ``d + lam R``. Rows never look at each
other: each has its own stream, temperature, step sizes and mixture of moves.
"""

from __future__ import annotations

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.methods.chains.ground import MoveContext
from counterpoise.methods.chains.moves import mixture
from counterpoise.methods.points import Points, score_points
from counterpoise.physics.cooling import Cooling
from counterpoise.physics.metropolis import accept, summarise
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask

SNAP_EVERY = 8
MIN_GAIN_SHARE = 1e-3  # a gain of less than this share of the effort does not count as one,
LEAST = 5e-4  # and neither does one of less than this, in units of distance


def has_improved(before: Array, after: Array, worth: float = MIN_GAIN_SHARE) -> Mask:
    """Whether efforts ``(n,)`` have fallen by enough to go on for: by a share ``worth`` of what they are now."""
    return np.asarray(before > after + np.maximum(worth * after, LEAST))  # neither has to be finite


class Population:
    """Chains of n rows: where they are, the best each has seen, and how its moves have fared."""

    def __init__(self, problem: Problem, streams: Streams, points: Points, cells: Cells | None, warm: float) -> None:
        """``warm`` is the first temperature, as a share of each row's incumbent effort."""
        self.problem, self.streams, self.cells = problem, streams, cells
        self.ground = MoveContext.of(problem)
        self.moves = mixture(self.ground)
        self.home = None if cells is None else cells.locate_values(problem.x0[:, cells.columns])
        self.now = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
        self.best = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
        self.size = np.full(points.effort.shape, 0.3)
        self.weight = np.ones((len(problem), len(self.moves)))
        self.steps_without_gain = np.zeros(len(problem), dtype=np.intp)
        self.T = np.where(np.isfinite(points.lowest_effort), warm * points.lowest_effort, warm)

    def take(self, rows: Index) -> Population:
        """The chains of some of the rows, as a population of its own."""
        other = object.__new__(Population)
        other.problem, other.streams = self.problem.take(rows), self.streams.take(rows)
        other.cells, other.moves, other.ground = self.cells, self.moves, self.ground.take(rows)
        other.home = None if self.home is None else self.home[rows]
        other.now, other.best = self.now.at(rows), self.best.at(rows)
        other.size, other.weight, other.steps_without_gain = (
            self.size[rows],
            self.weight[rows],
            self.steps_without_gain[rows],
        )
        other.T = self.T[rows]
        return other

    def step(self, number: int, cooling: Cooling) -> None:
        """One proposal per chain, at its row's temperature; then the schedule gives each row its next one."""
        problem, x = self.problem, self.now.x
        chosen = self._choose()
        proposal = x.copy()
        for move in np.unique(chosen):
            rows = np.flatnonzero(chosen == move)
            if len(rows) == len(x):
                proposal = self.moves[move](self.ground, self.streams, x, self.size)
            else:
                ground, streams = self.ground.take(rows), self.streams.take(rows)
                proposal[rows] = self.moves[move](ground, streams, x[rows], self.size[rows])
        trial = score_points(problem, proposal)
        with np.errstate(invalid="ignore"):
            rise = trial.effort - self.now.effort
        taken = accept(rise, self.T, self.streams.uniform((x.shape[1],))) & trial.valid
        self._learn(chosen, taken, trial)
        self.adopt(trial, taken)
        self.T = cooling(number, self.T, summarise(taken, self.now.effort))
        if self.cells is not None and number % SNAP_EVERY == SNAP_EVERY - 1:
            self.snap()

    def snap(self) -> None:
        """Inside a cell the decision is the same: every chain moves to the point of its cells nearest to the row."""
        if self.cells is None or self.home is None:
            return
        # asked again: a repair may leave the cell, and split points may be closer than the values a column can hold
        trial = score_points(self.problem, self.cells.snap(self.problem, self.home, self.now.x))
        self.adopt(trial, trial.effort < self.now.effort)

    def adopt(self, trial: Points, taken: Mask) -> None:
        """Move the chains that are ``taken`` ``(n, k)``, and remember what is better than anything they had."""
        before = self.best.lowest_effort
        better = taken & (trial.effort < self.best.effort)
        for mine, new in zip(self.now, trial, strict=True):
            mine[taken] = new[taken]
        for mine, new in zip(self.best, trial, strict=True):
            mine[better] = new[better]
        self.steps_without_gain = np.where(has_improved(before, self.best.lowest_effort), 0, self.steps_without_gain)

    def _choose(self) -> Index:
        share = np.cumsum(self.weight / self.weight.sum(axis=1, keepdims=True), axis=1)
        beyond = (self.streams.uniform((1,)) > share).sum(axis=1)
        return np.asarray(np.minimum(beyond, len(self.moves) - 1), dtype=np.intp)

    def _learn(self, chosen: Index, taken: Mask, trial: Points) -> None:
        """Moves that gain are drawn more often, and none dies out; step sizes follow what gets accepted."""
        with np.errstate(invalid="ignore"):  # from one infinite effort to another
            fallen = self.now.effort - trial.effort
        gain = np.where(taken & np.isfinite(fallen), fallen, 0.0)
        share = np.maximum(gain, 0.0).sum(axis=1) / np.maximum(self.best.lowest_effort, 1e-300)
        rows = np.arange(len(chosen))
        self.weight[rows, chosen] = np.clip(0.8 * self.weight[rows, chosen] + 20 * share, 0.2, 4.0)
        self.size = np.clip(self.size * np.where(taken, 1.15, 0.95), 1e-3, 0.9)
        self.steps_without_gain = self.steps_without_gain + 1
