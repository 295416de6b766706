"""How many answers on trees are proven least, and what that costs: tables x models x energies, one thread.

    python benchmarks/proof.py [--out benchmarks/results] [--rows 12] [--seconds 2] [--tables adult ...] [--models ...]
                               [--energies default L2 ...] [--note "..."]

With the numbers above it takes about 15 minutes of a quiet core: 48 lines of 12 rows, default energy. A hundred rows,
four energies and 10 s (`--rows 100 --seconds 10 --energies default L2 L1 L0`) take half a day. It goes on where it was
stopped: lines that proof.csv has are kept.

Of each question three calls are made of the same rows, side by side in one process, timed by the CPU: without a proof,
the default one, and one with a proof to the end, row by row, within so many seconds. Then a constraint is added, and
the share of rows whose effort falls by more than 1 % is counted: a search to the end has none. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tasks import read_table

import counterpoise as cp

TABLES = ("unsw_nb15", "rt_iot2022", "ciciot2023", "nsl_kdd", "adult", "give_me_some_credit")
MODELS = (
    "xgboost 100x6",
    "lightgbm 100x6",
    "hist 100x6",
    "forest 10x3",
    "forest 20x4",
    "forest 50x5",
    "forest 100x5",
    "xgboost 1000x6",
)
ENERGIES: dict[str, dict[str, Any]] = {
    "default": {},
    "L2": {"lam": 0},
    "L1": {"distance": "l1", "lam": 0},
    "L0": {"distance": "l0", "lam": 0},
}
TRAINED = 8_000  # rows


class Line(NamedTuple):
    """One line of the table."""

    table: str
    model: str
    energy: str
    rows: int
    plain_ms: float  # CPU a row without a proof
    default_ms: float  # and by default
    proven: float  # by default, share of rows; proven infeasible ones count
    has_bound: float  # by default, share of rows with a bound above 0
    bound: float  # median of bound over effort, by default
    nearer: float  # share of rows whose answer is nearer by more than 0.5 % than without a proof
    proven_in_1s: float
    proven_at_end: float
    median_ms: float
    bound_at_end: float
    lowered: float  # share of rows whose effort a further constraint lowers by more than 1 %, by default
    lowered_proven: float  # the same of rows that are optimal both times
    farther: float  # mean effort by default over that without a proof, of rows that have both


def fitted(kind: str, x: pd.DataFrame, y: np.ndarray) -> Any:
    """A model, as "xgboost 100x6" says."""
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


def timed(explainer: cp.Explainer, rows: pd.DataFrame, repeats: int, **question: Any) -> tuple[cp.Explanation, float]:
    """The explanation, and the milliseconds of CPU a row that it took, the least of several."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        found = explainer(rows, **question)
        best = min(best, time.process_time() - start)
    return found, 1e3 * best / len(rows)


def is_proven(found: cp.Explanation) -> np.ndarray:
    """Which rows are settled."""
    return np.isin(found.status, ["optimal", "infeasible"])


def bound_over_effort(found: cp.Explanation) -> float:
    """The median of rows with an answer; 1 where it is the least."""
    good = found.valid & (found.effort > 0)
    return float(np.median(found.bound[good] / found.effort[good])) if good.any() else np.nan


def measured(table: str, kind: str, energy: str, task: tuple[Any, Any, Any], seconds: float) -> Line:
    """One line: the three calls, and the call with one more constraint."""
    model, reference, rows = task
    explainer, question = cp.Explainer(model, reference=reference), ENERGIES[energy]
    explainer(rows[:2], **question)
    plain, plain_ms = timed(explainer, rows, 2, proof=False, **question)
    default, default_ms = timed(explainer, rows, 2, **question)
    alone = [timed(explainer, rows[i : i + 1], 1, proof=True, budget=seconds, **question) for i in range(len(rows))]
    done, ms = np.array([is_proven(each)[0] for each, _ in alone]), np.array([spent for _, spent in alone])
    both = plain.valid & default.valid
    features = default.changes["feature"].value_counts()
    held = [cp.Immutable(features.index[0])] if len(features) else []
    bound = cp.Explainer(model, reference=reference, constraints=held)(rows, **question)
    pairs = bound.valid & default.valid
    optimal = (bound.status == "optimal") & (default.status == "optimal")
    lower = bound.effort < 0.99 * default.effort
    return Line(
        table,
        kind,
        energy,
        len(rows),
        plain_ms,
        default_ms,
        float(is_proven(default).mean()),
        float((default.bound > 0).mean()),
        bound_over_effort(default),
        float((plain.effort[both] > 1.005 * default.effort[both]).mean()) if both.any() else np.nan,
        float((done & (ms <= 1000)).mean()),
        float(done.mean()),
        float(np.median(ms)),
        float(np.nanmedian([bound_over_effort(each) for each, _ in alone])),
        float(lower[pairs].mean()) if pairs.any() else np.nan,
        float(lower[optimal].mean()) if optimal.any() else np.nan,
        float(default.effort[both].mean() / plain.effort[both].mean()) if both.any() else np.nan,
    )


