"""The decision behind an explanation, met again: the model as the search saw it, and what was asked of it."""

from __future__ import annotations

from ast import literal_eval
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.api.inputs.targets import resolve_target
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import AnythingBut
from counterpoise.model_calls import Tally, model_outputs
from counterpoise.models.goals import Goal
from counterpoise.models.probability import ProbabilityModel
from counterpoise.models.registry import as_model
from counterpoise.types import Array, Mask, Model

PROBE_ROWS = 256  # rows that a model is looked at with, at most
ANYTHING_BUT_PREFIX = "anything but "


@dataclass(frozen=True, eq=False)
class Decision:
    """A model and what one row of an explanation asks of it."""

    model: Model
    goal: Goal

    def margins(self, x: Array) -> Array:
        """``f - c`` at points ``(p, d)``: ``(p,)``, at least 0 where the target is reached."""
        outputs = model_outputs(self.model, x, np.zeros(len(x), dtype=np.intp), Tally())
        return np.asarray(self.goal.margin(outputs[None])[0])

    def probabilities(self, x: Array) -> Array:
        """Probability of the target at points ``(p, d)``: ``(p,)``; NaN where the model has none."""
        wanted: Mask | None = getattr(self.goal, "wanted_classes", None)
        found = None if wanted is None else self.model.probabilities(x)
        if found is None or wanted is None:
            return np.full(len(x), np.nan)
        return np.asarray(np.where(wanted[0], found, 0.0).sum(axis=1))


def recall_decision(explanation: Explanation, model: Any) -> Decision:
    """The decision that an explanation of one row is about, by this model.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> explanation = explain(model, train[3:], reference=train)
    >>> bool(recall_decision(explanation, model).margins(explanation.x)[0] >= 0)
    True
    """
    if len(explanation) != 1:
        raise InputError(
            "an explanation of one row is needed", f"this one has {len(explanation)}", "choose one: explanation[0]"
        )
    seen = as_model(model, explanation.schema, _probe_rows(explanation))
    threshold = explanation.settings.get("threshold")
    asked = seen if threshold is None else ProbabilityModel(seen)
    wanted = explanation.target[0]
    target = _parse_range(explanation, str(wanted)) if asked.labels is None else _parse_classes(asked.labels, wanted)
    before = explanation.scores["before"].to_numpy(dtype=object)
    found = resolve_target(asked, target, None if threshold is None else float(threshold), before)
    if str(found.target[0]) != str(wanted):
        raise InputError(
            "the model must be the one that the explanation is of",
            f"this one has no target {wanted!r}",
            "give the model that was explained",
        )
    return Decision(asked, found.goal)


def _probe_rows(explanation: Explanation) -> Array:
    """Rows that show what a model gives, ``(p, d)``: the row, its answers and the real rows beside them.

    A row alone is on one side of the decision: what a callable says of it does not show what it can say.
    """
    d = len(explanation.schema)
    parts = [explanation.x0, explanation.answers.reshape(-1, d)]
    parts += [] if explanation.evidence is None else [explanation.evidence.reshape(-1, d)]
    rows = np.concatenate(parts)
    there = rows[~np.isnan(rows).all(axis=1)] if d else rows
    return np.asarray(there[np.linspace(0, len(there) - 1, min(len(there), PROBE_ROWS)).astype(np.intp)])


def _parse_range(explanation: Explanation, said: str) -> tuple[float | None, float | None]:
    try:
        low, high = literal_eval(explanation.settings["target"])
    except (KeyError, ValueError, SyntaxError, TypeError):
        for word, place in (("at least ", 0), ("at most ", 1)):
            if said.startswith(word):
                end = float(said.removeprefix(word))
                return (end, None) if place == 0 else (None, end)
        low, high = literal_eval(said)
    return low, high


def _parse_classes(labels: tuple[Any, ...], wanted: Any) -> Any:
    """The target whose words these are: one label, some of them, or all but some."""
    named = {str(label): label for label in labels}
    said = str(wanted)
    if said in named:
        return named[said]
    if said.startswith(ANYTHING_BUT_PREFIX):
        return AnythingBut(
            *(named[name] for name in said.removeprefix(ANYTHING_BUT_PREFIX).split(" or ") if name in named)
        )
    return [named[name] for name in said.split(" or ") if name in named]
