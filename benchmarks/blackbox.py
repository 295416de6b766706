"""What model rows buy: distance against the rows that a black box is asked about, beside NICE and random search.

    python benchmarks/blackbox.py [--rows 20] [--tasks forest knn] [--out benchmarks/results]

Every model is given as a callable, so that nothing but its probabilities can be seen, and asked for the bare L2
distance in standard deviations of the training rows. Ours and random search are given `model_rows=`; the row itself
and the checks of its answer are among them, rows asked once for each reference are not. NICE has no such limit: below
the rows that it takes for a row it counts as its own start, the nearest training row of the target. Means are over
the rows that all methods answer; ratios are of means, with the middle 95 % of a paired bootstrap over rows.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from comparison import paired_ratio
from environments import ONE_THREAD, PEERS, NotMade, python_of
from ours import BARE_CALL, BARE_SPACE, blind_probabilities, schema_of
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from task import Task
from tasks import TASKS, Skipped, cancer, folder_of

import counterpoise as cp

HERE = Path(__file__).parent
LIMITS = (100, 300, 1000, 3000, 10000)
NICE = "nice-proximity-std"
TASKS["knn"] = lambda: cancer("knn", "7 neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier(7)))
NAMES = ("forest", "knn", "svc", "xgboost", "unsw_nb15", "rt_iot2022")


def distances(task: Task, rows: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """L2 distance of each answer in standard deviations; NaN where the model does not give another class."""
    unit = np.where(task.train.std(axis=0) > 0, task.train.std(axis=0), 1.0)
    there = ~np.isnan(answers).any(axis=1)
    whole = np.where(there[:, None], answers, rows)
    turned = blind_probabilities(task, whole).argmax(axis=1) != blind_probabilities(task, rows).argmax(axis=1)
    return np.where(there & turned, np.sqrt((((whole - rows) / unit) ** 2).sum(axis=1)), np.nan)


def ask_ours(task: Task, rows: np.ndarray) -> pd.DataFrame:
    """A line for each method, limit and row: distance, model rows, CPU seconds."""
    explainer = cp.Explainer(
        lambda x: blind_probabilities(task, x), reference=task.table(task.train), schema=schema_of(task), **BARE_SPACE
    )
    lines = []
    methods = {"ours": None, "random search": cp.RandomSearch(rounds=100_000), "nearest": cp.NearestNeighbour()}
    explainer(task.table(task.warm), model_rows=300, **BARE_CALL)
    for name, method in methods.items():
        for limit in (*LIMITS, None) if method is None else LIMITS[: 1 if name == "nearest" else None]:
            started = time.process_time()
            found = explainer(task.table(rows), method=method, model_rows=limit, **BARE_CALL)
            seconds = (time.process_time() - started) / len(rows)
            far = distances(task, rows, np.where(found.valid[:, None], found.x, np.nan))
            spent = found.model_rows / len(rows)
            lines += [(name, limit or 0, row, value, spent, seconds) for row, value in enumerate(far.tolist())]
    return pd.DataFrame(lines, columns=["method", "limit", "row", "distance", "model_rows", "seconds"])


def ask_nice(name: str, task: Task, count: int) -> pd.DataFrame | None:
    """The same for NICE, in its own environment; None where that cannot be made."""
    peer = next(peer for peer in PEERS if peer.name == "nice")
    try:
        python = python_of(peer)
    except NotMade as reason:
        print(f"nice: {reason}", flush=True)
        return None
    surroundings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | ONE_THREAD
    with tempfile.TemporaryDirectory() as out:
        command = [python, "-m", "peers.nice", folder_of(name), out, NICE, "--rows", str(count), "--limit", "120"]
        subprocess.run(list(map(str, command)), cwd=HERE, env=surroundings, check=True, capture_output=True)
        with (Path(out) / f"{NICE}.csv").open() as file:
            lines = list(csv.DictReader(file))
    answers = np.array([[float(line[column]) for column in task.names] for line in lines])
    far = distances(task, task.rows[: len(lines)], answers)
    numbers = {"model_rows": [float(line["model_rows"]) for line in lines], "seconds": [float(x["cpu"]) for x in lines]}
    return pd.DataFrame({"method": "NICE", "limit": 0, "row": np.arange(len(lines)), "distance": far, **numbers})


def curve_of_nice(nice: pd.DataFrame, nearest: np.ndarray, limit: int) -> np.ndarray:
    """What NICE has after so many model rows: its answer where it took no more, else where it starts."""
    return np.where(nice["model_rows"] <= limit, nice["distance"], nearest)


def measure(name: str, count: int) -> tuple[list[str], dict[str, list[float]]]:
    """The table of a task, as Markdown lines, and its curves."""
    task = Task.read(folder_of(name))
    found, nice = ask_ours(task, task.rows[:count]), ask_nice(name, task, count)
    far = {key: part["distance"].to_numpy() for key, part in found.groupby(["method", "limit"], sort=False)}
    cost = found.groupby(["method", "limit"])[["model_rows", "seconds"]].mean()
    nearest = far["nearest", LIMITS[0]]
    lines = [
        f"## {task.title}: {len(nearest)} rows",
        "",
        "| model rows | ours | random search | NICE | ours over each | ms a row |",
    ]
    lines.append("|---:|---:|---:|---:|---|---:|")
    curves: dict[str, list[float]] = {"ours": [], "random search": [], "NICE": []}
    for limit in LIMITS:
        three = {"ours": far["ours", limit], "random search": far["random search", limit]}
        if nice is not None:
            three["NICE"] = curve_of_nice(nice, nearest[: len(nice)], limit)
        rows = np.logical_and.reduce([~np.isnan(each[: min(map(len, three.values()))]) for each in three.values()])
        solved = {key: each[: len(rows)][rows] for key, each in three.items()}
        words = []
        for key in ("random search", "NICE"):
            if key in solved:
                ratio, low, high = paired_ratio(pd.Series(solved["ours"]), pd.Series(solved[key]))
                verdict = "wins" if high < 1 else "**loses**" if low > 1 else "tie"
                words.append(f"{ratio:.2f} [{low:.2f}, {high:.2f}] {verdict}")
        for key in curves:
            curves[key].append(float(np.mean(solved[key])) if key in solved and rows.any() else np.nan)
        cells = [f"{curves[key][-1]:.3g}" for key in curves]
        seconds = 1000 * cost.loc[("ours", limit), "seconds"]
        lines.append(f"| {limit:,} | {' | '.join(cells)} | {'; '.join(words)} | {seconds:.0f} |")
    free = cost.loc[("ours", 0)]
    spent = f"{free['model_rows']:,.0f} model rows and {1000 * free['seconds']:.0f} ms a row"
    start = f"the nearest training row of the target is at {np.nanmean(nearest):.3g}."
    lines += ["", f"Without a limit ours takes {spent}, at {np.nanmean(far['ours', 0]):.3g} over all rows; {start}"]
    if nice is not None:
        lines.append(
            f"NICE takes {nice['model_rows'].mean():,.0f} model rows (at most {nice['model_rows'].max():,.0f}) and "
            f"{1000 * nice['seconds'].mean():.0f} ms a row, at {nice['distance'].mean():.3g}."
        )
    return [*lines, ""], curves


def draw(curves: dict[str, dict[str, list[float]]], path: Path) -> None:
    """A panel for each task: distance against model rows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(3, len(curves))
    figure, axes = plt.subplots(-(-len(curves) // columns), columns, figsize=(9.5, 5.2), squeeze=False, sharex=True)
    for ax, (title, lines) in zip(axes.flat, curves.items(), strict=False):
        for (name, values), colour in zip(lines.items(), ("#1b6ca8", "#999999", "#d1603d"), strict=True):
            ax.plot(LIMITS, values, marker="o", markersize=3.5, label=name, color=colour)
        ax.set(xscale="log", yscale="log", title=title)
        ax.title.set_fontsize(9)
    for ax in axes.flat[len(curves) :]:
        ax.axis("off")
    for ax in axes[-1]:
        ax.set_xlabel("model rows a row")
    for ax in axes[:, 0]:
        ax.set_ylabel("mean L2 distance")
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--tasks", nargs="+", default=list(NAMES))
    parser.add_argument("--out", type=Path, default=HERE / "results")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["# What model rows buy", "", (__doc__ or "").split("\n\n", 2)[2].strip(), ""]
    curves = {}
    for name in asked.tasks:
        try:
            table, found = measure(name, asked.rows)
        except Skipped as reason:
            table, found = [f"## {name}: {reason}", ""], None
        print("\n".join(table), flush=True)
        lines += table
        if found is not None:
            curves[name] = found
        (asked.out / "blackbox.md").write_text("\n".join([*lines, "![curves](blackbox.png)", ""]), encoding="utf-8")
    if curves:
        draw(curves, asked.out / "blackbox.png")


if __name__ == "__main__":
    main()
