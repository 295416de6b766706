"""Rows a second, growth and memory on many rows: unsw_nb15 repeated with jitter, boosted trees.

python benchmarks/scale.py --data ../shared/data --rows 500 2000 --write
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from xgboost import XGBClassifier

import counterpoise as cp

RESULTS = Path(__file__).parent / "results" / "scale.md"
QUICK: dict[str, Any] = {"proof": False, "kept": False}


def load(place: Path) -> tuple[pd.DataFrame, pd.Series]:
    """The numbers of unsw_nb15, and whether a flow is an attack."""
    table = pd.read_csv(place / "unsw_nb15.csv.gz")
    label = table["target"].astype(int)
    return table.select_dtypes("number").drop(columns="target"), label


def jittered(rows: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """So many rows, drawn with repetition, their float columns shaken by a thousandth."""
    random = np.random.default_rng(seed)
    out = rows.iloc[random.integers(0, len(rows), count)].reset_index(drop=True)
    for name in out.select_dtypes("float"):
        out[name] *= 1 + 1e-3 * random.standard_normal(count)
    return out


def measure(explainer: cp.Explainer, rows: pd.DataFrame, **settings: Any) -> tuple[float, float]:
    """Seconds of this process's CPU, and of the clock, for a table of answers."""
    cpu, clock = time.process_time(), time.perf_counter()
    cp.scale.explain_table(explainer, rows, target=0, progress=False, **settings)
    return time.process_time() - cpu, time.perf_counter() - clock


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--default-rows", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    table, label = load(given.data)
    train = table.sample(min(5000, len(table)), random_state=0)
    model = XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1).fit(train, label[train.index])
    attacks = table[model.predict(table) == 1]
    explainer = cp.Explainer(model, reference=train)
    measure(explainer, jittered(attacks, 20, 9), **QUICK)  # what is made once
    lines = [
        "| rows | settings | workers | rows a second of CPU | rows a second of the clock |",
        "|---|---|---|---|---|",
    ]
    for count in given.rows:
        cpu, clock = measure(explainer, jittered(attacks, count, 1), **QUICK)
        lines.append(f"| {count} | proof=False, kept=False | 1 | {count / cpu:.0f} | {count / clock:.0f} |")
    cpu, clock = measure(explainer, jittered(attacks, given.default_rows, 1))
    count = given.default_rows
    lines.append(f"| {count} | default | 1 | {count / cpu:.1f} | {count / clock:.1f} |")
    count = given.rows[-1]
    _, clock = measure(explainer, jittered(attacks, count, 1), n_jobs=2, **QUICK)
    lines.append(f"| {count} | proof=False, kept=False | 2 (joblib) | - | {count / clock:.0f} |")
    peaks = []
    for parts in (1, 4):
        frames = (jittered(attacks, given.rows[0], seed) for seed in range(parts))
        with tempfile.TemporaryDirectory() as folder:
            cp.scale.explain_to_folder(explainer, frames, folder, target=0, progress=False, **QUICK)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    loads = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    text = f"""# Many rows

`benchmarks/scale.py`: unsw_nb15 drawn with repetition and shaken by a thousandth, XGBoost 100 x 6, 5,000 reference
rows.
The machine was shared while this ran (load averages {loads} on {os.cpu_count()} cores), so rows a second of the clock
say little, and nothing can be said of how much a second worker gains.

{chr(10).join(lines)}

Peak memory after 1 part of {given.rows[0]} rows: {peaks[0]:.0f} MB; after 4: {peaks[1]:.0f} MB.

Not measured yet: 100,000 and 1,000,000 rows, the gain by a second worker on a free machine, that by Dask, and how long
a line of a stream of 300 a second takes.
"""
    print(text)
    if given.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
