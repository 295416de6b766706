"""Layers of a PyTorch module: a Linear, or a Sequential of Linear and one kind of activation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from counterpoise.models.affine import AffineOutputs
from counterpoise.models.layers import KnownActivation, LayerOutputs
from counterpoise.types import Array

ACTIVATIONS: dict[type[torch.nn.Module], KnownActivation] = {
    torch.nn.ReLU: "relu",
    torch.nn.Tanh: "tanh",
    torch.nn.Sigmoid: "logistic",
}
IDLE = (torch.nn.Identity, torch.nn.Dropout)  # in evaluation


def read_layers(module: torch.nn.Module, against_zero: bool) -> LayerOutputs | None:
    """The module as arithmetic, or None where it is something else; ``against_zero``: its one output becomes two."""
    found = _read_steps(module)
    if found is None:
        return None
    linear, activation = found
    weights = [_as_array(step.weight) for step in linear]
    biases = [np.zeros(step.out_features) if step.bias is None else _as_array(step.bias) for step in linear]
    if against_zero and len(biases[-1]) == 1:
        weights[-1], biases[-1] = np.pad(weights[-1], ((1, 0), (0, 0))), np.pad(biases[-1], (1, 0))
    rounding = float(torch.finfo(linear[0].weight.dtype).eps)
    first = AffineOutputs.of(weights[0], biases[0], rounding=rounding)
    if activation is None:
        return LayerOutputs(first)
    return LayerOutputs(first, tuple(weight.T for weight in weights[1:]), tuple(biases[1:]), activation)


def _read_steps(module: torch.nn.Module) -> tuple[list[Any], KnownActivation | None] | None:
    """The linear layers and the one activation between them (None for a single layer); None for any other module."""
    steps = [step for step in _flatten(module) if type(step) not in IDLE]
    linear = [step for step in steps if type(step) is torch.nn.Linear]
    between = {ACTIVATIONS.get(type(step)) for step in steps[1::2]}
    if steps[::2] != linear or len(steps) != 2 * len(linear) - 1 or len(between) > 1 or None in between:
        return None
    return linear, between.pop() if between else None


def _flatten(module: torch.nn.Module) -> list[Any]:
    if type(module) is not torch.nn.Sequential:
        return [module]
    return [step for part in module for step in _flatten(part)]


def _as_array(values: torch.Tensor) -> Array:
    return values.detach().to("cpu", torch.float64).numpy()
