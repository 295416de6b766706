"""Small questions about trees, and their least effort by trying every combination of values that could matter.

It shares no code with the branch and bound: of every column it lists the legal values next to each split point, to the
row and to the ends of its range, and shows the model all combinations of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.objective.regularizers import Sparsity
from counterpoise.problem import Problem
from problems import problem_of

NAMES = ("rate", "packets", "share", "load", "gap", "state", "grade")
GRADES = pd.CategoricalDtype(["low", "mid", "high", "top"], ordered=True)
STATES = ("idle", "new", "open", "shut", "wait")


def flows(seed: int, rows: int = 120) -> pd.DataFrame:
    """Numbers, counts, tenths, single precision, gaps, names and grades."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "rate": rng.normal(size=rows),
            "packets": rng.integers(0, 6, rows),
            "share": rng.integers(0, 9, rows) / 10,
            "load": rng.normal(size=rows).astype(np.float32),
            "gap": np.where(rng.random(rows) < 0.25, np.nan, rng.normal(size=rows)),
            "state": pd.Categorical(rng.choice(STATES, rows), categories=STATES),
            "grade": pd.Categorical(rng.choice(GRADES.categories, rows), dtype=GRADES),
        }
    )
    return table


def labels(table: pd.DataFrame, seed: int, classes: int = 2) -> np.ndarray:
    """Classes that depend on every column that there is."""
    rng = np.random.default_rng(seed + 1)
    total = rng.normal(0, 0.4, len(table))
    for name in table.columns:
        column = table[name]
        codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        total = total + rng.normal() * np.sin(rng.uniform(1, 3) * np.nan_to_num(np.asarray(codes, float), nan=0.7))
    return np.digitize(total, np.quantile(total, np.arange(1, classes) / classes))


def fitted(kind: str, table: pd.DataFrame, seed: int, trees: int, depth: int) -> Any:
    """A small model of one of several libraries."""
    y = labels(table, seed, 3 if kind.endswith("3") else 2)
    if kind.startswith("xgboost"):
        import xgboost

        model = xgboost.XGBClassifier(
            n_estimators=trees, max_depth=depth, enable_categorical=True, n_jobs=1, learning_rate=0.5
        )
        return model.fit(table, y)
    if kind == "lightgbm":
        import lightgbm

        return lightgbm.LGBMClassifier(
            n_estimators=trees, num_leaves=2**depth, min_child_samples=4, min_data_per_group=2, n_jobs=1, verbose=-1
        ).fit(table, y)
    if kind.startswith("hist"):
        return HistGradientBoostingClassifier(
            max_iter=trees,
            max_depth=depth,
            min_samples_leaf=4,
            learning_rate=0.5,
            categorical_features="from_dtype",
            early_stopping=False,
        ).fit(table, y)
    if kind in ENCODED:
        one_hot = OneHotEncoder(categories=[list(STATES)], sparse_output=False)
        ordinal = OrdinalEncoder(categories=[list(STATES)])
        grades = OrdinalEncoder(categories=[GRADES.categories.tolist()])
        there = [name for name in ("state", "grade") if name in table]
        front = make_column_transformer(
            ("passthrough", []),
            *[(grades if name == "grade" else one_hot if kind == "one-hot" else ordinal, [name]) for name in there],
            remainder="passthrough",
        )
        return make_pipeline(
            front, HistGradientBoostingClassifier(max_iter=trees, max_depth=depth, min_samples_leaf=4)
        ).fit(table, y)
    chosen = {
        "tree": DecisionTreeClassifier(max_depth=depth + 2),
        "forest": RandomForestClassifier(trees, max_depth=depth, random_state=seed),
        "forest3": RandomForestClassifier(trees, max_depth=depth, random_state=seed),
        "extra": ExtraTreesClassifier(trees, max_depth=depth, random_state=seed),
        "gradient": GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=seed),
        "ada": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=trees, random_state=seed),
        "isolation": IsolationForest(n_estimators=trees, max_samples=16, random_state=seed, contamination=0.3),
        "regression": RandomForestRegressor(trees, max_depth=depth, random_state=seed),
        "boosted": GradientBoostingRegressor(n_estimators=trees, max_depth=depth, random_state=seed),
    }[kind]
    return chosen.fit(table, y)


