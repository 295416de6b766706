"""From verified answers to an Explanation."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from counterpoise.api.rows_in import InputRows, RowPredictions
from counterpoise.api.solve import Answers
from counterpoise.api.targets import RowTargets
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import AnswerEnergies, ModelScores
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import take_rows
from counterpoise.types import Array, Index

REPORTED_PACKAGES = ("counterpoise", "numpy", "scipy", "pandas", "scikit-learn")


class ExplanationContext(NamedTuple):
    """What an explanation says besides its answers: the question, and what it was asked of."""

    schema: Schema
    input_rows: InputRows
    row_targets: RowTargets
    row_predictions: RowPredictions
    lam: float
    held: Mapping[Any, str]
    quantiles: Mapping[Any, Array]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    seed: int
    model_fingerprint: str  # a hash of what it says of reference rows; empty where there are none


def assemble_explanation(
    case: ExplanationContext, rows: Index, answers: Answers, *, evidence: Array | None, seconds: float, model_rows: int
) -> Explanation:
    """The Explanation of some rows of a case and the answers to them."""
    table = take_rows(case.input_rows.table, rows)
    if not case.input_rows.owns_table:
        table = table.copy()
    now = case.row_predictions.take(rows)
    before = np.empty(len(rows), dtype=object)
    before[:] = now.predicted.tolist()
    margin = case.row_targets.goal.take(rows).margin(now.outputs[:, None, :])[:, 0]
    distance, regularizer, decision = answers.terms.T
    return Explanation(
        schema=case.schema,
        rows=table,
        x0=case.input_rows.x0[rows],
        answers=answers.x,
        count=answers.answer_count,
        valid=answers.valid,
        status=answers.status,
        reason=answers.reason,
        target=case.row_targets.target[rows],
        model_scores=ModelScores(
            before, answers.predicted, answers.probability[:, 0], answers.probability[:, 1], margin, answers.margin
        ),
        terms=AnswerEnergies(
            distance, regularizer, decision, answers.terms.sum(axis=1), np.full(len(rows), case.lam), answers.mu
        ),
        held=case.held,
        quantiles=case.quantiles,
        evidence=evidence,
        seconds=seconds,
        model_rows=model_rows,
        seed=case.seed,
        settings=case.settings,
        versions={**package_versions(), **({"model": case.model_fingerprint} if case.model_fingerprint else {})},
        notes=case.notes,
    )


@cache
def package_versions() -> Mapping[str, str]:
    """Versions of what computed the answer."""
    found = {"python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
