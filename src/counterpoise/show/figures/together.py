"""Together: which features change together over all the ways out, and which take each other's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.show.figures.style import (
    FAINT_COLOUR,
    SMALL_FONT_POINTS,
    check_kind,
    escape_dollars,
    get_axes,
    hide_sides,
    set_heading,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def together(ensemble: Ensemble, ax: Axes | None = None, max_features: int = 12) -> Axes:
    """Correlations of the changed marks of one row: red together, blue instead of each other.

    ensemble: one row of what `counterpoise.ensemble` returns.
    ax: the axes to draw on; None: new ones.
    max_features: how many features are shown at most; 12 by default.
    """
    check_kind(ensemble, Ensemble, "cp.ensemble(explainer, rows)")
    row = ensemble.get_row()
    table = row.together()
    busy = [name for name in row.importance()["feature"] if name in table.columns][:max_features]
    table = table.loc[busy, busy]
    ax = get_axes(ax, 1.8 + 0.5 * max(len(busy), 3), 1.4 + 0.45 * max(len(busy), 3))
    if not len(busy):
        ax.text(0.5, 0.5, "every feature is always or never changed", ha="center", va="center", color=FAINT_COLOUR)
        ax.set_axis_off()
        return ax
    values = table.to_numpy()
    image = ax.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1)
    names = [escape_dollars(str(name)) for name in busy]
    ax.set_xticks(np.arange(len(busy)), names, rotation=40, ha="right")
    ax.set_yticks(np.arange(len(busy)), names)
    for (line, column), value in np.ndenumerate(values):
        if line != column and abs(value) >= 0.05:
            colour = "#FFFFFF" if abs(value) > 0.6 else "#1A1A1A"
            ax.text(column, line, f"{value:+.1f}", ha="center", va="center", fontsize=SMALL_FONT_POINTS, color=colour)
    ax.tick_params(length=0)
    set_heading(ax, "Changes that go together")
    hide_sides(ax, "top", "right", "bottom", "left")
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6)
    ends = ["-1: instead\nof each other", "0", "+1: together"]
    bar.set_ticks([-1, 0, 1], labels=ends, fontsize=SMALL_FONT_POINTS)
    return ax
