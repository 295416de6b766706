"""The page: every exhibit as one HTML file that needs nothing else, images inside."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.paper.claims import VERDICT_FAILS, VERDICT_HOLDS, VERDICT_PARTLY
from counterpoise.paper.exhibit import Exhibit
from counterpoise.paper.real_data import BETTER_SIGN

PROSE_CELL_LETTERS = 40  # letters beyond which a cell is prose
ROUNDING_ERROR = 1e-9  # below which a number is rounding
TABLES_SHOWN_OPEN = 3  # tables beyond which the rest is folded away
TITLE = "Exploring Energy Landscapes for Minimal Counterfactual Explanations, reproduced"


def compose_paper(exhibits: Sequence[Exhibit], command: str, about: str) -> str:
    """The page of all exhibits; ``command`` made it, ``about`` says when, where and how long."""
    style, script = (
        files("counterpoise.paper").joinpath("template", name).read_text("utf-8") for name in TEMPLATE_FILES
    )
    links = "".join(f'<a href="#{one.name}">{escape(one.title.split(".")[0].split(":")[0])}</a>' for one in exhibits)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(TITLE)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{escape(TITLE)}</h1>
<p>Every figure and table of the paper (S. Evangelatos, E. Veroni, V. Efthymiou, C. Nikolopoulos, G. Th. Papadopoulos,
P. Sarigiannidis), made again by counterpoise, beside what the paper says. Where the paper leaves a choice open, ours is
written below the figure. Any method may lose a column, ours included.</p>
<p class="settings">Made by <code>{escape(command)}</code>. {escape(about)}</p>
<nav>{links}</nav>
</header>
<main>
{"".join(_write_section(exhibit, command) for exhibit in exhibits)}
</main>
<script>{script}</script>
</body>
</html>
"""


TEMPLATE_FILES = ("paper.css", "paper.js")


def to_png(figure: object) -> bytes:
    """A drawn figure as the bytes of an image."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})  # type: ignore[attr-defined]
    return buffer.getvalue()


def _write_section(exhibit: Exhibit, command: str) -> str:
    notes = "".join(f"<p>{escape(note)}</p>" for note in exhibit.notes)
    tables = [f"<h3>{escape(title)}</h3>{_write_table(table)}" for title, table in exhibit.tables.items()]
    shown = "".join(tables)
    if len(tables) > TABLES_SHOWN_OPEN:
        shown = (
            "".join(tables[:TABLES_SHOWN_OPEN])
            + f"<details><summary>{len(tables) - TABLES_SHOWN_OPEN} more tables</summary>{''.join(tables[TABLES_SHOWN_OPEN:])}</details>"
        )
    written = [f"{exhibit.name}-{name}.csv" for name in (*exhibit.data, *_table_file_names(exhibit))]
    spent = f", {exhibit.seconds:.0f} s" if exhibit.seconds else ""
    data = f" Data: {', '.join(written)}." if written else ""
    return f"""<section id="{exhibit.name}">
<h2>{escape(exhibit.title)}</h2>
{notes}
{_write_pictures(exhibit)}
{shown}
<p class="settings">Settings: {escape(exhibit.settings)}{"" if exhibit.settings.endswith(".") else "."}
Command: <code>{escape(command)}</code>{spent}.{escape(data)}</p>
</section>
"""


def _table_file_names(exhibit: Exhibit) -> list[str]:
    """What the shown tables are called in the folder."""
    return [f"table-{number}" for number in range(1, len(exhibit.tables) + 1)]


def _write_pictures(exhibit: Exhibit) -> str:
    parts = []
    if exhibit.surface_data is not None:
        name = f"{exhibit.name}-data"
        parts.append(
            f'<figure class="turn"><canvas data-surface="{name}" tabindex="0" role="img" '
            f'aria-label="{escape(exhibit.alt_text)}"></canvas><figcaption>Drag, or use the arrow keys, to turn it.'
            f'</figcaption></figure><script type="application/json" id="{name}">{json.dumps(exhibit.surface_data)}</script>'
        )
    for name, figure in exhibit.panels.items():
        image = base64.b64encode(to_png(figure)).decode("ascii")
        alt = escape(f"{exhibit.alt_text}: {name}")
        parts.append(f'<figure><img src="data:image/png;base64,{image}" alt="{alt}"></figure>')
    return f'<div class="panels">{"".join(parts)}</div>' if parts else ""


def _write_table(table: pd.DataFrame) -> str:
    best = _best_cells(table)
    heads = "".join(
        f"<th{'' if _is_numeric(table[name]) else ' class=words'}>{escape(str(name))}</th>" for name in table.columns
    )
    lines = []
    for place, line in enumerate(table.itertuples(index=False)):
        cells = []
        for column, value in enumerate(line):
            kind = _cell_class(value, table.iloc[:, column], (place, column) in best)
            text = escape(_format_cell(value))
            link = f'<a href="#{text}">{text.replace("-", " ")}</a>' if table.columns[column] == "shown" else text
            cells.append(f"<td{kind}>{link}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    told = ' class="stack"' if "verdict" in table.columns else ""
    return (
        f'<div class="wide"><table{told}><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _cell_class(value: object, column: pd.Series[Any], best: bool) -> str:
    if value in (VERDICT_HOLDS, VERDICT_PARTLY, VERDICT_FAILS):
        return f' class="{str(value).replace(" ", "-")}"'
    if best:
        return ' class="best"'
    if _is_numeric(column):
        return ""
    return ' class="prose"' if column.astype(str).str.len().max() > PROSE_CELL_LETTERS else ' class="words"'


def _is_numeric(column: pd.Series[Any]) -> bool:
    return column.dtype.kind in "fiu"


def _best_cells(table: pd.DataFrame) -> set[tuple[int, int]]:
    """Cells that are the best of their column, among methods that turn at least half of the rows."""
    if "valid" not in table.columns:
        return set()
    enough = (table["valid"] >= 0.5).to_numpy()
    out: set[tuple[int, int]] = set()
    for name, better in BETTER_SIGN.items():
        values = np.where(enough, better * table[name].to_numpy(dtype=np.float64), np.nan)
        if not np.isnan(values).all():
            column = list(table.columns).index(name)
            out |= {(int(place), column) for place in np.flatnonzero(values == np.nanmax(values))}
    return out


def _format_cell(value: object) -> str:
    """A number with the digits that matter."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if np.isnan(number):
            return "–"
        if abs(number) < ROUNDING_ERROR:
            return "0"
        if number == round(number) and abs(number) < 1e6:
            return f"{number:.0f}"
        return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"
    return str(value)
