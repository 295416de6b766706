"""``python -m counterpoise.paper --quick --out DIR``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from counterpoise.errors import CounterpoiseError
from counterpoise.paper.build import write


def main() -> int:
    """Write the page, with a bar on standard error and its path on standard output."""
    words = argparse.ArgumentParser("counterpoise.paper", description="Make every figure and table of the paper.")
    words.add_argument("--out", default="paper", help="the folder to write to (paper)")
    words.add_argument("--quick", action="store_true", help="measure less: a minute or two, not most of an hour")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--rows", type=int, help="rows of each traffic table that are compared (50; quick: 4)")
    given = words.parse_args()
    try:
        Path(given.out).mkdir(parents=True, exist_ok=True)
        problem = "" if os.access(given.out, os.W_OK) else "it may not be written"
    except OSError as error:
        problem = "it is a file" if Path(given.out).is_file() else error.strerror or str(error)
    if problem:
        must = "--out must name a folder that can be written"
        sys.stderr.write(f"counterpoise: {must}; {given.out!r}: {problem}; choose another place\n")
        return 2
    columns = (TextColumn("{task.description:22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("starting", total=None)
            page = write(
                given.out,
                given.quick,
                lambda done, total, name: bar.update(task, completed=done, total=total, description=name),
                given.seed,
                given.rows,
            )
    except CounterpoiseError as error:
        sys.stderr.write(f"counterpoise: {error}\n")
        return 2
    sys.stdout.write(f"{page}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
