"""What the model says of many rows at once, for the list: rows that it cannot be asked about are set aside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoise.api.batch.rejected import find_unanswerable
from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.rows_in import model_predictions
from counterpoise.api.inputs.targets import current_decisions, resolve_target
from counterpoise.errors import ModelError
from counterpoise.explanation.formats import format_label
from counterpoise.explanation.question import Target
from counterpoise.model_calls import Tally
from counterpoise.models.probability import ProbabilityModel
from counterpoise.types import Array, Index, Model


class ListedVerdicts(NamedTuple):
    """The verdicts on rows, "" for one that is rejected, and the probabilities of their targets ``(n,)``."""

    explainer: Explainer  # that knows the categories of these rows as well
    verdicts: list[str]
    probabilities: Array
    reasons: dict[int, str]  # of rejected rows, by their places


class _ModelDown(Exception):
    """The model fails whatever it is asked about, so that no row is to blame."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(str(error))
        self.error = error


def _is_down(model: Model, explainer: Explainer) -> bool:
    """Whether a model fails on a reference row too."""
    sample = explainer.reference.sample_rows(1)
    try:
        model_predictions(model, sample, np.arange(len(sample)), Tally())
    except ModelError:
        return True
    return False


def judge_rows(
    explainer: Explainer,
    rows: pd.DataFrame,
    target: Target,
    threshold: float | None,
    unreadable: Mapping[int, str] | None = None,
) -> ListedVerdicts:
    """What the model says of each row; a model that fails on a reference row too is an error.

    unreadable: rows that are known to be none, by their places, each with its reason.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> rows = pd.DataFrame({"load": [0.5, "high"]})
    >>> found = judge_rows(Explainer(model, reference=train), rows, "benign", None)
    >>> found.verdicts, list(found.reasons)
    (['benign', ''], [1])
    """
    verdicts, probabilities = [""] * len(rows), np.full(len(rows), np.nan)
    known = explainer
    reasons = dict(unreadable or {})
    if not explainer.new_categories:
        reasons = find_unknown_categories(explainer, rows) | reasons

    def ask(places: Index) -> None:
        nonlocal known
        wider, intake = known.prepare_rows(rows.iloc[places])
        model, x = wider.model, intake.x0
        seen = model if threshold is None else ProbabilityModel(model)
        try:
            decisions = model_predictions(seen, x, np.arange(len(x)), Tally())
            goal = resolve_target(seen, target, threshold, current_decisions(seen, x, decisions)).goal
            probabilities[places] = target_probabilities(goal, model.probabilities(x), len(x))
        except ModelError as error:
            if _is_down(seen, wider):
                raise _ModelDown(error) from None
            raise
        for place, decision in zip(places.tolist(), decisions.tolist(), strict=True):
            verdicts[place] = format_label(decision)
        known = wider

    left = np.setdiff1d(np.arange(len(rows)), np.fromiter(reasons, dtype=np.intp))
    try:
        reasons |= find_unanswerable(left, ask)
    except _ModelDown as down:
        raise down.error from None
    return ListedVerdicts(known, verdicts, probabilities, reasons)


def find_unknown_categories(explainer: Explainer, rows: pd.DataFrame) -> dict[int, str]:
    """The places of rows with a category that is refused, each with its reason: every value is tried once."""
    reasons: dict[int, str] = {}
    for feature in explainer.schema:
        if feature.is_numeric or feature.name in explainer.held or feature.name not in rows.columns:
            continue
        cells = rows[feature.name]
        unlisted = np.flatnonzero((cells.notna() & ~cells.isin(list(feature.categories))).to_numpy())
        by_value = pd.Series(unlisted).groupby(cells.iloc[unlisted].map(repr).to_numpy())
        for value, places in by_value:
            if find_unanswerable(places.to_numpy()[:1], lambda first: explainer.prepare_rows(rows.iloc[first])):
                reason = f"categories must be known from the reference or the schema; {feature.title} is {value}"
                reasons |= dict.fromkeys(places.tolist(), reason)
    return reasons


def target_probabilities(goal: Any, probabilities: Array | None, count: int) -> Array:
    """The probability of each row's target ``(n,)``; NaN where the model has none."""
    wanted = getattr(goal, "wanted_classes", None)
    if wanted is None or probabilities is None:
        return np.full(count, np.nan)
    return np.asarray(np.where(wanted, probabilities, 0.0).sum(axis=1))
