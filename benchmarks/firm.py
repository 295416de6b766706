"""Firm answers: keep = 0.9 beside the plain call, on four tables and four models, under two noises.

    python benchmarks/firm.py [--rows 50] [--before CHECKOUT] [--work out/firm] [--out benchmarks/results/firm.md]

Each case is a process of its own (`firm_case.py`), with this checkout and, where ``--before`` names one, with an older
one. What was measured is kept in ``--work``: run it again and it goes on where it ended; ``--fresh`` measures this
checkout anew, and keeps the older one's figures and the models. The page is written after every case. The two further
parts, grid optima in two dimensions (`firm_grid.py`) and keep beside temperature (`firm_temperature.py`), have pages
of their own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from firm_case import COPIES, KINDS, NOISES, TABLES

HERE = Path(__file__).parent
DRAWS = 10_000
HEADER = (
    "| table | model | noise | plain, CPU ms a row | firm, CPU ms a row | ratio | model rows a row | firm rows "
    "| effort | difference | distance | met |"
)
Case = dict[str, Any]


def measure(checkout: Path, table: str, kind: str, arguments: argparse.Namespace, label: str) -> Case | None:
    """One case with one checkout, from the folder of what was measured before where it is there."""
    out = arguments.work / f"{label}-{table}-{kind}-{arguments.rows}.npz"
    if not out.exists():
        command = [sys.executable, str(HERE / "firm_case.py"), table, kind, "--rows", str(arguments.rows)]
        command += ["--out", str(out), "--models", str(arguments.work)]
        places = os.pathsep.join((str(checkout / "src"), str(HERE)))
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"}, check=False)
        if done.returncode:
            return None
    with np.load(out) as data:
        return {key: data[key] for key in data.files}


def interval(difference: np.ndarray) -> tuple[float, float]:
    """The paired bootstrap interval of 95 % of a mean difference over rows."""
    draws = np.random.default_rng(0).integers(0, len(difference), (DRAWS, len(difference)))
    low, high = np.quantile(difference[draws].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def write_line(table: str, kind: str, noise: str, before: Case | None, now: Case) -> str:
    """A line of the table; ``before → now`` where there is a before."""
    rows = len(now["plain-effort"])
    plain, firm = (float(now[f"{name}-seconds"]) * 1000 / rows for name in ("plain", noise))
    claims, unseen = now[f"{noise}-claims"], now[f"{noise}-unseen"]
    error = 1.96 * np.sqrt(0.9 * 0.1 / COPIES)
    met = float((unseen[claims] >= 0.9 - error).mean()) if claims.any() else np.nan
    both = claims if before is None else claims & before[f"{noise}-claims"]

    def pair(show: Any) -> str:
        return f"{show(now)}" if before is None else f"{show(before)} → {show(now)}"

    difference = ""
    if before is not None and both.any():
        apart = now[f"{noise}-effort"][both] - before[f"{noise}-effort"][both]
        low, high = interval(apart)
        difference = f"{apart.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
    cells = (
        *(table, kind, noise, f"{plain:.1f}", f"{firm:.1f}", f"{firm / plain:.1f}"),
        pair(lambda case: f"{float(case[f'{noise}-rows']) / rows:.0f}"),
        pair(lambda case: f"{case[f'{noise}-claims'].mean():.2f}"),
        pair(lambda case: f"{case[f'{noise}-effort'][both].mean():.3f}"),
        difference,
        pair(lambda case: f"{case[f'{noise}-distance'][both].mean():.3f}"),
        f"{met:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def page(arguments: argparse.Namespace, lines: list[str], absent: list[str]) -> Iterator[str]:
    """The whole page so far."""
    yield from ("# Firm answers: keep = 0.9" + (" beside the search before" if arguments.before else ""), "")
    yield f"{arguments.rows} rows a line, default energy. Models: 100 boosted trees, a forest of 100, a network"
    yield "of 32, a logistic model, behind encoders (`before → now`). Efforts and distances are means over"
    yield 'rows that are firm in both; the interval is a paired bootstrap of 95 %. "met" is the share of claims'
    yield "kept on 1,000 copies that neither search nor verification saw, by the model itself (at least 0.88, the"
    yield "sampling error below 0.9). Plain and firm call: CPU seconds of one process. Model rows: what the model"
    yield "is asked; noisy copies of models that were read (trees, linear models, networks) are put to what was read."
    yield from ("", HEADER, "|" + " --- |" * (HEADER.count("|") - 1), *lines)
    if absent:
        yield from ("", f"Not measured: {', '.join(absent)}.")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--rows", type=int, default=50)
    words.add_argument("--before", type=Path, help="a checkout to compare with")
    words.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    words.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    words.add_argument("--work", type=Path, default=HERE.parent / "out" / "firm")
    words.add_argument("--fresh", action="store_true", help="measure this checkout anew")
    words.add_argument("--out", type=Path, default=HERE / "results" / "firm.md")
    given = words.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for old in given.work.glob("now-*.npz") if given.fresh else ():
        old.unlink()
    lines: list[str] = []
    absent: list[str] = []
    for table in given.tables:
        for kind in given.kinds:
            before = None if given.before is None else measure(given.before, table, kind, given, "before")
            now = measure(HERE.parent, table, kind, given, "now")
            if now is None:
                absent.append(f"{table} × {kind}")
                continue
            lines += [write_line(table, kind, noise, before, now) for noise in NOISES]
            print(*lines[-len(NOISES) :], sep="\n", flush=True)
            given.out.write_text("\n".join(page(given, lines, absent)) + "\n")


if __name__ == "__main__":
    main()
