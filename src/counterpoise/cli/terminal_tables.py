"""Tables of check and compare: drawn on a terminal, written as tab-separated text anywhere else."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from counterpoise.explanation.sentences import format_label
from counterpoise.judge.review import Review

SHOWN_METRICS = ("validity", "l2", "l1", "l0", "robustness", "ynn", "seconds", "model_rows")


def print_review(found: Review) -> None:
    """The verdict on each answer, a line a row."""
    columns = {name: found.table[name].tolist() for name in found.table.columns}
    labels = [str(row) for row in found.table.index]
    if not sys.stdout.isatty():
        found.table.rename_axis("row").to_csv(sys.stdout, sep="\t", float_format="%.6g")
        return
    table = Table("row", "before", "after", "target", "changed", "L2", "L1", "constraints", box=box.SIMPLE)
    for place, row in enumerate(labels):
        cells = [
            row,
            *(format_label(columns[name][place]) for name in ("before", "after")),
            "reached" if columns["valid"][place] else "missed",
            str(columns["changed"][place]),
            *(f"{columns[name][place]:.4g}" for name in ("l2", "l1")),
            columns["broken"][place] or "hold",
        ]
        fine = bool(np.asarray(found.is_valid_and_feasible)[place])
        table.add_row(*(Text(cell) for cell in cells), style="" if fine else "yellow")
    Console(highlight=False).print(table)


def print_comparison(found: pd.DataFrame) -> None:
    """The metrics of each method, a line a method."""
    if not sys.stdout.isatty():
        found.rename_axis("method").to_csv(sys.stdout, sep="\t", float_format="%.6g")
        return
    table = Table("method", *(name.replace("_", " ") for name in SHOWN_METRICS), box=box.SIMPLE)
    for name, line in found[list(SHOWN_METRICS)].iterrows():
        table.add_row(str(name), *("" if pd.isna(value) else f"{value:.4g}" for value in line))
    Console(highlight=False).print(table)
