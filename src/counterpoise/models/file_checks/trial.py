"""A file opened in another process first, where a library ends its process over files that are damaged."""

from __future__ import annotations

import os
import subprocess
import sys

from counterpoise.models.file_checks.limits import DEFAULT_LIMITS, FileLimits

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
