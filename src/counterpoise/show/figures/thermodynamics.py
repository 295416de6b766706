"""Thermodynamics: mean effort, heat capacity and P(change) of one row against the temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.show.figures.style import (
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


PANELS = ((0.74, 0.26), (0.44, 0.24), (0.0, 0.38))  # bottom and height of each, as shares of the frame


def thermodynamics(ensemble: Ensemble, ax: Axes | None = None, max_features: int = len(LINE_COLOURS)) -> Axes:
    """Mean effort, heat capacity, and P(change) of the features that depend most on the temperature.

    The axes given, or made, are the frame of the three panels.

    ensemble: one row of what `counterpoise.ensemble` returns.
    ax: the axes to draw on; None: new ones.
    max_features: how many features are shown at most; 5 by default.
    """
    check_kind(ensemble, Ensemble, "cp.ensemble(explainer, rows)")
    row = ensemble.get_row()
    draws = row.draws
    assert draws is not None
    table = row.energy()
    frame = get_axes(ax, 6.4, 6.4)
    frame.set_axis_off()
    above, middle, below = (frame.inset_axes((0.0, bottom, 1.0, height)) for bottom, height in PANELS)
    share = draws.changed_share
    order = np.argsort(-(np.ptp(share, axis=0) + share[0]), kind="stable")[:max_features]
    T = table["T_share"].to_numpy()
    mean, error = table["mean"].to_numpy(), 2 * table["mean_error"].to_numpy()
    above.errorbar(T, mean, yerr=error, marker="o", ms=4, lw=1.6, color=text_colour(), capsize=2.5)
    above.axhline(row.least, color=FAINT_COLOUR, lw=1, ls=":", label="effort of the answer")
    set_heading(above, "Effort and changes over the temperature")
    above.set_ylabel("mean effort ⟨E⟩")
    above.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="lower right")
    middle.plot(T, table["heat_capacity"], marker="s", ms=4, lw=1.6, color=BEFORE_COLOUR)
    middle.set_ylim(0, 1.15 * float(table["heat_capacity"].max()) + 1e-9)
    middle.set_ylabel("heat capacity C")
    for number, column in enumerate(order):
        name = escape_dollars(str(row.schema.names[column]))
        below.plot(T, share[:, column], marker="o", ms=4, lw=1.6, color=LINE_COLOURS[number], label=name)
    below.set_ylim(-0.03, 1.03)
    below.set_xlabel("temperature T, as a share of the least effort")
    below.set_ylabel("P(change)")
    below.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=3)
    for panel in (above, middle, below):
        panel.set_xlim(below.get_xlim())
        hide_sides(panel, "top", "right")
    for panel in (above, middle):
        panel.tick_params(labelbottom=False)
    return frame
