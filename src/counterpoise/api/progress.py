"""Progress of a call: a bar on a terminal, the user's own function, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from counterpoise.errors import InputError
from counterpoise.types import ProgressCallback

ProgressSetting = ProgressCallback | Literal[True, False] | None


@contextmanager
def show_progress(wanted: ProgressSetting, rows: int, min_rows: int = 8) -> Iterator[ProgressCallback]:
    """A function to call with (rows done, rows in all).

    ``wanted`` True shows a bar, False does not, None shows one where standard error is a terminal and there are at
    least ``min_rows`` rows, with fewer of which it would only flicker; a function is called itself.
    """
    if callable(wanted):
        yield wanted
        return
    if wanted not in (None, True, False):
        raise InputError("progress must be None, True, False or a function", f"{wanted!r}", "leave it at None")
    if wanted is False or (wanted is None and (rows < min_rows or not sys.stderr.isatty())):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("explaining"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=rows)
        yield lambda done, total: bar.update(task, completed=done, total=total)
