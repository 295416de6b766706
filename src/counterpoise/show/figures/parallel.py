"""Parallel: the row and its alternative answers, a vertical scale for each feature that any of them changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.explanation import tables
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.formats import format_value
from counterpoise.show.figures.style import (
    BEFORE_COLOUR,
    FAINT_COLOUR,
    LINE_COLOURS,
    SMALL_FONT_POINTS,
    check_one_row,
    escape_dollars,
    get_axes,
    hide_sides,
    set_heading,
    text_colour,
)
from counterpoise.space.schema.schema import Feature
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_STYLES = ("-", "--", "-.", ":")


def parallel(explanation: Explanation, ax: Axes | None = None, *, max_features: int = 10) -> Axes:
    """The alternatives of one row as lines across the features that they change; each scale spans the values shown.

    explanation: what `counterpoise.explain` returns, one row of it.
    ax: the axes to draw on; None: new ones.
    max_features: how many features are shown at most; 10 by default.
    """
    explanation = check_one_row(explanation)
    answers = explanation.answers[0, : max(int(explanation.count[0]), 1)]
    different = tables.differs(explanation.x0, answers[None])[0].any(axis=0)
    columns = np.flatnonzero(different)[:max_features]
    ax = get_axes(ax, 1.6 + 1.25 * max(len(columns), 2), 4.0)
    lines = np.concatenate([explanation.x0, answers])[:, columns]
    places = np.arange(len(columns))
    heights = np.empty_like(lines)
    for place, column in enumerate(columns):
        heights[:, place] = _draw_scale(ax, place, explanation.schema.features[column], lines[:, place])
    ax.plot(places, heights[0], "o-", color=BEFORE_COLOUR, lw=2.2, label="the row", zorder=3)
    for number, height in enumerate(heights[1:]):
        ax.plot(
            places,
            height,
            marker="D",
            ms=5,
            ls=LINE_STYLES[number % len(LINE_STYLES)],
            color=LINE_COLOURS[number % len(LINE_COLOURS)],
            lw=1.8,
            label="best answer" if not number else f"alternative {number}",
            zorder=4 if not number else 2,
        )
    hide_sides(ax, "top", "right", "left", "bottom")
    ax.set_xticks(
        places, [escape_dollars(explanation.schema.features[column].title) for column in columns], color=text_colour()
    )
    ax.tick_params(axis="x", length=0, pad=14)
    _tilt_long_names(ax)
    ax.set_yticks([])
    ax.set_xlim(-0.4, max(len(columns) - 0.6, 0.4))
    ax.set_ylim(-0.12, 1.12)
    set_heading(ax, "The row and its answers", 26.0)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.02), ncols=4, frameon=False, fontsize=SMALL_FONT_POINTS)
    return ax


def _tilt_long_names(ax: Axes, longest: int = 12) -> None:
    """Tilt the names of the scales if one is too long, in letters, to fit between two of them."""
    labels = ax.get_xticklabels()
    if any(len(label.get_text()) > longest for label in labels):
        for label in labels:
            label.set(rotation=20, ha="right", rotation_mode="anchor")


def _draw_scale(ax: Axes, place: int, feature: Feature, values: Array) -> Array:
    """Draw a feature's scale at ``place`` and give the heights of its values, 0 to 1; a missing one is at the foot."""
    levels = np.unique(values[~np.isnan(values)])
    low, high = (float(levels[0]), float(levels[-1])) if len(levels) else (0.0, 1.0)
    spread = high - low or 1.0
    floor = 0.15 if np.isnan(values).any() else 0.0
    ax.plot([place, place], [0, 1], color=FAINT_COLOUR, lw=1, alpha=0.7, zorder=1)

    def height(value: float) -> float:
        return floor + (1 - floor) * (value - low) / spread

    marked = (levels[0], levels[-1]) if feature.is_numeric and len(levels) else levels
    notes = [
        (height(float(value)), format_value(feature, tables.decode_value(feature, float(value)))) for value in marked
    ]
    notes += [(0.0, "missing")] if floor else []
    for at, text in dict(notes).items():
        offset = (0, 9) if at > 0.5 else (0, -9)
        ax.annotate(
            escape_dollars(text),
            (place, at),
            offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SMALL_FONT_POINTS,
            color=text_colour(),
        )
    return np.array([0.0 if np.isnan(value) else height(value) for value in values])
