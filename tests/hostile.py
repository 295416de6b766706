"""Opens hostile files one by one in a process of its own, with little memory and time, and tells what came of it.

Run as a script it reads questions from the file of its first argument (each the name of an opener and its arguments)
and writes one outcome for each to that of its second. Whoever imports it calls `outcomes`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

MEMORY_BYTES = 2**30
SECONDS = 10
FORBIDDEN = (
    *("exec", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.remove", "os.rename", "os.mkdir"),
    *("subprocess.Popen", "pty.spawn", "socket.connect", "socket.getaddrinfo", "ctypes.dlopen", "pickle.find_class"),
)


def outcomes(
    questions: Sequence[Sequence[Any]], folder: Path, honest: Sequence[Sequence[Any]] = ()
) -> list[dict[str, Any]]:
    """For each question: ``error`` (its class, or None), ``message``, ``events`` (what it must not do), ``signal``.

    Honest files are opened first, without limits: what they import is then there, and no limit meets an import.
    """
    if sys.platform != "linux":
        pytest.skip("limits of memory and time are set as Linux sets them")
    asked, answered = folder / "questions.json", folder / "outcomes.json"
    texts = [[[str(part) for part in question] for question in each] for each in (questions, honest)]
    asked.write_text(json.dumps(texts), encoding="utf-8")
    path = os.pathsep.join(place for place in sys.path if place)
    run = subprocess.run(
        [sys.executable, __file__, str(asked), str(answered)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        errors="replace",  # libraries print bytes of the files that they refuse
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    found: list[dict[str, Any]] = json.loads(answered.read_text(encoding="utf-8"))
    return found


def is_refused(outcome: dict[str, Any]) -> bool:
    """Whether a file ended in an error of ours, within its limits, and without doing what it must not do."""
    within = not outcome["signal"] and "MemoryError" not in outcome["message"]
    return outcome["error"] == "InputError" and not outcome["events"] and within


def _model(path: str) -> Any:
    from counterpoise.models.files import load

    return load(path)


def _models(*paths: str) -> None:
    from counterpoise.errors import InputError

    for path in paths:
        with contextlib.suppress(InputError):
            _model(path)


def _torch(path: str) -> Any:
    from counterpoise.models.files import load

    return load(path, factory="hostile:make_network")


def make_network() -> Any:
    """What the state_dicts of the tests belong to."""
    import torch

    return torch.nn.Linear(3, 2)


def _schema(path: str) -> Any:
    from counterpoise.space.yaml.load_save import load_schema

    return load_schema(path)


def _table(path: str) -> Any:
    from counterpoise.cli.table_files import read_table

    return read_table(path, "--rows")


def _explanation(path: str) -> Any:
    from counterpoise.explanation.explanation import Explanation

    return Explanation.load(path)


def _mapping(path: str) -> Any:
    from counterpoise.security.logs.mapping import load_mapping

    return load_mapping(path)


def _attacks(path: str) -> Any:
    from counterpoise.security.findings.writers import load_attacks

    return load_attacks(path)


OPENERS = {
    "mapping": _mapping,
    "attacks": _attacks,
    "model": _model,
    "models": _models,
    "torch": _torch,
    "schema": _schema,
    "table": _table,
    "explanation": _explanation,
}


def _limit() -> None:
    """From here on: so much memory beyond what is in use, and so much time of the processor."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime) + SECONDS + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _is_forbidden(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an event is one that no opened file may cause; an import runs the code of a file that is there."""
    is_import = event == "exec" and Path(getattr(arguments[0], "co_filename", "")).is_file()
    return event in FORBIDDEN and not is_import


def _answer(question: list[str]) -> dict[str, Any]:
    events: list[str] = []
    sys.addaudithook(lambda event, arguments: events.append(event) if _is_forbidden(event, arguments) else None)
    _limit()
    try:
        OPENERS[question[0]](*question[1:])
        error, message = None, ""
    except BaseException as raised:
        error, message = type(raised).__name__, str(raised)
    return {"error": error, "message": message[:2000], "events": events, "signal": 0}


def _apart(question: list[str]) -> dict[str, Any]:
    """The answer of a child process, which may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(_answer(question)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if not text:
        return {"error": None, "message": "", "events": [], "signal": os.waitstatus_to_exitcode(status)}
    found: dict[str, Any] = json.loads(text)
    return found


def _main(asked: str, answered: str) -> None:
    questions, honest = json.loads(Path(asked).read_text(encoding="utf-8"))
    for question in honest:
        OPENERS[question[0]](*question[1:])
    Path(answered).write_text(json.dumps([_apart(question) for question in questions]), encoding="utf-8")


if __name__ == "__main__":
    _main(*sys.argv[1:])