HEADS = (
    "| table | model | energy | rows | no proof, ms | default, ms | ratio | proven | bound > 0 | bound ÷ effort | "
    "nearer | proven in 1 s | proven at the end | median ms | bound ÷ effort | lowered | "
    "lowered, proven | effort ÷ no proof |"
)


def as_markdown(line: Line) -> str:
    """A line of the table."""
    return (
        f"| {line.table} | {line.model} | {line.energy} | {line.rows} | {line.plain_ms:.1f} | {line.default_ms:.1f} | "
        f"{line.default_ms / line.plain_ms:.1f} | {line.proven:.0%} | {line.has_bound:.0%} | {line.bound:.3f} | "
        f"{line.nearer:.0%} | {line.proven_in_1s:.0%} | {line.proven_at_end:.0%} | {line.median_ms:.1f} | "
        f"{line.bound_at_end:.3f} | {line.lowered:.0%} | {line.lowered_proven:.0%} | {line.farther:.4f} |"
    )


def summary(lines: list[Line]) -> list[str]:
    """What all lines of boosted trees say together."""
    boosted = [line for line in lines if not line.model.startswith("forest")]
    if not boosted:
        return []
    ratio = sum(line.default_ms for line in boosted) / sum(line.plain_ms for line in boosted)
    mean = {
        name: np.mean([getattr(line, name) for line in boosted]) for name in ("proven", "proven_in_1s", "proven_at_end")
    }
    said = (
        f"Boosted trees, {len(boosted)} lines together: the default call takes {ratio:.1f} times the CPU of one without"
        f" a proof; proven {mean['proven']:.0%} by default, {mean['proven_in_1s']:.0%} within 1 s a row,"
        f" {mean['proven_at_end']:.0%} at the end."
    )
    pairs = [(line.lowered, line.rows) for line in lines if not np.isnan(line.lowered)]
    lowered = sum(share * rows for share, rows in pairs) / max(1, sum(rows for _, rows in pairs))
    farthest = max(lines, key=lambda line: -np.inf if np.isnan(line.farther) else line.farther)
    proven = np.nanmax([line.lowered_proven for line in lines])
    laws = (
        f"All {len(lines)} lines: a further constraint lowers the effort of {lowered:.1%} of rows by more than 1 % by"
        f" default, of {proven:.0%} at most in a line where both are optimal; the mean effort with a proof is at most"
        f" {farthest.farther:.4f} of that without ({farthest.table}, {farthest.model})."
    )
    return [said, "", laws, ""]


def as_page(lines: list[Line], seconds: float, note: str) -> str:
    """The page of all lines so far."""
    about = (
        f"One thread, milliseconds of CPU a row; proofs to the end stop after {seconds:g} s a row. Lowered: rows whose"
        " effort falls by more than 1 %, in the default call, when the feature that changes most often is held fixed."
    )
    table = [HEADS, "|---|---|---|" + "--:|" * 15, *map(as_markdown, lines)]
    return "\n".join(["# Proofs on trees", "", f"{about} {note}".strip(), "", *summary(lines), *table]) + "\n"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--energies", nargs="+", default=("default",))
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    path = options.out / "proof.csv"
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=Line._fields)
    lines = [Line(*line) for line in known.itertuples(index=False)]
    for kind in options.models:
        for table in options.tables:
            had = {line.energy for line in lines if (line.table, line.model) == (table, kind)}
            task = None if had >= set(options.energies) else asked(table, kind, options.rows)
            for energy in options.energies if task is not None else ():
                if energy in had:
                    continue
                lines.append(measured(table, kind, energy, task, options.seconds))
                print(as_markdown(lines[-1]), flush=True)
                pd.DataFrame(lines).to_csv(path, index=False)
                (options.out / "proof.md").write_text(as_page(lines, options.seconds, options.note), encoding="utf-8")


if __name__ == "__main__":
    main()
