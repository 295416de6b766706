"""The limits of all checks of files; a file opened in another process first, should a library end its process."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class FileLimits:
    """Sizes that no fitted model reaches; a file that says more is refused unread."""

    classes: int = 100_000
    """Classes, targets, and trees in a round."""
    features: int = 10_000_000
    """Features of a booster."""
    parts: int = 1_000_000
    """Lists and objects of a JSON text; a longer one may have one for every 25 characters."""
    levels: int = 64
    """Lists and objects inside one another."""
    tree_depth: int = 10_000
    """Nodes on the way from the root of a tree to a leaf."""
    pickle_bytes: int = 16 * 2**20
    """The list of tensors in a file of PyTorch."""
    trial_seconds: float = 120.0
    """A trial in another process, most of which would go into importing the library."""


DEFAULT_LIMITS = FileLimits()


OPENED = "opened"
LIMITED = """
import sys
data = sys.stdin.buffer.read()
try:
    import resource
    with open("/proc/self/statm") as used:
        memory = int(used.read().split()[0]) * resource.getpagesize() + max(2**30, 20 * len(data))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime) + 10
    for name, most in (("RLIMIT_AS", memory), ("RLIMIT_CPU", seconds), ("RLIMIT_CORE", 0)):
        resource.setrlimit(getattr(resource, name), (most, most))
except (ImportError, OSError):  # not every system has these limits
    pass
"""


def try_apart(imports: str, code: str, data: bytes, limits: FileLimits = DEFAULT_LIMITS) -> None:
    """Run code over ``data`` in a process of its own, with limits on what it takes; a ValueError if that does not end.

    >>> try_apart("import math", "assert math.sqrt(len(data)) == 2", b"four")
    >>> try_apart("import os", "os.abort()", b"")
    Traceback (most recent call last):
    ValueError: the process that tried to open it ended with ...
    """
    script = f"{imports}\n{LIMITED}\n{code}\nprint({OPENED!r})"
    path = os.pathsep.join(place for place in sys.path if place)
    try:
        run = subprocess.run(
            [sys.executable, "-P", "-c", script],
            input=data,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            timeout=limits.trial_seconds,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"it could not be opened in a process of its own: {error}") from None
    if run.stdout.split()[-1:] != [OPENED.encode()]:
        last_line = run.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise ValueError(f"the process that tried to open it ended with {run.returncode}: {''.join(last_line)[:200]}")
