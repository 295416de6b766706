"""Networks known by their layers: the first is affine in the row, each later one in the activations before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from counterpoise.models.affine import AffineLink, AffineOutputs
from counterpoise.types import Array, Index, Mask


class FormulaBase:
    """A formula that is not made of layers.

    >>> FormulaBase().layers is None
    True
    """

    @property
    def layers(self) -> LayerOutputs | None:
        """None: no layers are known."""
        return None


KnownActivation = Literal["relu", "tanh", "logistic"]


@dataclass(frozen=True, eq=False)
class LayerOutputs:
    """Outputs of layers: ``h = first(x)``, then ``h = activation(h) @ weights + biases`` for each further layer.

    >>> net = LayerOutputs(AffineOutputs.of(np.array([[1.0], [-1.0]]), np.zeros(2)), (np.ones((2, 1)),), (np.zeros(1),))
    >>> net(np.array([[-3.0], [2.0]]))
    array([[3.],
           [2.]])
    """

    first: AffineOutputs
    weights: tuple[Array, ...] = ()  # (in, out) each
    biases: tuple[Array, ...] = ()
    activation: KnownActivation = "relu"

    @property
    def affine(self) -> AffineOutputs | None:
        """The outputs, where there is no further layer."""
        return None if self.weights else self.first

    @property
    def link(self) -> AffineLink:
        """What is done to the last layer's values."""
        return self.first.link

    def __call__(self, x: Array) -> Array:
        """What the link is given, ``(p, c)``, for rows ``(p, d)``."""
        values = self.first(x)
        for matrix, bias in zip(self.weights, self.biases, strict=True):
            values = self.activate(values) @ matrix + bias
        return np.asarray(values)

    def activate(self, values: Array) -> Array:
        """The activation of each value."""
        if self.activation == "relu":
            return np.maximum(values, 0.0)
        return np.tanh(values) if self.activation == "tanh" else np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)))

    def spread(self, columns: Index, d: int, is_number: Mask) -> LayerOutputs:
        """The same for rows of d columns, of which these are read."""
        return replace(self, first=self.first.spread(columns, d, is_number))

    def behind(self, first: AffineOutputs) -> LayerOutputs:
        """The same behind columns that are themselves affine in the row."""
        return replace(self, first=self.first.behind(first))
