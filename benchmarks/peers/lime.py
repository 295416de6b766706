"""LIME (Ribeiro, Singh, Guestrin 2016) read as advice: a step along its linear weights until the decision turns."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from task import Task

from peers.runner import Counted, Method, serve

FARTHEST = 100.0  # standard deviations


def lime_step(task: Task, counted: Counted) -> Method:
    """Numeric columns move, categories stay: their weights say what to leave, not where to go."""
    explainer = LimeTabularExplainer(
        task.train,
        categorical_features=list(task.categories),
        feature_names=task.names,
        discretize_continuous=False,
        random_state=0,
    )

    def one(row: np.ndarray) -> np.ndarray | None:
        target = 1 - int(counted(row[None])[0].argmax())
        said = explainer.explain_instance(row, counted, labels=(target,), num_features=len(row)).local_exp[target]
        way = np.zeros(len(row))
        for column, weight in said:
            way[column] = weight * task.numeric[column]
        if not way.any():
            return None
        way *= task.scale / np.linalg.norm(way)

        def turned(length: float) -> bool:
            return bool(counted((row + length * way)[None])[0].argmax() == target)

        far = 0.01
        while not turned(far):
            far *= 2
            if far > FARTHEST:
                return None
        near = far / 2
        for _ in range(20):
            middle = (near + far) / 2
            near, far = (near, middle) if turned(middle) else (middle, far)
        return row + far * way

    return Method(one)


if __name__ == "__main__":
    serve({"lime-step": lime_step}, f"lime {version('lime')}")
