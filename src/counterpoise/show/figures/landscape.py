"""Landscape: the energy around an answer as a map or a surface, where the decision turns, and the way of a search."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from counterpoise.errors import InputError
from counterpoise.landscape.plane import Landscape, ProjectedPath
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    LINE_COLOURS,
    SMALL_FONT_POINTS,
    escape_dollars,
    get_axes,
    set_heading,
    text_colour,
)
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SurfaceSettings:
    """How the surface and its note are drawn."""

    contour_levels: int = 14  # steps of colour
    lift_share: float = 0.01  # what lies on a surface is drawn this share of its height above it
    note_width_letters: int = 78  # letters of a line under the figure


SURFACE = SurfaceSettings()
PATH_COLOUR = LINE_COLOURS[3]


def landscape(
    seen: Landscape, ax: Axes | None = None, *, heights: Literal["auto", "probability", "energy"] = "auto"
) -> Axes:
    """The probability of the target on a plane, or the energy, and where the decision turns; on 3-D axes, a surface.

    heights: "probability", "energy" (E, or the free energy F), or "auto": the probability on a flat map where the model
        has one, and the energy elsewhere: on 3-D axes, and where a temperature asks for the free energy.

    An axis along which the reference's values would crowd goes by their rank, as its label says.
    States of a search are dots, fainter the earlier they are, with a line through the best of each step. Those outside
    the plane are drawn where they are projected to; the text under the figure says how much of them lies in it.

    seen: what `counterpoise.landscape` returns.
    ax: the axes to draw on; None: new, flat ones.
    """
    if not isinstance(seen, Landscape):
        raise InputError(
            "this figure draws a Landscape",
            f"a {type(seen).__name__} was given",
            "compute it first: cp.landscape(explanation[0], model)",
        )
    shows_probability = _shows_probability(seen, heights, is_flat=getattr(ax, "name", "") != "3d")
    ax = get_axes(ax, 5.8, 5.0)
    if getattr(ax, "name", "") == "3d":
        return _draw_surface(seen, ax)
    shown = seen.probability if shows_probability else seen.energy
    levels: Any = np.linspace(0.0, 1.0, 11) if shows_probability else SURFACE.contour_levels
    filled = ax.contourf(seen.x, seen.y, shown, levels=levels, cmap="cividis")
    height_title = f"probability of {seen.target}" if shows_probability else _height_label(seen)
    colours: Any = ax.figure.colorbar(filled, ax=ax, label=escape_dollars(height_title), pad=0.02)
    set_heading(ax, f"{height_title[0].upper()}{height_title[1:]} around the answer", 22.0)
    colours.outline.set_visible(False)
    if seen.margin.min() < 0 <= seen.margin.max():
        line = ax.contour(seen.x, seen.y, seen.margin, levels=[0.0], colors="white", linewidths=2.0)
        line.set_path_effects(_outline_effects())
    if seen.path is not None:
        x, y, shade = _path_dots(seen.path)
        ax.scatter(x, y, s=9, color=[(*_rgb(PATH_COLOUR), alpha) for alpha in shade], lw=0, zorder=3)
        ax.plot(
            seen.path.x[:, 0],
            seen.path.y[:, 0],
            color=PATH_COLOUR,
            lw=1.6,
            zorder=3,
            path_effects=_outline_effects(2.6),
        )
    _draw_arrow(seen, ax)
    ax.set_xlim(float(seen.x[0]), float(seen.x[-1]))
    ax.set_ylim(float(seen.y[0]), float(seen.y[-1]))
    _set_rank_scales(seen, ax)
    ax.set_xlabel(escape_dollars(seen.labels[0] + (", by rank" if seen.rank_axes[0] else "")))
    ax.set_ylabel(escape_dollars(seen.labels[1] + (", by rank" if seen.rank_axes[1] else "")))
    ax.annotate(
        escape_dollars(fill(seen.note, SURFACE.note_width_letters)),
        (0.5, 0),
        (0, -5),
        xycoords=ax.xaxis.label,
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=SMALL_FONT_POINTS - 1,
        color=text_colour(),
        annotation_clip=False,
    )
    _draw_legend(seen, ax)
    return ax


def _shows_probability(seen: Landscape, heights: str, *, is_flat: bool) -> bool:
    """Whether the map shows probabilities; an error if they were asked for and are unknown."""
    if heights not in ("auto", "probability", "energy"):
        raise InputError("heights must be 'auto', 'probability' or 'energy'", f"{heights!r}", "choose one of them")
    known = not bool(np.isnan(seen.probability).any())
    if heights == "probability" and not (known and is_flat):
        given = "3-D axes were given" if known else "the model has none"
        raise InputError("heights='probability' draws a flat map of probabilities", given, "leave heights out")
    return heights == "probability" or (heights == "auto" and known and is_flat and not seen.T)


def _set_rank_scales(seen: Landscape, ax: Axes) -> None:
    """Let places along an axis go by rank where its values would crowd, with marks at the quantiles."""
    for name, ranks in zip("xy", seen.rank_axes, strict=True):
        if ranks is not None:
            getattr(ax, f"set_{name}scale")("function", functions=(ranks.place, ranks.value))
            marks = ranks.ticks()
            getattr(ax, f"set_{name}ticks")(marks, [f"{mark:.4g}" for mark in marks])
            getattr(ax, f"{name}axis").minorticks_off()


def _height_label(seen: Landscape) -> str:
    return f"free energy F, T = {seen.T:g}" if seen.T else "energy E"


def _draw_surface(seen: Landscape, ax: Any) -> Axes:
    x, y = np.meshgrid(seen.x, seen.y)
    ax.computed_zorder = False  # what is drawn on the surface is seen on it
    ax.plot_surface(x, y, seen.energy, cmap="cividis", alpha=0.85, linewidth=0, antialiased=True, zorder=1)
    for line in _decision_lines(seen):
        ax.plot(
            *line.T, _surface_height(seen, *line.T), color="white", lw=2.0, zorder=2, path_effects=_outline_effects()
        )
    if seen.path is not None:
        across, up, shade = _path_dots(seen.path)
        inside = ~np.isnan(_surface_height(seen, across, up))
        colours = [(*_rgb(PATH_COLOUR), alpha) for alpha in shade[inside]]
        height = _surface_height(seen, across[inside], up[inside])
        ax.scatter(across[inside], up[inside], height, s=7, color=colours, lw=0, zorder=3, depthshade=False)
        best = seen.path.x[:, 0], seen.path.y[:, 0]
        ax.plot(*best, _surface_height(seen, *best), color=PATH_COLOUR, lw=1.6, zorder=3)
    for (a, b), mark, colour in ((seen.start, "o", BEFORE_COLOUR), (seen.answer, "D", AFTER_COLOUR)):
        if not np.isnan([a, b]).any():
            height = _surface_height(seen, np.array([a]), np.array([b]))
            ax.plot([a], [b], height, mark, color=colour, ms=9, mec="white", mew=1.2, zorder=10)
    for name, label in zip(("set_xlabel", "set_ylabel"), seen.labels, strict=True):
        getattr(ax, name)(escape_dollars(label), labelpad=5 + 7 * len(label.splitlines()), fontsize=SMALL_FONT_POINTS)
    ax.set_zlabel(_height_label(seen), labelpad=8, fontsize=SMALL_FONT_POINTS)
    ax.text2D(
        0.5,
        -0.13,
        escape_dollars(fill(seen.note, SURFACE.note_width_letters)),
        transform=ax.transAxes,
        ha="center",
        va="top",
        fontsize=SMALL_FONT_POINTS - 1,
        color=text_colour(),
    )
    _draw_legend(seen, ax)
    drawn: Axes = ax
    return drawn


def _surface_height(seen: Landscape, x: Array, y: Array) -> Array:
    """The height of the surface at some places, a little above it; NaN outside."""
    from scipy.interpolate import RegularGridInterpolator

    read = RegularGridInterpolator((seen.y, seen.x), seen.energy, bounds_error=False, fill_value=np.nan)
    return np.asarray(read(np.column_stack([y, x])) + SURFACE.lift_share * np.ptp(seen.energy))


def _decision_lines(seen: Landscape) -> list[Array]:
    """The lines ``(p, 2)`` on which the decision turns."""
    from contourpy import contour_generator

    if not seen.margin.min() < 0 <= seen.margin.max():
        return []
    return [np.asarray(line) for line in contour_generator(seen.x, seen.y, seen.margin).lines(0.0)]


def _path_dots(path: ProjectedPath) -> tuple[Array, Array, Array]:
    """The states of a search: their places, and how dark each is drawn, the last ones darkest."""
    steps = np.repeat(np.arange(len(path.x)), path.x.shape[1])
    return path.x.ravel(), path.y.ravel(), 0.25 + 0.65 * steps / max(len(path.x) - 1, 1)


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _draw_arrow(seen: Landscape, ax: Axes) -> None:
    if not np.isnan(seen.start).any() and seen.start != seen.answer:
        line = ax.plot(*zip(seen.start, seen.answer, strict=True), color="white", lw=1.2, ls=":")[0]
        line.set_path_effects(_outline_effects())
    # the row is larger and below: both are seen even where they are close
    ax.plot(*seen.start, "o", color=BEFORE_COLOUR, ms=12, mec="white", mew=1.5, zorder=4, clip_on=False)
    ax.plot(*seen.answer, "D", color=AFTER_COLOUR, ms=7, mec="white", mew=1.5, zorder=5, clip_on=False)


def _draw_legend(seen: Landscape, ax: Axes) -> None:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], marker="o", ls="", color=BEFORE_COLOUR, mec="white", label="the row"),
        Line2D([], [], marker="D", ls="", color=AFTER_COLOUR, mec="white", label="the answer"),
        Line2D(
            [],
            [],
            color="white",
            lw=2,
            path_effects=_outline_effects(),
            label=escape_dollars(f"where {seen.target} begins"),
        ),
    ]
    if seen.path is not None:
        keys.append(Line2D([], [], color=PATH_COLOUR, marker=".", lw=1.6, label=f"states of {seen.path.method}"))
    ax.legend(
        handles=keys,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3 if seen.path is None else 2,
        frameon=False,
        fontsize=SMALL_FONT_POINTS,
        handletextpad=0.5,
        columnspacing=1.4,
    )


def _outline_effects(width: float = 3.4) -> list[Any]:
    from matplotlib import patheffects

    return [patheffects.Stroke(linewidth=width, foreground="black"), patheffects.Normal()]
