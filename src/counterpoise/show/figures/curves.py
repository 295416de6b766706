"""Robustness, frontier, sensitivity, trajectory: what becomes of answers as noise, firmness, weights or time go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.errors import InputError
from counterpoise.judge.curves import Frontier, Sensitivity
from counterpoise.judge.robustness import Robustness
from counterpoise.landscape.trajectory import Trajectory
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    FAINT_COLOUR,
    LINE_COLOURS,
    SMALL_FONT_POINTS,
    escape_dollars,
    get_axes,
    hide_sides,
    text_colour,
)
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINES = 60  # rows that are drawn one by one


def robustness(found: Robustness, ax: Axes | None = None) -> Axes:
    """The share of noisy copies that keep the target against the noise: a thin line for each row, a thick median."""
    _expect(found, Robustness, "cp.robustness(explanation, model)")
    curve = found.curve
    if not len(curve):
        raise InputError("this figure draws a noise that has a level", found.noise, "give noise=0.2 or RankNoise")
    ax = get_axes(ax, 6.0, 3.6)
    lines = [part for _, part in curve.groupby("row")]
    for part in lines[:MAX_LINES] if len(lines) > 1 else ():
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
    ax.set_xlabel("noise (share of ranks)" if "rank" in found.noise.lower() else "noise (feature scales)")
    ax.set_ylabel("share of copies that keep the target")
    ax.legend(frameon=False, fontsize=SMALL_FONT_POINTS, loc="lower left")
    return ax


def frontier(found: Frontier, ax: Axes | None = None) -> Axes:
    """Distance against the share of noisy copies kept: what firmness takes, from the tipping point on."""
    _expect(found, Frontier, "cp.frontier(explainer, rows)")
    ax = get_axes(ax, 6.0, 3.8)
    distance, kept = (found.table[name].to_numpy(dtype=np.float64) for name in ("distance", "kept"))
    order = np.argsort(kept, kind="stable")
    ax.plot(kept[order], distance[order], color=FAINT_COLOUR, lw=1.2, zorder=1)
    for place, asked in enumerate(found.table["asked"]):
        tipping = place == 0
        mark, colour = (
            ("o", BEFORE_COLOUR)
            if tipping
            else ("D", AFTER_COLOUR)
            if asked.startswith("keep")
            else ("s", LINE_COLOURS[1])
        )
        ax.plot([kept[place]], [distance[place]], mark, color=colour, ms=8, zorder=3)
        left = kept[place] > 0.5 * (np.nanmin(kept) + np.nanmax(kept))
        ax.annotate(
            escape_dollars(asked), (kept[place], distance[place]), (-8 if left else 8, 6), textcoords="offset points",
            ha="right" if left else "left", fontsize=SMALL_FONT_POINTS, color=text_colour(),
        )  # fmt: skip
    hide_sides(ax, "top", "right")
    ax.margins(0.08, 0.18)
    ax.set_xlabel("share of noisy copies that keep the target")
    ax.set_ylabel("distance (feature scales)")
    ax.set_title(
        escape_dollars(f"{_format_row_count(found.rows)}; {found.noise}"),
        fontsize=SMALL_FONT_POINTS,
        color=text_colour(),
        loc="left",
        wrap=True,
    )
    return ax


def sensitivity(found: Sensitivity, ax: Axes | None = None) -> Axes:
    """Distance over lam, with the number of changed features at each point; with several mu, a map over both."""
    _expect(found, Sensitivity, "cp.sensitivity(explainer, rows)")
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
                f"{changed:.2g}", (float(place), distance), (0, 9), textcoords="offset points", ha="center",
                fontsize=SMALL_FONT_POINTS, color=text_colour(),
            )  # fmt: skip
        hide_sides(ax, "top", "right")
        ax.margins(0.1, 0.22)
        ax.set_xticks(places, [f"{lam:g}" for lam in lams])
        ax.set_ylabel("distance")
    ax.set_xlabel("lam, the weight of the regulariser")
    told = "distance written on each pair" if len(mus) > 1 else "written at each point: features changed"
    ax.set_title(
        f"{_format_row_count(found.rows)}; {told}", fontsize=SMALL_FONT_POINTS, color=text_colour(), loc="left"
    )
    return ax


def trajectory(seen: Trajectory, ax: Axes | None = None) -> Axes:
    """Energy over the steps of a search; on the right scale the moves accepted, and the temperature over its first."""
    _expect(seen, Trajectory, "cp.trajectory(explainer, row)")
    ax = get_axes(ax, 6.4, 3.6)
    table = seen.table
    ax.plot(table["step"], table["energy"], color=AFTER_COLOUR, lw=2.2, label=seen.energy_label)
    hide_sides(ax, "top")
    ax.set_xlabel(f"step of {seen.method}")
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
        keys, names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=SMALL_FONT_POINTS,
    )  # fmt: skip
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
            "none" if np.isnan(distance) else f"{distance:.3g}", (column, line), ha="center", va="center",
            fontsize=SMALL_FONT_POINTS, color="black" if share[line, column] > 0.5 else "white",
        )  # fmt: skip
    hide_sides(ax, "top", "right", "left", "bottom")
    ax.set_xticks(range(len(lams)), [f"{lam:g}" for lam in lams])
    ax.set_yticks(range(len(mus)), [mu if isinstance(mu, str) else f"{mu:g}" for mu in mus])
    ax.tick_params(length=0)
    ax.set_ylabel("mu, the weight of the decision")


def _format_row_count(count: int) -> str:
    return f"mean of {count} rows" if count != 1 else "one row"


def _expect(given: object, kind: type, how: str) -> None:
    if not isinstance(given, kind):
        raise InputError(
            f"this figure draws a {kind.__name__}", f"a {type(given).__name__} was given", f"compute it first: {how}"
        )
