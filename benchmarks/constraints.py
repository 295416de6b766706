"""Constraints at work: five tables with their schema files, boosted trees and logistic regression, 200 rows each.

python benchmarks/constraints.py                        everything; the table in benchmarks/results/constraints.md
python benchmarks/constraints.py --tables adult         these tables alone, and the rest as it is known
python benchmarks/constraints.py --models logistic

Each row is asked twice, with the file's relations and without, in one process and one after the other. Answers are
judged by `obedience.py`, which shares nothing with the search; rows without an answer are judged by their nearest miss.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import yaml
from obedience import violations
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import counterpoise as cp

DATA = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
RESULTS = Path(__file__).parent / "results"
TABLES = ("rt_iot2022", "ciciot2023", "unsw_nb15", "adult", "give_me_some_credit")
MODELS = ("boosting", "logistic")
HEADINGS = ("table", "model", "rows", "relations", "violations", "valid with / without")
HEADINGS += ("break a relation without", "median distance with / without", "ms a row with / without", "ratio")
WARM = 5  # rows asked before the clock runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--rows", type=int, default=200)
    asked = parser.parse_args()
    path = RESULTS / "constraints.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for name in asked.tables:
        for kind in asked.models:
            known[f"{name} {kind}"] = measured(name, kind, asked.rows)
            path.write_text(json.dumps(known, indent=1, sort_keys=True))
            print(f"{name} {kind}: {known[f'{name} {kind}']}")
    (RESULTS / "constraints.md").write_text(page(known))


def measured(name: str, kind: str, count: int) -> dict[str, Any]:
    """One table and one model, with its relations and without."""
    listed = yaml.safe_load((DATA / f"{name}.yaml").read_text())
    whole = pd.read_csv(DATA / f"{name}.csv.gz", keep_default_na=False)
    features, target = whole[[column["name"] for column in listed["columns"]]], whole[listed["target"]["column"]]
    order = np.random.default_rng(0).permutation(len(whole))
    train, test = np.sort(order[: 3 * len(order) // 4]), order[3 * len(order) // 4 :]
    model = fitted(kind, listed, features.iloc[train], target.iloc[train])
    wanted = listed["target"]["desired_class"]
    pool = np.concatenate([test, train])  # rows that the model has not seen come first
    rows = features.iloc[pool[model.predict(features.iloc[pool]) != wanted][:count]]
    file = cp.load_schema(DATA / f"{name}.yaml", features.iloc[train])
    out: dict[str, Any] = {"rows": len(rows), "relations": len(listed["relations"])}
    plain = tuple(word for word in file.constraints if not isinstance(word, cp.Rule))
    for label, words in (("with", file.constraints), ("without", plain)):
        explainer = cp.Explainer(model, reference=features.iloc[train], schema=file.schema, constraints=words)
        explainer(rows[:WARM], target=wanted)
        clocks = time.perf_counter(), time.process_time()
        found = explainer(rows, target=wanted)
        seconds = time.perf_counter() - clocks[0], time.process_time() - clocks[1]
        answers = found.frame
        said = violations(listed, rows, answers, rules=label == "with")
        flipped = np.asarray(model.predict(answers)) == wanted
        out[label] = {
            "valid": float(found.valid.mean()),
            "really valid": float(flipped[found.valid].mean()) if found.valid.any() else 1.0,
            "violations": len(said),
            "first violations": said[:3],
            "break a relation": len({line.split(":")[0] for line in violations(listed, rows, answers)}),
            "distance": float(found.energy["distance"][found.valid].median()) if found.valid.any() else None,
            "ms a row": 1000 * seconds[0] / len(rows),
            "cpu ms a row": 1000 * seconds[1] / len(rows),
            "status": dict(Counter(found.status.tolist())),
            "reasons": Counter(reason for reason in found.reason.tolist() if reason).most_common(),
        }
    out["ratio"] = out["with"]["cpu ms a row"] / out["without"]["cpu ms a row"]
    return out


def fitted(kind: str, listed: dict[str, Any], features: pd.DataFrame, target: pd.Series) -> Any:
    """A pipeline that takes the table as it is."""
    named = {column["name"]: column["categories"] for column in listed["columns"] if column["kind"] == "categorical"}
    levels = list(named.values())
    if kind == "boosting":
        front = make_column_transformer((OrdinalEncoder(categories=levels), list(named)), remainder="passthrough")
        model = make_pipeline(front, HistGradientBoostingClassifier(max_iter=150, random_state=0))
    else:
        front = make_column_transformer((OneHotEncoder(categories=levels), list(named)), remainder=StandardScaler())
        model = make_pipeline(front, LogisticRegression(max_iter=2000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(features, target)


def page(known: dict[str, dict[str, Any]]) -> str:
    """The results as a page."""
    lines = [
        "# Constraints at work",
        "",
        "Rows that a model gives the undesired class, explained under the kinds, bounds, immutable and monotone",
        "features of the table's schema file; with its relations and without. Violations are counted by code that",
        "shares nothing with the search, in every row, whether it has an answer or not (then its nearest miss is",
        "judged). One core; processor time. Measured by `benchmarks/constraints.py`.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    reasons = ["", "## Rows without an answer, with the relations", ""]
    for key in (f"{name} {kind}" for name in TABLES for kind in MODELS):
        if key not in known:
            continue
        one = known[key]
        name, kind = key.split()
        both = [one["with"], one["without"]]
        wrong = both[0]["violations"] + both[1]["violations"]
        valid = " / ".join(f"{100 * each['valid']:.1f}%" for each in both)
        far = " / ".join("–" if each["distance"] is None else f"{each['distance']:.3g}" for each in both)
        cost = " / ".join(f"{each['cpu ms a row']:.1f}" for each in both)
        lines.append(
            f"| {name} | {kind} | {one['rows']} | {one['relations']} | {wrong} | {valid} "
            f"| {both[1]['break a relation']} | {far} | {cost} | {one['ratio']:.2f} |"
        )
        missing = [(reason, count) for reason, count in both[0]["reasons"] if reason.startswith("no ")]
        if missing:
            reasons += [f"**{name}, {kind}**", "", *(f"- {count} ×: {reason}" for reason, count in missing), ""]
    reasons += ["None."] if len(reasons) == 3 else []
    return "\n".join([*lines, *reasons]).rstrip() + "\n"


if __name__ == "__main__":
    main()
