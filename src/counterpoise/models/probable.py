"""A classifier asked for its probabilities instead of its decision values, as a threshold on them needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from counterpoise.errors import CapabilityError
from counterpoise.types import Array, Link, Model


@dataclass(frozen=True)
class Probable:
    """The same model, whose outputs are its own probabilities."""

    model: Model
    link: Link = "log"

    @property
    def labels(self) -> tuple[Any, ...] | None:
        return self.model.labels

    def outputs(self, x: Array) -> Array:
        found = self.model.probabilities(x)
        if found is None:
            raise CapabilityError(
                "a threshold needs a model with probabilities",
                "this model gives none",
                "drop threshold, or calibrate the model (sklearn.calibration)",
            )
        return found

    def predict(self, x: Array) -> NDArray[Any]:
        return self.model.predict(x)

    def probabilities(self, x: Array) -> Array | None:
        return self.model.probabilities(x)
