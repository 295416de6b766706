"""Changes: a lane for each changed feature, on its own scale, with where the populations lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from counterpoise.explanation import tables
from counterpoise.explanation.cards.cards import compared_labels
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.formats import format_label, format_pair, is_missing
from counterpoise.explanation.rank_axis import RankAxis, is_crowded
from counterpoise.explanation.sentences import sort_by_size
from counterpoise.show.figures.style import (
    AFTER_COLOUR,
    BEFORE_COLOUR,
    FAINT_COLOUR,
    SMALL_FONT_POINTS,
    check_one_row,
    escape_dollars,
    get_axes,
    hide_sides,
    name_with_unit,
    set_heading,
    text_colour,
)
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LaneSettings:
    """How the lanes are drawn."""

    max_lanes: int = 8  # more cannot be read
    label_margin_share: float = 0.12  # share of the lane left free at either end for the labels


LANES = LaneSettings()


def changes(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """Before → after of the best answer to one row, each feature on its own scale.

    The bars are the reference rows that the model gives each class: thin from their 1st to their 99th percentile,
    thick from the 10th to the 90th, a tick at the median. A feature whose values would crowd goes by their rank; its
    name says so.

    explanation: what `counterpoise.explain` returns, one row of it.
    ax: the axes to draw on; None: new ones.
    """
    explanation = check_one_row(explanation)
    listed = tables.list_changes(explanation.schema, explanation.rows, explanation.x0, explanation.answers[:, :1], [1])
    shown = sort_by_size(listed)[: LANES.max_lanes]
    ax = get_axes(ax, 7.2, 1.3 + 0.62 * max(len(shown), 1))
    groups = compared_labels(explanation, 0)
    names = []
    for lane, change in enumerate(shown):
        feature = explanation.schema.features[change.column]
        before, after = format_pair(feature, change.before, change.after)
        name = name_with_unit(feature)
        if feature.is_numeric and not np.isnan(explanation.x0[0, change.column]):
            ends = np.array([change.before, change.after], dtype=np.float64)
            bands = [explanation.quantiles[label][:, change.column] for label in groups]
            place, by_rank = _make_ruler(ends, [band for band in bands if not np.isnan(band).any()])
            _draw_bands(ax, lane, [place(band) for band in bands])
            start, end = place(ends)
            name += ", by rank" if by_rank else ""
        else:
            start, end = 0.3, 0.7
        _draw_arrow(ax, lane, (float(start), float(end)), (before, after))
        names.append(escape_dollars(name))
    _finish_axes(ax, names, [format_label(label) for label in groups], explanation)
    if len(listed) > LANES.max_lanes:
        more = (
            f"and {len(listed) - LANES.max_lanes} smaller changes"
            if len(listed) > LANES.max_lanes + 1
            else "and one smaller change"
        )
        ax.set_xlabel(more, fontsize=SMALL_FONT_POINTS, color=text_colour())
    return ax


def _make_ruler(ends: Array, bands: list[Array]) -> tuple[Callable[[Array], Array], bool]:
    """A function from values to places in [0, 1], and whether it goes by rank."""
    seen = np.concatenate([ends, *(band[1:-1] for band in bands)])
    low, high = float(seen.min()), float(seen.max())
    ranks = RankAxis.of(bands, ends.tolist())
    by_rank = ranks is not None and is_crowded(ranks, low, high, ends.tolist())

    def bend(values: Array) -> Array:
        return ranks.place(values) if ranks is not None and by_rank else values

    first, last = bend(np.array([low, high]))
    length = float(last - first) or 1.0

    def place(values: Array) -> Array:
        return np.asarray(
            LANES.label_margin_share + (1 - 2 * LANES.label_margin_share) * (bend(values) - first) / length
        )

    return place, by_rank


def _draw_bands(ax: Axes, lane: int, bands: list[Array]) -> None:
    for number, band in enumerate(bands):
        if np.isnan(band).any():
            continue
        colour = (BEFORE_COLOUR, AFTER_COLOUR)[number % 2]
        level = lane + 0.2 + 0.13 * number
        ax.plot(band[[1, 9]], [level, level], color=colour, alpha=0.35, lw=1.2, solid_capstyle="butt", zorder=1)
        ax.plot(band[[3, 7]], [level, level], color=colour, alpha=0.45, lw=5, solid_capstyle="butt", zorder=1)
        ax.plot([band[5]], [level], marker="|", color=colour, ms=7, mew=1.6, zorder=2)


def _draw_arrow(ax: Axes, lane: int, ends: tuple[float, float], labels: tuple[str, str]) -> None:
    level = lane - 0.08
    ax.annotate(
        "",
        (ends[1], level),
        (ends[0], level),
        arrowprops={"arrowstyle": "-|>", "color": text_colour(), "lw": 1.4, "shrinkA": 4, "shrinkB": 4},
    )
    ax.plot([ends[0]], [level], "o", color=BEFORE_COLOUR, ms=9, zorder=3)  # seen also where both are close
    ax.plot([ends[1]], [level], "D", color=AFTER_COLOUR, ms=6, zorder=4)
    rising = ends[1] >= ends[0]
    for end, label, colour, left in (
        (ends[0], labels[0], BEFORE_COLOUR, rising),
        (ends[1], labels[1], AFTER_COLOUR, not rising),
    ):
        ax.annotate(
            escape_dollars(label),
            (end, level),
            (-7 if left else 7, 5),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=SMALL_FONT_POINTS,
            color=text_colour(),
            fontweight="bold" if colour == AFTER_COLOUR else "normal",
        )


def _say_why_empty(explanation: Explanation) -> str:
    """The reason why a row has no changes to draw, such as having the target already."""
    status = explanation.status[0]
    if explanation.valid[0]:
        return "nothing needs to change"
    if status == REJECTED:
        return "the row was rejected"
    if status != "infeasible":
        return "no answer was found"
    return "no legal change turns it (proven)" if np.isposinf(explanation.bound[0]) else "no legal change turns it"


def _finish_axes(ax: Axes, names: list[str], groups: list[str], explanation: Explanation) -> None:
    from matplotlib.lines import Line2D

    hide_sides(ax, "top", "right", "bottom", "left")
    ax.set_xlim(0, 1)
    ax.set_ylim(max(len(names), 1) - 0.45, -0.55)
    ax.set_xticks([])
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    for lane in range(1, len(names)):
        ax.axhline(lane - 0.45, color=FAINT_COLOUR, alpha=0.3, lw=0.6)
    before, after = (explanation.scores[when].iloc[0] for when in ("before", "after"))
    verdicts = [] if is_missing(before) else [("o", BEFORE_COLOUR, f"the row: {format_label(before)}")]
    if explanation.valid[0] or (names and not is_missing(after)):  # without changes a miss is the row itself
        what = "the answer" if explanation.valid[0] else "the nearest miss"
        verdicts.append(("D", AFTER_COLOUR, f"{what}: {format_label(after)}"))
    keys = [
        *(
            Line2D([], [], marker=marker, ls="", color=colour, label=escape_dollars(label))
            for marker, colour, label in verdicts
        ),
        *(
            Line2D(
                [],
                [],
                lw=5,
                alpha=0.45,
                color=(BEFORE_COLOUR, AFTER_COLOUR)[number % 2],
                label=escape_dollars(f"{group} rows"),
            )
            for number, group in enumerate(groups)
        ),
    ]
    ax.legend(
        handles=keys,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=4,
        frameon=False,
        fontsize=SMALL_FONT_POINTS,
        handlelength=1.2,
        columnspacing=1.4,
    )
    set_heading(ax, "The change: from the row to the answer", 22.0)
    if not names:
        ax.text(0.5, 0, _say_why_empty(explanation), ha="center", va="center", color=text_colour())
