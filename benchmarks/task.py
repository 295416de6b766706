"""Task: one fitted model file, its training rows and the rows to explain, as every method reads them from disk.

Read in the environments of the peers too, so it needs nothing but numpy, pandas and what the model file needs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

CACHE = Path(__file__).parent / ".cache"


@dataclass(frozen=True)
class Task:
    """Rows are float arrays ``(n, d)``; a category is its number in ``categories[column]``."""

    name: str
    title: str
    train: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    warm: np.ndarray  # one further row, explained first and not timed
    names: list[str]
    categories: dict[int, list[str]]
    model: Any

    @classmethod
    def read(cls, folder: Path) -> Task:
        said = json.loads((folder / "task.json").read_text())
        with np.load(folder / "data.npz") as data:
            arrays = {name: data[name] for name in ("train", "y", "rows", "warm")}
        categories = {int(column): labels for column, labels in said["categories"].items()}
        model = joblib.load(folder / "model.joblib")
        return cls(said["name"], said["title"], **arrays, names=said["names"], categories=categories, model=model)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        joblib.dump(self.model, folder / "model.joblib")
        np.savez_compressed(folder / "data.npz", train=self.train, y=self.y, rows=self.rows, warm=self.warm)
        said = {"name": self.name, "title": self.title, "names": self.names, "categories": self.categories}
        (folder / "task.json").write_text(json.dumps(said))

    @property
    def folder(self) -> Path:
        return CACHE / "tasks" / self.name

    @cached_property
    def numeric(self) -> np.ndarray:
        return np.array([column not in self.categories for column in range(self.train.shape[1])])

    @cached_property
    def scale(self) -> np.ndarray:
        """Standard deviations of the training rows; 1 for categories and constants."""
        std = self.train.std(axis=0)
        return np.where(self.numeric & (std > 0), std, 1.0)

    @cached_property
    def whole(self) -> np.ndarray:
        """Numeric columns that hold whole numbers alone: counts, ports, flags."""
        return self.numeric & (self.train == np.round(self.train)).all(axis=0)

    def table(self, x: np.ndarray) -> Any:
        """What the model is given: the array itself or, where there are categories, a frame with their labels."""
        if not self.categories:
            return x
        whole = self.whole
        columns = {}
        for column, name in enumerate(self.names):
            if column in self.categories:
                labels = np.array(self.categories[column], dtype=object)
                columns[name] = labels[np.clip(np.rint(x[:, column]), 0, len(labels) - 1).astype(int)]
            else:
                exact = whole[column] and (x[:, column] == np.round(x[:, column])).all()
                columns[name] = x[:, column].astype(np.int64 if exact else np.float64)
        return pd.DataFrame(columns)

    def codes(self, table: Any) -> np.ndarray:
        """The array of a table: the inverse of `table`."""
        if not self.categories:
            return np.asarray(table, dtype=np.float64)
        columns = []
        for column, name in enumerate(self.names):
            if column in self.categories:
                columns.append(pd.Categorical(table[name], categories=self.categories[column]).codes)
            else:
                columns.append(table[name].to_numpy(dtype=np.float64))
        return np.column_stack(columns).astype(np.float64)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.predict(self.table(x)))

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """``(n, 2)``; for a model with decision values alone, their logistic, so that 1/2 is where `predict` turns."""
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(self.table(x)), dtype=np.float64)
        positive = 1 / (1 + np.exp(-np.asarray(self.model.decision_function(self.table(x)))))
        return np.column_stack([1 - positive, positive])
