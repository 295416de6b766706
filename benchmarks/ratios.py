"""One line a task: ours over the best peer, in distance, features changed and time, each with its interval.

The best peer of a column is the one with the least mean on the rows that both solve; for distance and changes among
peers that solve at least half of the rows, for time among those and with their distance at most twice ours. So ours is
set against another rival in each column. Intervals are the middle 95 % of a paired bootstrap over rows. A time within
10 % is a tie. Cells that ours loses are marked.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from comparison import Comparison, Measured, paired_ratio, solved

TIE = 0.1  # of the time
ENOUGH = 0.5  # of the rows
COMPARABLE = 2.0  # times our distance
WAYS = {"white box": "ours-l2", "as a callable": "ours-blind-l2"}


def write(measured: list[Comparison], folder: Path) -> None:
    """ratios.md: a table for the model as it is, and one for the same model as a callable."""
    lines = ["# Ours over the best peer", "", (__doc__ or "").split("\n", 2)[2].strip(), ""]
    for way, name in WAYS.items():
        lines += [
            f"## Ours: {way}",
            "",
            "| task | rows | distance | features changed | CPU time |",
            "|---|---:|---|---|---|",
        ]
        lines += [line_of(one, one.methods[name]) for one in measured if name in one.methods]
        lines.append("")
    (folder / "ratios.md").write_text("\n".join(lines), encoding="utf-8")


def line_of(one: Comparison, ours: Measured) -> str:
    mine = solved(ours, bounded=True)
    if not len(mine):
        return f"| {one.task.title} | 0 | {ours.about.get('reason') or 'no answer'} | | |"
    rivals = {peer.name: solved(peer, bounded=True) for peer in one.peers}
    rivals = {name: rows for name, rows in rivals.items() if len(rows) >= ENOUGH * len(ours.rows)}
    cells = [cell(mine, rivals, "l2"), cell(mine, rivals, "changes")]
    near = {name: rows for name, rows in rivals.items() if paired_ratio(rows["l2"], mine["l2"])[0] <= COMPARABLE}
    cells.append(cell(mine, near, "cpu"))
    return f"| {one.task.title} | {len(mine)} of {len(ours.rows)} | {' | '.join(cells)} |"


def cell(mine: pd.DataFrame, rivals: dict[str, pd.DataFrame], column: str) -> str:
    """The least favourable ratio, its interval, the peer, and whether ours wins, ties or loses."""
    found = {name: paired_ratio(mine[column], rows[column]) for name, rows in rivals.items()}
    found = {name: three for name, three in found.items() if np.isfinite(three[0])}
    if not found:
        return "no peer"
    name, (mean, low, high) = max(found.items(), key=lambda item: item[1][0])
    margin = TIE if column == "cpu" else 0.0
    word = "**loses**" if low > 1 + margin else "wins" if high < 1 - margin else "tie"
    return f"{mean:.2f} [{low:.2f}, {high:.2f}] {word} ({name})"
