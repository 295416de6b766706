"""Compare: one table of what several methods find for the same rows, under the same constraints and budgets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.rows_in import check_has_rows
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import Target
from counterpoise.judge import metrics
from counterpoise.judge.bounds import EffortBounds
from counterpoise.judge.scoring import AnswerScorer
from counterpoise.methods.base import Method
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.tables_in import as_table
from counterpoise.types import Array, is_number, is_whole_number

MethodOrAnswers = Method | Explanation | pd.DataFrame
"""A method to run, or answers from elsewhere: an Explanation, or a frame with a row for each row (empty: no answer)."""

METHOD_METRICS = ("instability", "diversity", "seconds", "model_rows")
"""Metrics of a method rather than of one answer; NaN for answers from elsewhere."""


def compare(
    methods: Mapping[str, MethodOrAnswers] | Sequence[Method],
    explainer: Any,
    rows: pd.DataFrame | Array,
    *,
    reference: pd.DataFrame | Array | None = None,
    constraints: Sequence[Any] = (),
    target: Target = "opposite",
    threshold: float | None = None,
    seeds: Sequence[int] = (0,),
    seconds: float | None = None,
    model_rows: int | None = None,
    noise: float = 0.1,
    each: bool = False,
    **question: Any,
) -> pd.DataFrame:
    """One line for each method, one column for each metric of `counterpoise.judge.metrics`, over the same rows.

    methods: methods, or answers from elsewhere (an Explanation or a frame), by name; or a list of methods.
    explainer: an Explainer, or a model, which then needs ``reference`` and may have ``constraints``.
    rows: the rows to explain.
    reference, constraints: as for an `Explainer`.
    target, threshold: as for its call.
    seeds: every method runs once with each; (0,) by default.
    seconds, model_rows: budgets for each row; None: no limit.
    noise: of the metric ``robustness``, in standard deviations; 0.1 by default.
    each: True gives a line for each method, seed and row instead of means.
    question: further arguments of the explainer's call.

    The same code measures the final rows of every method. Distances and the like are means over the rows and seeds
    that the method itself solves, so a method that solves few rows may look near. ``l2_to_best`` is the geometric mean
    of its L2 over the best L2 of all methods on that row, ``instability`` the spread over the seeds. ``effort`` is what
    the question counts, ``effort_to_bound`` the mean of it over what every valid answer is proven to cost at least:
    1 for the least there is, NaN where nothing is proven.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.methods.baselines.nearest import NearestNeighbour
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
    if not len(named) or len(named) < len(methods):
        raise InputError(
            "there must be at least one method, each with a name of its own",
            f"{len(methods)} methods, {len(named)} names",
            "give a dict of names and methods",
        )
    if not isinstance(seeds, Sequence) or not len(seeds):
        raise InputError("seeds must be a list of at least one", f"{seeds!r}", "for instance (0, 1, 2)")
    _check_budgets(seconds, model_rows)
    table = as_table(rows, "rows")
    check_has_rows(len(table))
    explainer, _ = explainer.prepare_rows(table)  # one that knows the categories of these rows
    asked = {"target": target, "threshold": threshold, **question}
    panel = AnswerScorer.of(explainer, table, target, threshold, noise)
    bounds = EffortBounds.of(explainer, table, **asked)
    parts = []
    for name, entry in named.items():
        part = _measure_method(name, entry, panel, bounds, asked, seeds, seconds, model_rows)
        part.insert(0, "method", name)
        parts.append(part)
    found = pd.concat(parts, ignore_index=True)
    best = found.groupby("row")["l2"].transform("min")
    found["l2_to_best"] = (found["l2"] / best).mask((best == 0) & found["l2"].notna(), 1.0)
    return found if each else mean_by_method(found)


def _check_budgets(seconds: Any, model_rows: Any) -> None:
    if seconds is not None and not (is_number(seconds) and 0 <= seconds < np.inf):
        raise InputError("seconds must be the time for each row, or None", f"{seconds!r}", "for instance 0.1")
    if model_rows is not None and not (is_whole_number(model_rows) and model_rows >= 1):
        raise InputError(
            "model_rows must be a whole number of at least 1, or None", f"{model_rows!r}", "for instance 1000"
        )


