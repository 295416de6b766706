"""Counterpoise on a task: each distance asked for in turn, row by row and in batches, through the public face alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from peers.runner import Counted, Made, Method, serve
from task import Task

import counterpoise as cp

SMOOTH = ("logistic", "mlp", "wide")  # asked as black boxes too
LINEAR = ("logistic", "wide")  # asked without bounds too: the optimum is known in closed form


def ours(distance: str, bounds: str | None = "observed", blind: bool = False, seed: int = 0) -> Made:
    """``blind`` gives a callable in place of the model, so that nothing but its probabilities can be seen."""

    def make(task: Task, counted: Counted) -> Method:
        model = (lambda rows: task.model.predict_proba(rows)) if blind else task.model
        explainer = cp.Explainer(model, reference=task.table(task.train), schema=schema_of(task), bounds=bounds)

        def many(rows: np.ndarray) -> np.ndarray:
            explanation = explainer(task.table(rows), distance=distance, seed=seed)
            counted.rows += explanation.model_rows
            # arrays in, arrays out, as with every peer; a table with categories comes back as a table
            answers = task.codes(explanation.frame) if task.categories else explanation.x
            return np.where(explanation.valid[:, None], answers, np.nan)

        def one(row: np.ndarray) -> np.ndarray | None:
            answer = many(row[None])[0]
            return None if np.isnan(answer).any() else answer

        return Method(one, many)

    return make


def schema_of(task: Task) -> cp.Schema:
    """What the training rows show, but numeric columns take any number: no peer rounds, so the question is the same."""
    schema = cp.Schema.infer(task.table(task.train))
    if task.categories:
        return schema
    return replace(schema, features=tuple(replace(feature, decimals=None) for feature in schema))


def settings_of(name: str) -> Mapping[str, Made]:
    """The settings that a task is asked with, by name."""
    found = {f"ours-{distance}": ours(distance) for distance in ("l2", "l1", "l0")}
    ways: list[tuple[str, Any]] = []
    if name in SMOOTH:
        ways.append(("blind", partial(ours, blind=True)))
    if name in LINEAR:
        ways.append(("free", partial(ours, bounds=None)))
        ways.append(("blind-free", partial(ours, bounds=None, blind=True)))
    for way, made in ways:
        found |= {
            f"ours-{way}-{distance}": made(distance) for distance in ("l2", "l1", "l0")[: 2 if "free" in way else 3]
        }
    return found


EVERY = {setting: made for name in (*SMOOTH, "any") for setting, made in settings_of(name).items()}

if __name__ == "__main__":
    serve(EVERY, f"counterpoise {version('counterpoise')}")
