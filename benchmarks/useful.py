"""What the plain call gives: features changed, values, relations kept, distance and CPU, on every table and model.

python benchmarks/useful.py [--rows 200] [--tables unsw_nb15 adult] [--lam 0.05 0.1 0.25 0.5]

Written to benchmarks/results/useful.md, above its notes, line by line as it goes. Each answer is judged by
`obedience.py`, which shares nothing with the search.
`lam=0` has the same values and relations; `bare` has neither; CPU is that of the call alone, side by side in one run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from obedience import enumerate_relations
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from tables import markdown
from tasks import Skipped, read_table

import counterpoise as cp

NOTES = "## What is missed, and why"  # what is written from here on stays
NAMES = ("unsw_nb15", "rt_iot2022", "ciciot2023", "nsl_kdd", "adult", "give_me_some_credit", "breast_cancer")
KINDS = ("boosted", "forest", "logistic", "network")


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    if name == "breast_cancer":
        table, target = load_breast_cancer(return_X_y=True, as_frame=True)
        return table, target.to_numpy()
    table, target, _ = read_table(name)
    return table, target


def fit(kind: str, table: pd.DataFrame, target: np.ndarray) -> Any:
    text = make_column_selector(dtype_exclude="number")
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    trees = make_column_transformer((codes, text), remainder="passthrough")
    scaled = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder=StandardScaler())
    models = {
        "boosted": make_pipeline(trees, HistGradientBoostingClassifier(max_iter=100, random_state=0)),
        "forest": make_pipeline(trees, RandomForestClassifier(50, max_depth=8, random_state=0)),
        "logistic": make_pipeline(scaled, LogisticRegression(max_iter=500)),
        "network": make_pipeline(scaled, MLPClassifier((32,), max_iter=40, random_state=0)),
    }
    return models[kind].fit(table, target)


def measure(explainer: cp.Explainer, rows: pd.DataFrame, **question: Any) -> tuple[cp.Explanation, float]:
    started = time.process_time()
    found = explainer(rows, **question)
    return found, time.process_time() - started


def judge(found: cp.Explanation, rows: pd.DataFrame, reference: pd.DataFrame, laws: dict[str, Any]) -> dict[str, int]:
    """Values never seen in few-valued columns, changes below the column's step, and relations broken."""
    answers = found.frame[rows.columns][found.valid]
    before = rows[found.valid]
    unseen = small = 0
    for name in rows.columns:
        if reference[name].dtype.kind not in "iuf":
            continue
        values = np.unique(reference[name].to_numpy(dtype=float))
        changed = (answers[name] != before[name]).to_numpy()
        few = len(values) <= 20 or (len(values) <= 50 and len(values) < 0.01 * len(reference))
        determined = any(law.startswith((f"{name} ==", f"{name} by ")) for law in laws)
        if few and len(reference) >= 10 * len(values) and not determined:
            unseen += int((changed & ~np.isin(answers[name].to_numpy(dtype=float), values)).sum())
        moved = np.abs(answers[name].to_numpy(dtype=float) - before[name].to_numpy(dtype=float))
        small += int((changed & (moved < 0.999 * np.diff(values).min(initial=np.inf)) & (moved < 1e-6)).sum())
    broken = {law: int((~obeys(answers) & obeys(before)).sum()) for law, obeys in laws.items()}
    return {"unseen": unseen, "small": small, "broken": sum(broken.values())}


def count_free(found: cp.Explanation) -> np.ndarray:
    """How many features each valid answer changes of those that are free to move: R, without what a relation moves."""
    return np.rint(2 * found.terms.regularizer[found.valid] / found.question.lam) / 2


