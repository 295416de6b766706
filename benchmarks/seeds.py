"""Seeds: by how much the distance of a row varies from seed to seed."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from metrics import judge
from ours import ours
from peers.runner import Counted
from task import CACHE, Task


def spread(task: Task, seeds: int, rows: int) -> dict[str, float]:
    """Of each row over the seeds: standard deviation and range of L2 over its mean; the median over rows."""
    sizes = []
    for seed in range(seeds):
        many = ours("l2", seed=seed)(task, Counted(task)).many
        assert many is not None
        sizes.append(judge(task, task.rows[:rows], many(task.rows[:rows]))["l2"].to_numpy())
    table = np.array(sizes)
    mean = table.mean(axis=0)
    unit = np.where(mean > 0, mean, 1.0)  # a change below the measure's precision counts as none
    return {
        "seeds": seeds,
        "deviation": float(np.median(table.std(axis=0) / unit)),
        "range": float(np.median(np.ptp(table, axis=0) / unit)),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    names = ("logistic", "mlp") if asked.quick else sorted(path.name for path in (CACHE / "tasks").iterdir())
    made = [name for name in names if (CACHE / "tasks" / name / "task.json").exists()]
    found = {name: spread(Task.read(CACHE / "tasks" / name), *((3, 10) if asked.quick else (10, 50))) for name in made}
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "seeds.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
