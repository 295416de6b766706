"""The measures, the same code for every method: valid, legal, inside the box, distances, changes, time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from task import Task

FLOAT32 = 1e-5  # in standard deviations: methods that work in single precision overstep a bound by less
SAME = 1e-9  # in standard deviations: less is the rounding of a change of units, not a change


def judge(task: Task, rows: np.ndarray, answers: np.ndarray) -> pd.DataFrame:
    """One line a row, of the row as it would be written: whole numbers whole, categories by their label.

    Distances count numeric cells in standard deviations of the training rows, a category as 1; changes are the cells of
    the written row that differ. ``whole`` says whether the answer had whole numbers of its own, before it was written.
    """
    numeric, scale = task.numeric, task.scale
    found = np.isfinite(answers).all(axis=1)
    x = np.where(found[:, None], answers, rows)
    # a category between two others is illegal, and read as the nearer one; a count between two others is rounded
    decoded = np.where(numeric & ~task.whole, x, np.rint(x))
    ceilings = np.array([len(task.categories.get(column, ())) - 1 for column in range(x.shape[1])])
    legal = (numeric | ((x == np.rint(x)) & (x >= 0) & (x <= ceilings))).all(axis=1)
    lower, upper = np.minimum(task.train.min(axis=0), rows), np.maximum(task.train.max(axis=0), rows)
    slack = FLOAT32 * scale
    inside = (~numeric | ((x >= lower - slack) & (x <= upper + slack))).all(axis=1)
    steps = np.where(numeric, np.abs(decoded - rows) / scale, decoded != rows)
    steps[steps < SAME] = 0
    whole = (~task.whole | (np.abs(x - np.rint(x)) < SAME * scale)).all(axis=1)
    return pd.DataFrame(
        {
            "valid": found & (task.predict(decoded) != task.predict(rows)),
            "legal": legal,
            "inside": inside,
            "whole": whole,
            "l2": np.sqrt((steps**2).sum(axis=1)),
            "l1": steps.sum(axis=1),
            "changes": (steps > 0).sum(axis=1),
        }
    )


def read(task: Task, folder: Path, name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The judged rows of one method with their times, and what its runner said; no rows where it never began."""
    path, said = folder / f"{name}.csv", folder / f"{name}.json"
    about = json.loads(said.read_text()) if said.exists() else {"reason": "it did not run"}
    if not path.exists():
        return pd.DataFrame(), about
    lines = pd.read_csv(path, float_precision="round_trip")
    if not len(lines):
        return pd.DataFrame(), about
    which = lines["row"].to_numpy()
    judged = judge(task, task.rows[which], lines[task.names].to_numpy(dtype=np.float64))
    judged.index = which
    judged.index.name = "row"
    for column in ("wall", "cpu", "model_rows", "reason"):
        judged[column] = lines[column].to_numpy()
    return judged, about


def batch(task: Task, about: dict[str, Any], size: int) -> pd.DataFrame | None:
    """The judged answers of a batch, where the method has one."""
    found = about.get("batches", {}).get(str(size))
    if found is None:
        return None
    answers = np.array(found["answers"], dtype=np.float64)
    return judge(task, task.rows[: len(answers)], answers)
