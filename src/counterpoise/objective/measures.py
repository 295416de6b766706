"""The distance of a question, the weighted L1 of Eq. (9) in its units, and the user's regularisers, checked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from counterpoise.errors import InputError
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer, WeightedL1
from counterpoise.space.constraints.relative_to_row import prices_of_changes
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Schema

DistanceAndPenalty = tuple[Distance, WeightedL1]


class DistanceBuilder:
    """Makes the distance and the penalty of an explainer, once for each distance that is asked for.

    The penalty is over the features that have a weight or, without any, over all; a weight of
    infinity forbids the change, which the region sees to.
    """

    def __init__(self, schema: Schema, constraints: Sequence[Constraint], weights: Mapping[Hashable, float]) -> None:
        self.schema, self.constraints, self.weights = schema, constraints, weights
        self._cache: dict[str, DistanceAndPenalty] = {}

    def __call__(self, spec: str | Mapping[str, float] | type[Distance]) -> DistanceAndPenalty:
        """The distance that ``spec`` names, and the penalty in its units."""
        if not isinstance(spec, str):
            return self._build(spec)
        if spec not in self._cache:
            self._cache[spec] = self._build(spec)
        return self._cache[spec]

    def _build(self, spec: str | Mapping[str, float] | type[Distance]) -> DistanceAndPenalty:
        distance = Distance.of(self.schema, spec, prices_of_changes(self.schema, self.constraints))
        weights = np.array([self.weights.get(name, 0.0 if self.weights else 1.0) for name in self.schema.names])
        unit = np.where(distance.nominal, 0.0, distance.unit)
        return distance, WeightedL1(np.where(np.isinf(weights), 0.0, weights), unit)


def check_regularizers(regularizers: Sequence[Regularizer | Fittable]) -> Sequence[Regularizer | Fittable]:
    """The user's own regularisers, or an error where one of them is not a regulariser."""
    if not isinstance(regularizers, Sequence):
        raise InputError(
            "regularizers must be a list", f"a {type(regularizers).__name__}", "for instance [cp.NearTarget()]"
        )
    for regularizer in regularizers:
        if not isinstance(regularizer, (Regularizer, Fittable)):
            raise InputError(
                "regularizers must be callables (x, x0, delta) with a gradient",
                f"{regularizer!r}",
                "see counterpoise.objective.regularizers",
            )
    return regularizers
