"""NICE (Brughmans, Leyman, Martens 2023): walks from the row to its nearest neighbour of the target, cell by cell."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from nice import NICE
from task import Task

from peers.runner import Counted, Made, Method, serve


def nice(reward: str, unit: str = "minmax") -> Made:
    """By default NICE measures numbers in ranges; "std" is the unit in which the comparison measures."""

    def make(task: Task, counted: Counted) -> Method:
        explainer = NICE(
            predict_fn=counted,
            X_train=task.train.copy(),
            y_train=task.y,
            cat_feat=list(task.categories),
            optimization=reward,
            num_normalization=unit,
        )

        def one(row: np.ndarray) -> np.ndarray:
            return explainer.explain(row[None])[0]

        return Method(one)

    return make


if __name__ == "__main__":
    settings = {
        "nice-proximity": nice("proximity"),
        "nice-sparsity": nice("sparsity"),
        "nice-proximity-std": nice("proximity", "std"),
        "nice-sparsity-std": nice("sparsity", "std"),
    }
    serve(settings, f"NICEx {version('NICEx')}")
