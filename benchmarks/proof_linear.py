"""Proofs of linear models and networks: share proven, gaps, and the time beside calls without a proof.

python benchmarks/proof_linear.py            # about two minutes; writes benchmarks/results/proof_linear.md
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import counterpoise as cp

TO = Path(__file__).parent / "results" / "proof_linear.md"
HEAD = """# Proofs of linear models and networks

One thread, {rows} rows, scikit-learn's own tables; calls with `proof="auto"` and `proof=False` in turn, CPU time of the
whole call, the best of three. Made by `python benchmarks/proof_linear.py`.

| table | model | energy | optimal | median gap | largest gap | ms a row | ÷ without a proof |
|---|---|---|---|---|---|---|---|
"""


def measure(explainer: cp.Explainer, rows: object, words: dict[str, object]) -> str:
    """One line of the table."""
    spent: dict[object, float] = {}
    for _ in range(3):
        for proof in (False, "auto"):
            began = time.process_time()
            found = explainer(rows, proof=proof, **words)
            spent[proof] = min(spent.get(proof, np.inf), time.process_time() - began)
    gap = found.gap[found.valid]
    ratio = spent["auto"] / spent[False]
    return (
        f"{np.mean(found.status[found.valid] == 'optimal'):.0%} | {np.median(gap):.2g} | {gap.max():.2g} | "
        f"{1e3 * spent['auto'] / len(found):.2f} | {ratio:.2f}"
    )


def main(count: int = 50) -> None:
    """Measure everything and write the page."""
    warnings.simplefilter("ignore")
    cancer, wine, diabetes = (load(as_frame=True) for load in (load_breast_cancer, load_wine, load_diabetes))
    level = float(np.quantile(diabetes.target, 0.3))
    cases = [
        ("breast_cancer", cancer, LogisticRegression(), {}),
        ("breast_cancer", cancer, LinearSVC(), {}),
        ("wine", wine, LogisticRegression(), {}),
        ("diabetes", diabetes, Ridge(), {"target": (level - 20.0, level)}),
        ("breast_cancer", cancer, MLPClassifier((100,), random_state=0, max_iter=300), {}),
        ("breast_cancer", cancer, MLPClassifier((16, 16), random_state=0, max_iter=300), {}),
        ("wine", wine, MLPClassifier((32,), activation="tanh", random_state=0, max_iter=300), {}),
    ]
    lines = []
    for name, table, model, words in cases:
        fitted = make_pipeline(StandardScaler(), model).fit(table.data, table.target)
        explainer = cp.Explainer(fitted, reference=table.data)
        for energy in ({}, {"lam": 0.0}, {"distance": "l1"}, {"distance": "l0"}):
            said = ", ".join(f"{key} = {value}" for key, value in energy.items()) or "default"
            found = measure(explainer, table.data[:count], {**words, **energy})
            what = type(model).__name__ + (
                f" {model.hidden_layer_sizes}" if hasattr(model, "hidden_layer_sizes") else ""
            )
            lines.append(f"| {name} | {what} | {said} | {found} |")
            print(lines[-1], flush=True)
    TO.write_text(HEAD.format(rows=count) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
