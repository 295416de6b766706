"""HopSkipJump (Chen, Jordan, Wainwright 2020), a black-box attack, as the Adversarial Robustness Toolbox has it."""

from __future__ import annotations

import art
import numpy as np
from art.attacks.evasion import HopSkipJump
from art.estimators.classification import BlackBoxClassifier
from task import Task

from peers.runner import Counted, Method, serve


def hopskipjump(task: Task, counted: Counted) -> Method:
    """In standard deviations, within the observed range; a category is a number like any other.

    Where its own start, a uniform draw from the box, finds none, it is given the nearest training row of the target.
    """
    np.random.seed(0)  # noqa: NPY002 - the toolbox draws from the global generator
    mean, scale = np.where(task.numeric, task.train.mean(axis=0), 0.0), task.scale
    box = tuple(((edge - mean) / scale).astype(np.float32) for edge in (task.train.min(axis=0), task.train.max(axis=0)))

    def probabilities(z: np.ndarray) -> np.ndarray:
        return counted(np.asarray(z, dtype=np.float64) * scale + mean)

    model = BlackBoxClassifier(probabilities, (len(scale),), 2, clip_values=box)
    attack = HopSkipJump(model, targeted=False, verbose=False)

    labels = counted(task.train).argmax(axis=1)
    starts = ((task.train - mean) / scale).astype(np.float32)

    def one(row: np.ndarray) -> np.ndarray | None:
        z = ((row - mean) / scale).astype(np.float32)
        found = attack.generate(z[None])[0]
        if (found == z).all():
            pool = starts[labels != counted(row[None]).argmax()]
            nearest = pool[np.linalg.norm(pool - z, axis=1).argmin()]
            found = attack.generate(z[None], x_adv_init=nearest[None])[0]
        return None if (found == z).all() else found * scale + mean

    return Method(one)


if __name__ == "__main__":
    serve({"hopskipjump": hopskipjump}, f"ART {art.__version__}")
