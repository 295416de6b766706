"""OCEAN itself, beside ours: least L1 on forests, time to the proof, and whether the model agrees with the answer.

    python benchmarks/ocean_peer.py questions FOLDER            the same forests and rows for both; then ours
    python3.12 benchmarks/ocean_peer.py ocean FOLDER            OCEAN, where oceanpy and scikit-learn are
    python benchmarks/ocean_peer.py table FOLDER [NOTE]         benchmarks/results/ocean_peer.md

OCEAN's package needs Python 3.12, so that it is no peer of `run.py`. Each forest is fitted once by each side, with
the same seed on the same numbers, in standard deviations, and it is checked that both decide alike. OCEAN runs by
constraint programming (CP-SAT), one worker, so many seconds a row; ours with `distance="l1"`, `lam=0`, `proof=True` and
the same limit.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier

TABLES = {"breast_cancer": load_breast_cancer, "wine": load_wine}
TREES, DEPTH, ROWS, SECONDS = (10, 20, 50), 5, 4, 25
RESULT = Path(__file__).parent / "results" / "ocean_peer.md"


def questions() -> list[tuple[str, int, pd.DataFrame, np.ndarray, pd.DataFrame]]:
    """Table, trees, training rows in standard deviations, whether they are of class 0, and rows to explain."""
    found = []
    for name, load in TABLES.items():
        data = load(as_frame=True)
        x = data.data.set_axis([f"c{column}" for column in range(data.data.shape[1])], axis=1)
        x, y = x / x.std(ddof=0), (data.target == 0).astype(int).to_numpy()
        order = np.random.default_rng(0).permutation(len(x))
        for trees in TREES:
            found.append((name, trees, x.iloc[order[ROWS:]], y[order[ROWS:]], x.iloc[order[:ROWS]]))
    return found


def fit(trees: int, x: pd.DataFrame, y: np.ndarray) -> RandomForestClassifier:
    return RandomForestClassifier(trees, max_depth=DEPTH, random_state=0, n_jobs=1).fit(x.to_numpy(), y)


def line(key: tuple[str, int, int], began: float, proven: bool, x: np.ndarray | None, row: np.ndarray, model) -> dict:
    """What is kept of an answer: CPU seconds, whether it is proven and valid, and its L1."""
    wanted = 1 - model.predict(row[None])[0]
    valid = x is not None and model.predict(x[None])[0] == wanted
    return {
        **dict(zip(("table", "trees", "row"), key, strict=True)),
        "seconds": time.process_time() - began,
        "proven": proven,
        "valid": valid,
        "l1": float(np.abs(x - row).sum()) if x is not None else np.nan,
        "decided": int(1 - wanted),
    }


def ask_ours(folder: Path) -> None:
    import counterpoise as cp

    lines = []
    for name, trees, x, y, rows in questions():
        model = fit(trees, x, y)
        explainer = cp.Explainer(model, reference=x.to_numpy(), relations=None, values="any")
        for place, row in enumerate(rows.to_numpy()):
            began = time.process_time()
            found = explainer(row[None], distance="l1", lam=0.0, proof=True, budget=SECONDS, kept=False)
            answer = found.x[0] if found.valid[0] else None
            lines.append(line((name, trees, place), began, found.status[0] == "optimal", answer, row, model))
    pd.DataFrame(lines).to_csv(folder / "ours.csv", index=False)


def ask_ocean(folder: Path) -> None:
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]  # ours has an ocean.py
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features

    warnings.simplefilter("ignore")
    lines = []
    for name, trees, x, y, rows in questions():
        model = fit(trees, x, y)
        _, mapper = parse_features(x, scale=False)
        solver = ConstraintProgrammingExplainer(model, mapper=mapper)
        for place, row in enumerate(rows.to_numpy()):
            began = time.process_time()
            wanted = int(1 - model.predict(row[None])[0])
            found = solver.explain(row, y=wanted, norm=1, max_time=SECONDS, num_workers=1, clean_up=False)
            answer = np.asarray(found.to_numpy(), dtype=float) if found is not None else None
            proven = found is not None and solver.get_solving_status() == "OPTIMAL"
            lines.append(line((name, trees, place), began, proven, answer, row, model))
            solver.cleanup()
    pd.DataFrame(lines).to_csv(folder / "ocean.csv", index=False)


def write_table(folder: Path) -> None:
    ours, theirs = (pd.read_csv(folder / f"{name}.csv") for name in ("ours", "ocean"))
    both = ours.merge(theirs, on=["table", "trees", "row"], suffixes=("", "_ocean"))
    assert (both["decided"] == both["decided_ocean"]).all()
    text = ["# OCEAN beside ours", "", (__doc__ or "").rsplit("\n\n", 1)[1].strip(), ""]
    text += [f"{ROWS} rows a line, {SECONDS} s a row, depth {DEPTH}. L1 on the rows that both answer validly."]
    text += [*sys.argv[3:], ""]
    text += ["| table | trees | valid: ours, OCEAN | proven: ours, OCEAN | CPU s a row: ours, OCEAN | L1 ÷ OCEAN's |"]
    text += ["|---|--:|---|---|---|--:|"]
    for (name, trees), part in both.groupby(["table", "trees"], sort=False):
        good = part[part["valid"] & part["valid_ocean"]]
        pairs = [f"{part[key].mean():{form}}, {part[key + '_ocean'].mean():{form}}" for key, form in FORMS.items()]
        ratio = f"{good['l1'].sum() / good['l1_ocean'].sum():.4f}" if len(good) else "–"
        text.append(f"| {name} | {trees} | {' | '.join(pairs)} | {ratio} |")
    RESULT.write_text("\n".join(text) + "\n", encoding="utf-8")


FORMS = {"valid": ".0%", "proven": ".0%", "seconds": ".3g"}

if __name__ == "__main__":
    place = Path(sys.argv[2])
    place.mkdir(parents=True, exist_ok=True)
    {"questions": ask_ours, "ocean": ask_ocean, "table": write_table}[sys.argv[1]](place)
