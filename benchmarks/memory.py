"""Memory: the most that one call holds, 1,000 rows of 1,000 columns, and a category of 10,000 levels beside one of 10.

Each case runs in a process of its own, whose peak the system tells. The search of a case may be cut short by a budget:
the memory of a call is bounded by the rows worked on together, and the first of them show it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import counterpoise as cp

ROWS = COLUMNS = 1_000
LEVELS = 10_000
REFERENCE = 20_000
MOST = 2.0  # GiB


def wide(make: Callable[[], Any], rows: int, budget: float) -> cp.Explanation:
    """Rows of 1,000 columns, which are their own reference."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS))
    model = make().fit(x, (x @ rng.normal(size=COLUMNS) > 0).astype(int))
    return cp.explain(model, x[:rows], reference=x, budget=budget)


def levelled(levels: int, rows: int, budget: float) -> cp.Explanation:
    """Rows with one category of so many levels, all of which the reference shows."""
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(levels), rng.integers(0, levels, REFERENCE - levels)])
    names = [f"host{number:05d}" for number in range(levels)]
    table = pd.DataFrame({"host": pd.Categorical.from_codes(codes, names), "rate": rng.normal(size=REFERENCE)})

    def model(frame: pd.DataFrame) -> np.ndarray:
        return np.where(frame["rate"] + frame["host"].cat.codes / levels > 0.5, "attack", "benign")

    return cp.explain(model, table[:rows], reference=table, budget=budget)


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(20, max_depth=8, random_state=0)


CASES: dict[str, Callable[[int, float], cp.Explanation]] = {
    "logistic regression, 1,000 columns": lambda rows, budget: wide(LogisticRegression, rows, budget),
    "forest of 20 trees, 1,000 columns": lambda rows, budget: wide(forest, rows, budget),
    "a category of 10 levels": lambda rows, budget: levelled(10, rows, budget),
    "a category of 10,000 levels": lambda rows, budget: levelled(LEVELS, rows, budget),
}


def peak() -> float:
    """The most memory this process has held, GiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2 ** (30 if sys.platform == "darwin" else 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for each case")
    parser.add_argument("--case", choices=CASES)
    options = parser.parse_args()
    if options.case:
        before, started = peak(), time.perf_counter()
        found = CASES[options.case](options.rows, options.budget)
        answered = f"{int(found.valid.sum())} of {len(found)}"
        print(f"| {options.case} | {answered} | {time.perf_counter() - started:.0f} | {before:.2f} | {peak():.2f} |")
        sys.exit(peak() > MOST)
    print("| case | answered | seconds | GiB before | GiB at most |\n|---|--:|--:|--:|--:|", flush=True)
    more = ["--rows", str(options.rows), "--budget", str(options.budget)]
    failed = [
        case
        for case in CASES
        if subprocess.run([sys.executable, __file__, "--case", case, *more], check=False).returncode
    ]
    if failed:
        sys.exit(f"more than {MOST:g} GiB: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
