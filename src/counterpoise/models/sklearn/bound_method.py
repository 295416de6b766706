"""Methods of fitted trees given as callables, such as ``model.predict_proba``: the trees behind them are opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.errors import CounterpoiseError
from counterpoise.models.registry import as_model
from counterpoise.models.sklearn.outputs import find_deciding_estimator
from counterpoise.models.sklearn.thresholds import has_threshold
from counterpoise.models.trees.opened import ShortcutModel, TreeModel
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Points


@dataclass(frozen=True, eq=False)
class NumberedClassesModel(ShortcutModel):
    """A classifier whose classes are known by the number of their column, as those of a function of rows are."""

    @property
    def labels(self) -> tuple[int, ...]:
        """The numbers of the columns."""
        return tuple(range(len(self.own_model.labels or ())))

    def predict(self, x: Points) -> NDArray[Any]:
        """The number of the most likely class."""
        found = self.own_model.probabilities(x)
        assert found is not None, "it stands for the method that gives them"
        return np.asarray(found.argmax(axis=1))


def adapt(method: Any, schema: Schema, probe: Array) -> TreeModel | None:
    """The Model of the trees whose method this is; None for methods of anything else.

    Trees decide by their largest probability, so that the decision is the same whichever of the two methods is given;
    those with a threshold of their own, and detectors and boosters, whose methods give other than labels, are left out.
    """
    owner = method.__self__
    if has_threshold(find_deciding_estimator(owner)):
        return None
    try:
        found = as_model(owner, schema, probe)
    except CounterpoiseError:
        return None  # the method itself may do
    if not isinstance(found, TreeModel) or (found.labels is not None and not hasattr(owner, "classes_")):
        return None
    return (
        found
        if method.__name__ == "predict"
        else replace(found, own_model=NumberedClassesModel(found.own_model, found.own_model.outputs))
    )
