"""The README's comparison, from the measurements: run it after `benchmarks/run.py`.

One line a task. Each peer is shown in the variant of it with the least L2 distance; of variants within one per cent of
that, the quickest.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TASKS = ("logistic", "forest", "mlp", "unsw_nb15", "rt_iot2022", "adult")
METHODS = {
    "Counterpoise": ("ours-l2",),
    "NICE": ("nice-proximity", "nice-proximity-std", "nice-sparsity", "nice-sparsity-std"),
    "DiCE": ("dice-genetic", "dice-random"),
    "HopSkipJump": ("hopskipjump", "hopskipjump-nearest"),
    "DDN": ("ddn-100", "ddn-1000"),
}
BEGIN, END = "<!-- from benchmarks/summary.py -->", "<!-- end -->"
Line = dict[str, str]


def read(task: str) -> tuple[str, dict[str, Line]]:
    """The title of a task and the first table of its page, by method."""
    lines = (RESULTS / f"{task}.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| method"))
    names = cells(lines[start])
    found = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        values = cells(line)
        found[values[0].strip("`")] = dict(zip(names, values, strict=True))
    return lines[0].removeprefix("# "), found


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(text: str) -> float:
    """A number as the tables write it, infinity where there is none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("inf")


def choose(lines: dict[str, Line], variants: tuple[str, ...]) -> Line | None:
    """The variant to show."""
    there = [lines[name] for name in variants if name in lines and number(lines[name]["L2"]) < float("inf")]
    if not there:
        return None
    least = min(number(line["L2"]) for line in there)
    close = [line for line in there if number(line["L2"]) <= 1.01 * least]
    return min(close, key=lambda line: number(line["ms, batch of 50"]))


def tell(line: Line | None) -> str:
    """ "2.25 · 24.1 (1.85)", and what must be said beside it."""
    if line is None:
        return "–"
    alone, batch = line["ms, one row"], line["ms, batch of 50"]
    said = f"{line['L2']} · {alone}" + (f" ({batch})" if batch != alone else "")
    notes = [f"{line['rows']} rows"] if line["rows"] != "50" else []
    valid = line["valid"].split(",")
    notes += [f"{valid[0]} valid"] if valid[0] != "100 %" else []
    notes += [valid[1].strip()] if len(valid) > 1 and valid[1].strip() != "100 % legal" else []
    notes += [f"{line['in range']} in range"] if line["in range"] != "100 %" else []
    return said + (f"; {', '.join(notes)}" if notes else "")


def table() -> str:
    """The table of all tasks."""
    out = [f"| | {' | '.join(METHODS)} |", f"|---|{'---|' * len(METHODS)}"]
    for task in TASKS:
        title, lines = read(task)
        told = [tell(choose(lines, variants)) for variants in METHODS.values()]
        out.append(f"| [{title}](benchmarks/results/{task}.md) | {' | '.join(told)} |")
    return "\n".join(out)


def main() -> None:
    """Write the table into the README, between its marks."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    path.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
