"""The distance of a question, the penalty in its units, lam of "auto", and the user's regularisers, checked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import numpy as np

from counterpoise.errors import InputError
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import ChangeCount, Regularizer, WeightedL1
from counterpoise.space.constraints.relative_to_row import prices_of_changes
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.distance import Distance
from counterpoise.space.known_distances import LargestDifference, NormMixture
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

Penalty = Literal["changes", "l1"]
DistanceSpec = str | Mapping[str, float] | type[Distance] | Distance
DistanceAndPenalty = tuple[Distance, WeightedL1 | ChangeCount]


class DistanceBuilder:
    """Makes the distance and the penalty of an explainer, once for each distance that is asked for.

    "changes" counts every changed feature, by its weight or once; "l1", Eq. (9), is over the features that have a
    weight or, without any, over all. A weight of infinity forbids the change, which the region sees to.
    """

    def __init__(self, schema: Schema, constraints: Sequence[Constraint], weights: Mapping[Hashable, float]) -> None:
        self.schema, self.constraints, self.weights = schema, constraints, weights
        self._cache: dict[str, DistanceAndPenalty] = {}

    def __call__(self, spec: DistanceSpec, penalty: Penalty) -> DistanceAndPenalty:
        """The distance that ``spec`` names, and the penalty in its units."""
        if not isinstance(spec, str):
            return self._build(spec, penalty)
        key = f"{spec} {penalty}"
        if key not in self._cache:
            self._cache[key] = self._build(spec, penalty)
        return self._cache[key]

    def _build(self, spec: DistanceSpec, penalty: Penalty) -> DistanceAndPenalty:
        distance = Distance.of(self.schema, spec, prices_of_changes(self.schema, self.constraints))
        default_weight = 0.0 if self.weights and penalty == "l1" else 1.0
        weights = np.array([self.weights.get(name, default_weight) for name in self.schema.names])
        finite = np.where(np.isinf(weights), 0.0, weights)
        if penalty == "changes":
            return distance, ChangeCount(finite)
        return distance, WeightedL1(finite, np.where(distance.nominal, 0.0, distance.unit))


def check_distance(distance: Distance, x: Array) -> None:
    """An error where a distance of the user's own gives no number at reference rows ``x`` ``(r, d)``."""
    if isinstance(distance, (NormMixture, LargestDifference)) or not len(x):
        return
    first_rows = x[:8]
    found = np.asarray(distance(np.repeat(first_rows[None], len(first_rows), axis=0), first_rows))
    if found.shape != (len(first_rows), len(first_rows)) or not np.isfinite(found).all() or (found < 0).any():
        raise InputError(
            "a distance must give a finite number of at least 0 for each point",
            f"{distance.name} gave {found.shape} with {np.count_nonzero(~np.isfinite(found))} that are no number",
            "norm must return (n, k) for differences (n, k, d)",
        )


def choose_lam(distance: Distance, share: float = 0.1) -> float:
    """lam where it is "auto": a change has to save ``share`` of a unit of distance; 0 where changes cost already.

    Gower's unit is the mean over all d features, so that its share is that of 1/d.

    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"a": [0.0, 2.0], "b": ["u", "v"]}))
    >>> [choose_lam(Distance.of(schema, name)) for name in ("l2", "gower", "l0")]
    [0.1, 0.05, 0.0]
    """
    if distance.change_price:
        return 0.0
    return share * distance.typical_cost


def check_regularizers(regularizers: Sequence[Regularizer | Fittable]) -> Sequence[Regularizer | Fittable]:
    """The user's own regularisers, or an error where one of them is not a regulariser."""
    if not isinstance(regularizers, Sequence):
        raise InputError(
            "regularizers must be a list", f"a {type(regularizers).__name__}", "for instance [cp.NearTarget()]"
        )
    for regularizer in regularizers:
        if isinstance(regularizer, type):
            name = regularizer.__name__
            raise InputError("regularizers must be objects", f"the class {name} was given", f"give {name}() instead")
        if not isinstance(regularizer, (Regularizer, Fittable)):
            raise InputError(
                "regularizers must be callables (x, x0, delta) with a gradient",
                f"{regularizer!r}",
                "see counterpoise.objective.regularizers",
            )
    return regularizers
