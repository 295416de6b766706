"""What all figures share: axes, colours, names with their units, and checks of what is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterpoise.errors import InputError, MissingExtra, name_kind, with_article
from counterpoise.explanation.explanation import Explanation
from counterpoise.space.schema.schema import Feature

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, "Color Universal Design" (2008); grey of a lightness between black and white, so legible on both.
BEFORE_COLOUR = "#D55E00"
AFTER_COLOUR = "#0072B2"
OTHER_COLOUR = "#CC79A7"
LINE_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
FAINT_COLOUR = "#8A8A8A"
SMALL_FONT_POINTS = 8.5


def get_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes to draw on: those given, or those of a new figure of this size in inches."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("plots") from None
    if ax is not None:
        return ax
    new: Any = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    drawn: Axes = new
    return drawn


def text_colour() -> str:
    """The colour of text in the current style."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def name_with_unit(feature: Feature) -> str:
    """A feature's name and its unit, for an axis.

    >>> name_with_unit(Feature("latency", "continuous", unit="ms"))
    'latency (ms)'
    """
    return f"{feature.title} ({feature.unit})" if feature.unit else feature.title


def escape_dollars(text: str) -> str:
    """Text that matplotlib shows as it is: a dollar sign would begin a formula.

    >>> escape_dollars("price in $")
    'price in \\\\$'
    """
    return text.replace("$", r"\$")


def check_one_row(explanation: Explanation) -> Explanation:
    """The explanation itself, if it is of one row, as most figures need."""
    if not isinstance(explanation, Explanation):
        raise InputError(
            "this figure draws an Explanation", f"{name_kind(explanation)} was given", "give what explain returns"
        )
    if len(explanation) != 1:
        raise InputError(
            "this figure draws one row", f"the explanation has {len(explanation)}", "choose one: explanation[0]"
        )
    return explanation


def set_heading(ax: Axes, text: str, points_above: float = 6.0) -> None:
    """Write above the axes what they show; ``points_above`` leaves room for a legend between the two."""
    ax.set_title(escape_dollars(text), loc="left", fontsize="medium", pad=points_above)


def hide_sides(ax: Axes, *sides: str) -> None:
    """Leave out the frame's sides that carry no scale."""
    for side in sides:
        ax.spines[side].set_visible(False)


def format_row_count(count: int) -> str:
    """What a figure says of how many rows it is about."""
    return f"mean of {count} rows" if count != 1 else "one row"


def check_kind(given: object, kind: type, how: str) -> None:
    """An error unless ``given`` is what a figure draws; ``how`` is the call that computes it."""
    if not isinstance(given, kind):
        raise InputError(
            f"this figure draws {with_article(kind.__name__)}",
            f"{name_kind(given)} was given",
            f"compute it first: {how}",
        )
