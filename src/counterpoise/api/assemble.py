"""From verified answers to an Explanation."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from counterpoise.api.firmness.kept import KeptShares
from counterpoise.api.inputs.rows_in import InputRows, RowPredictions
from counterpoise.api.inputs.targets import RowTargets
from counterpoise.api.problem_parts.problems import ExplainedModel
from counterpoise.api.solve import Answers
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import AnswerEnergies, AnswerMeasures, ModelScores
from counterpoise.explanation.question import Question
from counterpoise.space.schema.tables_in import take_rows
from counterpoise.types import Array, Index

REPORTED_PACKAGES = ("counterpoise", "numpy", "scipy", "pandas", "scikit-learn")


def assemble_explanation(
    question: Question,
    explained: ExplainedModel,
    quantiles: Mapping[Any, Array],
    input_rows: InputRows,
    row_targets: RowTargets,
    row_predictions: RowPredictions,
    rows: Index,
    answers: Answers,
    kept: KeptShares,
    *,
    evidence: Array | None,
    seconds: float,
    model_rows: int,
    notes: tuple[str, ...],
) -> Explanation:
    """The Explanation of the input rows at the places ``rows`` ``(p,)``, and the ``answers`` to them.

    ``quantiles`` are those of the reference, ``seconds`` and ``model_rows`` what the call took.
    """
    table = take_rows(input_rows.table, rows)
    if not input_rows.owns_table:
        table = table.copy()
    now = row_predictions.take(rows)
    before = np.empty(len(rows), dtype=object)
    before[:] = now.predicted.tolist()
    margin = row_targets.goal.take(rows).margin(now.outputs[:, None, :])[:, 0]
    distance, regularizer, decision = answers.terms.T
    lam = np.full(len(rows), question.lam)
    return Explanation(
        schema=explained.schema,
        rows=table,
        x0=input_rows.x0[rows],
        answers=answers.x,
        count=answers.answer_count,
        valid=answers.valid,
        status=answers.status,
        reason=answers.reason,
        target=row_targets.target[rows],
        model_scores=ModelScores(
            before, answers.predicted, answers.probability[:, 0], answers.probability[:, 1], margin, answers.margin
        ),
        terms=AnswerEnergies(distance, regularizer, decision, answers.terms.sum(axis=1), lam, answers.mu),
        measures=AnswerMeasures(
            answers.efforts,
            answers.bounds,
            answers.probabilities,
            kept.share,
            kept.low,
            kept.high,
            np.asarray(kept.noise),
            *(np.full(answers.efforts.shape, np.nan),) * 2,  # further models are asked at the end
        ),
        held=explained.held,
        quantiles=quantiles,
        evidence=evidence,
        bound=answers.bound,
        question=question.take(rows),
        seconds=seconds,
        model_rows=model_rows,
        versions={**package_versions(), **({"model": explained.fingerprint} if explained.fingerprint else {})},
        notes=notes,
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
