"""How a command ends: its exit codes, the line it says when it is cut short, and an output that is nobody else's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

EXIT_ALL_FOUND, EXIT_NOT_ALL_FOUND, EXIT_WRONG_QUESTION, EXIT_STOPPED, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES_HELP = (
    "Exit codes: 0 all found, or all holds; 1 something was not found, or does not hold; 2 the question was wrong; "
    "3 stopped half-way, the rows finished so far are written; 130 interrupted, likewise."
)


def print_to_stderr(line: str) -> None:
    """A line on standard error."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def exit_when_cut_short() -> Iterator[None]:
    """Where the reader of the output goes away, or the user does, end with a line and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # what is left in the buffer must not be written at the exit to a pipe that nobody reads
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print_to_stderr("counterpoise: the reader of the output went away; stopped")
        raise typer.Exit(EXIT_STOPPED) from None
    except KeyboardInterrupt:
        print_to_stderr("counterpoise: interrupted before anything was finished")
        raise typer.Exit(EXIT_INTERRUPTED) from None


@contextmanager
def reserve_stdout() -> Iterator[TextIO]:
    """Standard output for answers alone: what the model or a library prints meanwhile goes to standard error."""
    try:
        out, other = sys.stdout.fileno(), sys.stderr.fileno()
    except (AttributeError, OSError):  # not a file: somebody has put something else in its place
        yield sys.stdout
        return
    sys.stdout.flush()
    kept = os.dup(out)
    os.dup2(other, out)
    try:
        with open(kept, "w", encoding="utf-8", closefd=False) as stream:
            yield stream
    finally:
        sys.stdout.flush()
        os.dup2(kept, out)
        os.close(kept)
