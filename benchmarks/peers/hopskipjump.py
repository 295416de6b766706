"""HopSkipJump (Chen, Jordan, Wainwright 2020), a black-box attack, as the Adversarial Robustness Toolbox has it."""

from __future__ import annotations

import art
import numpy as np
from art.attacks.evasion import HopSkipJump
from art.estimators.classification import BlackBoxClassifier
from task import Task

from peers.runner import Counted, Made, Method, serve


def hopskipjump(nearest: bool, iterations: int = 50) -> Made:
    """In standard deviations, within the observed range; a category is a number like any other.

    It begins at a uniform draw from the box that has the target. Where it finds none, and everywhere if ``nearest``,
    it is given the nearest training row of the target.
    """

    def make(task: Task, counted: Counted) -> Method:
        np.random.seed(0)  # noqa: NPY002 - the toolbox draws from the global generator
        mean, scale = np.where(task.numeric, task.train.mean(axis=0), 0.0), task.scale
        labels = counted(task.train).argmax(axis=1)
        starts = ((task.train - mean) / scale).astype(np.float32)

        def probabilities(z: np.ndarray) -> np.ndarray:
            return counted(np.asarray(z, dtype=np.float64) * scale + mean)

        box = starts.min(axis=0), starts.max(axis=0)
        model = BlackBoxClassifier(probabilities, (len(scale),), 2, clip_values=box)
        attack = HopSkipJump(model, targeted=False, max_iter=iterations, verbose=False)

        def one(row: np.ndarray) -> np.ndarray | None:
            z = ((row - mean) / scale).astype(np.float32)
            found = z if nearest else attack.generate(z[None])[0]
            if (found == z).all():
                pool = starts[labels != counted(row[None]).argmax()]
                start = pool[np.linalg.norm(pool - z, axis=1).argmin()]
                found = attack.generate(z[None], x_adv_init=start[None])[0]
            return None if (found == z).all() else found * scale + mean

        return Method(one)

    return make


if __name__ == "__main__":
    settings = {
        "hopskipjump": hopskipjump(nearest=False),
        "hopskipjump-10": hopskipjump(nearest=False, iterations=10),
        "hopskipjump-nearest": hopskipjump(nearest=True),
    }
    serve(settings, f"ART {art.__version__}")
