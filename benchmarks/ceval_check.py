"""Our metrics beside CEval's (Bayrak and Bach 2024), each by its own code, on the same answers: they should agree.

python benchmarks/ceval_check.py      makes CEval's environment first; ends with 1 where a metric differs

The breast cancer table in standard deviations, so that both measure in one unit; the answers are those of the plain
call and the nearest reference rows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from environments import Peer, python_of
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.judge import metrics

ROWS = 12
ROUNDED = 6e-4  # CEval gives three decimals
CEVAL = Peer("ceval", (), install=("ceval", "statsmodels"))
THEIRS = {"validity": "valid", "proximity": "l2", "sparsity": "changed", "yNN": "ynn", "redundancy": "redundant"}
SCRIPT = """
import sys, joblib, pandas as pd
from ceval import CEval
folder = sys.argv[1]
read = lambda name: pd.read_csv(f"{folder}/{name}.csv", float_precision="round_trip")
judge = CEval(read("rows"), "y", read("data"), joblib.load(f"{folder}/model.joblib"), k_nn=5, distance="euclidean")
for name in sys.argv[2:]:
    judge.add_explainer(name, read(name), "generated-cf", "1to1")
judge.comparison_table.to_csv(f"{folder}/ceval.csv")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ours = measure(folder)
        (folder / "judge.py").write_text(SCRIPT)
        subprocess.run([python_of(CEVAL), "-W", "ignore", folder / "judge.py", folder, *ours.index], check=True)
        theirs = pd.read_csv(folder / "ceval.csv", index_col=0)[list(THEIRS)].rename(columns=THEIRS).astype(float)
    both = pd.concat({"ours": ours[list(theirs)].T, "CEval": theirs.T}, axis=1)
    print(both.round(4).to_string())
    sys.exit(int(((ours[list(theirs)] - theirs).abs() > ROUNDED).any(axis=None)))


def probabilities(model: LogisticRegression, table: pd.DataFrame) -> np.ndarray:
    """What the model says of a table; it was fitted without names, which CEval does not give."""
    return np.asarray(model.predict_proba(table.to_numpy()))


def reaches(model: LogisticRegression, wanted: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which of the points ``(n, k, d)`` have their row's class ``(n,)``."""
    found = model.predict(points.reshape(-1, points.shape[-1])).reshape(points.shape[:-1])
    return np.asarray(found == wanted[:, None])


def measure(folder: Path) -> pd.DataFrame:
    """Answers and our metrics of them; tables, model and answers are left in the folder for CEval."""
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    x = (x - x.mean()) / x.std(ddof=0)
    x.columns = pd.Index([f"c{number}" for number in range(x.shape[1])])
    model = LogisticRegression(max_iter=2000).fit(x.to_numpy(), y)
    rows, before = x.iloc[:ROWS], model.predict(x.iloc[:ROWS].to_numpy())
    every = model.predict(x.to_numpy())
    lines = {}
    for name, method in (("plain", None), ("nearest", cp.NearestNeighbour())):
        answers = cp.explain(partial(probabilities, model), rows, reference=x, method=method).frame.to_numpy()
        after = model.predict(answers)
        delta = abs(answers - rows.to_numpy())
        lines[name] = {
            "valid": float((after != before).mean()),
            "l2": float(metrics.l2_distance(delta).mean()),
            "changed": float(1 - metrics.sparsity(delta).mean()),
            "ynn": float(metrics.ynn(answers, x.to_numpy(), every == after[:, None]).mean()),
            "redundant": float(metrics.redundancy(answers, rows.to_numpy(), partial(reaches, model, after)).mean()),
        }
        pd.DataFrame(answers, columns=x.columns).assign(y=after).to_csv(folder / f"{name}.csv", index=False)
    x.assign(y=y).to_csv(folder / "data.csv", index=False)
    rows.assign(y=before).to_csv(folder / "rows.csv", index=False)
    joblib.dump(model, folder / "model.joblib")
    return pd.DataFrame(lines).T


if __name__ == "__main__":
    main()
