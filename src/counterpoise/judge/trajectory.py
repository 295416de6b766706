"""Trajectory: one search, watched: energy, temperature and acceptance at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError
from counterpoise.methods.algorithm1 import Algorithm1
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.base import Method, Run, last
from counterpoise.methods.chart import Chart
from counterpoise.physics.cooling import Cooling
from counterpoise.physics.metropolis import Info
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Differentiable

WINDOW = 10  # steps over which the acceptance of a single walker is averaged

Step = tuple[float, float, float]  # energy, temperature, acceptance


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A search for the answer to one row: ``table`` has a line for each step.

    energy: of `Algorithm1` the free energy F of its walker; of `Annealing` the mean effort ``d + lam R`` of the chains,
    with what those that do not reach the target still lack. temperature: at which the step was taken. acceptance: the
    share of chains that moved, or, of a single walker, of its last ten steps that did.

    ``visited`` ``(s, k, d)`` are the states, encoded as ``x0`` ``(d,)``, the row: of `Algorithm1` where its walker was
    at every step; of `Annealing` the best states so far, best first, each time that it looked: where the chains start,
    at every fifth step or every survey, and at every sweep after them.
    """

    table: pd.DataFrame
    method: str
    energy: str  # what the energy is, for an axis
    target: str
    x0: Array
    visited: Array


@dataclass(frozen=True)
class Recorded:
    """A cooling schedule that writes down what it sees."""

    cooling: Cooling
    seen: list[Step] = field(default_factory=list)

    def __call__(self, step: int, T: Array | float, info: Info) -> Array:
        self.seen.append((float(info.energy[0]), float(np.ravel(T)[0]), float(info.acceptance[0])))
        return self.cooling(step, T, info)


@dataclass(frozen=True)
class Watched:
    """A method whose steps are written down; it finds what the method alone would find."""

    method: Algorithm1 | Annealing
    seed: int
    seen: list[Step] = field(default_factory=list)
    states: list[Array] = field(default_factory=list)  # (k, d) each

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        if isinstance(self.method, Annealing):
            schedule = Recorded(self.method.schedule(problem), self.seen)
            for run in replace(self.method, cooling=schedule).iterate(problem, streams):
                self.states.append(run.x[0].copy())
                yield run
            return
        moved: list[float] = []
        chart = Chart.of(problem, problem.region.home)
        for step, (state, info, _) in enumerate(self.method.trace(problem, problem.streams(self.seed))):
            moved += [float(info.accepted[0])] if step else []  # the first is where it starts
            share = float(np.mean(moved[-WINDOW:])) if moved else np.nan
            self.seen.append((float(state.value[0]), 1 / self.method.beta, share))
            self.states.append(chart.raw(state.z)[:1])
        yield from self.method.iterate(problem, streams)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last(self.iterate(problem, streams))


def trajectory(
    explainer: Explainer, row: Any, *, method: Method | None = None, seed: int = 0, **question: Any
) -> Trajectory:
    """Search the answer to one row and watch the search; ``method`` is an `Algorithm1` or an `Annealing`.

    By default it is `Algorithm1` on a model with gradients, else `Annealing`, whose chains anneal only on models
    without a slope. Further keywords go to the explainer's call.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> seen = trajectory(Explainer(model, reference=train), train[3:])
    >>> bool(seen.table["energy"].iloc[-1] < seen.table["energy"].iloc[0])
    True
    """
    if method is None:
        method = Algorithm1() if isinstance(explainer.model, Differentiable) else Annealing()
    if not isinstance(method, (Algorithm1, Annealing)):
        raise InputError("a trajectory is of an Algorithm1 or an Annealing", f"{method!r}", "give one of them")
    watched = Watched(method, seed)
    found = explainer(row, method=watched, seed=seed, **question)
    if len(found) != 1:
        raise InputError("a trajectory is of one row", f"{len(found)} were given", "choose one: rows[:1]")
    if not watched.seen:
        raise InputError(
            "a trajectory needs a search with steps of its own temperature",
            found.reason[0] or "Annealing slides down a model with a slope, without one",
            "choose a row that does not have the target yet" if found.reason[0] else "give method=cp.Algorithm1()",
        )
    table = pd.DataFrame(watched.seen, columns=["energy", "temperature", "acceptance"]).rename_axis("step")
    energy = "free energy F" if isinstance(method, Algorithm1) else "mean effort of the chains"
    return Trajectory(
        table.reset_index(),
        type(method).__name__,
        energy,
        str(found.target[0]),
        found.x0[0],
        np.stack(watched.states),
    )
