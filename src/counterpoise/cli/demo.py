"""The demonstration: a detector of attacks on IoT devices, and what would change its decision about some alerts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingClassifier

from counterpoise import telemetry
from counterpoise.api.explainer import Explainer
from counterpoise.errors import MissingExtra
from counterpoise.explanation.cards.cards import CAUTION, build_cards
from counterpoise.explanation.explanation import Explanation
from counterpoise.landscape.plane import landscape
from counterpoise.show import figures
from counterpoise.show.report import report
from counterpoise.show.terminal import draw_card
from counterpoise.space.constraints.words import Decreasing
from counterpoise.space.schema.schema import Schema
from counterpoise.web.workbench import Workbench, workbench


@dataclass(frozen=True)
class DemoSettings:
    """How much the demonstration explains and prints."""

    alert_count: int = 20  # alerts that are explained
    cards_shown: int = 3  # of them on the terminal


DEMO = DemoSettings()


def run_demo(folder: Path) -> None:
    """Train, explain, show cards, and write demo.html and demo.png to the folder."""
    started = time.perf_counter()
    console = Console(highlight=False)
    explainer, detector = make_explainer()
    count = len(explainer.reference.x)
    console.print(f"A detector has learned from {count} simulated IoT devices. What would change its mind?\n")
    explanation = explainer(pick_alerts(detector), target="benign", keep=0.9, alternatives=3, seed=0)

    cards = build_cards(explanation)
    for card in cards[: DEMO.cards_shown]:
        console.print(draw_card(card))
    console.print(f"… and {len(cards) - DEMO.cards_shown} more.\n\n{explanation!r}\n\n{CAUTION}\n", markup=False)

    folder.mkdir(parents=True, exist_ok=True)
    page = report(explanation, folder / "demo.html", title="Alerts of simulated IoT devices")
    draw_figures(explanation, detector, folder / "demo.png")
    console.print(f"every alert on a page: {page}", soft_wrap=True, markup=False)
    console.print(f"and in a picture:      {folder / 'demo.png'}", soft_wrap=True, markup=False)
    console.print("move these decisions yourself: counterpoise demo --serve, or make workbench", markup=False)
    console.print(f"in {time.perf_counter() - started:.0f} seconds")


def make_explainer() -> tuple[Explainer, HistGradientBoostingClassifier]:
    """The detector of simulated devices, and an explainer of it."""
    train, label, _ = telemetry.simulate(rows=3000, seed=0)
    detector = HistGradientBoostingClassifier(max_iter=80, max_depth=4, random_state=0).fit(train, label)
    explainer = Explainer(
        detector,
        reference=train,
        schema=telemetry.describe(Schema.infer(train)),
        # firmware can be renewed and ports can be closed; neither goes the other way by itself
        constraints=[Decreasing("firmware_age", "open_ports")],
    )
    return explainer, detector


def open_workbench(port: int = 0) -> Workbench:
    """The workbench of the demonstration's alerts."""
    explainer, detector = make_explainer()
    return workbench(
        explainer, pick_alerts(detector), target="benign", port=port, title="Alerts of simulated IoT devices"
    )


def pick_alerts(detector: HistGradientBoostingClassifier) -> pd.DataFrame:
    """The alert of the paper's Table I, and devices of another day that the detector raises an alert for."""
    frame, _, mode = telemetry.simulate(rows=400, seed=1)
    raised: pd.DataFrame = frame[detector.predict(frame) == "alert"].head(DEMO.alert_count)
    raised = raised.set_axis([f"device {number}" for number in raised.index]).assign(mode=mode[raised.index].tolist())
    paper = pd.DataFrame([telemetry.PAPER_ALERT], index=["the paper's alert"]).assign(mode="unknown")
    return pd.concat([paper, raised])


def draw_figures(explanation: Explanation, detector: HistGradientBoostingClassifier, path: Path) -> None:
    """Three figures: what would change, where the decision turns, what matters over all alerts."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plots") from None
    figure = Figure(figsize=(11.5, 6.6), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.25))
    figures.changes(explanation[0], figure.add_subplot(grid[0, :]))
    left, right = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    figures.landscape(landscape(explanation[0], detector), left)
    figures.frequency(explanation, right)
    figure.savefig(path, dpi=110)
