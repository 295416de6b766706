"""From verified answers to an Explanation."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from counterpoise.api.answering import Answers
from counterpoise.api.intake import Intake, Opinion
from counterpoise.api.targets import Aim
from counterpoise.explanation import Explanation
from counterpoise.said import Said, Terms
from counterpoise.space.features import Schema
from counterpoise.space.frames import rows_at
from counterpoise.types import Array, Index

PACKAGES = ("counterpoise", "numpy", "scipy", "pandas", "scikit-learn")


class Case(NamedTuple):
    """What an explanation says besides its answers: the question, and what it was asked of."""

    schema: Schema
    intake: Intake
    aim: Aim
    now: Opinion
    lam: float
    held: Mapping[Any, str]
    quantiles: Mapping[Any, Array]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    seed: int
    model: str  # a hash of what it says of reference rows; empty where there are none


def assemble(
    case: Case, rows: Index, answers: Answers, *, evidence: Array | None, seconds: float, model_rows: int
) -> Explanation:
    """The Explanation of some rows of a case and the answers to them."""
    table = rows_at(case.intake.table, rows)
    if not case.intake.own:
        table = table.copy()
    now = case.now.take(rows)
    before = np.empty(len(rows), dtype=object)
    before[:] = now.predicted.tolist()
    margin = case.aim.goal.take(rows).margin(now.outputs[:, None, :])[:, 0]
    distance, regularizer, decision = answers.terms.T
    return Explanation(
        schema=case.schema,
        rows=table,
        x0=case.intake.x0[rows],
        answers=answers.x,
        count=answers.listed,
        valid=answers.valid,
        status=answers.status,
        reason=answers.reason,
        target=case.aim.target[rows],
        said=Said(
            before, answers.predicted, answers.probability[:, 0], answers.probability[:, 1], margin, answers.margin
        ),
        terms=Terms(
            distance, regularizer, decision, answers.terms.sum(axis=1), np.full(len(rows), case.lam), answers.mu
        ),
        held=case.held,
        quantiles=case.quantiles,
        evidence=evidence,
        seconds=seconds,
        model_rows=model_rows,
        seed=case.seed,
        settings=case.settings,
        versions={**versions(), **({"model": case.model} if case.model else {})},
        notes=case.notes,
    )


@cache
def versions() -> Mapping[str, str]:
    """Versions of what computed the answer."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