ENCODED = ("one-hot", "ordinal")
EVERY_COLUMN = ("xgboost", "xgboost3", "lightgbm", "hist", "hist3", *ENCODED)
NUMBERS_ONLY = ("tree", "forest", "forest3", "extra", "gradient", "ada", "isolation", "regression", "boosted")
DISTANCES: tuple[Any, ...] = (
    "l2",
    "l1",
    "l0",
    "gower",
    "mad",
    {"l2": 1.0, "l0": 0.1},
    {"l2": 0.5, "l1": 0.3, "gower": 1.0},
)


class Drawn(NamedTuple):
    """A model, its reference, two rows, and what is asked of them."""

    model: Any
    table: pd.DataFrame
    rows: pd.DataFrame
    question: dict[str, Any]

    def problem(self, *more: Any) -> Problem | None:
        """The problem, with further constraints; None where it cannot be asked."""
        words = self.question | {"constraints": [*self.question["constraints"], *more]}
        try:
            problem = problem_of(self.model, self.table, self.rows, **words)
        except (cp.ConstraintError, AttributeError):  # words that contradict each other, or every row is there already
            return None
        return problem if getattr(problem.model, "leaves", None) is not None else None  # some models split nothing


def question_of(seed: int) -> Problem | None:
    """A problem of two rows about a small model, drawn by number; None where it cannot be asked."""
    return drawn(seed).problem()


def drawn(seed: int) -> Drawn:
    """A question drawn by number."""
    rng = np.random.default_rng(seed)
    kind = _one(rng, (*EVERY_COLUMN, *NUMBERS_ONLY))
    known = NAMES if kind in EVERY_COLUMN else NAMES[:4]
    names = rng.choice(known, size=rng.integers(2, 5), replace=False).tolist()
    table = flows(seed)[sorted(names, key=NAMES.index)]
    model = fitted(kind, table, seed % 2**20, int(rng.integers(2, 7)), int(rng.integers(1, 4)))
    question: dict[str, Any] = {"distance": _one(rng, DISTANCES), "bounds": _one(rng, ("observed", None))}
    question["constraints"] = constraints(rng, table)
    question["values"] = _one(rng, ("auto", "any", "seen"))
    if rng.random() < 0.3:
        question["weights"] = {names[0]: 2.5}
    question |= _one(rng, ({"lam": 0}, {"lam": 0.1, "regularizers": [Sparsity()]}, {"lam": 0.3}, {}))
    if kind in ("regression", "boosted"):
        low = float(_one(rng, (0.3, 0.5, 0.7)))
        question["target"] = _one(rng, ((low, low + 0.2), (low, np.inf), (-np.inf, low)))
    elif kind not in ("isolation", "ada") and rng.random() < 0.4:
        question |= {"target": int(rng.integers(2)), "threshold": float(_one(rng, (0.4, 0.55, 0.7)))}
    elif kind.endswith("3") and rng.random() < 0.3:
        question["target"] = [1, 2]
    return Drawn(model, table, table.iloc[rng.integers(100) :][:2], question)


