"""Review: counterfactuals from anywhere, judged by the model, the constraints and the distances of this project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.api.targets import current_decisions, resolve_target
from counterpoise.errors import InputError
from counterpoise.explanation.tables import differs
from counterpoise.models.goals import Goal
from counterpoise.models.probability import ProbabilityModel
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Mask, Model


@dataclass(frozen=True, eq=False)
class Review:
    """What became of each row: ``table`` has a line each, with the index of the rows.

    before, after: what the model says; valid: the target is reached; feasible: every constraint holds; broken: those
    that do not; changed: how many features differ; l2, l1: distances in feature scales.
    """

    table: pd.DataFrame

    @property
    def is_valid_and_feasible(self) -> Mask:
        """Which rows reach the target inside the constraints, ``(n,)``."""
        return np.asarray((self.table["valid"] & self.table["feasible"]).to_numpy(dtype=bool))


def review(
    model: Any,
    rows: pd.DataFrame,
    answers: pd.DataFrame,
    *,
    reference: pd.DataFrame,
    schema: Schema | None = None,
    constraints: Sequence[Constraint] = (),
    target: Any = "opposite",
    threshold: float | None = None,
    new_categories: bool = False,
) -> Review:
    """Judge ``answers``, one for each of ``rows`` in the same order, whoever found them.

    ``new_categories`` lets rows have categories that the reference does not have, as for an `Explainer`.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> found = review(model, train[2:], pd.DataFrame({"ports": [2, 8]}), reference=train)
    >>> found.table["valid"].tolist(), found.table["changed"].tolist()
    ([True, False], [1, 1])
    """
    if len(rows) != len(answers):
        raise InputError(
            "there must be one answer for each row, in the same order",
            f"{len(answers)} answers to {len(rows)} rows",
            "give as many answers as rows",
        )
    asked = Explainer(
        model,
        reference=reference,
        schema=schema,
        constraints=constraints,
        bounds=None,
        new_categories=new_categories,
    )
    explainer, intake = asked.prepare_rows(rows)
    features, x0 = explainer.schema, intake.x0
    absent = [column for column in features.names if column not in answers.columns]
    if absent:
        raise InputError(
            "the answers must have every column of the reference",
            f"they have no {', '.join(map(repr, absent))}",
            "add or rename the columns",
        )
    x = encode(features, answers, "answer")
    seen = explainer.model if threshold is None else ProbabilityModel(explainer.model)
    before = np.asarray(seen.predict(x0))
    goals = resolve_target(seen, target, threshold, current_decisions(seen, x0, before))
    region = Region.build(features, x0, explainer.constraints, None)
    table = pd.DataFrame(
        {
            "before": pd.Series(before.tolist(), index=rows.index, dtype=object),
            "after": pd.Series(np.asarray(seen.predict(x)).tolist(), index=rows.index, dtype=object),
            "valid": _reaches_target(seen, goals.goal, x, sure=threshold is not None),
            "feasible": region.contains(x[:, None, :])[:, 0],
            "broken": ["; ".join(words) for words in region.violations(x)],
            "changed": differs(x0, x[:, None, :]).sum(axis=(1, 2)),
            "l2": Distance.of(features, "l2")(x[:, None, :], x0)[:, 0],
            "l1": Distance.of(features, "l1")(x[:, None, :], x0)[:, 0],
        },
        index=rows.index,
    )
    return Review(table)


def _reaches_target(model: Model, goal: Goal, x: Array, *, sure: bool) -> Mask:
    """Whether the model's own word reaches the goal: its probabilities where one was asked for, else its predict."""
    if sure:
        return goal.is_reached(model.outputs(x)[:, None, :])[:, 0]
    said = np.asarray(model.predict(x))
    if model.labels is None:
        each = model.predict_each  # where several models must agree, each has its own number
        return goal.is_reached((said.astype(np.float64)[:, None] if each is None else each(x))[:, None, :])[:, 0]
    places = {label: place for place, label in enumerate(model.labels)}
    codes = np.array([places[label] for label in said.tolist()], dtype=np.intp)
    return goal.is_reached(np.eye(len(places))[codes][:, None, :])[:, 0]
