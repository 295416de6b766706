"""Rationed: another method, stopped when it has asked the model about as many rows as it is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Method, Run, last_run
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index


class _BudgetSpent(Exception):
    """The purse is empty."""


@dataclass(frozen=True, eq=False)
class _BudgetedProblem(Problem):
    """A problem that answers no further question once the tally would pass ``limit``."""

    model_row_limit: float = float("inf")

    @property
    def has_expired(self) -> bool:
        return self.tally.rows >= self.model_row_limit or super().has_expired

    @property
    def model_rows_left(self) -> float:
        return (self.model_row_limit - self.tally.rows) / max(len(self), 1)

    def call_model(self, call: Callable[[Array], Any], flat: Array, owners: Index) -> Any:
        if self.tally.rows + len(flat) > self.model_row_limit:
            raise _BudgetSpent
        return super().call_model(call, flat, owners)


@dataclass(frozen=True)
class Budgeted:
    """Another method with ``rows`` model rows for each row that it explains, in one purse for all of them.

    The purse is never overdrawn: a question that costs more than is left ends the search, with what it had found.
    """

    method: Method
    model_rows_per_row: int

    def __post_init__(self) -> None:
        if self.model_rows_per_row < 1:
            raise InputError(
                "a ration must be at least one model row", f"{self.model_rows_per_row!r}", "give a larger one"
            )

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        parts = {field.name: getattr(problem, field.name) for field in fields(Problem)}
        limit = problem.tally.rows + self.model_rows_per_row * len(problem)
        nothing = np.full((len(problem), 1), np.inf)
        run = Run(problem.region.nearest_feasible[:, None, :], -nothing, nothing, np.zeros(len(problem), dtype=bool), 0)
        try:
            for run in self.method.iterate(_BudgetedProblem(**parts, model_row_limit=limit), streams):
                yield run
        except _BudgetSpent:
            yield run._replace(done=np.ones(len(problem), dtype=bool))

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))
