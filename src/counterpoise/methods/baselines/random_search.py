"""Random search: change a few features to random values, and keep the nearest point that has the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.points import join_points, score_points
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array


@dataclass(frozen=True)
class RandomSearch:
    """The best of ``rounds`` times ``samples`` points: a random number of features, set to random allowed values.

    Numbers are drawn evenly from the region's box, categories from their list: nothing is learnt on the way. How many
    features change is drawn evenly on a logarithmic scale, so that few are as likely as many.

    samples: points in a round.
    rounds: how many rounds.
    answers: how many of the best come back per row.

    >>> RandomSearch(samples=10)
    RandomSearch(samples=10, rounds=20, answers=8, unbounded_reach=8.0)
    """

    samples: int = 100
    rounds: int = 20
    answers: int = 8
    unbounded_reach: float = 8.0
    """How far a column without bounds is searched either way, in feature scales."""

    def __post_init__(self) -> None:
        if min(self.samples, self.rounds, self.answers) < 1:
            raise InputError("samples, rounds and answers must be at least 1", f"{self!r}", "correct them")

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        best = score_points(problem, problem.region.project(problem.region.nearest_feasible[:, None, :]))
        number = 0
        for number in range(1, self.rounds + 1):
            if problem.has_expired:
                break
            drawn = score_points(problem, problem.region.project(self._draw_points(problem, streams)))
            best = join_points(best, drawn).best(self.answers)
            yield Run(*best, np.zeros(len(problem), dtype=bool), number)
        yield Run(*best, np.ones(len(problem), dtype=bool), number)

    def _draw_points(self, problem: Problem, streams: Streams) -> Array:
        d = problem.x0.shape[1]
        home, region = problem.region.nearest_feasible, problem.region
        centre = np.where(np.isnan(home), 0.0, home)
        low = np.where(np.isfinite(region.lower), region.lower, centre - self.unbounded_reach * problem.scales)
        high = np.where(np.isfinite(region.upper), region.upper, centre + self.unbounded_reach * problem.scales)
        draws = streams.uniform((self.samples, d))
        values = low[:, None, :] + draws * (high - low)[:, None, :]
        for column, choices in region.lattice.choices:
            if not len(choices):  # a column without any value stays as it is
                continue
            values[..., column] = choices[(draws[..., column] * len(choices)).astype(np.intp)]
        free = np.maximum(region.free.sum(axis=1), 1)[:, None]
        count = np.rint(free ** streams.uniform((self.samples,)))  # (n, samples)
        order = np.where(region.free[:, None, :], streams.uniform((self.samples, d)), np.inf)
        rank = np.argsort(np.argsort(order, axis=-1), axis=-1)
        return np.where(rank < count[..., None], values, home[:, None, :])
