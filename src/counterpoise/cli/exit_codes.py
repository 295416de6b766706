"""How a command ends: exit codes, what it prints when it is cut short, and a standard output kept for answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TextIO

import typer

from counterpoise.plain_text import escape_controls


class ExitCode(IntEnum):
    """How a command ended."""

    ALL_FOUND = 0  # or all holds
    NOT_ALL_FOUND = 1  # or something does not hold
    WRONG_QUESTION = 2
    STOPPED = 3  # half-way; the rows finished so far are written
    INTERRUPTED = 130  # likewise


EXIT_CODES_HELP = (
    "Exit codes: 0 all found, or all holds; 1 something was not found, or does not hold; 2 the question was wrong; "
    "3 stopped half-way, the rows finished so far are written; 130 interrupted, likewise."
)


def print_to_stderr(line: str) -> None:
    """Print a line on standard error; signs that steer a terminal are written out."""
    print(escape_controls(line, keep="\n"), file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def exit_when_cut_short() -> Iterator[None]:
    """End with a line and an exit code if the reader of the output closes it, or the user interrupts."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # what is left in the buffer must not be written at the exit to a pipe that nobody reads
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print_to_stderr("counterpoise: the reader of the output went away; stopped")
        raise typer.Exit(ExitCode.STOPPED) from None
    except KeyboardInterrupt:
        print_to_stderr("counterpoise: interrupted before anything was finished")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


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
    try:
        with open(kept, "w", encoding="utf-8", closefd=False) as stream:
            yield stream
    finally:
        sys.stdout.flush()
        os.dup2(kept, out)
        os.close(kept)