def _one(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def constraints(rng: np.random.Generator, table: pd.DataFrame) -> list[Any]:
    """Some words about some columns."""
    words: list[Any] = []
    for name in table.columns:
        word = _one(rng, ("", "", "", "fixed", "up", "down", "range", "listed", "cost", "step"))
        number = name not in ("state", "grade")
        if word == "fixed":
            words.append(cp.Immutable(name))
        elif word in ("up", "down") and name != "state":
            words.append(cp.Increasing(name) if word == "up" else cp.Decreasing(name))
        elif word == "range" and number:
            words.append(cp.Range(name, *_one(rng, ((0.05, 3.5), (-0.4, 0.75)))))
        elif word == "listed":
            words.append(cp.OneOf(name, [0.0, 0.5, 2.0, 3.0] if number else table[name].cat.categories[1:].tolist()))
        elif word == "cost":
            words.append(cp.Cost(name, up=2.0, down=0.5) if name != "state" else cp.Cost(name, up=3.0, down=3.0))
        elif word == "step" and number:
            words.append(cp.Step(name, 1.0 if name == "packets" else 0.3))
    if rng.random() < 0.25:
        words.append(cp.MaxChanges(int(rng.integers(1, 3))))
    return words


def least_efforts(problem: Problem) -> np.ndarray:
    """The least effort of each row, infinite where no legal point meets its goal."""
    return np.array([_least(problem.take([row])) for row in range(len(problem))])


def _least(problem: Problem) -> float:
    return float(_answers(problem)[0].min(initial=np.inf))


def next_best(problem: Problem, count: int) -> np.ndarray:
    """The least efforts of one row with distinct sets of changed features, none a superset of a better one's."""
    effort, changed = _answers(problem)
    kept: list[int] = []
    for place in np.lexsort((changed.sum(axis=1), np.round(effort, 9))).tolist():
        if len(kept) < count and not any((changed[place] | ~changed[better]).all() for better in kept):
            kept.append(place)
    return np.append(effort[kept], np.full(count - len(kept), np.inf))


def _answers(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The efforts of all answers to one row that could be the least, and which features each changes."""
    d = problem.x0.shape[1]
    if not problem.region.feasible[0]:
        return np.empty(0), np.empty((0, d), dtype=bool)
    columns = [_worth_trying(problem, column) for column in range(d)]
    points = np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(1, -1, d)
    found = (problem.score(points).reached & problem.region.contains(points))[0]
    effort = problem.energy.effort(points, problem.x0)[0]
    return effort[found], problem.region.is_changed(points)[0][found]


def _worth_trying(problem: Problem, column: int) -> np.ndarray:
    """The legal values of one column next to its split points, to the row's value and to its ends."""
    region, own = problem.region, problem.x0[0, column]
    low, high = float(region.lower[0, column]), float(region.upper[0, column])
    splits = problem.model.thresholds[column]  # type: ignore[attr-defined]
    marks = np.concatenate([splits, [value for value in (own, low, high) if np.isfinite(value)], [0.0]])
    marks = marks[np.abs(marks) < 1e30]
    near = [marks, np.nextafter(marks, np.inf), np.nextafter(marks, -np.inf)]
    single = marks.astype(np.float32)
    near += [single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))]
    near += [np.round(marks, 1) + shift for shift in (-0.1, 0.0, 0.1)] + [np.arange(-12.0, 13.0)]
    near += [np.rint(np.round(marks, 1) * 10 + shift) / 10 for shift in (-1, 0, 1)]
    if np.isfinite(own):
        near += [own + 0.3 * np.arange(-40, 41), own + np.arange(-12.0, 13.0)]
    near += [values for number, values in region.lattice.choices if number == column]
    near += grid_values(problem, column, marks)
    values = np.concatenate([np.asarray(part, dtype=np.float64) for part in near])
    values = np.unique(np.concatenate([values, values.astype(np.float32)]))
    points = np.repeat(region.row_in_box[:, None, :], len(values), axis=1)
    points[0, :, column] = values
    legal = values[~region.is_broken(points)[0, :, column]]
    stays = [own] if not region.is_broken(problem.x0[:, None, :])[0, 0, column] else []
    legal = np.concatenate([legal, stays])
    if not len(legal):
        return legal
    # of the values of one cell those nearest to the row, on either side, are enough
    cell = np.searchsorted(splits, legal) if len(splits) else np.zeros(len(legal))
    kind = legal if column_is_coded(problem, column) else cell + (legal > own) / 2
    far = np.abs(legal - (own if np.isfinite(own) else 0.0))
    order = np.lexsort((far, kind))
    first = np.unique(kind[order], return_index=True)[1]
    kept = legal[order][first]
    return kept if not np.isnan(legal[-1]) else np.append(kept[~np.isnan(kept)], np.nan)


def grid_values(problem: Problem, column: int, marks: np.ndarray) -> list[np.ndarray]:
    """The values of a column's grid around some marks, if it has one."""
    lattice = problem.region.lattice
    place = int(lattice.place_by_column[column])
    if place < 0:
        return []
    step, parts, origin = lattice.step[place], lattice.divisor[place], lattice.origin[0, place]
    counts = np.floor((marks - origin) * parts / step)
    return [(counts + shift) * step / parts + origin for shift in range(-2, 4)]


def column_is_coded(problem: Problem, column: int) -> bool:
    """Whether the codes of a column are levels that trees may tell apart one by one."""
    return not problem.numeric[column]
