"""Comparison: what was measured of every method on one task, and the rows on which two of them can be compared."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import exact
import metrics
import numpy as np
import pandas as pd
from task import Task

MEASURES = {"l2": "l2", "l1": "l1", "l0": "changes"}  # the distance asked for, and the column that measures it
LINEAR = ("logistic", "wide")
PROVABLE = ("provable",)
PROVEN = 50  # rows


@dataclass(frozen=True)
class Measured:
    """One method: its rows one by one, its batches ``{size: rows}``, and what its runner said."""

    name: str
    rows: pd.DataFrame
    batches: dict[int, pd.DataFrame]
    about: dict[str, Any]

    @property
    def ours(self) -> bool:
        return self.name.startswith("ours")

    @property
    def free(self) -> bool:
        """Asked without bounds."""
        return self.ours and "free" in self.name

    @property
    def unbounded(self) -> bool:
        """Whether the optimum without bounds is its measure: asked so, or a peer that ignores them."""
        return self.free or (not self.ours and len(self.rows) > 0 and not self.rows["inside"].all())

    @property
    def milliseconds(self) -> float:
        """CPU, one row at a time."""
        return float(1000 * self.rows["cpu"].mean()) if len(self.rows) else np.nan

    def batch_milliseconds(self, size: int, clock: str = "cpu") -> float:
        """A row in a batch; a method without batches takes as long as for one row."""
        found = self.about.get("batches", {}).get(str(size))
        if found is not None:
            return float(1000 * found[clock])
        return float(1000 * self.rows[clock].mean()) if len(self.rows) else np.nan

    def answers(self, size: int | None = None) -> pd.DataFrame:
        """The batch of that size, or the rows one by one where there is none."""
        return self.batches.get(size, self.rows) if size is not None else self.rows


@dataclass(frozen=True)
class Comparison:
    """All methods on one task. ``optima`` has the known optimum of each row by measure, "box" or "free"."""

    task: Task
    methods: dict[str, Measured]
    optima: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    @property
    def peers(self) -> list[Measured]:
        return [method for method in self.methods.values() if not method.ours]

    def ratio(self, method: Measured, measure: str, size: int | None = None) -> np.ndarray:
        """Each valid answer's size over the optimum of the same question: in the box, or without bounds."""
        known = self.optima.get("free" if method.unbounded else "box", {}).get(measure)
        rows = method.answers(size)
        if known is None or not len(rows):
            return np.empty(0)
        rows = rows[rows["valid"]]
        return rows[measure].to_numpy() / known[rows.index.to_numpy()]


def solved(method: Measured, bounded: bool, size: int | None = None) -> pd.DataFrame:
    """The rows whose answers count: valid as written, categories legal and, if asked, inside the observed box."""
    rows = method.answers(size)
    if not len(rows):
        return rows
    good = rows["valid"] & rows["legal"]
    return rows[good & rows["inside"]] if bounded else rows[good]


def against(one: Measured, other: Measured, measure: str, size: int | None = None) -> tuple[int, float, float]:
    """How many rows both solve, and the mean of the measure of each on them."""
    bounded = not (one.free or other.free)
    mine, theirs = solved(one, bounded, size), solved(other, bounded)
    both = mine.index.intersection(theirs.index)
    if not len(both):
        return 0, np.nan, np.nan
    return len(both), float(mine.loc[both, measure].mean()), float(theirs.loc[both, measure].mean())


def paired_ratio(one: pd.Series[float], other: pd.Series[float], resamples: int = 2000) -> tuple[float, float, float]:
    """Mean of one over mean of the other on the same rows, and the middle 95 % when the rows are drawn anew."""
    both = one.index.intersection(other.index)
    if not len(both):
        return np.nan, np.nan, np.nan
    pairs = np.column_stack([one.loc[both], other.loc[both]]).astype(np.float64)
    picked = np.random.default_rng(0).integers(len(pairs), size=(resamples, len(pairs)))
    means = pairs[picked].mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = means[:, 0] / means[:, 1]
        mean = pairs[:, 0].mean() / pairs[:, 1].mean()
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return float(mean), float(low), float(high)


def gather(task: Task, folder: Path) -> Comparison:
    """Read every method's files of one task; ours come first."""
    names = sorted({path.stem for path in folder.glob("*.json")}, key=lambda name: (not name.startswith("ours"), name))
    methods = {}
    for name in names:
        rows, about = metrics.read(task, folder, name)
        sizes = [int(size) for size in about.get("batches", {})]
        batches = {size: judged for size in sizes if (judged := metrics.batch(task, about, size)) is not None}
        methods[name] = Measured(name, rows, batches, about)
    return Comparison(task, methods, optima(task))


def optima(task: Task) -> dict[str, dict[str, np.ndarray]]:
    """The known optima of the task's rows, kept on disk beside it; nothing where none are known."""
    if task.name in LINEAR:
        return {"box": exact.linear(task, task.rows, True), "free": exact.linear(task, task.rows, False)}
    if task.name not in PROVABLE:
        return {}
    path = task.folder / "optima.json"
    if not path.exists():
        try:
            found = {column: prove(task, measure) for measure, column in MEASURES.items()}
        except ImportError:
            return {}
        path.write_text(json.dumps(found))
    return {"box": {column: np.array(sizes) for column, sizes in json.loads(path.read_text()).items()}}


def prove(task: Task, measure: str) -> list[float]:
    """The optimum of each row, NaN where it was not proven in time."""
    found = [exact.forest(task, row, measure) for row in task.rows[:PROVEN]]
    return [size if proven else np.nan for size, proven in found]
