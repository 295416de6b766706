"""Robustness: the share of noisy copies that keep the target, against the level of the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.errors import InputError
from counterpoise.judge.robustness import Robustness
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    FAINT_COLOUR,
    SMALL_FONT_POINTS,
    check_kind,
    get_axes,
    hide_sides,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def robustness(found: Robustness, ax: Axes | None = None, *, max_lines: int = 60) -> Axes:
    """The share of noisy copies that keep the target against the noise: a thin line for each row, a thick median.

    At most ``max_lines`` rows have a line of their own; 60 by default.
    """
    check_kind(found, Robustness, "cp.robustness(explanation, model)")
    curve = found.curve
    if not len(curve):
        raise InputError("this figure draws a noise that has a level", found.noise, "give noise=0.2 or RankNoise")
    ax = get_axes(ax, 6.0, 3.6)
    lines = [part for _, part in curve.groupby("row")]
    for part in lines[:max_lines] if len(lines) > 1 else ():
        ax.plot(part["noise"], part["kept"], color=FAINT_COLOUR, lw=0.8, alpha=0.45, zorder=1)
    middle = curve.groupby("noise")["kept"].median()
    name = "the answer" if len(lines) == 1 else f"median of {len(lines)} answers"
    ax.plot(middle.index, middle, color=AFTER_COLOUR, lw=2.4, marker="o", ms=4, label=name, zorder=3)
    ax.axhline(found.share, color=BEFORE_COLOUR, lw=1.2, ls="--", label=f"{found.share:.0%} kept", zorder=2)
    reach = float(np.nanmedian(found.table["radius"]))
    if reach > 0:
        ax.axvline(reach, color=BEFORE_COLOUR, lw=1.2, ls=":", label=f"up to noise {reach:.2g}", zorder=2)
    hide_sides(ax, "top", "right")
    ax.set_xscale("log")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("noise (share of ranks)" if "rank" in found.noise.lower() else "noise (standard deviations)")
    ax.set_ylabel("share of copies that keep the target")
    ax.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="lower left")
    return ax
