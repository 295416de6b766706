"""Firm answers in two dimensions beside the optimum of a grid: how much farther than need be is keep = 0.9?

    python benchmarks/firm_grid.py [--rows 20] [--out benchmarks/results/firm_grid.md]

Every point of a grid (spacing 0.04 standard deviations) is counted on 1,000 copies of the noise that the search is
told, and one is firm as an answer is: where its interval's lower end is at least the share. The nearest firm one,
by the same effort, is the optimum. It is the better of many chances, so that its own count leans to its favour.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

import counterpoise as cp
from counterpoise.physics.robustness import share_interval

KEEP, NOISE, LAM, COPIES = 0.9, 0.2, 0.1, 1000
MODELS = {"SVC": SVC(C=10, random_state=0), "forest of 100": RandomForestClassifier(100, max_depth=8, random_state=0)}


def grid_optima(
    predict: Any, x0: np.ndarray, target: np.ndarray, reference: np.ndarray, spacing: float, copies: int = COPIES
) -> np.ndarray:
    """The least effort ``(n,)`` of a point of the grid that surely keeps the share; infinite where there is none."""
    scales = reference.std(axis=0)
    low, high = reference.min(axis=0), reference.max(axis=0)
    axes = [np.arange(low[i], high[i], spacing * scales[i]) for i in range(2)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    draws = np.random.default_rng(7).normal(size=(copies, 2)) * NOISE * scales
    labels = np.unique(target)
    kept = np.zeros((len(labels), len(points)))
    for start in range(0, len(points), 200):
        cloud = points[start : start + 200, None] + draws
        width = high - low  # reflected at the bounds, as the noise is
        cloud = low + width - np.abs(np.mod(cloud - low, 2 * width) - width)
        said = predict(cloud.reshape(-1, 2)).reshape(-1, copies)
        for place, label in enumerate(labels):
            kept[place, start : start + 200] = (said == label).mean(axis=1)
    own = predict(points)
    out = np.full(len(x0), np.inf)
    for row, (home, label) in enumerate(zip(x0, target, strict=True)):
        column = kept[labels.tolist().index(label)]
        firm = (share_interval(np.rint(column * copies), copies)[0] >= KEEP) & (own == label)
        # a column that does not change costs nothing: the lines through the row are part of the grid
        effort = np.sqrt((((points - home) / scales) ** 2).sum(axis=1)) + LAM * 2
        out[row] = effort[firm].min(initial=np.inf)
        for column_kept in range(2):
            line = points[np.unique(points[:, 1 - column_kept], return_index=True)[1]].copy()
            line[:, column_kept] = home[column_kept]
            cloud = line[:, None] + draws
            cloud = low + width - np.abs(np.mod(cloud - low, 2 * width) - width)
            counts = (predict(cloud.reshape(-1, 2)).reshape(-1, copies) == label).sum(axis=1)
            sure = (share_interval(counts, copies)[0] >= KEEP) & (predict(line) == label)
            away = np.abs(line - home)[:, 1 - column_kept] / scales[1 - column_kept] + LAM
            out[row] = min(out[row], away[sure].min(initial=np.inf))
    return out


def ratios(name: str, rows: int, spacing: float = 0.04, copies: int = COPIES) -> np.ndarray:
    """Effort of firm answers over that of the grid's optimum, ``(n,)``, for a model of `MODELS` on two moons."""
    x, labels = make_moons(600, noise=0.25, random_state=0)
    model = MODELS[name].fit(x, labels)
    some = x[np.random.default_rng(1).choice(len(x), rows, replace=False)]
    explainer = cp.Explainer(model, reference=x, values="any", relations=None)
    found = explainer(some, keep=KEEP, noise=NOISE, lam=LAM)
    best = grid_optima(model.predict, some, np.array(found.target.tolist()), x, spacing, copies)
    there = np.isfinite(best) & found.is_firm_enough
    return np.asarray(found.effort[there] / best[there])


def page(rows: int) -> Iterator[str]:
    """The page, line by line."""
    yield from ("# Firm answers beside the optimum of a grid", "")
    yield f"Two moons, {rows} rows a model, keep = {KEEP}, Gaussian noise of {NOISE} standard deviations."
    yield from ("", "| model | rows | mean ratio | median | largest |", "| --- | --- | --- | --- | --- |")
    for name in MODELS:
        found = ratios(name, rows)
        yield f"| {name} | {len(found)} | {found.mean():.3f} | {np.median(found):.3f} | {found.max():.3f} |"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--rows", type=int, default=20)
    words.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "firm_grid.md")
    given = words.parse_args()
    text = "\n".join(page(given.rows)) + "\n"
    print(text)
    given.out.write_text(text)


if __name__ == "__main__":
    main()
