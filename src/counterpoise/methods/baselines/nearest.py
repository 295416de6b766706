"""The simplest thing that works: the nearest reference row that the model gives the target, made feasible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.methods.base import Run, last_run
from counterpoise.methods.starts import start_at_reference_rows
from counterpoise.problem import Problem
from counterpoise.streams import Streams


@dataclass(frozen=True)
class NearestNeighbour:
    """The nearest reference rows of the target, with fixed features kept and the rest made feasible, Eq. (1).

    answers: how many of them come back per row; 8 by default.

    >>> NearestNeighbour(answers=3)
    NearestNeighbour(answers=3)
    """

    answers: int = 8

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        points = start_at_reference_rows(problem, self.answers)
        yield Run(*points, np.ones(len(problem), dtype=bool), 1)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))
