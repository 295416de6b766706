"""How many answers on trees are proven least, and what that costs: tables x models x energies, one thread.

    python benchmarks/proof.py [--out benchmarks/results] [--rows 20] [--seconds 10] [--tables adult ...] [--models ...]

Each row is searched as `Annealing` does (the plain search), then proven from that incumbent twice: with a fixed number
of nodes, which is what a default call can afford, and until it is exhausted or the seconds are over.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tasks import read_table

import counterpoise as cp
from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.methods.trees.exact.sum_of_trees import Proof, prove
from counterpoise.problem import Problem
from counterpoise.streams import Streams

TABLES = ("unsw_nb15", "rt_iot2022", "ciciot2023", "nsl_kdd", "adult", "give_me_some_credit")
MODELS = ("xgboost 100x6", "lightgbm 100x6", "hist 100x6", "forest 10x3", "forest 20x4", "forest 50x5", "forest 100x5")
ENERGIES: dict[str, dict[str, Any]] = {
    "default": {},
    "L2": {"lam": 0},
    "L1": {"distance": "l1", "lam": 0},
    "L0": {"distance": "l0", "lam": 0},
}
TRAINED = 8_000  # rows
NEVER = 10**9


class Caught(cp.NearestNeighbour):
    """The nearest neighbour, which keeps the problem it was given."""

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Any]:
        object.__setattr__(self, "problem", problem)
        yield from super().iterate(problem, streams)


class Line(NamedTuple):
    """One line of the table."""

    table: str
    model: str
    energy: str
    rows: int
    search_ms: float
    default_ms: float
    default_proven: float
    default_bound: float  # median of bound over effort
    proven_in_1s: float
    proven: float
    median_ms: float
    median_nodes: float
    bound: float
    nearer: float  # share of rows whose answer got nearer by more than 0.5 %


def fitted(kind: str, x: pd.DataFrame, y: np.ndarray) -> Any:
    name, size = kind.split()
    count, depth = (int(number) for number in size.split("x"))
    if name == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=count, max_depth=depth, n_jobs=1, enable_categorical=True).fit(x, y)
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=count, max_depth=depth, num_leaves=2**depth, n_jobs=1, verbose=-1).fit(x, y)
    if name == "hist":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=count, max_depth=depth, early_stopping=False, categorical_features="from_dtype"
        ).fit(x, y)
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(count, max_depth=depth, n_jobs=1, random_state=0).fit(x, y)


def asked(table: str, kind: str, rows: int) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """A fitted model, its reference and rows to explain; forests have the columns of numbers alone."""
    x, y, categories = read_table(table)
    for name, levels in categories.items():
        x[name] = pd.Categorical(x[name].astype(str), categories=levels)
    if kind.startswith("forest"):
        x = x.drop(columns=list(categories))
    order = np.random.default_rng(0).permutation(len(x))
    train, rest = order[:TRAINED], order[TRAINED : TRAINED + rows]
    return fitted(kind, x.iloc[train], y[train]), x.iloc[train], x.iloc[rest]


def measured(table: str, kind: str, energy: str, task: tuple[Any, Any, Any], nodes: int, seconds: float) -> Line:
    model, reference, rows = task
    caught = Caught()
    cp.explain(model, rows, reference=reference, method=caught, distance=ENERGIES[energy], lam=0)
    problem: Problem = caught.problem  # type: ignore[attr-defined]
    n, method = len(problem), cp.Annealing()
    method(problem, problem.streams(0))
    start = time.process_time()
    run = method(problem, problem.streams(0))
    search = 1e3 * (time.process_time() - start) / n
    incumbent = run.effort[:, 0]
    few = ProofSettings(nodes=nodes)
    proof = prove(problem, incumbent, few)
    start = time.process_time()
    proof = prove(problem, incumbent, few)
    default = 1e3 * (time.process_time() - start) / n
    assert proof is not None
    found = [proven(problem.take([row]), incumbent[[row]], seconds) for row in range(n)]
    ms = np.array([each[1] for each in found])
    done = np.array([each[0].exhausted[0] for each in found])
    effort = np.array([min(each[0].effort[0, 0], before) for each, before in zip(found, incumbent, strict=True)])
    bound = np.array([each[0].bound[0] for each in found])
    known = np.isfinite(effort)
    return Line(
        table,
        kind,
        energy,
        n,
        search,
        default,
        float(proof.exhausted.mean()),
        float(np.median((proof.bound / np.minimum(proof.effort[:, 0], incumbent))[known])) if known.any() else np.nan,
        float((done & (ms <= 1000)).mean()),
        float(done.mean()),
        float(np.median(ms)),
        float(np.median([each[0].nodes[0] for each in found])),
        float(np.median((bound / effort)[known])) if known.any() else np.nan,
        float((incumbent[known] > 1.005 * effort[known]).mean()) if known.any() else np.nan,
    )


def proven(problem: Problem, incumbent: np.ndarray, seconds: float) -> tuple[Proof, float]:
    """One row until it is exhausted or the seconds are over, and the milliseconds of CPU that took."""
    start = time.process_time()
    limited = replace(problem, deadline=time.perf_counter() + seconds)
    proof = prove(limited, incumbent, ProofSettings(nodes=NEVER, visits=NEVER * NEVER))
    assert proof is not None
    return proof, 1e3 * (time.process_time() - start)


HEADS = (
    "| table | model | energy | rows | search, ms | proof by default, ms | proven | bound ÷ effort | "
    "proven in 1 s | proven | median ms | median nodes | bound ÷ effort | nearer |"
)


def as_markdown(line: Line) -> str:
    return (
        f"| {line.table} | {line.model} | {line.energy} | {line.rows} | {line.search_ms:.1f} | {line.default_ms:.1f} | "
        f"{line.default_proven:.0%} | {line.default_bound:.3f} | {line.proven_in_1s:.0%} | {line.proven:.0%} | "
        f"{line.median_ms:.1f} | {line.median_nodes:.0f} | {line.bound:.3f} | {line.nearer:.0%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=ProofSettings().nodes)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--energies", nargs="+", default=tuple(ENERGIES))
    options = parser.parse_args()
    lines = ["# Proofs on trees", "", HEADS, "|---|---|---|" + "--:|" * 11]
    print("\n".join(lines[2:]))
    for table in options.tables:
        for kind in options.models:
            task = asked(table, kind, options.rows)
            for energy in options.energies:
                lines.append(as_markdown(measured(table, kind, energy, task, options.nodes, options.seconds)))
                print(lines[-1], flush=True)
    (options.out / "proof.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
