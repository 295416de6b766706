"""One case of firm answers, measured with the checkout that this process imports: used by ``firm.py``.

    python benchmarks/firm_case.py TABLE KIND --rows 50 --out case.npz [--models FOLDER] [--keep 0.9]

The plain call, then ``keep`` under noise "auto" and rank noise of 1 %, side by side in one process: effort, distance,
CPU seconds, rows asked of the model, the share claimed, and the share that copies keep which neither search nor
verification saw, decided by the user's own ``predict``.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from tasks import read_table

import counterpoise as cp
from counterpoise.objective.noise import RankNoise
from counterpoise.space.region.region import Region

TABLES = ("unsw_nb15", "rt_iot2022", "adult", "give_me_some_credit")
KINDS = ("boosted", "forest", "network", "logistic")
NOISES = {"auto": "auto", "rank 0.01": RankNoise(0.01)}
COPIES = 1000


def fit(kind: str, table: pd.DataFrame, target: np.ndarray) -> Any:
    """A model of a kind, with what it needs in front of it for categories and scales."""
    text = make_column_selector(dtype_exclude="number")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    trees = make_column_transformer((codes, text), remainder="passthrough")
    scaled = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder=StandardScaler())
    models = {
        "boosted": make_pipeline(trees, HistGradientBoostingClassifier(max_iter=100, random_state=0)),
        "forest": make_pipeline(trees, RandomForestClassifier(100, random_state=0)),
        "logistic": make_pipeline(scaled, LogisticRegression(max_iter=500)),
        "network": make_pipeline(scaled, MLPClassifier((32,), max_iter=40, random_state=0)),
    }
    return models[kind].fit(table, target)


def load(name: str, kind: str, models: Path | None) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """The fitted model, its training rows and others; a model is fitted once for all checkouts."""
    table, target, _ = read_table(name)
    train, test, labels, _ = train_test_split(table, target, test_size=0.25, random_state=0)
    stored = None if models is None else models / f"{name}-{kind}.pickle"
    if stored is not None and stored.exists():
        return pickle.loads(stored.read_bytes()), train, test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(kind, train, labels)
    if stored is not None:
        stored.write_bytes(pickle.dumps(model))
    return model, train, test


def unseen_shares(explainer: cp.Explainer, found: cp.Explanation, model: Any, noises: list[RankNoise]) -> np.ndarray:
    """The share ``(n,)`` of new copies of the answers that the user's own ``predict`` gives what it gives them."""
    schema, rng = found.schema, np.random.default_rng(20_26)
    region = Region.build(schema, found.x0, explainer.constraints, explainer.bounds)
    out = np.zeros(len(found))
    for row in np.flatnonzero(found.valid).tolist():
        draws = rng.normal(size=(1, COPIES, found.x.shape[1]))
        one = region.take([row])
        copies = noises[row].copies(found.x[None, row : row + 1], draws, one, schema.scales, schema.numeric)[0, 0]
        out[row] = np.mean(explainer.model.predict(copies) == found.scores["after"].iloc[row])
    return out


def measure(name: str, kind: str, rows: int, keep: float, models: Path | None) -> dict[str, Any]:
    """All figures of one table and one kind of model."""
    model, train, test = load(name, kind, models)
    explainer = cp.Explainer(model, reference=train)
    test = test[:rows]
    explainer(test[:2], keep=keep)  # what is made once is not counted
    began = time.process_time()
    plain = explainer(test)
    out: dict[str, Any] = {"plain-seconds": time.process_time() - began, "plain-rows": plain.model_rows}
    out["plain-effort"] = plain.effort
    for label, noise in NOISES.items():
        began = time.process_time()
        found = explainer(test, keep=keep, noise=noise)
        out[f"{label}-seconds"] = time.process_time() - began
        words = found.firm["noise"].str.split(":").str[0].str.removeprefix("rank noise ")
        levels = words.astype(float) if noise == "auto" else [noise.level] * len(test)
        fitted = [RankNoise(level).fitted(explainer.reference.x) for level in levels]
        out[f"{label}-rows"] = found.model_rows
        out[f"{label}-effort"] = found.effort
        out[f"{label}-distance"] = found.energy["distance"].to_numpy()
        out[f"{label}-claims"] = (found.firm["kept_low"] >= keep).to_numpy() & found.valid
        out[f"{label}-unseen"] = unseen_shares(explainer, found, model, fitted)
    return out


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("table")
    words.add_argument("kind", choices=KINDS)
    words.add_argument("--rows", type=int, default=50)
    words.add_argument("--keep", type=float, default=0.9)
    words.add_argument("--out", type=Path, required=True)
    words.add_argument("--models", type=Path)
    given = words.parse_args()
    np.savez(given.out, **measure(given.table, given.kind, given.rows, given.keep, given.models))


if __name__ == "__main__":
    main()
