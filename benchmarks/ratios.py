"""Three numbers a task: ours over the best peer, in distance, features changed and time, each with its interval.

The best peer of a column is the one with the least mean on the rows that both solve; for distance and changes among
peers that solve at least half of the rows they reached within their seconds, and five of them with ours; for time
among those and with their distance at most twice ours. So ours is
set against another rival in each column. Intervals are the middle 95 % of a paired bootstrap over rows. A
distance within 0.5 % and a time within 10 % are ties. Cells that ours loses are marked. The best peer and its best
setting are picked on the very rows that are measured, which favours peers; ours has one setting throughout.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from comparison import Comparison, Measured, paired_ratio, solved

TIES = {"l2": 0.005, "changes": 0.0, "cpu": 0.1}  # a smaller difference is a tie, either way
ENOUGH = 0.5  # of the rows that a peer reached within its seconds
FEWEST_ROWS = 5  # that both solve: of fewer an interval says nothing
COMPARABLE = 2.0  # times our distance
WAYS = {
    "the model as it is": "ours-l2",
    "the same model as a callable": "ours-blind-l2",
    "the plain call": "ours-plain",
    "asked for the fewest changes": "ours-l0",
}
FEWEST = "ours-l0"  # was not asked to be near: its changes alone are looked at
COLUMNS = {"l2": "distance", "changes": "features changed", "cpu": "CPU time"}


def write(measured: list[Comparison], folder: Path) -> None:
    """ratios.md, a table for each way that ours is asked, and ratios.csv, from which README's table is made."""
    lines = ["# Ours over the best peer", "", (__doc__ or "").split("\n", 2)[2].strip(), ""]
    found = [
        cell | {"task": one.task.name, "title": one.task.title, "way": way}
        for way, name in WAYS.items()
        for one in measured
        if name in one.methods
        for cell in cells_of(one, one.methods[name])
    ]
    table = pd.DataFrame(found)
    if not len(table):
        return
    for way, part in table.groupby("way", sort=False):
        lines += [f"## {way[0].upper()}{way[1:]}", "", f"| task | rows | {' | '.join(COLUMNS.values())} |"]
        lines += ["|---|---:|---|---|---|"]
        for (title, rows), cells in part.groupby(["title", "rows"], sort=False):
            by_column = {str(cell["column"]): told(cell) for cell in cells.to_dict("records")}
            lines.append(f"| {title} | {rows} | {' | '.join(by_column.get(column, '–') for column in COLUMNS)} |")
        lines.append("")
    (folder / "ratios.md").write_text("\n".join(lines), encoding="utf-8")
    table.to_csv(folder / "ratios.csv", index=False, float_format="%.4g")


def cells_of(one: Comparison, ours: Measured) -> list[dict[str, object]]:
    """Distance, features changed and time of ours over the best peer's; NaN where there is none to compare with."""
    mine = solved(ours, bounded=True)
    rivals = {
        peer.name: rows
        for peer in one.peers
        if len(rows := solved(peer, bounded=True)) >= ENOUGH * len(peer.rows)
        and len(mine.index.intersection(rows.index)) >= FEWEST_ROWS
    }
    near = {name: rows for name, rows in rivals.items() if paired_ratio(rows["l2"], mine["l2"])[0] <= COMPARABLE}
    rows = f"{len(mine)} of {len(ours.rows)}"
    return [
        {"rows": rows, "column": column} | least_favourable(mine, near if column == "cpu" else rivals, column)
        for column in COLUMNS
        if ours.name != FEWEST or column == "changes"
    ]


def least_favourable(mine: pd.DataFrame, rivals: dict[str, pd.DataFrame], column: str) -> dict[str, object]:
    """The greatest ratio with its interval, the peer, the means of both, and whether ours wins, ties or loses."""
    found = {name: paired_ratio(mine[column], rows[column]) for name, rows in rivals.items()}
    found = {name: three for name, three in found.items() if not np.isnan(three[0])}  # infinite counts
    own = float(mine[column].mean()) if len(mine) else np.nan
    if not found:
        return {"ratio": np.nan, "low": np.nan, "high": np.nan, "peer": "", "ours": own, "theirs": np.nan, "word": ""}
    name, (ratio, low, high) = max(found.items(), key=lambda item: item[1][0])
    word = "loses" if low > 1 + TIES[column] else "wins" if high < 1 - TIES[column] else "tie"
    theirs = rivals[name].loc[mine.index.intersection(rivals[name].index), column].mean()
    both = mine.loc[mine.index.intersection(rivals[name].index), column].mean()
    return {
        "ratio": ratio,
        "low": low,
        "high": high,
        "peer": name,
        "ours": float(both),
        "theirs": float(theirs),
        "word": word,
    }


def told(cell: dict[str, object]) -> str:
    """ "0.71 [0.62, 0.80] wins (nice-proximity)"; a loss is set in bold."""
    if not cell["word"]:
        return "no peer"
    word = "**loses**" if cell["word"] == "loses" else cell["word"]
    return f"{cell['ratio']:.2f} [{cell['low']:.2f}, {cell['high']:.2f}] {word} ({cell['peer']})"
