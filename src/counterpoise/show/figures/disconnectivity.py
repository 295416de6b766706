"""Disconnectivity: the basins of one decision and the barriers between them, as a tree with the effort upwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.landscape.row_ensemble import RowEnsemble
from counterpoise.methods.sampler.basins.flood import MergeTree
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


def disconnectivity(ensemble: Ensemble, ax: Axes | None = None) -> Axes:
    """The merge tree of one row's basins: each line ends at a minimum, two lines meet at their barrier.

    The colour of a line is the basin's free energy, -T ln(weight): dark ones hold much of the ensemble. Trees that do
    not meet are separate: no way between them is known. Marked are the least effort and the firmest minimum.

    ensemble: one row of what `counterpoise.ensemble` returns.
    ax: the axes to draw on; None: new ones.
    """
    check_kind(ensemble, Ensemble, "cp.ensemble(explainer, rows)")
    row = ensemble.get_row()
    basins = row.basins
    assert basins is not None
    tree, count = basins.tree, len(basins.effort)
    places = _lay_out(tree)
    ax = get_axes(ax, max(5.6, 2.4 + 1.25 * count), 5.0)
    from matplotlib import colormaps

    with np.errstate(divide="ignore"):
        free = -row.T * np.log(np.maximum(basins.weight, 1e-4))
    shade = (free - free.min()) / max(float(np.ptp(free)), 1e-12)
    colours = [colormaps["viridis"](0.25 + 0.55 * value) for value in shade]
    top = _draw_tree(ax, tree, places, colours)
    firmest = int(np.nanargmax(np.where(np.isnan(row.basin_kept), -1.0, row.basin_kept)))
    low, high = float(basins.effort.min()), top
    for basin in range(count):
        _label_minimum(ax, row, basin, places[basin], count)
    ax.plot(
        places[0], basins.effort[0], "o", ms=9, color=BEFORE_COLOUR, label="least effort: the tipping point", zorder=4
    )
    if count > 1 or firmest:
        ax.plot(
            places[firmest],
            basins.effort[firmest],
            "D",
            ms=6,
            color=AFTER_COLOUR,
            label=f"firmest: kept in {row.basin_kept[firmest]:.0%} of noisy copies",
            zorder=5,
        )
    span = max(high - low, 0.05 * max(low, 1e-9))
    ax.set_ylim(low - 0.45 * span, high + 0.08 * span)
    ax.set_xlim(-0.6, count - 0.4)
    ax.set_xticks([])
    ax.set_ylabel("effort, d + λR")
    hide_sides(ax, "top", "right", "bottom")
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= high])  # room for labels is no effort below 0
    set_heading(ax, "Separate ways out, and the barriers between them")
    ax.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="upper left", bbox_to_anchor=(0.0, -0.01), ncols=2)
    return ax


def _label_minimum(ax: Axes, row: RowEnsemble, basin: int, place: float, count: int) -> None:
    """What a basin changes, and how much of the ensemble it holds, below its minimum."""
    basins = row.basins
    assert basins is not None
    names = row.describe_point(basins.x[basin], most=4).replace(" and ", ", + ").split(", ")
    share = f"{basins.weight[basin]:.0%}" if basins.weight[basin] >= 0.005 else "< 1%"
    ax.annotate(
        "\n".join([share, *(escape_dollars(name) for name in names)]),
        (place, basins.effort[basin]),
        (0, -9),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=SMALL_FONT_POINTS if count <= 8 else SMALL_FONT_POINTS - 2,
        color=text_colour(),
    )


def _draw_tree(ax: Axes, tree: MergeTree, places: list[float], colours: list[tuple[float, ...]]) -> float:
    """Draw the lines of the tree; the highest effort that is drawn."""
    position, bottom = list(places), tree.effort.tolist()
    pool = list(range(len(places)))
    top = float(np.max(tree.merges[:, 2], initial=float(tree.effort.max())))
    top += 0.12 * max(top - float(tree.effort.min()), 0.05 * top)
    colour = list(colours)
    for one, other, height in tree.merges:
        a, b = pool[int(one)], pool[int(other)]
        for line in (a, b):
            ax.plot([position[line]] * 2, [bottom[line], height], color=colour[line], lw=2.2, solid_capstyle="round")
        ax.plot([position[a], position[b]], [height] * 2, color=FAINT_COLOUR, lw=1.6)
        middle = (position[a] + position[b]) / 2
        pool = [len(position) if each in (a, b) else each for each in pool]
        position.append(middle)
        bottom.append(height)
        colour.append((0.54, 0.54, 0.54, 1.0))
    for line in sorted(set(pool)):
        ax.plot([position[line]] * 2, [bottom[line], top], color=colour[line], lw=2.2, solid_capstyle="round")
    return top


def _lay_out(tree: MergeTree) -> list[float]:
    """The horizontal place of each basin, so that no lines cross: those that merge early stand side by side."""
    groups = [[basin] for basin in range(len(tree.effort))]
    pool = list(range(len(tree.effort)))
    for one, other, _ in tree.merges:
        a, b = pool[int(one)], pool[int(other)]
        groups.append(groups[a] + groups[b])
        pool = [len(groups) - 1 if each in (a, b) else each for each in pool]
    order = [basin for group in sorted(set(pool), key=lambda each: min(groups[each])) for basin in groups[group]]
    return [float(order.index(basin)) for basin in range(len(order))]
