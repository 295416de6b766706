"""The page: every exhibit as one HTML file that needs nothing else, images inside."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.paper.claims.verdict import OURS, VERDICTS
from counterpoise.paper.exhibit import Exhibit
from counterpoise.paper.exhibits.claims import PAPER_COLUMN
from counterpoise.paper.exhibits.real_data import BETTER_SIGN
from counterpoise.show.templates import render_template


@dataclass(frozen=True)
class PaperPageSettings:
    """What the page shows of its tables."""

    prose_cell_letters: int = 40  # a longer cell is prose
    rounding_error: float = 1e-9  # a smaller number is shown as 0
    tables_shown_open: int = 3  # further tables are folded away


PAGE = PaperPageSettings()
TITLE = "Exploring Energy Landscapes for Minimal Counterfactual Explanations, reproduced"


def compose_paper(exhibits: Sequence[Exhibit], command: str, about: str) -> str:
    """The page of all exhibits, from paper.html; ``command`` made it, ``about`` says when, where and how long."""
    return render_template(
        "counterpoise.paper",
        "paper.html",
        title=TITLE,
        command=command,
        about=about,
        links=[(exhibit.name, exhibit.title.split(".")[0].split(":")[0]) for exhibit in exhibits],
        sections=[_describe_section(exhibit) for exhibit in exhibits],
    )


def to_png(figure: object) -> bytes:
    """A drawn figure as the bytes of an image."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})  # type: ignore[attr-defined]
    return buffer.getvalue()


def _describe_section(exhibit: Exhibit) -> dict[str, Any]:
    """What the template needs of one exhibit."""
    tables = [{"title": title} | _describe_table(table) for title, table in exhibit.tables.items()]
    files = [f"{exhibit.name}-{name}.csv" for name in (*exhibit.data, *_table_file_names(exhibit))]
    return {
        "name": exhibit.name,
        "title": exhibit.title,
        "notes": exhibit.notes,
        "alt_text": exhibit.alt_text,
        "surface_data": exhibit.surface_data,
        "images": {name: base64.b64encode(to_png(drawn)).decode("ascii") for name, drawn in exhibit.panels.items()},
        "tables": tables[: PAGE.tables_shown_open],
        "folded_tables": tables[PAGE.tables_shown_open :],
        "settings": exhibit.settings.removesuffix("."),
        "seconds": f"{exhibit.seconds:.0f}" if exhibit.seconds else "",
        "files": files,
    }


def _table_file_names(exhibit: Exhibit) -> list[str]:
    """What the shown tables are called in the folder."""
    return [f"table-{number}" for number in range(1, len(exhibit.tables) + 1)]


def _describe_table(table: pd.DataFrame) -> dict[str, Any]:
    """The headings and cells of a table, each with its class; "shown" names the exhibit that a line is about."""
    best = _best_cells(table)
    return {
        "kind": "stack" if PAPER_COLUMN in table.columns else "",
        "headings": [(str(name), "" if _is_numeric(table[name]) else "words") for name in table.columns],
        "lines": [
            [
                {
                    "text": _format_cell(value),
                    "kind": _cell_class(value, table.iloc[:, column], (place, column) in best),
                    "is_link": table.columns[column] == "shown",
                    "whose": str(table.columns[column]) if table.columns[column] in (PAPER_COLUMN, OURS) else "",
                }
                for column, value in enumerate(line)
            ]
            for place, line in enumerate(table.itertuples(index=False))
        ],
    }


def _cell_class(value: object, column: pd.Series[Any], best: bool) -> str:
    if value in VERDICTS:
        return str(value).replace(" ", "-")
    if best:
        return "best"
    if _is_numeric(column):
        return ""
    return "prose" if column.astype(str).str.len().max() > PAGE.prose_cell_letters else "words"


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
        if abs(number) < PAGE.rounding_error:
            return "0"
        if number == round(number) and abs(number) < 1e6:
            return f"{number:.0f}"
        return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"
    return str(value)
