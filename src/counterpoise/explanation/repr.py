"""An explanation at a glance: the lines of its ``repr``, and a small table for notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from counterpoise.plain_text import escape_controls
from counterpoise.types import Array, Index, Mask

HEADER = ("row", "before", "after", "p(target)", "changes", "distance", "kept", "status")


@dataclass(frozen=True)
class ReprLimits:
    """How much of an explanation is seen at a glance."""

    rows: int = 10
    """Rows that the repr shows one by one; more are only counted."""
    notebook_rows: int = 20
    """Rows of the table in a notebook."""
    changes: int = 3
    """Changes of a row that are named."""
    column_letters: int = 60
    """Letters in a column of the text table."""


REPR_LIMITS = ReprLimits()


def headline(status: Sequence[str], valid: Mask, distance: Array, changed: Index) -> str:
    """How many rows, how many of them valid, and how far the valid answers are in the middle.

    >>> headline(["valid", "not_found"], np.array([True, False]), np.array([1.5, 9.0]), np.array([2, 0]))
    'Explanation of 2 rows: 1 valid, 1 not found; median distance 1.5, median changes 2'
    """
    rows = f"Explanation of {len(status)} row{'' if len(status) == 1 else 's'}"
    if not len(status):
        return rows
    counts = ", ".join(f"{count} {word.replace('_', ' ')}" for word, count in Counter(status).most_common())
    if not valid.any():
        return f"{rows}: {counts}"
    middle = f"median distance {np.median(distance[valid]):.4g}, median changes {np.median(changed[valid]):g}"
    return f"{rows}: {counts}; {middle}"


def draw_text(title: str, table: Sequence[Sequence[str]]) -> str:
    """The headline, and the rows in columns under it.

    >>> print(draw_text("one row", [("0", "alert", "benign", "0.07 → 0.93", "ports 8 → 2", "1.5", "27%", "valid")]))
    one row
    row  before  after   p(target)    changes      distance  kept  status
    0    alert   benign  0.07 → 0.93  ports 8 → 2  1.5       27%   valid
    """
    if not table:
        return title
    lines = [
        HEADER,
        *(
            (*(_cut_to_width(escape_controls(cell)) for cell in cells[:-1]), escape_controls(cells[-1]))
            for cells in table
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([title, *drawn])


def draw_html(title: str, table: Sequence[Sequence[str]], more: int = 0) -> str:
    """The same as a self-contained table, with how many rows are left out; everything that came from data is escaped.

    >>> "&lt;b&gt;" in draw_html("one row", [("<b>", "", "", "", "", "", "", "")])
    True
    """
    cell = 'style="text-align:left;padding:0.2em 0.8em 0.2em 0;border-bottom:1px solid currentColor"'
    head = "".join(f"<th {cell}>{name}</th>" for name in HEADER)
    body = "".join("<tr>" + "".join(f"<td {cell}>{escape(text)}</td>" for text in cells) + "</tr>" for cells in table)
    grid = f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    tail = f"<p>… and {more} more</p>" if more else ""
    return f"<div><p>{escape(title)}</p>{grid if table else ''}{tail}</div>"


def _cut_to_width(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REPR_LIMITS.column_letters else line[: REPR_LIMITS.column_letters - 1] + "…"
