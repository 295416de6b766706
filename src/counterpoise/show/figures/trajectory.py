"""Trajectory: the energy of a search, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterpoise.landscape.trajectory import Trajectory
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    LINE_COLOURS,
    SMALL_FONT_POINTS,
    check_kind,
    get_axes,
    hide_sides,
    set_heading,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trajectory(seen: Trajectory, ax: Axes | None = None) -> Axes:
    """Energy over the steps of a search; on the right scale the moves accepted and the relative temperature.

    seen: what `counterpoise.trajectory` returns.
    ax: the axes to draw on; None: new ones.
    """
    check_kind(seen, Trajectory, "cp.trajectory(explainer, row)")
    ax = get_axes(ax, 6.4, 3.6)
    table = seen.table
    ax.plot(table["step"], table["energy"], color=AFTER_COLOUR, lw=2.2, label=seen.energy_label)
    hide_sides(ax, "top")
    ax.set_xlabel(f"step of {seen.method}")
    set_heading(ax, "The search, step by step", 22.0)
    ax.set_ylabel(seen.energy_label)
    right: Any = ax.twinx()
    hide_sides(right, "top")
    first = float(table["temperature"].iloc[0]) or 1.0
    right.plot(
        table["step"],
        table["temperature"] / first,
        color=BEFORE_COLOUR,
        lw=1.5,
        ls="--",
        label=f"temperature, at first {first:.2g}",
    )
    right.plot(table["step"], table["acceptance"], color=LINE_COLOURS[1], lw=1.2, ls=":", label="moves accepted")
    right.set_ylim(0, max(1.05, 1.05 * float((table["temperature"] / first).max())))
    right.set_ylabel("share")
    keys, names = (
        a + b for a, b in zip(ax.get_legend_handles_labels(), right.get_legend_handles_labels(), strict=True)
    )
    ax.legend(
        keys,
        names,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        frameon=False,
        fontsize=SMALL_FONT_POINTS,
    )
    return ax
