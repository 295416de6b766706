"""Simulated annealing: the sampler's chains over the valid points of each row, while the temperature falls to 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.incumbents import Incumbents
from counterpoise.methods.points import Points
from counterpoise.methods.sampler.sample import Sampler, list_sweep, prepare_chains
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.methods.starts import make_starts
from counterpoise.physics.cooling import Cooling, LinearCooling
from counterpoise.physics.metropolis import summarise
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import is_number, is_whole_number


@dataclass(frozen=True)
class Annealing:
    """Simulated annealing (Kirkpatrick et al., 1983) with the energy ``d + lam R`` over valid points, on any model.

    The chains are those of the ensemble, and at a constant temperature they sample its law; here it falls to 0. Nothing
    of the model is used but what it says, and neither slopes nor leaves. Chains begin at reference rows of the target.
    Polished, it can be nearer than `Search` on a rugged black box of few columns, for three times the model rows or
    more; greedy chains (``start=0``) are as near there: many starts and moves of several columns help more than the
    heat does (benchmarks/results/landscape.md). Where leaves or slopes are known, take `Search`.

    >>> Annealing(steps=100)
    Annealing(chains=12, steps=100, start=0.1, cooling=None, start_bisections=6, report_every=5)
    """

    chains: int = 12
    """Chains of each row."""
    steps: int = 300
    """Proposals of each chain, and the steps over which the default schedule cools."""
    start: float = 0.1
    """First temperature, a share of the effort of the row's best start: 0 makes the chains greedy."""
    cooling: Cooling | None = None
    """How the temperature falls; None: in equal differences to 0 over ``steps``."""
    start_bisections: int = 6
    """Halvings that bring each start towards its row before the chains begin."""
    report_every: int = 5
    """Steps between two looks at the best points, which progress bars and budgets watch."""

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("steps", 1), ("start_bisections", 0), ("report_every", 1)):
            given = getattr(self, name)
            if not (is_whole_number(given) and given >= least):
                raise InputError(f"{name} must be at least {least}", f"{given!r}", "give a whole number")
        if not (is_number(self.start) and 0 <= self.start < np.inf):
            raise InputError("start must be a number of at least 0", f"{self.start!r}", "give a share such as 0.1")
        if self.cooling is not None and not callable(self.cooling):
            raise InputError(
                "cooling must be a schedule",
                f"{self.cooling!r}",
                "for instance GeometricCooling of counterpoise.physics.cooling",
            )

    @property
    def schedule(self) -> Cooling:
        """The cooling schedule of a run: the one given, or in equal differences to 0."""
        return LinearCooling(self.steps) if self.cooling is None else self.cooling

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        start = make_starts(problem, streams, self.chains, self.start_bisections)
        board = Incumbents(start, problem.region)
        yield board.make_run()
        rows = board.open_rows
        settings = SamplerSettings(ladders=self.chains, temperatures=1)
        starts = np.where(board.points.valid[..., None], board.points.x, np.nan)[rows]
        prepared = prepare_chains(problem.take(rows), streams.take(rows), starts, settings) if len(rows) else None
        if prepared is not None:
            some, chains = prepared
            rows = rows[some]
            T = self.start * np.maximum(chains.effort.min(axis=1), 1e-12)
            sampler = Sampler(chains, np.maximum(T, 1e-12), settings)
            best = _as_points(chains.x, chains.effort)
            # jumps and darts lead to where chains were while they adapted, which these never do
            moves = [move for move in list_sweep(chains.places) if move.name not in ("jump", "dart")]
            for step in range(self.steps):
                if problem.has_expired:
                    break
                u = chains.streams.uniform((self.chains, 9))
                heat = np.repeat(T[:, None], self.chains, axis=1)
                taken = chains.step(moves[step % len(moves)], sampler.tables, heat, u)
                best = best.replace_where(_as_points(chains.x, chains.effort), chains.effort < best.effort)
                T = self.schedule(step, T, summarise(taken, chains.effort))
                if step % self.report_every == self.report_every - 1:
                    board.enter(rows, best)
                    yield board.make_run()
            board.enter(rows, best)
        board.done[:] = True
        yield board.make_run()

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))


def _as_points(x: np.ndarray, effort: np.ndarray) -> Points:
    """Valid points of chains; how far beyond the boundary they are was not asked for: the margin counts as 0."""
    return Points(x.copy(), np.zeros_like(effort), effort.copy())
