"""Gradient attacks on the model in torch: DDN, DeepFool, FMN (Pintor et al. 2021), Brendel and Bethge (2019)."""

from __future__ import annotations

from collections.abc import Callable

import foolbox
import numpy as np
import torch
from task import Task

from peers.runner import Counted, Made, Method, serve

BOX = 100.0  # foolbox takes one pair of bounds for all columns: wide enough, in standard deviations, to bind nowhere


class Network(torch.nn.Module):
    """The pipeline's weights, in double precision, on rows in standard deviations; logits (0, f). Counts its rows."""

    def __init__(self, task: Task, counted: Counted) -> None:
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
        self.gain = torch.tensor(task.scale / scaler.scale_)
        self.shift = torch.tensor((task.train.mean(axis=0) - scaler.mean_) / scaler.scale_)
        self.count_support = counted

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        self.count_support.rows += len(z)
        f = self.layers(z * self.gain + self.shift)
        return torch.cat([torch.zeros_like(f), f], dim=1)


def attack(build: Callable[[], foolbox.Attack]) -> Made:
    """``build`` is called when the setting runs: an attack that needs what is not installed fails alone."""

    def make(task: Task, counted: Counted) -> Method:
        how = build()
        torch.set_num_threads(1)
        torch.manual_seed(0)
        module = Network(task, counted).eval()
        for parameter in module.parameters():
            parameter.requires_grad_(False)
        model = foolbox.PyTorchModel(module, bounds=(-BOX, BOX))
        mean, scale = task.train.mean(axis=0), task.scale

        def many(rows: np.ndarray) -> np.ndarray:
            z = torch.tensor((rows - mean) / scale)
            with torch.no_grad():
                labels = module(z).argmax(dim=1)
            found, _, turned = how(model, z, foolbox.criteria.Misclassification(labels), epsilons=None)
            return np.where(turned.numpy()[:, None], found.numpy() * scale + mean, np.nan)

        def one(row: np.ndarray) -> np.ndarray | None:
            answer = many(row[None])[0]
            return None if np.isnan(answer).any() else answer

        return Method(one, many)

    return make


if __name__ == "__main__":
    settings = {
        "ddn-100": attack(lambda: foolbox.attacks.DDNAttack(steps=100)),
        "ddn-1000": attack(lambda: foolbox.attacks.DDNAttack(steps=1000)),
        "deepfool": attack(lambda: foolbox.attacks.L2DeepFoolAttack()),
        "fmn-100": attack(lambda: foolbox.attacks.L2FMNAttack(steps=100)),
        "brendel-bethge": attack(lambda: foolbox.attacks.L2BrendelBethgeAttack()),
    }
    serve(settings, f"foolbox {foolbox.__version__}")
