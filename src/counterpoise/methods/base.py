"""What a method is, and what a run of one gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


class Run(NamedTuple):
    """Answers so far: up to a per row, best first.

    A row without a valid answer has its nearest miss (the largest margin) in the first place. ``done`` marks rows that
    the method has finished with; ``steps`` counts model calls of the search loop. An answer whose effort is that of
    ``locally_minimal_effort`` is known to be as short as changes of one feature can make it. No valid answer inside the
    region costs less than ``bound``; where a row ``is_infeasible``, it is proven that nothing legal reaches its target.
    No valid answer costs less than ``further_bound`` unless it changes all that a better one of these changes.
    """

    x: Array  # (n, a, d)
    margin: Array  # (n, a)
    effort: Array  # (n, a), infinity where not valid
    done: Mask  # (n,)
    steps: int
    locally_minimal_effort: Array | None = None  # (n,), NaN where nothing is known
    bound: Array | None = None  # (n,) of the effort d + lam R of all valid answers, NaN where none is known
    is_infeasible: Mask | None = None  # (n,)
    rank: Array | None = None  # (n, a) the order of answers that are all to be given, infinite: none; None: by effort
    further_bound: Array | None = None  # (n,) of valid answers with other sets of features than those listed have

    @property
    def valid(self) -> Mask:
        """Which answers reach the target inside the region, ``(n, a)``."""
        return np.isfinite(self.effort)

    def at(self, rows: Index | Mask) -> Run:
        """The run of some rows."""
        best_points = self.x[rows], self.margin[rows], self.effort[rows], self.done[rows]
        known = (self.locally_minimal_effort, self.bound, self.is_infeasible, self.rank, self.further_bound)
        taken = (None if part is None else part[rows] for part in known)
        return Run(*best_points, self.steps, *taken)  # type: ignore[arg-type]


class Method(Protocol):
    """A searcher. ``iterate`` yields the run so far, step by step, so that bars and budgets can watch it."""

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]: ...

    def __call__(self, problem: Problem, streams: Streams) -> Run: ...


def last_run(runs: Iterator[Run]) -> Run:
    """The final run of an iteration."""
    run = next(runs)
    for later in runs:
        run = later
    return run
