"""Robustness: the share of noisy copies that keep the target, against the level of the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoise.errors import InputError
from counterpoise.judge.robustness import Robustness
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    SMALL_FONT_POINTS,
    check_kind,
    get_axes,
    hide_sides,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def robustness(found: Robustness, ax: Axes | None = None, *, points: int = 25) -> Axes:
    """The share of noisy copies that keep the target against the noise: the median answer, and bands around it.

    The dark band holds the middle half of the answers, the light one eight in ten. ``points`` is how many levels of
    noise are drawn; rows whose noise was tried at other levels are read between these.

    found: what `counterpoise.robustness` returns.
    ax: the axes to draw on; None: new ones.
    points: levels of noise that are drawn; 25 by default.
    """
    check_kind(found, Robustness, "cp.robustness(explanation, model)")
    curve = found.curve
    if not len(curve):
        raise InputError("this figure draws a noise that has a level", found.noise, "give noise=0.2 or RankNoise")
    ax = get_axes(ax, 6.0, 3.6)
    lines = [part.sort_values("noise") for _, part in curve.groupby("row")]
    low, high = max(part["noise"].min() for part in lines), min(part["noise"].max() for part in lines)
    levels = lines[0]["noise"].to_numpy()
    if any(len(part) != len(levels) or (part["noise"].to_numpy() != levels).any() for part in lines):
        levels = np.geomspace(low, high, points) if high > low else np.array([low])
    kept = np.stack([np.interp(np.log(levels), np.log(part["noise"]), part["kept"]) for part in lines])
    if len(lines) > 1:
        for ends, alpha, name in (((10, 90), 0.22, "eight in ten answers"), ((25, 75), 0.35, "half of the answers")):
            band = np.percentile(kept, ends, axis=0)
            ax.fill_between(levels, *band, color=AFTER_COLOUR, alpha=alpha, lw=0, label=name, zorder=1)
    name = "the answer" if len(lines) == 1 else f"median of {len(lines)} answers"
    ax.plot(levels, np.median(kept, axis=0), color=AFTER_COLOUR, lw=2.4, label=name, zorder=3)
    ax.axhline(found.share, color=BEFORE_COLOUR, lw=1.2, ls="--", label=f"{found.share:.0%} kept", zorder=2)
    reach = float(np.nanmedian(found.table["radius"]))
    if reach > 0:
        ax.axvline(reach, color=BEFORE_COLOUR, lw=1.2, ls=":", label=f"up to noise {reach:.2g}", zorder=2)
    hide_sides(ax, "top", "right")
    ax.set_xscale("log")
    ax.set_ylim(-0.03, 1.03)
    ax.set_title("How well the answers hold under noise", loc="left", fontsize="medium")
    ax.set_xlabel("noise (share of ranks)" if "rank" in found.noise.lower() else "noise (standard deviations)")
    ax.set_ylabel("share of copies that keep the target")
    ax.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
