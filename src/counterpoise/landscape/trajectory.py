"""Trajectory: energy, temperature and acceptance at every step of one search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.base import Method, Run, last_run
from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.physics.cooling import Cooling
from counterpoise.physics.metropolis import MetropolisInfo
from counterpoise.problem import Problem
from counterpoise.readable import Readable, Summary
from counterpoise.streams import Streams
from counterpoise.types import Array

StepRecord = tuple[float, float, float]  # energy, temperature, acceptance


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Readable):
    """A search for the answer to one row: ``table`` has a line for each step.

    energy: the free energy F of the walker of `Algorithm1`; for `Annealing` the mean effort ``d + lam R`` of the
    chains, plus the missing margin of those that do not reach the target. temperature: that of the step. acceptance:
    the share of chains that moved; for a single walker, the share of its last ten steps that were accepted.

    ``visited_states`` ``(s, k, d)`` are encoded like the row ``x0`` ``(d,)``: for `Algorithm1` the walker at every
    step; for `Annealing` the best states so far, best first, each time that it reports them.
    """

    table: pd.DataFrame
    method: str
    energy_label: str  # what the energy is, for an axis
    target: str
    x0: Array
    visited_states: Array

    def summarize(self) -> Summary:
        """The first and the last step, and what lies between in five."""
        last = len(self.table) - 1
        places = sorted({round(share * last) for share in (0, 0.25, 0.5, 0.75, 1)}) if last >= 0 else []
        names = [str(name) for name in self.table.columns]
        lines = [(str(place), *(f"{value:.4g}" for value in self.table.iloc[place])) for place in places]
        title = f"Trajectory of {self.method}: {len(self.table)} steps towards {self.target}"
        return Summary(title, ("step", *names), lines)


@dataclass(frozen=True)
class RecordingCooling:
    """A cooling schedule that records energy, temperature and acceptance of every step."""

    cooling: Cooling
    steps: list[StepRecord] = field(default_factory=list)

    def __call__(self, step: int, T: Array | float, info: MetropolisInfo) -> Array:
        self.steps.append((float(info.energy[0]), float(np.ravel(T)[0]), float(info.acceptance[0])))
        return self.cooling(step, T, info)


@dataclass(frozen=True)
class RecordingMethod:
    """A method that records its steps; its answers are those of the method alone."""

    method: Algorithm1 | Annealing
    seed: int
    steps: list[StepRecord] = field(default_factory=list)
    states: list[Array] = field(default_factory=list)  # (k, d) each
    acceptance_window: int = 10  # steps over which the acceptance of a single walker is averaged

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        if isinstance(self.method, Annealing):
            schedule = RecordingCooling(self.method.schedule, self.steps)
            for run in replace(self.method, cooling=schedule).iterate(problem, streams):
                self.states.append(run.x[0].copy())
                yield run
            return
        moved: list[float] = []
        chart = CoordinateChart.of(problem, problem.region.nearest_feasible)
        for step, (state, info, _) in enumerate(self.method.trace(problem, problem.make_streams(self.seed))):
            moved += [float(info.is_accepted[0])] if step else []  # the first state is the start
            share = float(np.mean(moved[-self.acceptance_window :])) if moved else np.nan
            self.steps.append((float(state.value[0]), 1 / self.method.beta, share))
            self.states.append(chart.to_rows(state.z)[:1])
        yield from self.method.iterate(problem, streams)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))


def trajectory(
    explainer: Explainer, row: Any, *, method: Method | None = None, seed: int = 0, **question: Any
) -> Trajectory:
    """Explain one row and record the steps of the search.

    explainer: the model with its reference and constraints.
    row: the row to explain, in any form that the explainer takes.
    method: an `Algorithm1` or an `Annealing`; by default `Algorithm1` on a model with gradients, else `Annealing`,
        whose chains anneal only on models without a gradient.
    seed: of the search; 0 by default.
    question: further arguments of the explainer's call.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> seen = trajectory(Explainer(model, reference=train), train[3:])
    >>> bool(seen.table["energy"].iloc[-1] < seen.table["energy"].iloc[0])
    True
    """
    if not isinstance(explainer, Explainer):
        raise InputError(
            "a trajectory is of an explainer and a row",
            f"{type(explainer).__name__} was given first",
            "call trajectory(Explainer(model, reference=...), rows[:1])",
        )
    if method is None:
        method = Algorithm1() if explainer.model.gradient is not None else Annealing()
    if not isinstance(method, (Algorithm1, Annealing)):
        raise InputError("a trajectory is of an Algorithm1 or an Annealing", f"{method!r}", "give one of them")
    watched = RecordingMethod(method, seed)
    found = explainer(row, method=watched, seed=seed, **{"kept": False, **question})
    if len(found) != 1:
        raise InputError("a trajectory is of one row", f"{len(found)} were given", "choose one: rows[:1]")
    if not watched.steps:
        raise InputError(
            "a trajectory needs a search that takes steps",
            found.reason[0] or "this one had none to take",
            "choose a row that does not have the target yet",
        )
    table = pd.DataFrame(watched.steps, columns=["energy", "temperature", "acceptance"]).rename_axis("step")
    energy = "free energy F" if isinstance(method, Algorithm1) else "mean effort of the chains"
    return Trajectory(
        table.reset_index(),
        type(method).__name__,
        energy,
        str(found.target[0]),
        found.x0[0],
        np.stack(watched.states),
    )
