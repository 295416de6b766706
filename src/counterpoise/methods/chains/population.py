"""Metropolis chains over the valid points of n rows, k chains a row, all proposals of a step in one model call.

The energy of a valid point is its effort ``d + lam R``; a point that is not valid has infinite energy. Rows never look
at each other: each has its own stream and temperature, each chain its own step size.
"""

from __future__ import annotations

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.methods.chains.ground import MoveContext
from counterpoise.methods.chains.moves import mixture
from counterpoise.methods.points import Points, score_points
from counterpoise.physics.metropolis import MetropolisInfo, accept, summarise
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index


class Population:
    """Where the chains of n rows are now, ``(n, k, d)``, and the lowest point that each has visited."""

    def __init__(self, problem: Problem, streams: Streams, points: Points, first_size: float) -> None:
        """Chains that begin at ``points`` ``(n, k, d)``; ``first_size`` is the first step size, in scales."""
        self.problem, self.streams, self.cells = problem, streams, Cells.of(problem)
        self.ground = MoveContext.of(problem)
        self.moves = mixture(self.ground)
        self.now = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
        self.best = Points(points.x.copy(), points.margin.copy(), points.effort.copy())
        self.size = np.full(points.effort.shape, first_size)

    def step(self, T: Array) -> MetropolisInfo:
        """One proposal for each chain, accepted by the Metropolis rule at its row's temperature ``T`` ``(n,)``."""
        trial = score_points(self.problem, self._propose())
        with np.errstate(invalid="ignore"):  # from one point that is not valid to another
            rise = trial.effort - self.now.effort
        taken = accept(rise, T, self.streams.uniform((trial.x.shape[1],))) & trial.valid
        # a chain that is not at a valid point yet follows the margin
        taken |= ~self.now.valid & (trial.valid | (trial.margin > self.now.margin))
        self.now = self.now.replace_where(trial, taken)
        lower = (self.now.effort < self.best.effort) | (~self.best.valid & (self.now.margin > self.best.margin))
        self.best = self.best.replace_where(self.now, lower)
        self.size = np.clip(self.size * np.where(taken, 1.15, 0.95), 1e-3, 0.9)  # about one proposal in four is taken
        return summarise(taken, self.now.effort)

    def _propose(self) -> Array:
        """New points ``(n, k, d)`` by one move a row; on trees, the nearest value of each cell that they are in."""
        x, chosen = self.now.x, self._draw_moves()
        proposal = x.copy()
        for move in np.unique(chosen):
            rows = np.flatnonzero(chosen == move)
            ground, streams = self.ground.take(rows), self.streams.take(rows)
            proposal[rows] = self.moves[move](ground, streams, x[rows], self.size[rows])
        if self.cells is None:
            return proposal
        home = self.cells.locate_values(self.problem.x0[:, self.cells.columns])
        return self.cells.snap(self.problem, home, proposal)

    def _draw_moves(self) -> Index:
        """The number of the move that each row makes, uniform, ``(n,)``."""
        drawn = (self.streams.uniform((1,))[:, 0] * len(self.moves)).astype(np.intp)
        return np.asarray(np.minimum(drawn, len(self.moves) - 1))
