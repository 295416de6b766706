"""Conformance: every kind of model on every kind of table and task, each cell a run whose answers are checked.

`python benchmarks/conformance.py` writes docs/conformance.md. An answer counts if the model itself, asked without this
project, gives the row the target.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from kinds import DATA, KINDS, TASKS, Fitted, Unfit, table, truth
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM
from sklearn.utils import all_estimators

import counterpoise as cp

PAGE = Path(__file__).parents[1] / "docs" / "conformance.md"
ROWS = 3
COUNTS = {"CategoricalNB", "ComplementNB", "MultinomialNB"}  # read whole numbers that are not negative
SMALLER = {"n_estimators": 5, "max_iter": 200, "cv": 2, "hidden_layer_sizes": (6,), "Cs": 2}
PACKAGES = ("scikit-learn", "xgboost-cpu", "lightgbm", "catboost", "torch", "onnxruntime", "pandas", "numpy")


class Cell(NamedTuple):
    """Whether it works, or why not."""

    works: bool
    why: str = ""


def run(kind: str, data: str, task: str) -> Cell:
    """One cell: fit a model of this kind, explain rows of this table, check the answers."""
    x = table(data)
    try:
        fitted = KINDS[kind](data, task)
    except Unfit as reason:
        return Cell(False, str(reason))
    except (ValueError, TypeError) as error:
        return Cell(False, f"cannot be fitted on such a table: {first_line(error)}")
    return checked(fitted, x, task)


def checked(fitted: Fitted, x: pd.DataFrame, task: str) -> Cell:
    """Explain some rows of ``x`` and let the model itself judge the answers."""
    try:
        said = np.asarray(fitted.predict(x))
    except (ValueError, TypeError, RuntimeError) as error:
        said = truth(x, task)  # the model refuses the rows: so will the explanation, with a reason
        del error
    target: Any = "opposite"
    rows = x[said != said.max()]
    if task == "regression":
        if np.ptp(said[np.isfinite(said)]) < 1e-9:
            return Cell(False, "it says the same of every row: there is nothing to explain")
        low, high = np.nanquantile(said, [0.6, 0.95]).tolist()
        target, rows = (low, high), x[~(said >= low)]
    missing = rows[rows.isna().any(axis=1)]
    rows = pd.concat([missing[:1], rows.drop(missing.index[:1])])[:ROWS]
    try:
        found = cp.explain(fitted.model, rows, reference=x, target=target)
    except cp.CounterpoiseError as error:
        return Cell(False, str(error))
    after = np.asarray(fitted.predict(found.frame))
    reached = (after >= low) & (after <= high) if task == "regression" else after != np.asarray(fitted.predict(rows))
    if len(np.unique(said)) == 1 and not found.valid.any():
        return Cell(False, "it says the same of every row: there is nothing to explain")
    if not np.array_equal(found.valid, reached):
        raise AssertionError(f"{fitted.model}: answers called {found.valid.tolist()} are {reached.tolist()}")
    if not found.valid.all():
        return Cell(
            False, f"{int(found.valid.sum())} of {len(found)} rows were answered: {found.reason[~found.valid][0]}"
        )
    return Cell(True)


def first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".:")


def estimators() -> Iterator[tuple[str, list[Cell]]]:
    """Every classifier and regressor that scikit-learn lists, on numbers alone."""
    for kind, tasks in (("classifier", TASKS[:2]), ("regressor", TASKS[2:])):
        for name, cls in all_estimators(kind):
            yield name, [estimated(name, cls, task) for task in tasks]


def estimated(name: str, cls: type, task: str) -> Cell:
    """One estimator of scikit-learn on one task."""
    x, y = table("numeric"), truth(table("numeric"), task)
    x = x.abs().round() if name in COUNTS else x[["rate"]] if name == "IsotonicRegression" else x
    y = np.abs(y) + 0.1 if task == "regression" else y
    try:
        own = small(cls, task).fit(x, y)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        return Cell(False, f"cannot be fitted on one such target: {first_line(error)}")
    return checked(Fitted(own, lambda frame: np.asarray(own.predict(frame)).reshape(len(frame), -1)[:, 0]), x, task)


def small(cls: type, task: str) -> Any:
    """An estimator that is fitted quickly; one that is made of others gets linear ones."""
    base = Ridge() if task == "regression" else LogisticRegression()
    for given in ({}, {"estimator": base}, {"estimators": [("a", base), ("b", base)]}):
        try:
            known = cls(**given).get_params(deep=False)
        except TypeError:
            continue
        quick = {
            key: value for key, value in SMALLER.items() if key in known and (known[key] is not None or key == "cv")
        }
        return cls(**given, **quick)
    raise TypeError("it is made of other estimators in a way of its own")


def detectors() -> Iterator[tuple[str, list[Cell]]]:
    """Outlier detectors, asked what would make an outlier an inlier."""
    x = table("numeric").astype(float)
    far = pd.concat([x, x[:3] + 6], ignore_index=True)
    for model in (IsolationForest(random_state=0), OneClassSVM(nu=0.1), LocalOutlierFactor(novelty=True)):
        model.fit(x)
        found = cp.explain(model, far[-3:], reference=far, target="inlier")
        works = bool(found.valid.all() and (model.predict(found.frame) == 1).all())
        yield type(model).__name__, [Cell(works, "" if works else str(found.reason[0]))]


class Notes:
    """Reasons, each once and by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, cell: Cell) -> str:
        if cell.works:
            return "works"
        if cell.why not in self.texts:
            self.texts.append(cell.why)
        return f"[{self.texts.index(cell.why) + 1}]"


def page() -> str:
    """The page, made by running every cell."""
    notes = Notes()
    columns = [(data, task) for data in DATA for task in TASKS]
    lines = [
        "# Conformance",
        "",
        f"Every cell is a run: a model is fitted on a small table, {ROWS} rows are explained, and the model itself, asked",
        "directly, gives every answer the target. Where it does not work, the number says why. `mixed` tables have a category",
        "(pandas `category`) and a truth value beside numbers, `missing` ones have missing cells in the reference and in the",
        "rows explained. Made by `python benchmarks/conformance.py` with "
        + ", ".join(f"{name} {version(name)}" for name in PACKAGES)
        + ".",
        "",
        "## Kinds of models",
        "",
        "| model | " + " | ".join(f"{data}, {task}" for data, task in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for kind in KINDS:
        cells = []
        for data, task in columns:
            cells.append(run(kind, data, task))
            print(f"{kind}, {data}, {task}: {cells[-1].why or 'works'}", file=sys.stderr)
        lines.append(f"| {kind} | " + " | ".join(map(notes, cells)) + " |")
    lines += ["", 'Outlier detectors, target "inlier", on numbers: ']
    lines[-1] += ", ".join(f"{name} {notes(cells[0])}" for name, cells in detectors()) + "."
    lines += ["", "## scikit-learn's estimators, one by one", "", "On a table of numbers, with the names of the frame."]
    lines += ["", "| estimator | binary | multi-class | regression |", "|---|---|---|---|"]
    for name, cells in estimators():
        print(f"{name}: {[cell.why or 'works' for cell in cells]}", file=sys.stderr)
        said = [*map(notes, cells), ""] if len(cells) == 2 else ["", "", *map(notes, cells)]
        lines.append(f"| {name} | " + " | ".join(said) + " |")
    lines += ["", "## Why not", ""]
    lines += [f"{number}. {text}" for number, text in enumerate(notes.texts, 1)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is written")
    warnings.simplefilter("ignore")  # of fits that were not given the time to converge
    parser.parse_args().page.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