class Task(NamedTuple):
    """A table cut into a reference and rows, and the relations that every reference row obeys."""

    name: str
    reference: pd.DataFrame
    target: np.ndarray
    rows: pd.DataFrame
    laws: dict[str, Any]

    @classmethod
    def of(cls, name: str, count: int) -> Task:
        table, target = load(name)
        few = np.random.default_rng(0).permutation(len(table))
        train, held = few[: min(6000, len(few) * 3 // 4)], few[min(6000, len(few) * 3 // 4) :][:count]
        reference, rows = table.iloc[train].reset_index(drop=True), table.iloc[held].reset_index(drop=True)
        return cls(name, reference, target[train], rows, enumerate_relations(reference))


def one(task: Task, kind: str, lams: list[float]) -> tuple[list[str], list[str]]:
    name, reference, target, rows, laws = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(kind, reference, target)
    plain = cp.Explainer(model, reference=reference)
    bare = cp.Explainer(model, reference=reference, values="any", relations=None)
    for explainer in (plain, bare):  # what is made once
        measure(explainer, rows[:2])
    found, seconds = measure(plain, rows)
    same, _ = measure(plain, rows, lam=0)
    free, before = measure(bare, rows, lam=0)
    loose, _ = measure(bare, rows)
    both = found.valid & same.valid
    wrong = judge(found, rows, reference, laws)
    far = found.terms.distance[both].mean() / same.terms.distance[both].mean()
    common = found.valid & loose.valid
    price = found.terms.total[common].mean() / loose.terms.total[common].mean()
    exists = (found.valid | same.valid | free.valid).sum()
    counted, changed = count_free(found), found.changed[found.valid]
    line = [name, kind, str(len(plain.relations)), str(len(laws)), f"{found.valid.sum()} / {exists}"]
    line += [f"{np.median(counted):g}, {np.quantile(counted, 0.95):g}"]
    line += [f"{np.median(changed):g}, {np.quantile(changed, 0.95):g}", f"{np.median(free.changed[free.valid]):g}"]
    least = found.changed[found.status == "optimal"]
    line += [f"{len(least)}: {np.median(least):g}" if len(least) else "0"]
    line += [str(wrong[key]) for key in ("unseen", "small", "broken")]
    line += [f"{far:.3f}", f"{price:.3f}", f"{seconds / before:.2f}", f"{1000 * seconds / len(rows):.1f}"]
    weights = []
    for lam in lams:
        told, _ = measure(plain, rows, lam=lam)
        both = told.valid & same.valid
        ratio = told.terms.distance[both].mean() / same.terms.distance[both].mean()
        many = count_free(told)
        weights.append(f"{np.median(many):g}, {np.quantile(many, 0.95):g}; {ratio:.2f}")
    return line, [name, kind, *weights]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--tables", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--lam", nargs="*", type=float, default=[0.05, 0.1, 0.25, 0.5])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "useful.md")
    chosen = parser.parse_args()
    lines, weights = [], []
    for name in chosen.tables:
        try:
            task = Task.of(name, chosen.rows)
        except Skipped as reason:
            print(f"{name}: left out: {reason}")
            continue
        for kind in chosen.kinds:
            line, weight = one(task, kind, chosen.lam)
            lines.append(line)
            weights.append(weight)
            print(" | ".join(line), flush=True)
            write(chosen, lines, weights)


def write(chosen: argparse.Namespace, lines: list[list[str]], weights: list[list[str]]) -> None:
    heads = ["table", "model", "relations kept", "enumerated", "valid / exist", "changed: median, 95 %"]
    heads += ["with those moved along", "of L2 alone"]
    heads += ["proven least, and their median changed"]
    heads += ["values never seen", "changes below the step", "relations broken", "L2 ÷ that of lam=0"]
    heads += ["effort ÷ that without values and relations", "CPU ÷ L2 alone, any values", "ms a row"]
    command = f"python benchmarks/useful.py --rows {chosen.rows} --tables {' '.join(chosen.tables)}"
    parts = [
        "# The plain call",
        "",
        f"`{command}`; models fitted on at most 6,000 rows.",
        "",
    ]
    parts += markdown(heads, lines)
    parts += ["", "## Features changed (median, 95 %) and L2 over that of lam=0, by lam", ""]
    parts += markdown(["table", "model", *(f"{lam:g}" for lam in chosen.lam)], weights)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    before = chosen.out.read_text() if chosen.out.exists() else ""
    notes = NOTES + before.partition(NOTES)[2] if NOTES in before else ""
    chosen.out.write_text("\n".join([*parts, "", notes]).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
