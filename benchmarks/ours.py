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
from counterpoise.methods.baselines.growing_spheres import GrowingSpheres

LINEAR = ("logistic", "wide")  # asked without bounds too: the optimum is known in closed form


BARE_SPACE: dict[str, Any] = {"values": "any", "relations": None}  # what no peer is asked for
BARE_CALL: dict[str, Any] = {"lam": 0.0, "proof": False, "kept": False}


def ours(
    distance: str, bounds: str | None = "observed", blind: bool = False, seed: int = 0, plain: bool = False
) -> Made:
    """The bare distance, as peers have it; ``plain`` is the call without arguments, which asks for more.

    ``blind`` gives a callable in place of the model, so that nothing but its probabilities can be seen.
    """

    def make(task: Task, counted: Counted) -> Method:
        model = (lambda rows: blind_probabilities(task, rows)) if blind else task.model
        space, call = ({}, {}) if plain else (BARE_SPACE, BARE_CALL)
        explainer = cp.Explainer(
            model, reference=task.table(task.train), schema=schema_of(task), bounds=bounds, **space
        )

        def many(rows: np.ndarray) -> np.ndarray:
            explanation = explainer(task.table(rows), distance=distance, seed=seed, **call)
            counted.rows += explanation.model_rows
            # arrays in, arrays out, as with every peer; a table with categories comes back as a table
            answers = task.codes(explanation.frame) if task.categories else explanation.x
            return np.where(explanation.valid[:, None], answers, np.nan)

        def one(row: np.ndarray) -> np.ndarray | None:
            answer = many(row[None])[0]
            return None if np.isnan(answer).any() else answer

        return Method(one, many)

    return make


def growing_spheres(task: Task, counted: Counted) -> Method:
    """Growing spheres (Laugel et al. 2018) as this project has it, for comparison: a peer, not ours."""
    model = lambda rows: blind_probabilities(task, rows)  # noqa: E731
    explainer = cp.Explainer(model, reference=task.table(task.train), schema=schema_of(task), **BARE_SPACE)

    def one(row: np.ndarray) -> np.ndarray | None:
        found = explainer(task.table(row[None]), method=GrowingSpheres(), **BARE_CALL)
        counted.rows += found.model_rows
        answer = task.codes(found.frame)[0] if task.categories else found.x[0]
        return answer if found.valid[0] else None

    return Method(one)


def blind_probabilities(task: Task, rows: Any) -> np.ndarray:
    """The model as a callable, of which nothing but its probabilities can be seen."""
    if hasattr(task.model, "predict_proba"):
        return np.asarray(task.model.predict_proba(rows))
    positive = 1 / (1 + np.exp(-np.asarray(task.model.decision_function(rows))))
    return np.column_stack([1 - positive, positive])


def schema_of(task: Task) -> cp.Schema:
    """What the training rows show, but real columns take any number: no peer rounds. Whole numbers stay whole."""
    schema = cp.Schema.infer(task.table(task.train))
    if task.categories:
        return schema
    whole = task.whole
    features = (replace(one, decimals=one.decimals if whole[column] else None) for column, one in enumerate(schema))
    return replace(schema, features=tuple(features))


def settings_of(name: str) -> Mapping[str, Made]:
    """The settings that a task is asked with, by name."""
    found = {f"ours-{distance}": ours(distance) for distance in ("l2", "l1", "l0")}
    found |= {"ours-plain": ours("l2", plain=True), "growing-spheres": growing_spheres}
    ways: list[tuple[str, Any]] = [("blind", partial(ours, blind=True))]  # every task as a black box too
    if name in LINEAR:
        ways.append(("free", partial(ours, bounds=None)))
        ways.append(("blind-free", partial(ours, bounds=None, blind=True)))
    for way, made in ways:
        found |= {
            f"ours-{way}-{distance}": made(distance) for distance in ("l2", "l1", "l0")[: 2 if "free" in way else 3]
        }
    return found


EVERY = {setting: made for name in (*LINEAR, "any") for setting, made in settings_of(name).items()}

if __name__ == "__main__":
    serve(EVERY, f"counterpoise {version('counterpoise')}")
