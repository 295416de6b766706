"""Two checkouts of the project side by side: are their answers the same to the bit, and what does each take in CPU?

    python benchmarks/checkouts.py BEFORE AFTER [--tasks mlp svc] [--rows 100] [--passes 3] [--keep 0.9]

BEFORE and AFTER are folders that hold a checkout. Each pass runs both in fresh processes, one after the other, so that
both meet the same machine; the least CPU of all passes counts. Answers are compared cell by cell.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
DISTANCES = ("l2", "l1", "l0")


def answer(name: str, rows: int, keep: float | None, out: Path) -> None:
    """Explain the rows of a task with the checkout that this process imports, and write answers and CPU seconds."""
    from ours import schema_of
    from task import CACHE, Task

    import counterpoise as cp

    task = Task.read(CACHE / "tasks" / name)
    found: dict[str, Any] = {}
    seconds = {}
    explainer = cp.Explainer(task.model, reference=task.table(task.train), schema=schema_of(task))
    explainer(task.table(task.warm))  # what is made once is not counted
    for distance in DISTANCES:
        settings: dict[str, Any] = {"distance": distance} | ({} if keep is None else {"keep": keep})
        started = time.process_time()
        explanation = explainer(task.table(task.rows[:rows]), **settings)
        seconds[distance] = time.process_time() - started
        found[f"{distance}-answers"], found[f"{distance}-valid"] = explanation.x, explanation.valid
        found[f"{distance}-effort"] = explanation.terms.distance
    np.savez(out, **found, seconds=json.dumps(seconds))


def run(checkout: Path, name: str, arguments: argparse.Namespace, out: Path) -> dict[str, Any]:
    """The answers of one checkout to one task, made in a process of its own."""
    command = [sys.executable, __file__, "--answer", name, "--rows", str(arguments.rows), "--out", str(out)]
    command += [] if arguments.keep is None else ["--keep", str(arguments.keep)]
    places = os.pathsep.join((str(checkout / "src"), str(HERE)))
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"})
    with np.load(out) as data:
        return {key: json.loads(str(data[key])) if key == "seconds" else data[key] for key in data.files}


def compare(name: str, arguments: argparse.Namespace) -> None:
    """One task in both checkouts: a line for each distance."""
    least: list[dict[str, float]] = [{}, {}]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.passes):
            both = [
                run(place, name, arguments, Path(folder) / "out.npz") for place in (arguments.before, arguments.after)
            ]
            for found, kept in zip(both, least, strict=True):
                for distance, seconds in found["seconds"].items():
                    kept[distance] = min(seconds, kept.get(distance, np.inf))
    before, after = both
    for distance in DISTANCES:
        same = np.array_equal(before[f"{distance}-answers"], after[f"{distance}-answers"], equal_nan=True)
        won, lost = (
            int((one[f"{distance}-valid"] & ~other[f"{distance}-valid"]).sum())
            for one, other in ((after, before), (before, after))
        )
        shared = before[f"{distance}-valid"] & after[f"{distance}-valid"]
        farther = after[f"{distance}-effort"][shared].mean() / before[f"{distance}-effort"][shared].mean()
        cpu = least[1][distance] / least[0][distance]
        said = "same to the bit" if same else f"distance {farther:.4f} x, rows lost {lost}, won {won}"
        took = f"CPU {least[0][distance]:.3f} -> {least[1][distance]:.3f} s ({cpu:.2f} x)"
        print(f"{name:12} {distance}  {said}  {took}", flush=True)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("before", type=Path, nargs="?")
    words.add_argument("after", type=Path, nargs="?")
    words.add_argument("--tasks", nargs="*")
    words.add_argument("--rows", type=int, default=100)
    words.add_argument("--passes", type=int, default=3)
    words.add_argument("--keep", type=float)
    words.add_argument("--answer", help=argparse.SUPPRESS)
    words.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = words.parse_args()
    if arguments.answer:
        answer(arguments.answer, arguments.rows, arguments.keep, arguments.out)
        return
    if arguments.before is None or arguments.after is None:
        words.error("give two checkouts: BEFORE AFTER")
    from tasks import TASKS, Skipped, folder_of

    for name in arguments.tasks or TASKS:
        try:
            folder_of(name)
        except Skipped as reason:
            print(f"{name:12} left out: {reason}")
        else:
            compare(name, arguments)


if __name__ == "__main__":
    main()
