"""The public workload of OCEAN: share of rows proven least against seconds, for ensembles of 10 to 500 trees.

    python benchmarks/ocean.py [--out benchmarks/results] [--rows 5] [--seconds 2] [--sizes 10 20 ...] [--tables ...]

Random forests and XGBoost at depth 5 on adult, compas, give_me_some_credit and two of scikit-learn's own tables; L1, as
OCEAN asks, every row alone, `proof=True` with so many seconds as its budget. One thread, CPU seconds. It goes on where
it was stopped: lines that ocean.csv has are kept. About 12 minutes of a quiet core with the numbers above. OCEAN
itself: `ocean_peer.py`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from tasks import read_table
from xgboost import XGBClassifier

import counterpoise as cp

TABLES = ("adult", "compas", "give_me_some_credit", "breast_cancer", "wine")
SIZES = (10, 20, 50, 100, 200, 500)
MODELS = {"random forest": RandomForestClassifier, "xgboost": XGBClassifier}
DEPTH, TRAINED = 5, 8_000
COLUMNS = ["model", "table", "trees", "row", "status", "seconds", "effort", "bound"]


def numbers_of(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The columns of numbers of a table, and its target."""
    own = {"breast_cancer": load_breast_cancer, "wine": load_wine}
    if name in own:
        found = own[name](as_frame=True)
        return found.data, found.target.to_numpy()
    x, y, categories = read_table(name)
    return x.drop(columns=list(categories)), y


def measured(kind: str, table: str, trees: int, rows: int, seconds: float) -> list[list[Any]]:
    """One line a row."""
    x, y = numbers_of(table)
    order = np.random.default_rng(0).permutation(len(x))
    train = order[: min(TRAINED, len(x) - rows)]
    rest = order[len(train) : len(train) + rows]
    model = MODELS[kind](n_estimators=trees, max_depth=DEPTH, n_jobs=1, random_state=0).fit(x.iloc[train], y[train])
    target = {} if len(np.unique(y)) == 2 else {"target": 0}
    explainer = cp.Explainer(model, reference=x.iloc[train], relations=None)
    out = []
    for place in rest:
        began = time.process_time()
        found = explainer(x.iloc[[place]], distance="l1", lam=0, proof=True, budget=seconds, kept=False, **target)
        spent = time.process_time() - began
        status = found.status[0] if found.effort[0] > 0 or not found.valid[0] else "there already"
        out.append([kind, table, trees, int(place), status, spent, float(found.effort[0]), float(found.bound[0])])
    return out


def draw(lines: pd.DataFrame, path: Path) -> None:
    """Share proven within so many seconds, a curve for each size."""
    figure, axes = plt.subplots(1, len(MODELS), figsize=(11, 4.2), sharey=True, layout="constrained")
    for ax, (kind, part) in zip(axes, lines.groupby("model", sort=True), strict=False):
        for trees, each in part.groupby("trees"):
            done = np.sort(each.loc[each["status"].isin(["optimal", "infeasible"]), "seconds"])
            share = np.arange(len(done) + 1) / len(each)
            ends = np.concatenate([[1e-3], done, [lines["seconds"].max()]])
            ax.step(ends, np.append(share, share[-1]), where="post", label=f"{trees} trees")
        ax.set(title=str(kind), xscale="log", xlabel="CPU seconds a row", ylim=(0, 1.02))
    axes[0].set_ylabel("share of rows proven")
    axes[-1].legend(loc="lower right", fontsize="small")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def as_page(lines: pd.DataFrame, rows: int, seconds: float, note: str) -> str:
    """Share proven and median bound over effort, a line for each model and size."""
    about = f"{rows} rows a table, L1, depth {DEPTH}, one thread; each row has {seconds:g} s by the clock."
    about += " Figure: ocean.png. Made by `python benchmarks/ocean.py`. " + note
    head = ["| model | trees | rows | proven | median s | median bound ÷ effort |", "|---|--:|--:|--:|--:|--:|"]
    body = []
    for (kind, trees), part in lines.groupby(["model", "trees"]):
        proven = part["status"].isin(["optimal", "infeasible"])
        ratio = (part["bound"] / part["effort"])[np.isfinite(part["bound"]) & (part["effort"] > 0)]
        body.append(
            f"| {kind} | {trees} | {len(part)} | {proven.mean():.0%} | {part['seconds'].median():.3f} | "
            f"{ratio.median():.3f} |"
        )
    return "\n".join(["# OCEAN's public workload", "", about.strip(), "", *head, *body]) + "\n"


def main() -> None:
    """Measure what is missing, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    path = options.out / "ocean.csv"
    lines = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    for trees in options.sizes:
        for table in options.tables:
            for kind in MODELS:
                same = (lines["model"] == kind) & (lines["table"] == table) & (lines["trees"] == trees)
                if same.any():
                    continue
                new = pd.DataFrame(measured(kind, table, trees, options.rows, options.seconds), columns=COLUMNS)
                new = new[new["status"] != "there already"]
                lines = pd.concat([lines, new], ignore_index=True) if len(lines) else new
                lines.to_csv(path, index=False)
                print(kind, table, trees, new["status"].tolist(), f"{new['seconds'].median():.3f} s", flush=True)
    draw(lines, options.out / "ocean.png")
    (options.out / "ocean.md").write_text(as_page(lines, options.rows, options.seconds, options.note), encoding="utf-8")


if __name__ == "__main__":
    main()
