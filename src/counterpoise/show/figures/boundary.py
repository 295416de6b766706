"""Boundary: what the model says on the way from a row to its answer and beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.landscape.profile import Profile
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    FAINT_COLOUR,
    LINE_COLOURS,
    SMALL_FONT_POINTS,
    check_kind,
    escape_dollars,
    get_axes,
    hide_sides,
    set_heading,
    text_colour,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def boundary(seen: Profile, ax: Axes | None = None) -> Axes:
    """What the model says on the way from the row to the answer and beyond: how much of the change is slack.

    seen: what `counterpoise.profile` returns.
    ax: the axes to draw on; None: new ones.
    """
    check_kind(seen, Profile, "cp.profile(explanation[0], model)")
    ax = get_axes(ax, 6.0, 3.4)
    likely = not np.isnan(seen.probability).any()
    height = seen.probability if likely else seen.margin
    end = seen.t[-1] if np.isnan(seen.t_lost) else seen.t_lost
    ax.axvspan(
        seen.t_reached, end, color=AFTER_COLOUR, alpha=0.18, lw=0, label=escape_dollars(f"the model says {seen.target}")
    )
    ax.plot(seen.t, height, color=text_colour(), lw=1.8)
    if not likely:
        ax.axhline(0.0, color=FAINT_COLOUR, lw=0.8, ls="--")
    if seen.noise:
        share: Any = ax if likely else ax.twinx()
        share.plot(seen.t, seen.kept, color=LINE_COLOURS[1], lw=1.6, ls="--")
        ax.plot([], [], color=LINE_COLOURS[1], lw=1.6, ls="--", label="share of noisy copies that keep it")
        if not likely:
            share.set_ylim(-0.04, 1.04)
            share.set_ylabel("share kept")
    for at, mark, colour, name in ((0.0, "o", BEFORE_COLOUR, "the row"), (1.0, "D", AFTER_COLOUR, "the answer")):
        place = int(np.argmin(np.abs(seen.t - at)))
        ax.plot([at], [height[place]], mark, color=colour, ms=9, label=name, zorder=3)
    hide_sides(ax, "top", "right")
    ax.set_xlim(float(seen.t[0]) - 0.03, float(seen.t[-1]))
    if likely:
        ax.set_ylim(-0.04, 1.04)
    ax.set_ylabel(escape_dollars(f"probability of {seen.target}" if likely else f"margin of {seen.target}"))
    ax.set_xlabel("share of the change made")
    set_heading(ax, "The way from the row to the answer", 38.0 if seen.noise else 22.0)  # two lines of legend, or one
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=2 if seen.noise else 3,
        frameon=False,
        fontsize=SMALL_FONT_POINTS,
    )
    return ax
