"""Frontier: how far answers go for the share of noisy copies that they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.judge.curves import Frontier
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    FAINT_COLOUR,
    LINE_COLOURS,
    SMALL_FONT_POINTS,
    check_kind,
    escape_dollars,
    format_row_count,
    get_axes,
    hide_sides,
    text_colour,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def frontier(found: Frontier, ax: Axes | None = None) -> Axes:
    """Distance against the share of noisy copies kept: what firmness takes, from the tipping point on.

    found: what `counterpoise.frontier` returns.
    ax: the axes to draw on; None: new ones.
    """
    check_kind(found, Frontier, "cp.frontier(explainer, rows)")
    ax = get_axes(ax, 6.0, 3.8)
    distance, kept = (found.table[name].to_numpy(dtype=np.float64) for name in ("distance", "kept"))
    order = np.argsort(kept, kind="stable")
    ax.plot(kept[order], distance[order], color=FAINT_COLOUR, lw=1.2, zorder=1)
    for place, asked in enumerate(found.table["asked"]):
        tipping = place == 0
        mark, colour = (
            ("o", BEFORE_COLOUR)
            if tipping
            else ("D", AFTER_COLOUR)
            if asked.startswith("keep")
            else ("s", LINE_COLOURS[1])
        )
        ax.plot([kept[place]], [distance[place]], mark, color=colour, ms=8, zorder=3)
        left = kept[place] > 0.5 * (np.nanmin(kept) + np.nanmax(kept))
        ax.annotate(
            escape_dollars(asked),
            (kept[place], distance[place]),
            (-8 if left else 8, 6),
            textcoords="offset points",
            ha="right" if left else "left",
            fontsize=SMALL_FONT_POINTS,
            color=text_colour(),
        )
    hide_sides(ax, "top", "right")
    ax.margins(0.08, 0.18)
    ax.set_xlabel("share of noisy copies that keep the target")
    ax.set_ylabel("distance (standard deviations)")
    ax.set_title(
        escape_dollars(f"{format_row_count(found.rows)}; {found.noise}"),
        fontsize=SMALL_FONT_POINTS,
        color=text_colour(),
        loc="left",
        wrap=True,
    )
    return ax
