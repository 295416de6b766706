"""What each correction of Algorithm 1 buys: breast cancer, logistic regression; for docs/understand/algorithm1.md.

python benchmarks/algorithm1.py [--rows 100] [--out docs/understand/algorithm1.md]

All forms have the same learning rate, inverse temperature, tolerance and cap on iterations, and start from the same
rows. The optimal distance is the distance to the separating plane, in closed form. "Kept" is the share of noisy copies
(Gaussian, 0.1 feature scales, the same draws for every form) of the flipped rows that keep the target.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise.methods.base import Method
from counterpoise.methods.baselines.algorithm1 import Algorithm1

SETTINGS = {"alpha": 0.02, "beta": 10.0, "epsilon": 0.01, "iterations": 1000}
NOISE, COPIES = 0.1, 500
BEGIN, END = "<!-- measured by benchmarks/algorithm1.py -->", "<!-- end -->"


def forms() -> list[tuple[str, float, Method | None]]:
    """Name, mu and method, each with one correction more than the one before."""
    free = SETTINGS | {"c2": np.inf}
    odds, one_sided = {"probability": False}, {"probability": False, "two_sided": False}
    return [
        ("as printed", 1.0, Algorithm1.literal(**SETTINGS)),
        ("… without the Hessian check", 1.0, Algorithm1.literal(**free)),
        ("… and μ = 10", 10.0, Algorithm1.literal(**free)),
        ("f in log-odds, μ = 1", 1.0, Algorithm1.literal(**free, **odds)),
        ("… and one-sided φ", 1.0, Algorithm1.literal(**free, **one_sided)),
        ("… and the corrected flow, with the Hessian check", 1.0, Algorithm1(**SETTINGS, sigma=0.0)),
        ("… and the entropy of a cloud, σ = 0.05: the default", 1.0, Algorithm1(**SETTINGS)),
        ("… and the adversarial check, ξ = 0.1", 1.0, Algorithm1(**SETTINGS, xi=0.1)),
        ("for comparison: the default search", 1.0, None),
    ]


def measure(rows: int) -> list[str]:
    data = load_breast_cancer()
    train, rest, labels, _ = train_test_split(data.data, data.target, stratify=data.target, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(train, labels)
    explainer = cp.Explainer(model, reference=train, bounds=None)
    asked = rest[:rows]
    weights = model[-1].coef_[0] / model[0].scale_ * explainer.schema.scales
    optimal = np.abs(model.decision_function(asked)) / np.linalg.norm(weights)
    noise = NOISE * explainer.schema.scales * np.random.default_rng(1).standard_normal((COPIES, train.shape[1]))
    lines = []
    for name, mu, method in forms():
        start = time.perf_counter()
        found = explainer(asked, lam=0.0, mu=mu, method=method)
        seconds = time.perf_counter() - start
        boundary = np.abs(found.scores["margin_after"].to_numpy()) < 2 * SETTINGS["epsilon"]
        valid = found.valid
        ratio = np.median(found.energy["distance"].to_numpy()[valid] / optimal[valid]) if valid.any() else np.nan
        wanted = 1 - model.predict(asked)[valid]
        kept = [(model.predict(x + noise) == want).mean() for x, want in zip(found.x[valid], wanted, strict=True)]
        cells = [
            name,
            f"{valid.mean():.0%}",
            f"{boundary.mean():.0%}",
            f"{ratio:.4f}" if valid.any() else "–",
            f"{np.mean(kept):.0%}" if kept else "–",
            f"{found.model_rows / rows:,.0f}",
            f"{1000 * seconds / rows:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "understand" / "algorithm1.md")
    asked = parser.parse_args()
    lines = measure(asked.rows)
    text = asked.out.read_text(encoding="utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    titles = ["form", "flipped", "at the boundary", "distance / optimal", "kept", "model rows a row", "ms a row"]
    table = ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1), *lines]
    asked.out.write_text(head + "\n".join([BEGIN, "", *table, "", END]) + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
