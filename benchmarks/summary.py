"""README's comparison, and the list of lost cells, from results/ratios.csv: run it after `benchmarks/run.py`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
LOSSES = ROOT / "docs" / "understand" / "where-it-loses.md"
BEGIN, END = "<!-- from benchmarks/summary.py -->", "<!-- end -->"
WHITE, BLIND, PLAIN = "the model as it is", "the same model as a callable", "the plain call"
SECTIONS = {"l2": "distance", "changes": "features changed", "cpu": "time"}
HEAD = "| ours ÷ the best peer's | distance | features changed | time, the model as it is | time, as a callable |"
NUMBERS = (
    *("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen"),
)
NOT_MEASURED = "*Not measured yet: `make bench` writes this table.*"


def read() -> pd.DataFrame:
    """What `benchmarks/run.py` wrote, without NICE's own sets, which have a page of their own."""
    path = RESULTS / "ratios.csv"
    if not path.exists():
        return pd.DataFrame()
    table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return table[~table["task"].str.startswith("nice-")]


def table() -> str:
    """One line a task, three numbers each with its interval; what is lost is set in bold."""
    measured = read()
    if not len(measured):
        return NOT_MEASURED
    lines = [HEAD, "|---|---|---|---|---|"]
    for (name, title), part in measured.groupby(["task", "title"], sort=False):
        cells = {(line["way"], line["column"]): line for line in part.to_dict("records")}
        columns = ((WHITE, "l2"), (WHITE, "changes"), (WHITE, "cpu"), (BLIND, "cpu"))
        ratios = " | ".join(ratio(cells.get(column)) for column in columns)
        lines.append(f"| [{title}](benchmarks/results/{name}.md) | {ratios} |")
    return "\n".join(lines)


def ratio(cell: dict[str, object] | None) -> str:
    """ "0.71 [0.62, 0.80]", in bold where ours loses."""
    if cell is None or not isinstance(cell["word"], str):
        return "no peer"
    return f"**{interval(cell)}**" if cell["word"] == "loses" else interval(cell)


def interval(cell: dict[str, object]) -> str:
    """ "0.71 [0.62, 0.80]"."""
    ratio, low, high = (number(float(str(cell[name]))) for name in ("ratio", "low", "high"))
    return f"{ratio} [{low}, {high}]"


def number(value: float) -> str:
    """Two digits that tell: 0.014, 0.67, 1.02, 47; no end where some peers' times are below what the clock shows."""
    if value != value:
        return "∞"
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def nearness() -> str:
    """README's sentence on distance: on how many tasks ours is nearer than the best peer, as near, or farther."""
    measured = read()
    words = measured.loc[(measured["way"] == WHITE) & (measured["column"] == "l2"), "word"]
    counts = {name: NUMBERS[int((words == word).sum())] for word, name in (("wins", "nearer"), ("tie", "as near"))}
    farther = int((words == "loses").sum())
    rest = f", and as near on {counts['as near']}" if not farther else f", as near on {counts['as near']}"
    rest += f" and farther on {NUMBERS[farther]}" if farther else ""
    return f"On {NUMBERS[len(words)]} tasks its answers are nearer than the best peer's on {counts['nearer']}{rest}"


def losses() -> str:
    """Every cell that ours loses, in whatever way it was asked."""
    measured = read()
    if not len(measured):
        return NOT_MEASURED
    lost = measured[measured["word"] == "loses"]
    if not len(lost):
        return "Lost cells: none."
    lines = ["| task | asked with | what | ours ÷ the peer's | peer |", "|---|---|---|---|---|"]
    lines += [
        f"| {line['title']} | {line['way']} | {SECTIONS[str(line['column'])]} | {interval(line)} | {line['peer']} |"
        for line in lost.to_dict("records")
    ]
    return "\n".join(lines)


def put(path: Path, text: str) -> None:
    """Write the text into the page, between its marks."""
    head, rest = path.read_text(encoding="utf-8").split(BEGIN)
    tail = rest.split(END)[1]
    path.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


def main() -> None:
    """README's table, and the lost cells of the page that says where Counterpoise loses; what README has to say."""
    put(ROOT / "README.md", table())
    put(LOSSES, losses())
    print(f"README has to say: {nearness()}.")


if __name__ == "__main__":
    main()
