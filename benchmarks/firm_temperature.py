"""Which keeps more copies at the same distance: ``keep`` or ``temperature``? On six models, with intervals.

    python benchmarks/firm_temperature.py [--rows 100] [--models 6] [--out benchmarks/results/firm_temperature.md]

Both search under Gaussian noise of 0.2 standard deviations (breast cancer, 30 columns). ``keep`` is asked for 0.6, 0.8,
0.9 and ``temperature`` for 0.3, 1, 3; each answer is counted on 1,000 copies that nothing saw. Of each row, the share
that temperature keeps is read off, at the distance of each answer to ``keep``, between its own answers (a line
between neighbours; pairs whose distance lies outside are left out), so that both spend the same. The interval is a
bootstrap of 95 % over rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import counterpoise as cp
from counterpoise.space.region.region import Region

NOISE, COPIES = cp.Gaussian(0.2), 1000
SHARES, TEMPERATURES = (0.6, 0.8, 0.9), (0.3, 1.0, 3.0)
MODELS: dict[str, Any] = {
    "forest of 100": RandomForestClassifier(100, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "boosted trees": HistGradientBoostingClassifier(random_state=0),
    "network 64 x 64": make_pipeline(StandardScaler(), MLPClassifier((64, 64), max_iter=300, random_state=0)),
    "SVC": make_pipeline(StandardScaler(), SVC()),
    "KNN": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
}


def count_kept(explainer: cp.Explainer, found: cp.Explanation) -> np.ndarray:
    """The share ``(n,)`` of new copies of each answer that the model gives what it gives the answer."""
    rng, region = np.random.default_rng(11), Region.build(found.schema, found.x0, explainer.constraints, "observed")
    out = np.full(len(found), np.nan)
    for row in np.flatnonzero(found.valid).tolist():
        draws = rng.normal(size=(1, COPIES, found.x.shape[1]))
        point = found.x[None, row : row + 1]
        copies = NOISE.copies(point, draws, region.take([row]), found.schema.scales, found.schema.numeric)[0, 0]
        out[row] = np.mean(explainer.model.predict(copies) == found.scores["after"].iloc[row])
    return out


def compare(name: str, rows: int) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Mean share kept of each row by keep and by temperature at the same distances, pairs, and CPU seconds."""
    began = time.process_time()
    x, labels = load_breast_cancer(return_X_y=True)
    train, test = x[::2], x[1::2][:rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name].fit(train, labels[::2])
    explainer = cp.Explainer(model, reference=train, relations=None)
    asked = [{}, *({"temperature": T} for T in TEMPERATURES)]
    by_T = [explainer(test, kept=False, **({"noise": NOISE} if each else {}), **each) for each in asked]
    far = np.stack([found.energy["distance"].to_numpy() for found in by_T], axis=1)
    share = np.stack([count_kept(explainer, found) for found in by_T], axis=1)
    ours: list[list[float]] = [[] for _ in range(len(test))]
    other: list[list[float]] = [[] for _ in range(len(test))]
    for q in SHARES:
        firm = explainer(test, keep=q, noise=NOISE, kept=False)
        kept, distance = count_kept(explainer, firm), firm.energy["distance"].to_numpy()
        for row in np.flatnonzero(firm.valid).tolist():
            order = np.argsort(far[row], kind="stable")
            if far[row].min() <= distance[row] <= far[row].max():
                ours[row].append(kept[row])
                other[row].append(float(np.interp(distance[row], far[row][order], share[row][order])))
    there = [row for row in range(len(test)) if ours[row]]
    pairs = sum(len(ours[row]) for row in there)
    means = [np.array([np.mean(side[row]) for row in there]) for side in (ours, other)]
    return means[0], means[1], pairs, time.process_time() - began


def page(rows: int, models: int) -> Iterator[str]:
    """The page, line by line."""
    yield from ("# keep beside temperature, at the same distance", "")
    yield f"Breast cancer, {rows} rows a model, Gaussian noise of 0.2; shares on {COPIES} copies that nothing saw."
    yield from ("", "| model | rows | pairs | keep: kept | temperature: kept | keep - temperature | CPU s |")
    yield "|" + " --- |" * 7
    for name in [*MODELS][:models]:
        ours, other, pairs, spent = compare(name, rows)
        apart = ours - other
        draws = np.random.default_rng(0).integers(0, len(apart), (10_000, len(apart)))
        low, high = np.quantile(apart[draws].mean(axis=1), (0.025, 0.975))
        line = (name, str(len(apart)), str(pairs), f"{ours.mean():.3f}", f"{other.mean():.3f}")
        yield f"| {' | '.join(line)} | {apart.mean():+.3f} [{low:+.3f}, {high:+.3f}] | {spent:.0f} |"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--rows", type=int, default=100)
    words.add_argument("--models", type=int, default=len(MODELS), help="so many, from the first")
    words.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "firm_temperature.md")
    given = words.parse_args()
    lines = []
    for line in page(given.rows, given.models):
        print(line, flush=True)
        lines.append(line)
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
