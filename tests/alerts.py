"""A small detector, alerts that it raised, and their explanation, for the tests of pages, figures and commands."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise import telemetry
from counterpoise.explanation.fields import ENERGY_COLUMNS, AnswerEnergies
from counterpoise.explanation.question import Question
from counterpoise.explanation.tables import QUANTILE_SHARES
from explanations import build, objects

TRICK = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"
"""What a hostile name or value would try on a page."""


@cache
def training() -> tuple[pd.DataFrame, pd.Series[str]]:
    frame, label, _ = telemetry.simulate(rows=400, seed=3)
    return frame.drop(columns="encryption"), label


@cache
def detector() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(*training())


@cache
def alerts() -> pd.DataFrame:
    frame, _ = training()
    raised = frame[detector().predict(frame) == "alert"].head(6)
    return raised.set_axis([f"A{number}" for number in range(6)]).assign(source="10.0.0.7")


@cache
def explained() -> cp.Explanation:
    return cp.explain(detector(), alerts(), reference=training()[0], target="benign", alternatives=2)


def many(rows: int = 500, **parts: Any) -> cp.Explanation:
    """An explanation of so many rows that nothing was searched for, with hostile names and values among them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "load": rng.normal(50, 10, rows).round(2),
            TRICK: rng.integers(0, 30, rows),
            "protocol": np.where(np.arange(rows) % 2, "tcp", "udp"),
            "ticket": [TRICK if number == 3 else f"T-{number}" for number in range(rows)],
        },
        index=[f"host {number}" for number in range(rows)],
    )
    schema = cp.Schema.infer(table.drop(columns="ticket"))
    first = build(schema, table, np.zeros((rows, 1, 3)))
    answers = np.repeat(first.x0[:, None, :], 2, axis=1)
    answers[:, 0, 0] += rng.normal(0, 5, rows).round(2)
    answers[::2, 0, 1] = 31
    answers[::3, 1, 2] = 1 - answers[::3, 1, 2]
    answers[:, 1, 1] += 1
    distance = np.abs(answers[:, 0, 0] - first.x0[:, 0]) / 10 + 0.01
    valid = np.arange(rows) % 50 != 7
    quantiles = np.quantile(first.x0[:, :2], QUANTILE_SHARES, axis=0)
    levels = np.column_stack([quantiles, np.full(len(quantiles), np.nan)])
    fields: dict[str, Any] = {
        "terms": AnswerEnergies(distance, *np.ones((len(ENERGY_COLUMNS) - 1, rows))),
        "valid": valid,
        "status": objects(["valid" if good else "not_found" for good in valid]),
        "reason": objects(["" if good else f"in the way: Range('load', 0, 1) {TRICK}" for good in valid]),
        "quantiles": {"attack": levels, "benign": levels + 1},
        "held": {"protocol": f"Immutable {TRICK}"},
        "question": Question(target="benign", constraints=(cp.Range("load", 123456, 654321),)),
        "versions": {"python": "3.11"},
    }
    return build(schema, table, answers, **{**fields, **parts})
