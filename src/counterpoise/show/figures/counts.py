"""Frequency: which features the answers to many rows change, how often, and which way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation import Explanation
from counterpoise.show.figures.style import AFTER, BEFORE, FAINT, OTHER, SMALL, bare, canvas, ink, plain
from counterpoise.show.overview import look_over

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 15


def frequency(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """In what share of the rows with an answer each feature changes: down, up, or to another category."""
    if not isinstance(explanation, Explanation):
        raise InputError(
            "this figure draws an Explanation", f"a {type(explanation).__name__} was given", "give what explain returns"
        )
    seen = look_over(explanation)
    rows = len(seen.distances)
    shown = seen.features[:MOST]
    ax = canvas(ax, 6.4, 1.2 + 0.34 * max(len(shown), 1))
    places = np.arange(len(shown))
    left = np.zeros(len(shown))
    ways = (
        ("lowered", AFTER, "", [feature.down for feature in shown]),
        ("raised", BEFORE, "///", [feature.up for feature in shown]),
        ("set otherwise", OTHER, "...", [feature.other for feature in shown]),
    )
    for name, colour, hatch, counts in ways:
        if not any(counts):
            continue
        share = 100 * np.array(counts) / rows
        ax.barh(
            places, share, left=left, color=colour, hatch=hatch, edgecolor="#FFFFFF80", lw=0, label=name, height=0.7
        )
        left = left + share
    for place, total in zip(places, left, strict=True):
        ax.annotate(
            f"{total:.0f}%", (total, place), (4, 0), textcoords="offset points", va="center", fontsize=SMALL,
            color=ink(),
        )  # fmt: skip
    bare(ax, "top", "right")
    ax.set_yticks(places, [plain(feature.title) for feature in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, max(100.0 if not len(left) else float(left.max()) * 1.12, 1.0))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, alpha=0.3, lw=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(f"share of the {rows} rows with an answer that change it (%)")
    if shown:
        ax.legend(frameon=False, fontsize=SMALL, loc="lower right")
    return ax
