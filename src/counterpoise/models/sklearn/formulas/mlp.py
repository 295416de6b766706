"""scikit-learn's multilayer perceptrons, with their derivatives: outputs are those before the last activation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from counterpoise.models.affine import AffineOutputs
from counterpoise.models.layers import FormulaBase, LayerOutputs
from counterpoise.types import Array, Pullback

Activation = Literal["identity", "relu", "tanh", "logistic"]

# Each activation with its first and second derivative, the two as functions of what the activation gave.
ACTIVATIONS: dict[Activation, tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]] = {
    "identity": (lambda a: a, np.ones_like, np.zeros_like),
    "relu": (lambda a: np.maximum(a, 0.0, out=a), lambda h: (h > 0).astype(np.float64), np.zeros_like),
    "tanh": (np.tanh, lambda h: 1.0 - h * h, lambda h: -2.0 * h * (1.0 - h * h)),
    "logistic": (lambda a: np.asarray(expit(a)), lambda h: h * (1.0 - h), lambda h: h * (1.0 - h) * (1.0 - 2.0 * h)),
}


@dataclass(frozen=True, eq=False)
class Network(FormulaBase):
    """Layers ``h = activation(h @ weights + biases)``, the last without activation.

    ``adds_zero_output``: the one value of a two-class network becomes two outputs, ``(0, value)``.
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    activation: Activation
    adds_zero_output: bool = False

    def outputs(self, z: Array) -> Array:
        """``(p, c)`` for rows ``(p, q)``."""
        return self._add_zero_output(self._layer_values(z)[-1])

    def gradient(self, z: Array, weights: Array) -> Array:
        """``(p, q)``: gradient of the outputs summed with ``weights`` ``(p, c)``."""
        return self.outputs_and_pullback(z)[1](weights)

    def outputs_and_pullback(self, z: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient by back-propagation."""
        _, first, _ = ACTIVATIONS[self.activation]
        layers = self._layer_values(z)

        def pull(weights: Array) -> Array:
            back = (weights[:, 1:] if self.adds_zero_output else weights) @ self.weights[-1].T
            for matrix, hidden in zip(self.weights[-2::-1], layers[-2:0:-1], strict=True):
                back = (back * first(hidden)) @ matrix.T
            return back

        return self._add_zero_output(layers[-1]), pull

    def hvp(self, z: Array, weights: Array, v: Array) -> Array:
        """``(p, q)``: Hessian of the outputs summed with ``weights``, times ``v``: forward along v, then back."""
        _, first, second = ACTIVATIONS[self.activation]
        layers, rates = self._layer_values(z), [v]
        speeds = []  # of what enters each activation, along v
        for matrix, hidden in zip(self.weights[:-1], layers[1:-1], strict=True):
            speeds.append(rates[-1] @ matrix)
            rates.append(speeds[-1] * first(hidden))
        pull = (weights[:, 1:] if self.adds_zero_output else weights) @ self.weights[-1].T
        change = np.zeros_like(pull)  # how the pull changes along v
        for matrix, hidden, speed in zip(self.weights[-2::-1], layers[-2:0:-1], speeds[::-1], strict=True):
            change = (change * first(hidden) + pull * second(hidden) * speed) @ matrix.T
            pull = (pull * first(hidden)) @ matrix.T
        return change

    @property
    def layers(self) -> LayerOutputs:
        """The layers; without an activation they are one."""
        weights, biases = list(self.weights), list(self.biases)
        if self.adds_zero_output:
            weights[-1], biases[-1] = np.pad(weights[-1], ((0, 0), (1, 0))), np.pad(biases[-1], (1, 0))
        first = AffineOutputs.of(weights[0].T, biases[0])
        if self.activation != "identity":
            return LayerOutputs(first, tuple(weights[1:]), tuple(biases[1:]), self.activation)
        for matrix, bias in zip(weights[1:], biases[1:], strict=True):
            first = AffineOutputs.of(matrix.T, bias).behind(first)
        return LayerOutputs(first)

    def _add_zero_output(self, values: Array) -> Array:
        if not self.adds_zero_output:
            return values
        both = np.zeros((len(values), 2))
        both[:, 1:] = values
        return both

    def _layer_values(self, z: Array) -> list[Array]:
        activate = ACTIVATIONS[self.activation][0]
        layers = [z]
        for matrix, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            entering = layers[-1] @ matrix
            entering += bias
            layers.append(activate(entering))
        last = layers[-1] @ self.weights[-1]
        last += self.biases[-1]
        return [*layers, last]


def read_network(model: Any) -> Network | None:
    """The layers of a fitted MLPClassifier or MLPRegressor, or None."""
    if not hasattr(model, "coefs_") or getattr(model, "activation", None) not in ACTIVATIONS:
        return None
    weights = tuple(np.asarray(matrix, dtype=np.float64) for matrix in model.coefs_)
    biases = tuple(np.asarray(bias, dtype=np.float64) for bias in model.intercepts_)
    return Network(weights, biases, model.activation, model.out_activation_ == "logistic")
