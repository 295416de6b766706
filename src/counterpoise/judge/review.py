"""Review: answers from elsewhere, checked against the model and the constraints, with their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.asking.confirm import meets_goal
from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.rows_in import check_has_rows
from counterpoise.api.inputs.targets import current_decisions, resolve_target
from counterpoise.errors import InputError
from counterpoise.explanation.fields import gap_to_bound
from counterpoise.explanation.question import Target
from counterpoise.explanation.tables import differs
from counterpoise.judge.bounds import EffortBounds
from counterpoise.model_calls import Tally
from counterpoise.models.probability import ProbabilityModel
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Mask


@dataclass(frozen=True, eq=False)
class Review:
    """The result of a review: ``table`` has a line for each row, with the index of the rows.

    before, after: what the model says; valid: the target is reached; feasible: every constraint holds; broken: those
    that do not; changed: how many features differ; l2, l1: distances in standard deviations; effort: what the default
    question counts; bound: no valid answer inside the constraints costs less, NaN where nothing is proven; gap:
    effort / bound - 1 of the answers that are valid and feasible, 0 for the least there is.
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
    target: Target = "opposite",
    threshold: float | None = None,
    new_categories: bool = False,
) -> Review:
    """Judge ``answers``, one for each of ``rows`` in the same order, whoever found them.

    model: the fitted model.
    rows, answers: frames of the same length; row i of ``answers`` is the answer to row i of ``rows``.
    reference, schema, constraints, new_categories: as for an `Explainer`; bounds are not checked.
    target, threshold: as for its call.

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
    check_has_rows(len(intake))
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
    before, after = np.asarray(seen.predict(x0)), np.asarray(seen.predict(x))
    goals = resolve_target(seen, target, threshold, current_decisions(seen, x0, before))
    region = Region.build(features, x0, explainer.constraints, None)
    table = pd.DataFrame(
        {
            "before": pd.Series(before.tolist(), index=rows.index, dtype=object),
            "after": pd.Series(after.tolist(), index=rows.index, dtype=object),
            "valid": meets_goal(seen, goals.goal, x, after, np.arange(len(x)), Tally()),
            "feasible": region.contains(x[:, None, :])[:, 0],
            "broken": ["; ".join(words) for words in region.violations(x)],
            "changed": differs(x0, x[:, None, :]).sum(axis=(1, 2)),
            "l2": Distance.of(features, "l2")(x[:, None, :], x0)[:, 0],
            "l1": Distance.of(features, "l1")(x[:, None, :], x0)[:, 0],
        },
        index=rows.index,
    )
    bounds = EffortBounds.of(asked, rows, target=target, threshold=threshold)
    good = (table["valid"] & table["feasible"]).to_numpy(dtype=bool)
    table["effort"], table["bound"] = bounds.efforts(x), bounds.bound
    table["gap"] = gap_to_bound(np.where(good, table["effort"], np.inf), bounds.bound)
    return Review(table)
