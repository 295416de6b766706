"""Conformance: every kind of model on every kind of table and task, each cell a run whose answers are checked.

`python benchmarks/conformance.py` writes docs/reference/conformance.md. An answer counts if the model itself,
asked without this project, gives the row the target.
"""

from __future__ import annotations

import argparse
import re
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

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "conformance.md"
ROWS = 3
COUNTS = {"CategoricalNB", "ComplementNB", "MultinomialNB"}  # read whole numbers that are not negative
SMALLER = {"n_estimators": 5, "max_iter": 200, "cv": 2, "hidden_layer_sizes": (6,), "Cs": 2, "alpha": 0.1}
SEVERAL_TARGETS = ("ClassifierChain", "RegressorChain", "MultiOutput", "MultiTask")
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
        said = np.asarray(fitted.predict(x), dtype=float)
    except (ValueError, TypeError):
        said = truth(x, task)  # the model refuses some rows: so will the explanation, and say why
    if np.nanmin(said) == np.nanmax(said):
        return Cell(False, "it says the same of every row: there is nothing to explain")
    low, high = np.nanquantile(said, [0.6, 0.95]).tolist()
    target: Any = (low, high) if task == "regression" else "opposite"
    rows = x[~(said >= low)] if task == "regression" else x
    gaps = rows.isna().any(axis=1)
    rows = pd.concat([rows[gaps][:1], rows[~gaps]])[:ROWS]
    try:
        found = cp.explain(fitted.model, rows, reference=x, target=target)
    except cp.CounterpoiseError as error:
        return Cell(False, str(error))
    before, after = np.asarray(fitted.predict(rows)), np.asarray(fitted.predict(found.frame))
    reached = (after >= low) & (after <= high) if task == "regression" else after != before
    if not np.array_equal(found.valid, reached):
        raise AssertionError(f"{fitted.model}: answers called {found.valid.tolist()} are {reached.tolist()}")
    if not found.valid.all():
        answered = f"{int(found.valid.sum())} of {len(found)} rows were answered"
        return Cell(False, f"{answered}: {found.reason[~found.valid][0]}")
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
    y = y - y.min() + 0.1 if task == "regression" else y  # some take positive numbers alone
    try:
        own = small(cls, task).fit(x, np.column_stack([y, y]) if name.startswith(SEVERAL_TARGETS) else y)
    except (ValueError, TypeError) as error:
        return Cell(False, f"cannot be fitted on such a table: {first_line(error)}")
    return checked(Fitted(own, lambda frame: np.asarray(own.predict(frame)).reshape(len(frame), -1)[:, 0]), x, task)


def small(cls: type, task: str) -> Any:
    """An estimator that is fitted quickly; one that is made of others gets linear ones."""
    base = Ridge() if task == "regression" else LogisticRegression()
    if cls.__name__ in ("CCA", "PLSCanonical"):
        return cls(n_components=1)
    if cls.__name__ == "SelfTrainingClassifier":
        return cls(base)
    for given in ({}, {"estimator": base}, {"estimators": [("a", base), ("b", base)]}):
        try:
            known = cls(**given).get_params(deep=False)
        except TypeError:
            continue
        quick = {name: value for name, value in SMALLER.items() if known.get(name) is not None or name == "cv"}
        return cls(**given, **{name: value for name, value in quick.items() if name in known})
    raise TypeError("it is made of other estimators in a way of its own")


def detectors() -> Iterator[tuple[str, Cell]]:
    """Outlier detectors, asked what would make an outlier an inlier."""
    x = table("numeric").astype(float)
    far = pd.concat([x, x[:3] + 6], ignore_index=True)
    for model in (IsolationForest(random_state=0), OneClassSVM(nu=0.1), LocalOutlierFactor(novelty=True)):
        model.fit(x)
        found = cp.explain(model, far[-3:], reference=far, target="inlier")
        works = bool(found.valid.all() and (model.predict(found.frame) == 1).all())
        yield type(model).__name__, Cell(works, "" if works else str(found.reason[0]))


class Notes:
    """Reasons, each once and by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, cell: Cell) -> str:
        if cell.works:
            return "works"
        text = re.sub(r"\[[-\d., na]*\]", "[…]", cell.why)  # which rows and numbers it was is by the way
        if text not in self.texts:
            self.texts.append(text)
        return f"[{self.texts.index(text) + 1}]"


INTRODUCTION = """# Conformance

Every cell is a run: a model is fitted on a small table, {rows} rows are explained, and the model itself, asked
directly, gives every answer the target. Where that does not work, the number says why. `mixed` tables have a category
(pandas `category`) and a truth value beside numbers; `missing` ones have missing cells, in the reference and in the
rows explained. How each kind of model enters: [models](models.md).

Made by `python benchmarks/conformance.py` with {versions}.
"""


def page() -> str:
    """The page, made by running every cell."""
    notes = Notes()
    columns = [(data, task) for data in DATA for task in TASKS]
    found = {name: version(name).partition("+")[0] for name in PACKAGES}
    versions = ", ".join(f"{name} {number}" for name, number in found.items())
    lines = [INTRODUCTION.format(rows=ROWS, versions=versions), "## Kinds of models", ""]
    lines += ["| model | " + " | ".join(map(", ".join, columns)) + " |", "|---|" + "---|" * len(columns)]
    for kind in KINDS:
        cells = [run(kind, data, task) for data, task in columns]
        print(f"{kind}: {sum(cell.works for cell in cells)} of {len(cells)}", flush=True)
        lines.append(f"| {kind} | " + " | ".join(map(notes, cells)) + " |")
    lines += ["", "Outlier detectors on numbers, target `inlier`:", "", "| detector | |", "|---|---|"]
    lines += [f"| {name} | {notes(cell)} |" for name, cell in detectors()]
    lines += ["", "## The estimators of scikit-learn", "", "All that it lists, on a table of numbers.", ""]
    lines += ["| estimator | binary | multi-class | regression |", "|---|---|---|---|"]
    for name, cells in estimators():
        print(f"{name}: {sum(cell.works for cell in cells)} of {len(cells)}", flush=True)
        said = [*map(notes, cells), ""] if len(cells) == 2 else ["", "", *map(notes, cells)]
        lines.append(f"| {name} | " + " | ".join(said) + " |")
    lines += ["", "## Why not", "", *(f"{number}. {text}" for number, text in enumerate(notes.texts, 1))]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is written")
    warnings.simplefilter("ignore")  # of fits that were not given the time to converge
    parser.parse_args().page.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
