"""Tables of check and compare: drawn on a terminal, written as tab-separated text anywhere else."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from counterpoise.explanation.formats import format_label
from counterpoise.judge.review import Review
from counterpoise.plain_text import escape_controls

SHOWN_METRICS = ("validity", "l2", "l1", "l0", "robustness", "ynn", "seconds", "model_rows")


def print_review(found: Review) -> None:
    """The verdict on each answer, a line a row."""
    columns = {name: found.table[name].tolist() for name in found.table.columns}
    labels = [str(row) for row in found.table.index]
    if not sys.stdout.isatty():
        _escape_cells(found.table.rename_axis("row")).to_csv(sys.stdout, sep="\t", float_format="%.6g")
        return
    table = Table(
        "row", "before", "after", "target", "changed", "L2", "L1", "cost / bound", "constraints", box=box.SIMPLE
    )
    for place, row in enumerate(labels):
        cells = [
            row,
            *(format_label(columns[name][place]) for name in ("before", "after")),
            "reached" if columns["valid"][place] else "missed",
            str(columns["changed"][place]),
            *(f"{columns[name][place]:.4g}" for name in ("l2", "l1")),
            _say_ratio(columns["effort"][place], columns["bound"][place]),
            columns["broken"][place] or "hold",
        ]
        fine = bool(np.asarray(found.is_valid_and_feasible)[place])
        table.add_row(*(Text(escape_controls(cell)) for cell in cells), style="" if fine else "yellow")
    Console(highlight=False).print(table)


def _say_ratio(effort: float, bound: float) -> str:
    """Effort of an answer over the proven bound; "" without a bound."""
    return f"{effort / bound:.4g}" if 0 < bound < np.inf else ""


def _escape_cells(table: pd.DataFrame) -> pd.DataFrame:
    """The table with no text in it, names and labels included, that steers a terminal."""

    def escape(value: Any) -> Any:
        return escape_controls(value) if isinstance(value, str) else value

    out = table.copy(deep=False)
    for place, dtype in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            out.isetitem(place, [escape(cell) for cell in table.iloc[:, place].tolist()])
    return out.rename(index=escape, columns=escape)


def print_comparison(found: pd.DataFrame) -> None:
    """The metrics of each method, a line a method."""
    if not sys.stdout.isatty():
        _escape_cells(found.rename_axis("method")).to_csv(sys.stdout, sep="\t", float_format="%.6g")
        return
    table = Table("method", *(name.replace("_", " ") for name in SHOWN_METRICS), box=box.SIMPLE)
    for name, line in found[list(SHOWN_METRICS)].iterrows():
        table.add_row(Text(escape_controls(str(name))), *("" if pd.isna(value) else f"{value:.4g}" for value in line))
    Console(highlight=False).print(table)
