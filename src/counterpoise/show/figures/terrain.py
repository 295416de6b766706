"""Landscape and boundary: the energy around an answer, and the way to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.errors import InputError
from counterpoise.judge.landscape import Landscape, Profile
from counterpoise.show.figures.style import AFTER, BEFORE, FAINT, MORE, SMALL, bare, canvas, ink, plain, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = 14


def landscape(seen: Landscape, ax: Axes | None = None) -> Axes:
    """The energy E, or the free energy F, along two features, and where the decision turns; on 3-D axes, a surface."""
    if not isinstance(seen, Landscape):
        raise InputError(
            "this figure draws a Landscape",
            f"a {type(seen).__name__} was given",
            "compute it first: cp.landscape(explanation[0], model)",
        )
    ax = canvas(ax, 5.6, 4.4)
    if getattr(ax, "name", "") == "3d":
        return _surface(seen, ax)
    filled = ax.contourf(seen.x, seen.y, seen.energy, levels=LEVELS, cmap="cividis")
    colours: Any = ax.figure.colorbar(filled, ax=ax, label=_height(seen), pad=0.02)
    colours.outline.set_visible(False)
    if seen.margin.min() < 0 <= seen.margin.max():
        line = ax.contour(seen.x, seen.y, seen.margin, levels=[0.0], colors="white", linewidths=2.0)
        line.set_path_effects(_outlined())
    _arrow(seen, ax)
    ax.set_xlabel(plain(with_unit(seen.features[0])))
    ax.set_ylabel(plain(with_unit(seen.features[1])))
    _legend(seen, ax)
    return ax


def boundary(seen: Profile, ax: Axes | None = None) -> Axes:
    """What the model says on the way from the row to the answer and beyond: how much of the change is slack."""
    if not isinstance(seen, Profile):
        raise InputError(
            "this figure draws a Profile",
            f"a {type(seen).__name__} was given",
            "compute it first: cp.profile(explanation[0], model)",
        )
    ax = canvas(ax, 6.0, 3.4)
    likely = not np.isnan(seen.probability).any()
    height = seen.probability if likely else seen.margin
    end = seen.t[-1] if np.isnan(seen.lost) else seen.lost
    ax.axvspan(seen.turn, end, color=AFTER, alpha=0.18, lw=0, label=plain(f"the model says {seen.target}"))
    ax.plot(seen.t, height, color=ink(), lw=1.8)
    if not likely:
        ax.axhline(0.0, color=FAINT, lw=0.8, ls="--")
    if seen.noise:
        share: Any = ax if likely else ax.twinx()
        share.plot(seen.t, seen.kept, color=MORE[1], lw=1.6, ls="--")
        ax.plot([], [], color=MORE[1], lw=1.6, ls="--", label="share of noisy copies that keep it")
        if not likely:
            share.set_ylim(-0.04, 1.04)
            share.set_ylabel("share kept")
    for at, mark, colour, name in ((0.0, "o", BEFORE, "the row"), (1.0, "D", AFTER, "the answer")):
        place = int(np.argmin(np.abs(seen.t - at)))
        ax.plot([at], [height[place]], mark, color=colour, ms=9, label=name, zorder=3)
    bare(ax, "top", "right")
    ax.set_xlim(float(seen.t[0]) - 0.03, float(seen.t[-1]))
    if likely:
        ax.set_ylim(-0.04, 1.04)
    ax.set_ylabel(plain(f"probability of {seen.target}" if likely else f"margin of {seen.target}"))
    ax.set_xlabel("share of the change made")
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 if seen.noise else 3, frameon=False, fontsize=SMALL,
    )  # fmt: skip
    return ax


def _height(seen: Landscape) -> str:
    return f"free energy F, T = {seen.T:g}" if seen.T else "energy E"


def _surface(seen: Landscape, ax: Any) -> Axes:
    x, y = np.meshgrid(seen.x, seen.y)
    ax.plot_surface(x, y, seen.energy, cmap="cividis", alpha=0.85, linewidth=0, antialiased=True)
    for (across, up), mark, colour in ((seen.start, "o", BEFORE), (seen.answer, "D", AFTER)):
        if np.isnan([across, up]).any():
            continue
        column, line = np.argmin(np.abs(seen.x - across)), np.argmin(np.abs(seen.y - up))
        ax.plot([across], [up], [seen.energy[line, column]], mark, color=colour, ms=9, zorder=10)
    ax.set_xlabel(plain(with_unit(seen.features[0])))
    ax.set_ylabel(plain(with_unit(seen.features[1])))
    ax.set_zlabel(_height(seen))
    drawn: Axes = ax
    return drawn


def _arrow(seen: Landscape, ax: Axes) -> None:
    if not np.isnan(seen.start).any() and seen.start != seen.answer:
        line = ax.plot(*zip(seen.start, seen.answer, strict=True), color="white", lw=1.2, ls=":")[0]
        line.set_path_effects(_outlined())
    ax.plot(*seen.start, "o", color=BEFORE, ms=10, mec="white", mew=1.5, zorder=4)
    ax.plot(*seen.answer, "D", color=AFTER, ms=10, mec="white", mew=1.5, zorder=4)


def _legend(seen: Landscape, ax: Axes) -> None:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], marker="o", ls="", color=BEFORE, mec="white", label="the row"),
        Line2D([], [], marker="D", ls="", color=AFTER, mec="white", label="the answer"),
        Line2D([], [], color="white", lw=2, path_effects=_outlined(), label=plain(f"where {seen.target} begins")),
    ]
    ax.legend(
        handles=keys, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=SMALL,
        handletextpad=0.5, columnspacing=1.4,
    )  # fmt: skip


def _outlined() -> list[Any]:
    from matplotlib import patheffects

    return [patheffects.Stroke(linewidth=3.4, foreground="black"), patheffects.Normal()]
