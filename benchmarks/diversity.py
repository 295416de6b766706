"""Several answers a row: one a basin, beside DiCE's random and genetic methods; five asked of each.

python benchmarks/diversity.py [--rows 50]     written to benchmarks/results/diversity.md
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from environments import ONE_THREAD, PEERS, python_of
from task import Task
from tasks import folder_of

import counterpoise as cp

RESULTS = Path(__file__).parent / "results" / "diversity.md"
TABLES = ("adult", "unsw_nb15")
COUNT = 5


def ask_dice(task: Task, method: str, rows: int) -> tuple[np.ndarray, float]:
    """DiCE's answers ``(n, k, d)`` and its processor seconds."""
    python = python_of(next(peer for peer in PEERS if peer.name == "dice"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answers.npz"
        script = Path(__file__).parent / "peers" / "dice_sets.py"
        words = [str(python), str(script), str(folder_of(task.name)), method, str(COUNT), str(rows), str(out)]
        subprocess.run(words, check=True, env=os.environ | ONE_THREAD, stderr=subprocess.DEVNULL)
        with np.load(out) as found:
            return found["answers"], float(found["seconds"])


def ask_ours(task: Task, rows: int, alternatives: int | str) -> tuple[np.ndarray, float]:
    """Our answers ``(n, k, d)`` and processor seconds; kept and proofs are left out, which DiCE has not."""
    explainer = cp.Explainer(task.model, reference=task.table(task.train))
    asked = {"alternatives": alternatives, "kept": False, "proof": False}
    explainer(task.table(task.warm), **asked)  # leaves are read once
    start = time.process_time()
    found = explainer(task.table(task.rows[:rows]), **asked)
    return found.answers, time.process_time() - start


def judge(task: Task, answers: np.ndarray, rows: np.ndarray) -> tuple[list[float], list[str]]:
    """Share valid, mean distance, mean pairwise distance of the sets of changed features; and as cells of a table."""
    there = ~np.isnan(answers).any(axis=2)
    before = task.predict(rows)
    valid, far, apart, given = [], [], [], []
    for row in range(len(rows)):
        mine = answers[row, there[row]]
        given.append(len(mine))
        if not len(mine):
            continue
        valid += (task.predict(mine) != before[row]).tolist()
        delta = np.where(task.numeric, (mine - rows[row]) / task.scale, mine != rows[row])
        far += np.sqrt((delta**2).sum(axis=1)).tolist()
        sets = [frozenset(np.flatnonzero(each != rows[row]).tolist()) for each in mine]
        pairs = [1 - len(a & b) / max(len(a | b), 1) for a, b in combinations(sets, 2)]
        if pairs:
            apart.append(float(np.mean(pairs)))
    numbers = [float(np.mean(valid)), float(np.mean(far)), float(np.mean(apart)) if apart else np.nan]
    return numbers, [
        f"{np.mean(given):.1f}",
        f"{np.mean(valid):.0%}",
        f"{np.mean(far):.2f}",
        f"{np.mean(apart):.2f}" if apart else "–",
        f"{len(apart)}",
    ]


def compare_with_dice(table: str, found: dict[str, list[float]]) -> list[str]:
    """How the basins of a table compare with each method of DiCE: (valid, distance, apart, seconds) by title."""
    ours = found['ours, `alternatives="basins"`']
    out = []
    for title in ("DiCE, random", "DiCE, genetic"):
        dice = found[title]
        apart, far, spent = ours[2] / dice[2], ours[1] / dice[1], ours[3] / dice[3]
        holds = "holds" if apart >= 2 and far <= 0.5 and ours[0] == 1 and spent < 1 else "does not hold"
        ratios = f"{apart:.1f} x as far apart, {far:.2f} x the distance, {spent:.1f} x the time"
        out.append(f"- {table}, {title}: {ratios}: {holds}.")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50)
    rows = parser.parse_args().rows
    lines = [
        "# Several answers a row",
        "",
        f"`python benchmarks/diversity.py --rows {rows}`: {COUNT} answers asked of each method, the same rows and",
        "models, one thread, one row after the other for DiCE, one batch for ours. Distance: mean L2 of all answers in",
        "standard deviations, a changed category counting 1. Apart: 1 less the Jaccard index of the sets of changed",
        "features, mean over the pairs of a row, over rows with at least two answers. Ours keep to the column's own",
        "values and to the relations that every training row obeys.",
        "",
        "| table | method | answers a row | valid | distance | apart | rows with two or more | CPU s a row |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    verdicts: list[str] = []
    for name in TABLES:
        task = Task.read(folder_of(name))
        own = task.rows[:rows]
        asked = {
            'ours, `alternatives="basins"`': lambda task=task: ask_ours(task, rows, "basins"),
            "ours, `alternatives=5`": lambda task=task: ask_ours(task, rows, COUNT),
            "DiCE, random": lambda task=task: ask_dice(task, "random", rows),
            "DiCE, genetic": lambda task=task: ask_dice(task, "genetic", rows),
        }
        found = {}
        for title, ask in asked.items():
            answers, seconds = ask()
            numbers, cells = judge(task, answers, own)
            found[title] = [*numbers, seconds]
            lines.append(f"| {name} | {title} | {' | '.join(cells)} | {seconds / rows:.2f} |")
            print(lines[-1], flush=True)
        verdicts += compare_with_dice(name, found)
    lines += [
        "",
        "Asked of the basins: twice as far apart as DiCE's answers (1 is the most there can be), at half their",
    ]
    lines += ["distance, all valid, in less time.", "", *verdicts]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
