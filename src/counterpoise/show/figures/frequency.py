"""Frequency: which features the answers to many rows change, how often, and which way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.errors import InputError, name_kind
from counterpoise.explanation.explanation import Explanation
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    FAINT_COLOUR,
    OTHER_COLOUR,
    SMALL_FONT_POINTS,
    escape_dollars,
    get_axes,
    hide_sides,
    set_heading,
    text_colour,
)
from counterpoise.show.overview import build_overview

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def frequency(explanation: Explanation, ax: Axes | None = None, *, max_features: int = 15) -> Axes:
    """In what share of the rows with an answer each feature changes: down, up, or to another category.

    explanation: what `counterpoise.explain` returns.
    ax: the axes to draw on; None: new ones.
    max_features: how many features are shown at most; 15 by default.
    """
    if not isinstance(explanation, Explanation):
        raise InputError(
            "this figure draws an Explanation", f"{name_kind(explanation)} was given", "give what explain returns"
        )
    seen = build_overview(explanation)
    rows = len(seen.distances)
    shown = seen.features[:max_features]
    ax = get_axes(ax, 6.4, 1.2 + 0.34 * max(len(shown), 1))
    places = np.arange(len(shown))
    left = np.zeros(len(shown))
    ways = (
        ("lowered", AFTER_COLOUR, "", [feature.down_count for feature in shown]),
        ("raised", BEFORE_COLOUR, "///", [feature.up_count for feature in shown]),
        ("set otherwise", OTHER_COLOUR, "...", [feature.other_count for feature in shown]),
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
            f"{total:.0f}%",
            (total, place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_FONT_POINTS,
            color=text_colour(),
        )
    hide_sides(ax, "top", "right")
    ax.set_yticks(places, [escape_dollars(feature.title) for feature in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, max(100.0 if not len(left) else float(left.max()) * 1.12, 1.0))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT_COLOUR, alpha=0.3, lw=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(f"share of the {rows} rows with an answer that change it (%)")
    set_heading(ax, "How often each feature changes")
    if shown:
        ax.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="lower right")
    return ax
