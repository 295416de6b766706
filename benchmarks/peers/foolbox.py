"""Gradient attacks on the model in torch: DDN, DeepFool, FMN (Pintor et al. 2021), Brendel and Bethge (2019)."""

from __future__ import annotations

from collections.abc import Callable

import foolbox
import numpy as np
import torch
from task import Task

from peers.runner import Counted, Made, Method, serve
from peers.torch_model import Network

BOX = 100.0  # foolbox takes one pair of bounds for all columns: wide enough, in standard deviations, to bind nowhere


class TwoLogits(torch.nn.Module):
    """Logits (0, f) of rows in standard deviations."""

    def __init__(self, task: Task, counted: Counted) -> None:
        super().__init__()
        self.network = Network(task, counted, task.train.mean(axis=0), task.scale)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        f = self.network(z)
        return torch.cat([torch.zeros_like(f), f], dim=1)


def attack(build: Callable[[], foolbox.Attack]) -> Made:
    """``build`` is called when the setting runs: an attack that needs what is not installed fails alone."""

    def make(task: Task, counted: Counted) -> Method:
        how = build()
        torch.set_num_threads(1)
        torch.manual_seed(0)
        module = TwoLogits(task, counted).eval()
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
