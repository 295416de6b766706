"""What the loop itself costs, all but the model: microseconds for each proposal, for every kind of model.

    python benchmarks/loop.py [--out benchmarks/results]

Breast cancer, d = 30, a batch of 50 rows. A proposal is a point whose margin is found out: by asking the model, or, on
trees whose leaves are known, by reading it off their table. The model's outputs and gradients are timed apart; all else
between the first start and the polished answer is the loop's, the reading included. The last column is of the chains'
own steps alone, 50 rows x 16 chains in one call each.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tables import markdown

import counterpoise as cp
from counterpoise.methods.base import Run
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.chains.population import Population
from counterpoise.methods.starts import start_at_reference_rows
from counterpoise.methods.trees import survey
from counterpoise.physics.cooling import ConstantSpeed
from counterpoise.problem import Problem
from counterpoise.streams import Streams

ROWS, CHAINS, STEPS = 50, 16, 60
REPEATS = 5


class Clocked:
    """A model whose outputs and gradients are timed; everything else is the model's own."""

    def __init__(self, model: Any) -> None:
        self.model, self.seconds = model, 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.model, name)
        return self._timed(found) if name in ("outputs", "gradient", "expanded", "predict", "probabilities") else found

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arrays: Any) -> Any:
            began = time.process_time()
            said = call(*arrays)
            self.seconds += time.process_time() - began
            if isinstance(said, tuple):  # outputs, and what gives their gradient
                return said[0], self._timed(said[1])
            return said

        return timed


class Kept:
    """A method that keeps what it was asked."""

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        self.problem, self.streams = problem, streams
        yield from cp.NearestNeighbour().iterate(problem, streams)


def models() -> dict[str, Any]:
    """One of each kind, by name."""
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    return {
        "logistic": plain,
        "MLP 64x64": make_pipeline(StandardScaler(), MLPClassifier((64, 64), random_state=0, max_iter=400)),
        "RBF SVC": make_pipeline(StandardScaler(), SVC()),
        "forest of 100": RandomForestClassifier(random_state=0),
        "gradient boosting": GradientBoostingClassifier(random_state=0),
        "hist gradient boosting": HistGradientBoostingClassifier(random_state=0),
        "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
        "a callable": "logistic",
    }


class Cost(NamedTuple):
    """Of the default search: what the loop takes a proposal, what the model takes a row of its own, in microseconds."""

    loop: float
    model: float
    asked: float  # model rows a row
    read: float  # proposals a row that are read off leaves


def search_cost(problem: Problem, streams: Streams) -> Cost:
    """The least of several searches."""
    best = Cost(np.inf, np.inf, 0.0, 0.0)
    for _ in range(REPEATS):
        clocked = Clocked(problem.model)
        asked = Problem(**{name: getattr(problem, name) for name in PARTS} | {"model": clocked})
        counted: list[int] = []
        with reading(counted):
            before, began = asked.tally.rows, time.process_time()
            cp.Polished(cp.Search())(asked, streams)
            took, rows = time.process_time() - began, asked.tally.rows - before
        n, read = len(problem), sum(counted)
        loop, model = (
            1e6 * spent / per for spent, per in ((took - clocked.seconds, rows + read), (clocked.seconds, rows))
        )
        best = min(best, Cost(loop, model, rows / n, read / n))
    return best


def reading(counted: list[int]) -> Any:
    """A context in which each survey's number of proposals that are read off is written down."""

    def counting(group: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        counted.append(len(group))
        return records(group, *rest)

    records = survey._is_record_gain  # called once a survey, with the changes within reach
    return patch.object(survey, "_records", counting)


def step_cost(problem: Problem, streams: Streams) -> float:
    """Of blind chains, 50 x 16 in one call a step: microseconds of the loop for each proposal."""
    best = np.inf
    for _ in range(REPEATS):
        clocked = Clocked(problem.model)
        asked = Problem(**{name: getattr(problem, name) for name in PARTS} | {"model": clocked})
        chains = Population(asked, streams, start_at_reference_rows(asked, CHAINS), Cells.of(problem), 0.03)
        cooling, clocked.seconds = ConstantSpeed(STEPS), 0.0
        before, began = asked.tally.rows, time.process_time()
        for step in range(STEPS):
            chains.step(step, cooling)
        took = time.process_time() - began - clocked.seconds
        best = min(best, 1e6 * took / (asked.tally.rows - before))
    return best


PARTS = ("x0", "model", "goal", "region", "energy", "scales", "numeric", "donors", "numbers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    out = parser.parse_args().out
    x, y = load_breast_cancer(return_X_y=True)
    kinds, body = models(), []
    for name, kind in kinds.items():
        fitted = kinds[kind] if isinstance(kind, str) else kind.fit(x, y)
        model = (lambda rows, fitted=fitted: fitted.predict_proba(rows)) if isinstance(kind, str) else fitted
        kept = Kept()
        cp.Explainer(model, reference=x)(x[:ROWS], method=kept)
        cost = search_cost(kept.problem, kept.streams)
        step = step_cost(kept.problem, kept.streams)
        counts = [f"{cost.asked:,.0f}", f"{cost.read:,.0f}" if cost.read else "–"]
        body.append([name, *counts, f"{cost.loop:.2f}", f"{cost.model:.2f}", f"{step:.2f}"])
        print(*body[-1], flush=True)
    head = [
        "model",
        "asked, a row",
        "read off, a row",
        "loop, µs a proposal",
        "model, µs asked",
        "chains' step alone, µs",
    ]
    out.mkdir(parents=True, exist_ok=True)
    lines = [
        "# What the loop costs",
        "",
        "`python benchmarks/loop.py`: breast cancer, d = 30, a batch of 50 rows. A proposal is a point whose margin is",
        "found out, by asking the model or by reading it off the leaves of trees.",
        "",
    ]
    (out / "loop.md").write_text("\n".join([*lines, *markdown(head, body), ""]))


if __name__ == "__main__":
    main()
