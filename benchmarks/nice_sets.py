"""Two sets of NICE's own benchmark (Brughmans, Leyman, Martens 2023), measured here, beside its published numbers.

python benchmarks/nice_sets.py nice-benchmark.csv     after `benchmarks/run.py`

The file has a line ``sheet, dataset, method, value`` for each published number. Splits, models and the columns of adult
are not the published ones, so that published and measured numbers show the same order of size at best; ours, NICE and
DiCE as measured here have the same rows, models and metric code.
"""

from __future__ import annotations

import sys

import comparison
import pandas as pd
from comparison import paired_ratio, solved
from run import FULL
from task import Task
from tasks import NICE_TASKS, folder_of

PUBLISHED = {"valid": "Coverage", "l1": "L1(std)", "changes": "Sparsity"}
SHOWN = ("ours-plain", "ours-l1", "ours-l2", "ours-l0", "ours-blind-l1", "nice-", "dice-")


def main() -> None:
    published = pd.read_csv(sys.argv[1]) if len(sys.argv) > 1 else None
    lines = ["# Sets of NICE's own benchmark", "", (__doc__ or "").rsplit("\n\n", 1)[1].strip(), ""]
    for name in NICE_TASKS:
        if not (FULL.answers / name).is_dir():
            continue
        task = Task.read(folder_of(name))
        lines += page(comparison.gather(task, FULL.answers / name), published)
    (FULL.results / "nice_sets.md").write_text("\n".join(lines), encoding="utf-8")


def page(one: comparison.Comparison, published: pd.DataFrame | None) -> list[str]:
    """One task: what was measured here, and what was published of the set."""
    _, dataset, kind = one.task.name.split("-")
    lines = [f"## {one.task.title}", "", "| method | rows | coverage | L1 | changes | ours-l1 / its L1 |"]
    lines += ["|---|---:|---:|---:|---:|---|"]
    ours = solved(one.methods["ours-l1"], bounded=False)
    for name, method in one.methods.items():
        if not name.startswith(SHOWN) or not len(method.rows):
            continue
        good = solved(method, bounded=False)
        ratio, low, high = paired_ratio(ours["l1"], good["l1"])
        lines.append(
            f"| {name} | {len(method.rows)} | {len(good) / len(method.rows):.0%} | {good['l1'].mean():.3g} | "
            f"{good['changes'].mean():.2f} | {ratio:.2f} [{low:.2f}, {high:.2f}] |"
        )
    if published is None:
        return [*lines, ""]
    sheet = published["sheet"].str.removeprefix(f"{kind.upper()} ")
    part = published[(published["dataset"] == dataset) & published["sheet"].str.startswith(f"{kind.upper()} ")]
    wide = part.assign(sheet=sheet).pivot_table(index="method", columns="sheet", values="value")
    lines += ["", "| published | coverage (%) | L1(std) | changes |", "|---|---:|---:|---:|"]
    lines += [
        f"| {method} | " + " | ".join(f"{line[column]:.3g}" for column in PUBLISHED.values()) + " |"
        for method, line in wide.iterrows()
    ]
    return [*lines, ""]


if __name__ == "__main__":
    main()
