"""A detector of boosted trees, its data and alerts, in a folder, and the real command run on them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier

import counterpoise as cp

ASK = ("-m", "model.pkl", "--trust", "-d", "train.csv", "-l", "label", "-t", "benign", "--no-proof", "--no-kept")
SETTINGS: dict[str, Any] = {"target": "benign", "proof": False, "kept": False}


@cache
def flows() -> tuple[pd.DataFrame, pd.Series[str]]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "bytes": rng.gamma(2.0, 300.0, 300).round(1),
            "packets": rng.integers(1, 60, 300),
            "proto": rng.choice(["tcp", "udp", "icmp"], 300),
            "rate": rng.normal(10, 4, 300).round(3),
        }
    )
    score = frame["bytes"] / 600 + frame["packets"] / 40 + (frame["proto"] == "icmp") - frame["rate"] / 20
    return frame, pd.Series(np.where(score > score.median(), "alert", "benign"))


@cache
def detector() -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    frame, label = flows()
    front = make_column_transformer((OrdinalEncoder(), ["proto"]), remainder="passthrough")
    return make_pipeline(front, GradientBoostingClassifier(n_estimators=15, random_state=0)).fit(frame, label)


@cache
def explainer() -> cp.Explainer:
    return cp.Explainer(detector(), reference=flows()[0])


@cache
def alerts(count: int = 40) -> pd.DataFrame:
    frame, _ = flows()
    raised = frame[detector().predict(frame) == "alert"]
    rng = np.random.default_rng(2)
    many = raised.iloc[rng.integers(0, len(raised), count)].reset_index(drop=True)
    many["bytes"] = (many["bytes"] + rng.integers(0, 50, count)).round(1)
    return many.assign(ticket=[f"T-{number}" for number in range(count)])


class SignallingModel:
    """The detector, unopened; after so many calls, which a file tells, it sends a signal to its own process."""

    def __init__(self) -> None:
        self.classes_ = detector().classes_
        self.model, self.calls = detector(), 0

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        self.calls += 1
        wanted = Path("signal.txt")
        if wanted.exists():
            after, number = map(int, wanted.read_text().split())
            if self.calls == after:
                os.kill(os.getpid(), number)
        else:
            Path("calls.txt").write_text(str(self.calls))
        return self.model.predict_proba(rows)

    def predict(self, rows: pd.DataFrame) -> Any:
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


class DyingModel(SignallingModel):
    """The detector, unopened; in a worker process it ends that process for each file named die-* that is there."""

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        if "Loky" in multiprocessing.current_process().name:
            for token in Path().glob("die-*"):
                with suppress(FileNotFoundError):  # another worker was quicker
                    token.unlink()
                    os.kill(os.getpid(), signal.SIGKILL)
        return self.model.predict_proba(rows)


def fill(folder: Path, rows: int = 40) -> Path:
    """Write model, data and rows, with a bad one among them, into a folder."""
    frame, label = flows()
    frame.assign(label=label).to_csv(folder / "train.csv", index=False)
    joblib.dump(detector(), folder / "model.pkl")
    joblib.dump(SignallingModel(), folder / "signalling.pkl")
    joblib.dump(DyingModel(), folder / "dying.pkl")
    table = alerts(rows)
    table.to_csv(folder / "rows.csv", index=False)
    table.to_parquet(folder / "rows.parquet", index=False)
    table.to_json(folder / "rows.ndjson", orient="records", lines=True)
    return folder


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "counterpoise", *words]


def environment(**more: str) -> dict[str, str]:
    places = Path(cp.__file__).parents[1], Path(__file__).parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places)), "OMP_NUM_THREADS": "1", **more}


def start(folder: Path, *words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start the command in a folder."""
    return subprocess.Popen(
        command(*words), cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def run(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a folder to its end."""
    return subprocess.run(command(*words), cwd=folder, env=environment(), capture_output=True, timeout=300, **options)
