"""Objects of the user's own that are models already: they have the five members of `MinimalModel`."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from counterpoise.models.inputs import InputFunction, make_encoded_input_function
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Link, MinimalModel, ModelBase, Points

OPTIONAL_MEMBERS = ("gradient", "outputs_and_pullback", "hvp", "members", "members_needed", "predict_each", "majority")


class ObjectModel(ModelBase):
    """A user's object as a Model, with those of the capabilities that the object has.

    Trees and leaves are those of this package's own adapters: an object shows split points as ``thresholds``.
    """

    def __init__(self, own_model: MinimalModel, make_input: InputFunction) -> None:
        self.own_model, self.make_input = own_model, make_input
        for name in OPTIONAL_MEMBERS:
            found = getattr(own_model, name, None)
            if found is not None:
                setattr(self, name, found)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes in the order of the outputs, or None."""
        return self.own_model.labels

    @property
    def link(self) -> Link:
        """What the outputs are: decision values or probabilities."""
        return self.own_model.link

    @property
    def thresholds(self) -> tuple[Array, ...] | None:
        """The object's split points, if it shows any."""
        return getattr(self.own_model, "thresholds", None)

    @property
    def has_softmax_probabilities(self) -> bool:
        """Whether the object says that its probabilities are the softmax of its outputs."""
        return bool(getattr(self.own_model, "has_softmax_probabilities", False))

    @property
    def abstention(self) -> str | None:
        """The label by which the object says that too few of its members agree."""
        return getattr(self.own_model, "abstention", None)

    @property
    def requires_unanimity(self) -> bool:
        """Whether all members of the object must agree."""
        return bool(getattr(self.own_model, "requires_unanimity", False))

    @property
    def is_remote(self) -> bool:
        """Whether the object says that it sends rows over a network."""
        return bool(getattr(self.own_model, "is_remote", False))

    @property
    def notes(self) -> tuple[str, ...]:
        """The object's own notes."""
        return tuple(getattr(self.own_model, "notes", ()))

    def outputs(self, x: Points) -> Array:
        """The object's outputs ``(p, c)``."""
        return self.own_model.outputs(self.make_input(x))

    def predict(self, x: Points) -> NDArray[Any]:
        """What the object's ``predict`` says."""
        return self.own_model.predict(self.make_input(x))

    def probabilities(self, x: Points) -> Array | None:
        """The object's probabilities, or None."""
        return self.own_model.probabilities(self.make_input(x))


def adapt(model: MinimalModel, schema: Schema, probe: Array) -> ObjectModel:
    """The Model of such an object; it reads encoded rows, so that no probing rows are needed."""
    return ObjectModel(model, make_encoded_input_function(schema))
