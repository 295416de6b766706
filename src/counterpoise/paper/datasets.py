"""The tables of network traffic, the simulated devices, and the models that are fitted to them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterpoise import telemetry

FOLDER_VARIABLE = "COUNTERPOISE_DATA"
TABLE_NAMES = ("ciciot2023", "rt_iot2022", "unsw_nb15", "nsl_kdd")


def data_folder() -> Path:
    """Where the tables are: COUNTERPOISE_DATA, or ../shared/data beside the project."""
    return Path(os.environ.get(FOLDER_VARIABLE, Path(__file__).parents[4] / "shared" / "data"))


def load_table(name: str, rows: int) -> tuple[pd.DataFrame, pd.Series[str], list[str]] | None:
    """Features, decision ("benign" or "attack") and the columns that may not change; None where it is not at hand."""
    if name == "simulated":
        devices = telemetry.simulate(rows, 1)
        return devices.frame, devices.label.replace({"alert": "attack"}), []
    path = data_folder() / f"{name}.csv.gz"
    if not path.exists():
        return None
    table = pd.read_csv(path, keep_default_na=False)
    described = yaml.safe_load((data_folder() / f"{name}.yaml").read_text(encoding="utf-8"))["columns"]
    table = table.sample(min(rows, len(table)), random_state=0).reset_index(drop=True)
    fixed = [column["name"] for column in described if column.get("immutable") and column["name"] in table.columns]
    label = table["target"].map({0: "benign", 1: "attack"}).astype(str)
    return table.drop(columns=["label", "target"]), label, fixed


def fit_model(kind: str, frame: pd.DataFrame, label: pd.Series[str], quick: bool) -> Any:
    """A pipeline that one-hot encodes categories, then a forest, or a network on standardised numbers."""
    words = [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
    numbers = [name for name in frame.columns if name not in words]
    shape: Any = StandardScaler() if kind == "network" else "passthrough"
    front = make_column_transformer(
        (shape, numbers), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words)
    )
    forest = RandomForestClassifier(25 if quick else 50, random_state=0)
    network = MLPClassifier((16,) if quick else (64, 64), max_iter=40 if quick else 80, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # enough iterations to compare on, not to publish
        return make_pipeline(front, forest if kind == "forest" else network).fit(frame, label)
