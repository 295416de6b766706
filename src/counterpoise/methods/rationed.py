"""Rationed: another method, stopped when it has asked the model about as many rows as it is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from counterpoise.errors import InputError
from counterpoise.methods.base import Method, Run, last
from counterpoise.problem import Problem
from counterpoise.streams import Streams


@dataclass(frozen=True, eq=False)
class _Limited(Problem):
    """A problem whose time is also over when the tally has reached ``limit``."""

    limit: float = float("inf")

    @property
    def expired(self) -> bool:
        return self.tally.rows >= self.limit or super().expired


@dataclass(frozen=True)
class Rationed:
    """Another method with ``rows`` model rows for each row that it explains, in one purse for all of them.

    A method looks at its purse where it looks at the clock, between two steps, so it may overspend by one step.
    """

    method: Method
    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise InputError("a ration must be at least one model row", f"{self.rows!r}", "give a larger one")

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        parts = {field.name: getattr(problem, field.name) for field in fields(Problem)}
        limit = problem.tally.rows + self.rows * len(problem)
        yield from self.method.iterate(_Limited(**parts, limit=limit), streams)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last(self.iterate(problem, streams))
