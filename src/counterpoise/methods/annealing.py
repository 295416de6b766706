"""The default search: annealed chains that use whatever the model offers, rows x chains in one model call per step.

A model with a slope (its own, or one that differences show) is searched by annealed Taylor descent: chains walk to the
boundary, slide to its nearest point, and are kicked out of it again. Any other model is searched by annealed chains of
blind moves and by sweeps over single features; where its split points are known, chains live on the cells between them.
Every incumbent is valid by construction, and a row leaves the batch when nothing has improved for a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.methods import moves
from counterpoise.methods.base import Run, last
from counterpoise.methods.cells import Cells
from counterpoise.methods.descent import descend, walk
from counterpoise.methods.population import WORTH, Population
from counterpoise.methods.slopes import responds
from counterpoise.methods.starts import Points, bisected, donors, joined, jumps
from counterpoise.methods.sweep import sweep
from counterpoise.physics.metropolis import accept
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index

WALKED = 24  # steps of the first walk to the boundary
SLID = 6  # Taylor steps after it
AGAIN = 3  # Taylor steps after a kick
DIFFERENCES = 3000  # model rows that a search by differences may spend on slopes
NARROW = 5  # values each way that a sweep tries
SWEPT = 2  # chains of a row that are swept
CHECKED = 5  # steps between two looks at which rows are finished


@dataclass(frozen=True)
class Annealing:
    """Annealed chains over the valid states of each row.

    ``chains`` per row; ``steps`` at most, from temperature ``start`` to ``end``, both shares of the incumbent's effort;
    ``kicks`` and ``sweeps`` at most; a row is finished after ``patience`` steps without improvement.
    """

    chains: int = 8
    steps: int = 100
    patience: int = 30
    start: float = 0.03
    end: float = 1e-4
    kicks: int = 8
    sweeps: int = 4

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        board = Board(starting(problem, streams, self.chains))
        yield board.run()
        searched = board.open
        if len(searched):
            steep = responds(problem.take(searched), board.points.best(1).x[searched])
            for rows, search in ((searched[steep], self._slide), (searched[~steep], self._hop)):
                if len(rows):
                    for _ in search(board, rows, problem.take(rows), streams.take(rows)):
                        yield board.run()
        board.done[:] = True
        yield board.run()

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last(self.iterate(problem, streams))

    def _slide(self, board: Board, rows: Index, problem: Problem, streams: Streams) -> Iterator[None]:
        """Models with a slope: walk, slide, then kick and slide again while it pays."""
        n, d = problem.x0.shape
        own = problem.differentiable
        chains = self.chains - 2 if own else max(1, min(2, DIFFERENCES // (12 * d)))
        steps = WALKED if own else min(WALKED, DIFFERENCES // (2 * d * chains))
        best = board.points.at(rows).best(1)
        started = best
        if steps > 3:
            radius = np.repeat(problem.energy.distance(best.x, problem.x0), chains, axis=1)
            spread = streams.normal((chains, d)) * (radius[..., None] * 0.5 / np.sqrt(d)) * problem.scales
            spread[:, 0] = 0.0  # one chain starts at the row itself
            x, _ = problem.region.settle(np.where(problem.numeric, problem.x0[:, None, :] + spread, best.x))
            started = joined(walk(problem, x, 0.7 * radius, steps), best)
        yield
        population = descend(problem, started, SLID)
        board.enter(rows, population)
        yield
        active, stale = np.arange(n), np.zeros(n, dtype=np.intp)
        for kick in range(self.kicks if steps > 3 else 0):
            if not len(active) or problem.expired:
                break
            part = problem if len(active) == n else problem.take(active)
            before = board.points.at(rows[active]).lowest
            population = self._kick(part, streams.take(active), population, kick)
            board.enter(rows[active], population)
            gained = board.points.at(rows[active]).lowest < before * (1 - WORTH)
            stale[active] = np.where(gained, 0, stale[active] + 1)
            keep = np.flatnonzero(stale[active] < max(2, self.kicks // 3))
            active, population = active[keep], population.at(keep)
            yield

    def _kick(self, problem: Problem, streams: Streams, points: Points, number: int) -> Points:
        """Chains thrown off their minimum, slid down again, and kept by Metropolis' rule."""
        shape = points.margin.shape
        draws = streams.uniform((shape[1], 2))
        far = np.ones(shape)
        mixed = moves.cross(problem, streams, moves.reset(problem, streams, points.x, far), far)
        aside = moves.walk(problem, streams, points.x, far)
        y, _ = problem.region.settle(np.where((draws[..., 0] < 0.5)[..., None], aside, mixed))
        new = descend(problem, Points(y, np.zeros(shape), np.full(shape, np.inf)), AGAIN)
        T = self._temperature(number / max(self.kicks - 1, 1)) * points.lowest
        with np.errstate(invalid="ignore"):
            rise = new.effort - points.effort
        return points.instead(new, accept(rise, T, draws[..., 1]) & new.valid)

    def _hop(self, board: Board, rows: Index, problem: Problem, streams: Streams) -> Iterator[None]:
        """Models without one: annealed blind moves, then sweeps of the best chains."""
        cells = Cells.of(problem)
        chains = Population(problem, streams, board.points.at(rows), cells)
        chains.snap()
        active = np.arange(len(rows))
        for step in range(self.steps):
            if problem.expired or not len(active):
                break
            chains.step(step, self._temperature(step / max(self.steps - 1, 1)))
            if step % CHECKED == CHECKED - 1:
                board.enter(rows[active], chains.best)
                keep = np.flatnonzero(chains.stale < self.patience)
                if len(keep) < len(active):
                    active, chains = active[keep], chains.take(keep)
                yield
        board.enter(rows[active], chains.best)
        active = np.arange(len(rows))
        for _ in range(self.sweeps):
            if problem.expired or not len(active):
                break
            part = problem if len(active) == len(rows) else problem.take(active)
            points = board.points.at(rows[active]).best(SWEPT)
            before = points.lowest
            board.enter(rows[active], sweep(part, cells, points, reach(part, before), NARROW).best(SWEPT))
            active = active[board.points.at(rows[active]).lowest < before * (1 - WORTH)]
            yield

    def _temperature(self, done: float) -> float:
        return float(self.start ** (1 - done) * self.end**done)


