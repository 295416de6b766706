"""The verdicts in docs/paper.md, from a page that was made: python benchmarks/paper_verdicts.py FOLDER.

FOLDER is what `counterpoise paper --out FOLDER` wrote; its claims-table-1.csv and the line on the page that
says how it was made go between the marks.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

import pandas as pd

PAGE = Path(__file__).parents[1] / "docs" / "paper.md"
BEGIN, END = "<!-- from benchmarks/paper_verdicts.py -->", "<!-- end -->"


def main() -> None:
    folder = Path(sys.argv[1])
    claims = pd.read_csv(folder / "claims-table-1.csv")
    made = re.search(r'<p class="settings">(Made by .*?)</p>', (folder / "paper.html").read_text(encoding="utf-8"))
    assert made is not None
    how = html.unescape(re.sub(r"</?code>", "`", made.group(1)))
    rows = re.search(
        r"(\d+) attacks of each table, seeds ([\d, ]+)", (folder / "paper.html").read_text(encoding="utf-8")
    )
    assert rows is not None
    columns = ["in the paper", "claim", "the paper's method", "Counterpoise", "measured"]
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(line[name]) for name in columns) + " |" for line in claims.to_dict("records")]
    said = f"{how} Traffic tables: {rows.group(1)} rows of each, seeds {rows.group(2)}."
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    tail = rest.split(END)[1]
    PAGE.write_text("\n".join([head + BEGIN, "", said, "", *lines, "", END]) + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
