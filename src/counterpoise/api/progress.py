"""Progress of a call: a bar on a terminal or in a notebook, the user's own function, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from counterpoise.errors import InputError
from counterpoise.types import ProgressCallback

ProgressSetting = ProgressCallback | Literal[True, False] | None


@contextmanager
def show_progress(
    wanted: ProgressSetting, rows: int, *, min_rows: int = 8, notebook_seconds: float = 2.0
) -> Iterator[ProgressCallback]:
    """A function to call with (rows done, rows in all).

    ``wanted`` True shows a bar, False does not; a function is called itself. None shows one where standard error is a
    terminal and there are at least ``min_rows`` rows: with fewer it would only flicker. In a notebook a bar appears
    once a call has taken ``notebook_seconds``.
    """
    if callable(wanted):
        yield wanted
        return
    if wanted not in (None, True, False):
        raise InputError("progress must be None, True, False or a function", f"{wanted!r}", "leave it at None")
    in_notebook = wanted is None and is_in_notebook()
    if wanted is False or (wanted is None and not in_notebook and (rows < min_rows or not sys.stderr.isatty())):
        yield lambda done, total: None
        return
    bar = _Bar(rows, time.monotonic() + (notebook_seconds if in_notebook else 0.0), in_notebook=in_notebook)
    try:
        yield bar.tell
    finally:
        bar.close()


def is_in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook; nothing is imported to find out."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return type(found).__name__ == "ZMQInteractiveShell"


class _Bar:
    """A bar of rich that is drawn from a moment on."""

    def __init__(self, rows: int, first_drawn: float, *, in_notebook: bool) -> None:
        self.rows, self.first_drawn, self.in_notebook = rows, first_drawn, in_notebook
        self.progress: Any = None
        self.task: Any = None

    def tell(self, done: int, total: int) -> None:
        """Show how many rows are done."""
        if self.progress is None:
            if time.monotonic() < self.first_drawn:
                return
            self._open()
        self.progress.update(self.task, completed=done, total=total)

    def close(self) -> None:
        """Take the bar away."""
        if self.progress is not None:
            self.progress.stop()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("explaining"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console() if self.in_notebook else Console(stderr=True)
        self.progress = Progress(*columns, console=console, transient=True)
        self.task = self.progress.add_task("rows", total=self.rows)
        self.progress.start()
