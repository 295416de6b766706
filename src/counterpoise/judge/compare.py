"""Compare: one table of what several methods find for the same rows, under the same constraints and budgets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError
from counterpoise.explanation import Explanation
from counterpoise.judge import metrics
from counterpoise.judge.panel import Panel
from counterpoise.methods.base import Method
from counterpoise.methods.rationed import Rationed
from counterpoise.space.encoding import encode
from counterpoise.space.frames import as_table
from counterpoise.types import Array

Answers = Method | Explanation | pd.DataFrame
"""A method to run, or answers that were found elsewhere: a table with a row for each, missing where there is none."""


def compare(
    methods: Mapping[str, Answers] | Sequence[Method],
    explainer: Any,
    rows: pd.DataFrame | Array,
    *,
    reference: pd.DataFrame | Array | None = None,
    constraints: Sequence[Any] = (),
    target: Any = "opposite",
    threshold: float | None = None,
    seeds: Sequence[int] = (0,),
    seconds: float | None = None,
    model_rows: int | None = None,
    noise: float = 0.1,
    **question: Any,
) -> pd.DataFrame:
    """One line for each method, one column for each metric of `counterpoise.judge.metrics`, over the same rows.

    ``methods`` by name; values are methods, or answers from elsewhere: an Explanation or a frame. ``explainer`` is an
    Explainer, or a model with ``reference`` and ``constraints``. ``seconds`` and ``model_rows`` are the budgets for
    each row; every method is judged by the same code on its final rows. Distances and the like are means over the
    rows that the method itself solves; ``l2_to_best`` is the geometric mean of its L2 over the best of all on that row.
    ``instability`` is across ``seeds``; ``noise``, in feature scales, is that of ``robustness``. Further keywords go to
    the explainer's call.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.methods.nearest import NearestNeighbour
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> theirs = pd.DataFrame({"ports": [2, 8]})
    >>> table = compare({"nearest": NearestNeighbour(), "theirs": theirs}, model, train[2:], reference=train)
    >>> table["validity"].tolist(), table["l0"].tolist()
    ([1.0, 0.5], [1.0, 1.0])
    """
    if not isinstance(explainer, Explainer):
        explainer = Explainer(explainer, reference=reference, constraints=constraints)
    elif reference is not None or len(constraints):
        raise InputError(
            "an Explainer has its reference and constraints", "they were given beside one", "leave them out"
        )
    named = methods if isinstance(methods, Mapping) else {type(method).__name__: method for method in methods}
    if not len(named) or len(named) < len(methods) or not len(seeds):
        raise InputError(
            "there must be at least one method, each with a name of its own, and one seed",
            f"{len(methods)} methods, {len(named)} names, {len(seeds)} seeds",
            "give a dict of names and methods",
        )
    table = as_table(rows, "rows")
    panel = Panel.of(explainer, table, target, threshold, noise)
    asked = {"target": target, "threshold": threshold, **question}
    found = {name: _answered(name, entry, panel, asked, seeds, seconds, model_rows) for name, entry in named.items()}
    best = pd.concat([lines["l2"] for lines, _ in found.values()], axis=1).min(axis=1).to_numpy()
    return pd.DataFrame({name: _line(lines, spent, best) for name, (lines, spent) in found.items()}).T


def _answered(
    name: str,
    entry: Answers,
    panel: Panel,
    asked: dict[str, Any],
    seeds: Sequence[int],
    seconds: float | None,
    model_rows: int | None,
) -> tuple[pd.DataFrame, dict[str, float]]:
    """The measured answers of the first seed, and what they took; of answers from elsewhere nobody knows that."""
    n, explainer = len(panel.rows), panel.explainer
    if isinstance(entry, Explanation | pd.DataFrame):
        lines = panel.measure(_encoded(name, entry, panel))
        return lines, {"instability": np.nan, "diversity": np.nan, "seconds": np.nan, "model_rows": np.nan}
    if not hasattr(entry, "iterate"):
        raise InputError(
            "a method must have iterate, or be a frame of answers or an Explanation",
            f"{name!r} is {entry!r}",
            "give one of them",
        )
    method = entry if model_rows is None else Rationed(entry, model_rows)
    began, runs = time.perf_counter(), []
    for seed in seeds:
        budget = None if seconds is None else seconds * max(n, 1)
        runs.append(explainer(panel.rows, method=method, seed=seed, budget=budget, **asked))
    took = time.perf_counter() - began
    answers = np.stack([np.where(run.valid[:, None], run.x, np.nan) for run in runs])
    apart = metrics.instability(answers, panel.distance.unit) if len(seeds) > 1 else np.full(n, np.nan)
    spent = {
        "instability": _mean(apart),
        "diversity": _mean(metrics.diversity(_between(runs[0], panel))),
        "seconds": metrics.average_time(took, n * len(seeds)),
        "model_rows": metrics.average_time(sum(run.model_rows for run in runs), n * len(seeds)),
    }
    return panel.measure(answers[0]), spent


def _encoded(name: str, given: Explanation | pd.DataFrame, panel: Panel) -> Array:
    """Answers from elsewhere; a row that misses any cell that the row to explain has is no answer."""
    names = list(panel.explainer.schema.names)
    answers = given.frame.where(pd.Series(given.valid, given.rows.index)) if isinstance(given, Explanation) else given
    absent = [column for column in names if column not in answers.columns]
    if len(answers) != len(panel.rows) or absent:
        raise InputError(
            f"the answers of {name!r} must have one row for each row, and its columns",
            f"{len(answers)} rows for {len(panel.rows)}, without {absent}" if absent else f"{len(answers)} rows",
            "leave a row empty where there is no answer",
        )
    lost = answers[names].isna().to_numpy() & ~np.isnan(panel.x0)
    there = np.flatnonzero(~lost.any(axis=1))
    x = np.full(panel.x0.shape, np.nan)
    if len(there):
        kept = answers[names].iloc[there]
        kept = kept.astype({column: panel.rows[column].dtype for column in names}, errors="ignore")
        x[there] = encode(panel.explainer.schema, kept, "answer")
    return x


def _between(run: Explanation, panel: Panel) -> Array:
    """L1 distances ``(n, a, a)`` per feature between the alternatives of rows that have all of them."""
    full = np.flatnonzero(run.count == run.answers.shape[1])
    answers = run.answers[full]
    pairs = [panel.distance.differences(answers, answers[:, a]).mean(axis=-1) for a in range(answers.shape[1])]
    return np.stack(pairs, axis=1) if len(full) else np.empty((0, 1, 1))


def _line(lines: pd.DataFrame, spent: dict[str, float], best: Array) -> pd.Series:
    """What a method's rows amount to."""
    good = lines["valid"] & lines["feasible"]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(best > 0, lines["l2"].to_numpy() / best, 1.0)[good.to_numpy()]
    means = {name: _mean(lines[name].to_numpy(dtype=np.float64)) for name in lines.columns[2:]}
    return pd.Series(
        {
            "validity": metrics.validity((lines["valid"] & lines["feasible"]).to_numpy()),
            "reached": metrics.validity(lines["valid"].to_numpy()),
            "feasibility": metrics.validity(lines["feasible"].to_numpy()),
            **means,
            "l2_to_best": float(np.exp(_mean(np.log(ratio)))),
            **spent,
        },
        dtype=np.float64,
    )


def _mean(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
