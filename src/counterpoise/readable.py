"""Results that people read: a headline and a short table, as the repr and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from counterpoise.plain_text import escape_controls

CELL_STYLE = "text-align:left;padding:.2em .9em .2em 0;border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top"


class Summary(NamedTuple):
    """What a result says of itself: a headline, and the lines of a table with its header."""

    headline: str
    header: Sequence[str] = ()
    lines: Sequence[Sequence[str]] = ()


class Readable:
    """Gives a result its repr and its HTML, from ``summarize``."""

    max_lines_shown = 20

    def summarize(self) -> Summary:
        """The headline and the table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """The headline, and under it the table in columns.

        >>> class Two(Readable):
        ...     def summarize(self):
        ...         return Summary("two results", ("name", "value"), [("a", "1"), ("long", "22")])
        >>> Two()
        two results
        name  value
        a     1
        long  22
        """
        headline, header, lines = self.summarize()
        shown = [[escape_controls(" ".join(cell.split())) for cell in line] for line in lines[: self.max_lines_shown]]
        if not shown:
            return escape_controls(headline)
        table = [list(header), *shown]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        drawn = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]
        more = [f"… and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
        return "\n".join([escape_controls(headline), *drawn, *more])

    def _repr_html_(self) -> str:
        headline, header, lines = self.summarize()
        shown = lines[: self.max_lines_shown]
        more = f"<p>… and {len(lines) - len(shown)} more</p>" if len(lines) > len(shown) else ""
        return f"<div><p>{escape(headline)}</p>{draw_html_table(header, shown)}{more}</div>"


def draw_html_table(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A plain table whose cells are escaped; "" without lines.

    >>> "&lt;b&gt;" in draw_html_table(["name"], [["<b>"]])
    True
    """
    head = "".join(f"<th style='{CELL_STYLE}'>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td style='{CELL_STYLE}'>{escape(text)}</td>" for text in line) + "</tr>" for line in lines
    )
    if not body:
        return ""
    return f"<table style='border-collapse:collapse'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
