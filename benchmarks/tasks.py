"""The tasks: each a function that returns a Task, the same on every machine, written to a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from task import CACHE, Task

ROWS = 100
TABLES = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[2] / "shared" / "data"))


class Skipped(Exception):
    """The task cannot be made here, and why."""


def fitted(name: str, title: str, model: object, x: np.ndarray, y: np.ndarray, names: list[str]) -> Task:
    """A task of numeric columns: a quarter is held out, and rows to explain are taken from it."""
    train, rest, labels, _ = train_test_split(x, y, test_size=0.25, stratify=y, random_state=0)
    model.fit(train, labels)
    return Task(name, title, train, labels, rest[:ROWS], rest[ROWS : ROWS + 1], names, {}, model)


def cancer(name: str, title: str, model: object) -> Task:
    data = load_breast_cancer()
    return fitted(name, f"breast cancer, {title}", model, data.data, data.target, list(data.feature_names))


def made(name: str, title: str, model: object) -> Task:
    """12,000 rows of 20 columns, of which 10,000 train the model."""
    x, y = make_classification(12_000, 20, n_informative=10, n_redundant=5, n_clusters_per_class=3, random_state=0)
    model.fit(x[:10_000], y[:10_000])
    rest = x[10_000:]
    names = [f"x{column}" for column in range(x.shape[1])]
    return Task(
        name, f"12,000 × 20, {title}", x[:10_000], y[:10_000], rest[:ROWS], rest[ROWS : ROWS + 1], names, {}, model
    )


def read_table(name: str) -> tuple[pd.DataFrame, np.ndarray, dict[str, list[str]]]:
    """Features, target and the categories of one of the shared tables."""
    path = TABLES / f"{name}.csv.gz"
    if not path.exists():
        raise Skipped(f"no {path.name} in {TABLES}; COUNTERPOISE_DATA names the folder of the tables")
    table = pd.read_csv(path, keep_default_na=False)
    schema = yaml.safe_load((TABLES / f"{name}.yaml").read_text())
    categories = {c["name"]: list(map(str, c["categories"])) for c in schema["columns"] if c["kind"] == "categorical"}
    return table.drop(columns=["label", "target"]), table["target"].to_numpy(), categories


def flows(table: str, title: str, model: object, drop: tuple[str, ...] = ()) -> Task:
    """The numeric columns of a security table."""
    x, y, categories = read_table(table)
    x = x.drop(columns=[*categories, *drop])
    return fitted(table, f"{table}, {title}", model, x.to_numpy(dtype=np.float64), y, list(x.columns))


def adult(name: str = "adult", words: str = "one-hot + HistGradientBoosting", last: object = None) -> Task:
    x, y, categories = read_table("adult")
    one_hot = OneHotEncoder(categories=list(categories.values()), sparse_output=False)
    rest = "passthrough" if last is None else StandardScaler()
    front = make_column_transformer((one_hot, list(categories)), remainder=rest)
    model = make_pipeline(front, HistGradientBoostingClassifier(random_state=0) if last is None else last)
    train, rest, labels, _ = train_test_split(x, y, test_size=0.25, stratify=y, random_state=0)
    model.fit(train, labels)
    numbered = {x.columns.get_loc(name): labels_ for name, labels_ in categories.items()}
    title = f"adult, {words}, 7 categorical"
    empty = np.empty((0, x.shape[1]))
    task = Task(name, title, empty, labels, empty, empty, list(x.columns), numbered, model)
    arrays = [task.codes(part) for part in (train, rest[:ROWS], rest[ROWS : ROWS + 1])]
    return Task(name, title, arrays[0], labels, *arrays[1:], list(x.columns), numbered, model)


def xgboosted() -> Task:
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise Skipped("xgboost is not installed") from error
    return made("xgboost", "XGBoost", XGBClassifier(n_estimators=100, max_depth=6, random_state=0, n_jobs=1))


def wide() -> Task:
    """Logistic regression on 784 columns."""
    x, y = make_classification(4_000, 784, n_informative=60, n_redundant=0, random_state=0)
    names = [f"x{column}" for column in range(784)]
    return fitted("wide", "logistic, d = 784", logistic(), x, y, names)


def logistic() -> object:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def forest(trees: int = 100, **settings: int) -> RandomForestClassifier:
    return RandomForestClassifier(trees, random_state=0, **settings)


def boosted() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(random_state=0)


def network() -> object:
    return make_pipeline(StandardScaler(), MLPClassifier((64, 64), max_iter=100, random_state=0))


def small_network() -> object:
    return make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=300, random_state=0))


def machine() -> object:
    return make_pipeline(StandardScaler(), SVC(random_state=0))


TASKS: dict[str, Callable[[], Task]] = {
    "logistic": lambda: cancer("logistic", "logistic regression", logistic()),
    "forest": lambda: cancer("forest", "forest of 100", forest()),
    "svc": lambda: cancer("svc", "RBF SVC", machine()),
    "provable": lambda: cancer("provable", "forest of 10 trees of depth 3", forest(10, max_depth=3)),
    "mlp": lambda: made("mlp", "MLP 64×64", network()),
    "xgboost": xgboosted,
    "unsw_nb15": lambda: flows("unsw_nb15", "HistGradientBoosting", boosted()),
    "ciciot2023": lambda: flows("ciciot2023", "forest of 100", forest()),
    "rt_iot2022": lambda: flows("rt_iot2022", "HistGradientBoosting", boosted(), drop=("id.resp_p",)),
    "adult": adult,
    "wide": wide,
    "nice-wdbc-rf": lambda: cancer("nice-wdbc-rf", "forest of 100", forest()),
    "nice-wdbc-ann": lambda: cancer("nice-wdbc-ann", "network", small_network()),
    "nice-adult-rf": lambda: adult("nice-adult-rf", "forest of 100", forest(min_samples_leaf=5)),
    "nice-adult-ann": lambda: adult("nice-adult-ann", "network", MLPClassifier((32,), max_iter=60, random_state=0)),
}
NICE_TASKS = tuple(name for name in TASKS if name.startswith("nice-"))
"""Two of the sets of NICE's own benchmark, with models of its two kinds: `nice_sets.py`. In no other table."""


def folder_of(name: str) -> Path:
    """The folder of a task, made if it does not exist."""
    folder = CACHE / "tasks" / name
    if not (folder / "task.json").exists():
        TASKS[name]().write(folder)
    return folder
