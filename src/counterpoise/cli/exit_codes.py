"""How a command ends: exit codes, what it prints when it is cut short, and a standard output kept for answers."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TextIO

import typer

from counterpoise.cli.options import say_in_options
from counterpoise.plain_text import escape_controls


class ExitCode(IntEnum):
    """How a command ended."""

    ALL_FOUND = 0  # or all holds
    NOT_ALL_FOUND = 1  # rows without an answer, or rejected; or something does not hold
    WRONG_QUESTION = 2
    STOPPED = 3  # early, by the budget, a full disk or a closed pipe; what was found so far is written
    HUNG_UP = 129  # by a signal, likewise
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_CODES_HELP = (
    "Exit codes: 0 all found, or all holds; 1 something was not found or was rejected, or does not hold; 2 the "
    "question was wrong; 3 ended early (budget, disk, pipe), what was found so far is written; 129, 130, 143 ended by "
    "SIGHUP, SIGINT, SIGTERM, likewise."
)


NO_ROWS = "no rows: nothing to explain"


def print_to_stderr(line: str) -> None:
    """Print a line on standard error, in words of options; signs that steer a terminal are written out."""
    print(escape_controls(say_in_options(line), keep="\n"), file=sys.stderr, flush=True)  # noqa: T201


class Signals:
    """SIGTERM, SIGHUP and SIGINT: the first ends the search and finished rows are written; the second ends the process.

    The first one is raised as a KeyboardInterrupt, and not before a part that is being written is on disk.
    """

    def __init__(self) -> None:
        self.first: int | None = None  # the number of the first signal that came
        self.is_held = False  # whether a part is being written
        self.waits = False  # whether a signal came meanwhile

    @property
    def exit_code(self) -> int:
        """The exit code of a command that a signal ended."""
        return 128 + (signal.SIGINT if self.first is None else self.first)

    @contextmanager
    def catch(self) -> Iterator[None]:
        """Take the signals over, as long as the block runs in the main thread."""
        self.first, self.is_held, self.waits = None, False, False
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {number: signal.getsignal(number) for number in wanted}
        for number in wanted:
            if before[number] is not signal.SIG_IGN:  # nohup has SIGHUP ignored, and means it
                signal.signal(number, self._receive)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let the block end before a signal is acted on."""
        if self.is_held:  # by a block around this one
            yield
            return
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
        if self.waits:
            self.waits = False
            raise KeyboardInterrupt

    def _receive(self, number: int, frame: object) -> None:
        if self.first is not None:
            os._exit(128 + number)
        self.first = number
        if self.is_held:
            self.waits = True
        else:
            raise KeyboardInterrupt


SIGNALS = Signals()


@contextmanager
def exit_when_cut_short() -> Iterator[None]:
    """End with a line and an exit code if the reader of the output closes it, or a signal ends the work."""
    try:
        with SIGNALS.catch():
            yield
        sys.stdout.flush()
    except BrokenPipeError:
        # what is left in the buffer must not be written at the exit to a pipe that nobody reads
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print_to_stderr("counterpoise: the reader of the output went away; stopped")
        raise typer.Exit(ExitCode.STOPPED) from None
    except KeyboardInterrupt:
        print_to_stderr("counterpoise: interrupted before anything was finished")
        raise typer.Exit(SIGNALS.exit_code) from None


@contextmanager
def reserve_stdout() -> Iterator[TextIO]:
    """Keep standard output for the answers: whatever the model or a library prints goes to standard error."""
    try:
        out, other = sys.stdout.fileno(), sys.stderr.fileno()
    except (AttributeError, OSError):  # not a file: somebody has put something else in its place
        yield sys.stdout
        return
    sys.stdout.flush()
    kept = os.dup(out)
    os.dup2(other, out)
    stream = os.fdopen(kept, "w", encoding="utf-8", closefd=False)
    try:
        yield stream
    finally:
        stream.close()
        sys.stdout.flush()
        os.dup2(kept, out)
        os.close(kept)
