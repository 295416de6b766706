"""Importance: how often each feature changes over all the ways out, with bars of error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    FAINT_COLOUR,
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


def importance(ensemble: Ensemble, ax: Axes | None = None, max_features: int = 15) -> Axes:
    """P(change) of each feature of one row, with two standard errors: necessary, optional and idle features.

    ensemble: one row of what `counterpoise.ensemble` returns.
    ax: the axes to draw on; None: new ones.
    max_features: how many features are shown at most; 15 by default.
    """
    check_kind(ensemble, Ensemble, "cp.ensemble(explainer, rows)")
    table = ensemble.get_row().importance().head(max_features)
    ax = get_axes(ax, 6.4, 1.3 + 0.34 * len(table))
    places = np.arange(len(table))
    colours = {"necessary": BEFORE_COLOUR, "optional": AFTER_COLOUR, "idle": FAINT_COLOUR}
    for role, colour in colours.items():
        mine = (table["role"] == role).to_numpy()
        if mine.any():
            share, error = table["p_change"].to_numpy()[mine], 2 * table["p_error"].to_numpy()[mine]
            ends = [np.minimum(error, share), np.minimum(error, 1 - share)]
            ax.barh(places[mine], share, color=colour, height=0.62, label=role)
            ax.errorbar(share, places[mine], xerr=ends, fmt="none", ecolor=text_colour(), elinewidth=1, capsize=2.5)
    for place, (share, error, direction) in enumerate(
        zip(table["p_change"], table["p_error"], table["direction"], strict=True)
    ):
        ax.annotate(
            f"{share:.2f}  {direction}" if share > 0.005 else "0",
            (min(share + 2 * error, 1.0), place),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_FONT_POINTS,
            color=text_colour(),
        )
    hide_sides(ax, "top", "right")
    ax.set_yticks(places, [escape_dollars(str(name)) for name in table["feature"]])
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.set_xlim(0, 1.22)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of all the ways out that change it, P(change)")
    set_heading(ax, "How often the ways out change each feature", 6.0)
    ax.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="lower right")
    return ax
