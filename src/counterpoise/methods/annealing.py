"""Simulated annealing: Metropolis chains over the valid points of each row, while the temperature falls to 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.chains.population import Population
from counterpoise.methods.incumbents import Incumbents
from counterpoise.methods.starts import make_starts
from counterpoise.physics.cooling import Cooling, LinearCooling
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import is_number, is_whole_number


@dataclass(frozen=True)
class Annealing:
    """Simulated annealing (Kirkpatrick et al., 1983) with the energy ``d + lam R`` over valid points, on any model.

    It uses neither slopes nor leaves; the default method, `Search`, does and finds nearer answers with fewer model
    rows. Chains begin at reference rows of the target.

    >>> Annealing(steps=100)
    Annealing(chains=12, steps=100, start=0.1, cooling=None, first_size=0.3, start_bisections=6, report_every=5)
    """

    chains: int = 12
    """Chains of each row."""
    steps: int = 300
    """Proposals of each chain, and the steps over which the default schedule cools."""
    start: float = 0.1
    """First temperature, a share of the effort of the row's best start: 0 makes the chains greedy."""
    cooling: Cooling | None = None
    """How the temperature falls; None: in equal differences to 0 over ``steps``."""
    first_size: float = 0.3
    """First step size of the moves, in feature scales; it adapts until about one proposal in four is accepted."""
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
        if not (is_number(self.first_size) and 0 < self.first_size < 1):
            raise InputError("first_size must lie between 0 and 1", f"{self.first_size!r}", "give a share such as 0.3")
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
        if len(rows):
            chains = Population(problem.take(rows), streams.take(rows), board.points.at(rows), self.first_size)
            lowest = chains.best.lowest_effort
            T = self.start * np.where(np.isfinite(lowest), lowest, 1.0)
            for step in range(self.steps):
                if problem.has_expired:
                    break
                T = self.schedule(step, T, chains.step(T))
                if step % self.report_every == self.report_every - 1:
                    board.enter(rows, chains.best)
                    yield board.make_run()
            board.enter(rows, chains.best)
        board.done[:] = True
        yield board.make_run()

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))