def mean_by_method(found: pd.DataFrame) -> pd.DataFrame:
    """The means of a table with a line for each answer: one line for each method."""
    lines = {}
    for name, part in found.groupby("method", sort=False):
        good = part["valid"] & part["feasible"]
        metric = [c for c in part.columns[5:] if c not in (*METHOD_METRICS, "l2_to_best")]
        lines[name] = {
            "validity": metrics.validity(good.to_numpy()),
            "reached": metrics.validity(part["valid"].to_numpy()),
            "feasibility": metrics.validity(part["feasible"].to_numpy()),
            **part[metric].mean().to_dict(),
            "l2_to_best": float(np.exp(np.log(part["l2_to_best"]).mean())),
            **part[list(METHOD_METRICS)].mean().to_dict(),
        }
    return pd.DataFrame(lines, dtype=np.float64).T


def _measure_method(
    name: str,
    entry: MethodOrAnswers,
    panel: AnswerScorer,
    bounds: EffortBounds,
    arguments: dict[str, Any],
    seeds: Sequence[int],
    seconds: float | None,
    model_rows: int | None,
) -> pd.DataFrame:
    """The metrics of a method's answers for every seed; answers from elsewhere count for the first seed."""
    n, explainer = len(panel.rows), panel.explainer
    if isinstance(entry, Explanation | pd.DataFrame):
        return _measure_answers(
            panel, bounds, _encode_answers(name, entry, panel), seeds[0], dict.fromkeys(METHOD_METRICS, np.nan)
        )
    if not hasattr(entry, "iterate"):
        raise InputError(
            "a method must have iterate, or be a frame of answers or an Explanation",
            f"{name!r} is {entry!r}",
            "give one of them",
        )
    budget = None if seconds is None else seconds * max(n, 1)
    runs, took = [], []
    for seed in seeds:
        began = time.perf_counter()
        options = {"kept": False, **arguments}
        runs.append(explainer(panel.rows, method=entry, seed=seed, budget=budget, model_rows=model_rows, **options))
        took.append(time.perf_counter() - began)
    found = np.stack([np.where(run.valid[:, None], run.x, np.nan) for run in runs])
    apart = metrics.instability(found, panel.distance.unit)
    parts = []
    for seed, run, x, spent in zip(seeds, runs, found, took, strict=True):
        extra: dict[str, Array | float] = {
            "instability": apart,
            "diversity": _diversity(run, panel),
            "seconds": metrics.average_time(spent, n),
            "model_rows": metrics.average_time(run.model_rows, n),
        }
        parts.append(_measure_answers(panel, bounds, x, seed, extra))
    return pd.concat(parts, ignore_index=True)


def _measure_answers(
    panel: AnswerScorer, bounds: EffortBounds, x: Array, seed: int, extra: Mapping[str, Array | float]
) -> pd.DataFrame:
    """The metrics of one run, a line for each row."""
    lines = panel.measure(x).reset_index(drop=True)
    lines["effort"] = np.where(lines["l2"].notna(), bounds.efforts(x), np.nan)
    lines["effort_to_bound"] = bounds.ratios(lines["effort"].to_numpy())
    lines = lines.assign(**extra)
    lines.insert(0, "seed", seed)
    lines.insert(1, "row", np.arange(len(lines)))
    return lines


def _encode_answers(name: str, given: Explanation | pd.DataFrame, panel: AnswerScorer) -> Array:
    """Answers from elsewhere, encoded, ``(n, d)``; one that lacks a cell of its row is no answer, NaN."""
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


def _diversity(run: Explanation, panel: AnswerScorer) -> Array:
    """`metrics.diversity` of the alternatives, in L1 per feature, ``(n,)``; NaN in rows that lack any of them."""
    out = np.full(len(run.answers), np.nan)
    full = np.flatnonzero(run.count == run.answers.shape[1])
    if len(full):
        answers = run.answers[full]
        pairs = [panel.distance.differences(answers, answers[:, a]).mean(axis=-1) for a in range(answers.shape[1])]
        out[full] = metrics.diversity(np.stack(pairs, axis=1))
    return out