class Board:
    """The best points of every row so far, up to as many as there are chains."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.done = ~((points.lowest < np.inf) & (points.lowest > 0))
        self.steps = 0

    @property
    def open(self) -> Index:
        """Rows that have a valid point and could have a nearer one."""
        return np.flatnonzero(~self.done)

    def enter(self, rows: Index, points: Points) -> None:
        """New points of some rows, kept where they are among the best of the row."""
        kept = joined(self.points.at(rows), points).best(self.points.effort.shape[1])
        for mine, new in zip(self.points, kept, strict=True):
            mine[rows] = new
        self.steps += 1

    def run(self) -> Run:
        """The run so far."""
        return Run(*self.points, self.done, self.steps)


def starting(problem: Problem, streams: Streams, chains: int) -> Points:
    """Chains of every row: donors on the boundary, or random jumps where no donor keeps the target."""
    points = donors(problem, chains)
    lost = np.flatnonzero(~points.valid.any(axis=1))
    if len(lost):
        leaps = jumps(problem.take(lost), streams.take(lost), chains)
        for mine, found in zip(points, joined(points.at(lost), leaps).best(chains), strict=True):
            mine[lost] = found
    return bisected(problem, points, rounds=6)


def reach(problem: Problem, effort: Array) -> Array:
    """How far from the row a single change can be worth trying, ``(n,)``: no farther than the incumbent's effort."""
    distance = problem.energy.distance
    least = distance.weight("l2") + distance.weight("l1")
    return effort / least if least else np.full(len(effort), 1e3)
