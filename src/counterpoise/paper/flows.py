"""Real data: the same comparison on tables of network traffic, under one budget of model rows and one of seconds."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterpoise import telemetry
from counterpoise.api.explainer import Explainer
from counterpoise.judge.compare import compare
from counterpoise.methods.algorithm1 import Algorithm1
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.base import Method
from counterpoise.methods.gradient import GradientDescent
from counterpoise.methods.lime import Lime
from counterpoise.methods.nearest import NearestNeighbour
from counterpoise.methods.polish import Polished
from counterpoise.methods.random_search import RandomSearch
from counterpoise.methods.spheres import GrowingSpheres
from counterpoise.paper.exhibit import Exhibit, Scale
from counterpoise.space.constraints import Immutable

FOLDER = "COUNTERPOISE_DATA"
TABLES = ("ciciot2023", "rt_iot2022", "unsw_nb15", "nsl_kdd")
METHODS: dict[str, Method] = {
    "Free energy": Polished(Annealing()),
    "Algorithm 1": Algorithm1(),
    "LIME": Lime(),
    "Gradient": GradientDescent(),
    "Growing spheres": GrowingSpheres(),
    "Nearest neighbour": NearestNeighbour(),
    "Random search": RandomSearch(),
}
SHOWN = {
    "validity": "valid",
    "l2": "L2",
    "l2_to_best": "L2 / best",
    "l0": "changed",
    "redundancy": "redundant",
    "robustness": "kept",
    "ynn": "yNN",
    "outlier": "LOF",
    "instability": "instability",
    "ms": "ms",
    "model_rows": "model rows",
}
"""The metrics on the page; the data beside it has all of them."""

BETTER = {"valid": 1, "L2 / best": -1, "changed": -1, "redundant": -1, "kept": 1, "yNN": 1, "LOF": -1}
"""Whether more or less of a metric is better, for those that are marked."""


def folder() -> Path:
    """Where the tables are: COUNTERPOISE_DATA, or ../shared/data beside the project."""
    return Path(os.environ.get(FOLDER, Path(__file__).parents[4] / "shared" / "data"))


def load(name: str, rows: int) -> tuple[pd.DataFrame, pd.Series[str], list[str]] | None:
    """Features, decision ("benign" or "attack") and the columns that may not change; None where it is not at hand."""
    if name == "simulated":
        devices = telemetry.simulate(rows, 1)
        return devices.frame, devices.label.replace({"alert": "attack"}), []
    path = folder() / f"{name}.csv.gz"
    if not path.exists():
        return None
    table = pd.read_csv(path, keep_default_na=False)
    described = yaml.safe_load((folder() / f"{name}.yaml").read_text(encoding="utf-8"))["columns"]
    table = table.sample(min(rows, len(table)), random_state=0).reset_index(drop=True)
    fixed = [column["name"] for column in described if column.get("immutable") and column["name"] in table.columns]
    label = table["target"].map({0: "benign", 1: "attack"}).astype(str)
    return table.drop(columns=["label", "target"]), label, fixed


def fitted(kind: str, frame: pd.DataFrame, label: pd.Series[str], quick: bool) -> Any:
    """A forest, or a network, behind what makes numbers of categories."""
    words = [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
    numbers = [name for name in frame.columns if name not in words]
    shape: Any = StandardScaler() if kind == "network" else "passthrough"
    front = make_column_transformer(
        (shape, numbers), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words)
    )
    forest = RandomForestClassifier(25 if quick else 100, random_state=0)
    network = MLPClassifier((16,) if quick else (64, 64), max_iter=40 if quick else 80, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # enough iterations to compare on, not to publish
        return make_pipeline(front, forest if kind == "forest" else network).fit(frame, label)


def measure(scale: Scale) -> Exhibit:
    """Every method on every table and model that is at hand, with both budgets."""
    rows, count = scale.pick(1500, 6000), scale.pick(6, 50)
    ration, seconds = scale.pick(1000, 2000), scale.pick(0.03, 0.05)
    names = ("simulated", *(("unsw_nb15",) if scale.quick else TABLES))
    parts, absent = [], []
    for name in names:
        read = load(name, rows)
        if read is None:
            absent.append(f"{name} is not at hand and was skipped: set {FOLDER} to the folder with {name}.csv.gz.")
            continue
        frame, label, fixed = read
        for kind in ("forest", "network"):
            model = fitted(kind, frame, label, scale.quick)
            explainer = Explainer(model, reference=frame, constraints=[Immutable(*fixed)] if fixed else [])
            attacks = frame[np.asarray(model.predict(frame)) == "attack"][:count]
            for budget, limits in (
                (f"{ration} model rows a row", {"model_rows": ration}),
                (f"{1000 * seconds:g} ms a row", {"seconds": seconds}),
            ):
                found = compare(METHODS, explainer, attacks, target="benign", seeds=(0, 1), noise=0.05, **limits)
                found.insert(0, "budget", budget)
                found.insert(0, "model", kind)
                found.insert(0, "table", name)
                parts.append(found.rename_axis("method").reset_index())
    every = pd.concat(parts, ignore_index=True)
    every["ms"] = 1000 * every["seconds"]
    tables = {
        f"{name}, {kind}, {budget}": part.set_index("method")[list(SHOWN)].rename(columns=SHOWN).reset_index()
        for (name, kind, budget), part in every.groupby(["table", "model", "budget"], sort=False)
    }
    return Exhibit(
        "comparison",
        "Real data: the same question to every method",
        (
            (
                "Same rows, same region, same verification; each method stops when its budget is used up, if it has "
                "not finished. The ration of model rows is never overdrawn; the last columns say what was taken. "
                "Valid: share of rows turned inside every constraint. L2 in standard deviations, and over the best "
                "of all methods on the same row. Kept: share of copies under Gaussian noise of 0.05 standard "
                "deviations that keep the target. yNN: share of the five nearest reference rows that have it. LOF: "
                "local outlier factor, 1 is inside. Means are over the rows that a method itself turns, so that a "
                "method which turns few rows may look near. The best of a column is marked where a method turns at "
                "least half of the rows."
            ),
            *_lost(every),
            *absent,
        ),
        f"{count} attacks of each table, two seeds; reference and training: {rows} rows; forest of "
        f"{scale.pick(25, 100)} trees, network {scale.pick('(16,)', '(64, 64)')}; constraints: the columns that the "
        "table's description calls immutable; bounds observed.",
        tables=tables,
        data={"comparison": every},
        facts=_facts(every),
    )


def _lost(every: pd.DataFrame) -> tuple[str, ...]:
    """How often the free energy is the best of a column, and who is where it is not."""
    words = []
    kept = every[every["validity"] >= 0.5]
    for column, better in (("l2_to_best", -1), ("l0", -1), ("robustness", 1), ("ynn", 1), ("ms", -1)):
        winners = [
            str(part["method"].iloc[int((better * part[column]).to_numpy().argmax())])
            for _, part in kept.groupby(["table", "model", "budget"], sort=False)
        ]
        counts = pd.Series(winners).value_counts()
        told = ", ".join(f"{name} {number}" for name, number in counts.items())
        words.append(f"{SHOWN[column]}: {told}")
    return ("Best of the column, in how many of the tables below: " + "; ".join(words) + ".",)


def _facts(every: pd.DataFrame) -> dict[str, float]:
    columns = ["validity", "l2_to_best", "robustness", "instability", "ms", "l0", "model_rows"]
    means = every.groupby("method")[columns].mean()
    facts = {f"real {name} {key}": float(line[key]) for name, line in means.iterrows() for key in columns}
    own = every[every["model"] == "network"].groupby("method")[["validity", "l2_to_best"]].mean()
    trees = every[every["model"] == "forest"].groupby("method")[["validity", "l2_to_best"]].mean()
    for label, part in (("network", own), ("forest", trees)):
        facts |= {f"{label} {name} {key}": float(line[key]) for name, line in part.iterrows() for key in part.columns}
    return facts
