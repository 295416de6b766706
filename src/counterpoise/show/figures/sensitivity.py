"""Sensitivity: how far answers go, and how much they change, for each lam and mu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.judge.curves import Sensitivity
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    SMALL_FONT_POINTS,
    check_kind,
    format_row_count,
    get_axes,
    hide_sides,
    text_colour,
)
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sensitivity(found: Sensitivity, ax: Axes | None = None) -> Axes:
    """Distance over lam, with the number of changed features at each point; with several mu, a map over both.

    found: what `counterpoise.sensitivity` returns.
    ax: the axes to draw on; None: new ones.
    """
    check_kind(found, Sensitivity, "cp.sensitivity(explainer, rows)")
    table = found.table
    ax = get_axes(ax, 6.0, 3.8)
    lams, mus = (list(dict.fromkeys(table[name])) for name in ("lam", "mu"))
    if len(mus) > 1:
        _draw_map(found, ax, lams, mus)
    else:
        places = np.arange(len(lams))
        ax.plot(places, table["distance"], color=AFTER_COLOUR, lw=2, marker="D", ms=6)
        for place, distance, changed in zip(places, table["distance"], table["changed"], strict=True):
            ax.annotate(
                f"{changed:.2g}",
                (float(place), distance),
                (0, 9),
                textcoords="offset points",
                ha="center",
                fontsize=SMALL_FONT_POINTS,
                color=text_colour(),
            )
        hide_sides(ax, "top", "right")
        ax.margins(0.1, 0.22)
        ax.set_xticks(places, [f"{lam:g}" for lam in lams])
        ax.set_ylabel("distance")
    ax.set_xlabel("lam, the weight of the regulariser")
    caption = "distance written on each pair" if len(mus) > 1 else "written at each point: features changed"
    ax.set_title(
        f"{format_row_count(found.rows)}; {caption}", fontsize=SMALL_FONT_POINTS, color=text_colour(), loc="left"
    )
    return ax


def _draw_map(found: Sensitivity, ax: Axes, lams: list[float], mus: list[Any]) -> None:
    """The share of rows with an answer as colours, for every pair, with the mean distance written on them."""
    table = found.table

    def grid(name: str) -> Array:
        return np.asarray(table[name].to_numpy(dtype=np.float64).reshape(len(lams), len(mus)).T)

    share = grid("valid")
    shown = ax.imshow(share, cmap="cividis", aspect="auto", origin="lower", vmin=0, vmax=1)
    figure: Any = ax.figure
    figure.colorbar(shown, ax=ax, label="share of rows with an answer", pad=0.02).outline.set_visible(False)
    for (line, column), distance in np.ndenumerate(grid("distance")):
        ax.annotate(
            "none" if np.isnan(distance) else f"{distance:.3g}",
            (column, line),
            ha="center",
            va="center",
            fontsize=SMALL_FONT_POINTS,
            color="black" if share[line, column] > 0.5 else "white",
        )
    hide_sides(ax, "top", "right", "left", "bottom")
    ax.set_xticks(range(len(lams)), [f"{lam:g}" for lam in lams])
    ax.set_yticks(range(len(mus)), [mu if isinstance(mu, str) else f"{mu:g}" for mu in mus])
    ax.tick_params(length=0)
    ax.set_ylabel("mu, the weight of the decision")
