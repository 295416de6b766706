"""What a question measures with: the distance, the weighted L1 of Eq. (9) in its units, and further regularisers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from counterpoise.errors import InputError
from counterpoise.physics.plausibility import Fittable
from counterpoise.physics.regularizers import Regularizer, WeightedL1
from counterpoise.space.constraints import Constraint
from counterpoise.space.departing import prices
from counterpoise.space.distance import Distance
from counterpoise.space.features import Schema

Measure = tuple[Distance, WeightedL1]


class Measures:
    """The measures of an explainer, by the user's word for the distance; each is made once.

    The penalty is over the features that have a weight or, without any, over all; infinity, which forbids a change, is
    the region's business.
    """

    def __init__(self, schema: Schema, constraints: Sequence[Constraint], weights: Mapping[Hashable, float]) -> None:
        self.schema, self.constraints, self.weights = schema, constraints, weights
        self._ready: dict[str, Measure] = {}

    def __call__(self, spec: str | Mapping[str, float]) -> Measure:
        """The distance that ``spec`` names, and the penalty in its units."""
        if not isinstance(spec, str):
            return self._made(spec)
        if spec not in self._ready:
            self._ready[spec] = self._made(spec)
        return self._ready[spec]

    def _made(self, spec: str | Mapping[str, float]) -> Measure:
        distance = Distance.of(self.schema, spec, prices(self.schema, self.constraints))
        weights = np.array([self.weights.get(name, 0.0 if self.weights else 1.0) for name in self.schema.names])
        unit = np.where(distance.nominal, 0.0, distance.unit)
        return distance, WeightedL1(np.where(np.isinf(weights), 0.0, weights), unit)


def checked(regularizers: Sequence[Regularizer | Fittable]) -> Sequence[Regularizer | Fittable]:
    """The user's own regularisers, or an error where they are none."""
    if not isinstance(regularizers, Sequence):
        raise InputError(
            "regularizers must be a list", f"a {type(regularizers).__name__}", "for instance [cp.NearTarget()]"
        )
    for regularizer in regularizers:
        if not isinstance(regularizer, (Regularizer, Fittable)):
            raise InputError(
                "regularizers must be callables (x, x0, delta) with a gradient",
                f"{regularizer!r}",
                "see counterpoise.physics.regularizers",
            )
    return regularizers
