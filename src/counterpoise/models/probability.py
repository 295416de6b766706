"""A classifier asked for its probabilities instead of its decision values, as a threshold on them needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from counterpoise.errors import CapabilityError
from counterpoise.models.layers import LayerOutputs
from counterpoise.models.links import softmax
from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.leaves import Leaves
from counterpoise.types import Array, Link, Model, ModelBase, OwnModel, Points


@dataclass(frozen=True)
class ProbabilityModel(ModelBase):
    """The same model, whose outputs are its own probabilities."""

    model: Model
    link: Link = "log"

    @property
    def labels(self) -> tuple[Any, ...] | None:
        return self.model.labels

    @property
    def is_remote(self) -> bool:
        return self.model.is_remote

    @property
    def notes(self) -> tuple[str, ...]:
        return self.model.notes

    @property
    def own(self) -> OwnModel:
        return _OwnProbabilities(self.model)

    @property
    def layers(self) -> LayerOutputs | None:
        """The layers that the probabilities are the softmax of."""
        known: LayerOutputs | None = self.model.layers if self.model.has_softmax_probabilities else None
        return None if known is None else replace(known, first=replace(known.first, link="softmax"))

    def outputs(self, x: Array) -> Array:
        if self.model.link == "log":  # its outputs are its probabilities, and quicker
            return self.model.outputs(x)
        return _require_probabilities(self.model, x)

    def predict(self, x: Points) -> NDArray[Any]:
        return self.model.predict(x)

    def probabilities(self, x: Points) -> Array | None:
        return self.model.probabilities(x)


@dataclass(frozen=True)
class _OwnProbabilities:
    """The user's own probabilities as outputs."""

    model: Model
    link: Link = "log"

    def outputs(self, x: Points) -> Array:
        return _require_probabilities(self.model, x)


def _require_probabilities(model: Model, x: Points) -> Array:
    found = model.probabilities(x)
    if found is None:
        raise CapabilityError(
            "a threshold needs a model with probabilities",
            "this model gives none",
            "drop threshold, or calibrate the model (sklearn.calibration)",
        )
    return found


@dataclass(frozen=True)
class DifferentiableProbabilityModel(ProbabilityModel):
    """A model whose probabilities have a gradient: they are its outputs, or the softmax of them."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)`` of the probabilities summed with ``weights`` ``(p, c)``."""
        model = self.model
        assert model.gradient is not None
        if model.link != "log":
            p = softmax(model.outputs(x))
            weights = p * (weights - (weights * p).sum(axis=1, keepdims=True))
        return model.gradient(x, weights)


@dataclass(frozen=True)
class PartitionedProbabilityModel(ProbabilityModel):
    """A model that is constant on boxes, and so are its probabilities."""

    trees: TreeEnsemble | None = None  # where they are known

    @property
    def thresholds(self) -> tuple[Array, ...] | None:
        """Split points of each column."""
        return self.model.thresholds

    @property
    def is_additive(self) -> bool:
        """Whether log-odds add up over the trees: two classes whose probabilities are the softmax of the sums."""
        return self.trees is not None and self.model.has_softmax_probabilities and len(self.labels or ()) == 2

    @property
    def leaves(self) -> Leaves | None:
        """The leaves of all trees, if the probabilities follow from their sums."""
        if self.trees is not None and self.model.has_softmax_probabilities:
            return self.trees.probability_leaves
        return self.model.leaves if self.model.link == "log" else None


@dataclass(frozen=True)
class AgreementProbabilityModel(ProbabilityModel):
    """Several models that must agree; outputs are the probability that enough of them give each class."""

    @property
    def abstention(self) -> str | None:
        """The label that says that too few agree."""
        return self.model.abstention

    @property
    def requires_unanimity(self) -> bool:
        """Whether all must agree."""
        return self.model.requires_unanimity

    def majority(self, x: Points) -> NDArray[Any]:
        """The class that most say."""
        assert self.model.majority is not None
        return self.model.majority(x)


def as_probability_model(model: Model) -> ProbabilityModel:
    """The model with its probabilities as outputs, and the capabilities that remain.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.models.registry import as_model
    >>> from counterpoise.space.schema.schema import Schema
    >>> train = pd.DataFrame({"ports": [1.5, 2.0, 7.0, 9.5]})
    >>> fitted = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> as_probability_model(as_model(fitted, Schema.infer(train), train.to_numpy())).gradient is None
    False
    """
    if model.abstention is not None:
        return AgreementProbabilityModel(model)
    if model.gradient is not None and (model.link == "log" or model.has_softmax_probabilities):
        return DifferentiableProbabilityModel(model)
    if model.thresholds is not None:
        return PartitionedProbabilityModel(model, trees=model.trees)
    return ProbabilityModel(model)
