"""The picture of README and of the first page of the site: their example, and the way to its answer."""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry

PICTURE = Path(__file__).parents[1] / "docs" / "first-answer.png"


def main() -> None:
    train, label, _ = telemetry.simulate(seed=0)
    detector = HistGradientBoostingClassifier(random_state=0).fit(train, label)
    schema = telemetry.describe(cp.Schema.infer(train))
    explanation = cp.explain(detector, telemetry.PAPER_ALERT, reference=train, schema=schema, target="benign")
    figure = Figure(figsize=(11.5, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    cp.figures.changes(explanation[0], left)
    cp.figures.boundary(cp.profile(explanation[0], detector, reference=train), right)
    figure.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()
