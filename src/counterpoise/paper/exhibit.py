"""Exhibit: one figure or table of the paper, made again: what was measured, how it is drawn, and with what settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterpoise.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, "Color Universal Design" (2008), told apart by dashes and marks as well
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A8A")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), "-", "--")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class RunSize:
    """How much is measured: everything, or in ``quick`` form enough to see every figure.

    ``rows`` of each table are compared on real data; None: as many as the form has. ``report_progress`` is called with
    the name of what a long part is doing now.
    """

    quick: bool = False
    seed: int = 0
    rows: int | None = None
    report_progress: Callable[[str], None] = lambda name: None

    def pick(self, quick: Any, full: Any) -> Any:
        """One of two amounts.

        >>> RunSize(quick=True).pick(2, 10)
        2
        """
        return quick if self.quick else full


@dataclass(frozen=True, eq=False)
class Exhibit:
    """What the page shows of one figure or table.

    ``notes`` are paragraphs; ``settings`` says what the numbers were made with; ``panels`` are drawn figures and
    ``alt_text`` says what they show; ``tables`` are shown, ``data`` is only written beside the page; ``facts`` are what
    the claims rest on; ``surface_data`` is a surface that the reader can turn.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    settings: str
    alt_text: str = ""
    panels: Mapping[str, Figure] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    data: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    facts: Mapping[str, float] = field(default_factory=dict)
    surface_data: Mapping[str, Any] | None = None
    seconds: float = 0.0  # of processor time


def make_panel(width: float = 4.4, height: float = 3.3, **settings: Any) -> tuple[Figure, Axes]:
    """A figure with one pair of axes, without a window."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingExtra("plots") from None
    figure = Canvas(figsize=(width, height), layout="constrained", dpi=150)
    axes: Axes = figure.add_subplot(**settings)
    if not settings:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
