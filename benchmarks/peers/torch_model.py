"""A pipeline of a scaler and a linear model or network, rebuilt in torch with the same weights, in double precision."""

from __future__ import annotations

import numpy as np
import torch
from task import Task

from peers.runner import Counted


class Network(torch.nn.Module):
    """The log-odds ``(n, 1)`` of rows given as ``(x - centre) / unit``. Counts its rows."""

    def __init__(self, task: Task, counted: Counted, centre: np.ndarray, unit: np.ndarray) -> None:
        super().__init__()
        scaler, model = task.model[0], task.model[-1]
        if hasattr(model, "coefs_"):
            weights, biases = [w.T for w in model.coefs_], model.intercepts_
        else:
            weights, biases = [model.coef_], [model.intercept_]
        layers: list[torch.nn.Module] = []
        for w, b in zip(weights, biases, strict=True):
            layer = torch.nn.Linear(w.shape[1], w.shape[0], dtype=torch.float64)
            layer.weight.data, layer.bias.data = torch.tensor(w), torch.tensor(b)
            layers += [layer, torch.nn.ReLU()]
        self.layers = torch.nn.Sequential(*layers[:-1])
        self.gain = torch.tensor(unit / scaler.scale_)
        self.shift = torch.tensor((centre - scaler.mean_) / scaler.scale_)
        self.count_support = counted
        self.eval()
        for parameter in self.parameters():
            parameter.requires_grad_(False)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        self.count_support.rows += len(z)
        return self.layers(z.to(torch.float64) * self.gain + self.shift)
