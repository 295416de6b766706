"""Rows picked by a rule: the grammar of constraints, with the model's own probability and prediction as columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError, ModelError
from counterpoise.models.probability import as_probability_model
from counterpoise.scale.unreadable import split_unreadable
from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array, Index, Mask


class RowFilter:
    """Which rows a rule holds for; ``proba`` is the probability of what the model predicts, ``prediction`` its class.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> RowFilter(Explainer(model, reference=train), "prediction == 'alert' and load > 4")(train).tolist()
    [False, False, False, True]
    """

    def __init__(self, explainer: Explainer, rule: str) -> None:
        self.explainer, self.rule = explainer, Rule(rule)
        model, added = explainer.model, []
        if model.labels is not None:
            added = [
                Feature("proba", "continuous"),
                Feature("prediction", "categorical", categories=tuple(model.labels)),
            ]
        self.added = [feature for feature in added if feature.name not in explainer.schema]
        features = tuple(replace(feature, fixed="") for feature in explainer.schema)
        self.schema = Schema((*features, *self.added))
        self._holds(np.full((1, len(self.schema)), np.nan))  # a rule that is none is refused here

    def __call__(self, frame: pd.DataFrame) -> Mask:
        """Whether the rule holds for each row ``(n,)``; a row that cannot be read is kept, to be rejected."""
        rows, unreadable = split_unreadable(frame)
        keep = np.ones(len(rows), dtype=bool)
        places = np.setdiff1d(np.arange(len(rows)), np.fromiter(unreadable, dtype=np.intp))
        if len(places):
            keep[places] = self._keep(rows, places)
        return keep

    def _keep(self, frame: pd.DataFrame, places: Index) -> Mask:
        try:
            asked, rows = self.explainer.prepare_rows(frame.iloc[places])
            return self._holds(np.column_stack([rows.x0, *self._ask(asked, rows.x0)]))
        except (InputError, ModelError):
            if len(places) == 1:
                return np.ones(1, dtype=bool)
            middle = len(places) // 2
            return np.concatenate([self._keep(frame, places[:middle]), self._keep(frame, places[middle:])])

    def _ask(self, explainer: Explainer, x: Array) -> list[Array]:
        if not self.added:
            return []
        model = as_probability_model(explainer.model)
        outputs = np.asarray(model.outputs(x))
        column_values = {"proba": outputs.max(axis=1), "prediction": outputs.argmax(axis=1).astype(np.float64)}
        return [column_values[str(feature.name)] for feature in self.added]

    def _holds(self, x: Array) -> Mask:
        region = Region.build(self.schema, x, [self.rule], None)
        return np.asarray((region.system.defects(x[:, None, :])[:, 0, :] == 0).all(axis=1))
