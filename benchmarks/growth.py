"""Growth: time a row against the number of columns and of rows, on logistic models of known optimum, no relations."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from peers.runner import Clock
from sklearn.linear_model import LogisticRegression

import counterpoise as cp

WIDTHS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
COUNTS = (1, 10, 100, 1_000, 10_000)
ROWS = 50
REFERENCE = 300
REPEATS = 3


def logistic(width: int, seed: int = 0) -> tuple[LogisticRegression, np.ndarray, np.ndarray]:
    """A model with random weights, set rather than fitted; its reference; a further row, to warm up on, ends it."""
    rng = np.random.default_rng(seed)
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array([0, 1]), width
    model.coef_, model.intercept_ = rng.normal(size=(1, width)) * 2 / np.sqrt(width), np.zeros(1)
    return model, rng.normal(size=(REFERENCE, width)), rng.normal(size=(max(COUNTS) if width == 30 else ROWS, width))


def by_width(widths: Sequence[int], blind: bool) -> list[dict[str, float]]:
    """A batch of 50 rows at each width: milliseconds a row, and the mean ratio of L2 to the optimum |f| / ‖w‖."""
    found = []
    for width in widths:
        model, reference, rows = logistic(width)
        asked = (lambda x, model=model: model.predict_proba(x)) if blind else model
        explainer = cp.Explainer(asked, reference=reference, bounds=None, relations=None)
        explainer(reference[:1])
        with Clock() as clock:
            explanation = explainer(rows[:ROWS])
        scale = reference.std(axis=0)
        optimum = np.abs(model.decision_function(rows[:ROWS])) / np.linalg.norm(model.coef_[0] * scale)
        size = np.linalg.norm((np.asarray(explanation.frame) - rows[:ROWS]) / scale, axis=1)
        found.append(
            {
                "d": width,
                "cpu_ms": 1000 * clock.cpu / ROWS,
                "ratio": float((size / optimum).mean()),
                "valid": float(explanation.valid.mean()),
                "model_rows": explanation.model_rows / ROWS,
            }
        )
    return found


def by_count(counts: Sequence[int]) -> list[dict[str, float]]:
    """30 columns: milliseconds a row when so many are explained in one call, the least of three measurements."""
    model, reference, rows = logistic(30)
    explainer = cp.Explainer(model, reference=reference, bounds=None, relations=None)
    explainer(reference[:1])
    found = []
    for count in counts:
        calls, taken = max(1, 10 // count), []
        for _ in range(REPEATS):
            with Clock() as clock:
                for call in range(calls):
                    explainer(rows[call * count : (call + 1) * count])
            taken.append(1000 * clock.cpu / (calls * count))
        found.append({"rows": count, "cpu_ms": min(taken)})
    return found


def exponent(found: list[dict[str, float]]) -> float:
    """The slope of log time against log d."""
    return float(np.polyfit(np.log([f["d"] for f in found]), np.log([f["cpu_ms"] for f in found]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, object] = {}
    for name, blind, widths in (("gradients", False, WIDTHS), ("blind", True, WIDTHS[:5])):
        lines = by_width(widths[:3] if asked.quick else widths, blind)
        found[name] = {"by_width": lines, "exponent": exponent(lines)}
    found["by_count"] = by_count(COUNTS[:3] if asked.quick else COUNTS)
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "growth.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
