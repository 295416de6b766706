"""What all runners share: the counted model, the clock, and the files of answers."""

from __future__ import annotations

import argparse
import csv
import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from task import Task

NOTHING = "no answer"
TRIAL = 4  # rows that show how long a batch would take
PATIENCE = 2  # with batches, in limits
PASSES, SOON = 3, 2.0  # over the rows, where one takes less than so many seconds of CPU time
LONG_ENOUGH, MOST_ROUNDS = 0.2, 100  # seconds of CPU time that a pass takes, by going round that often: clocks tick


class Counted:
    """A task's probabilities, counting the rows that are asked for."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.rows = 0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        self.rows += len(x)
        return self.task.probabilities(x)


class Method(NamedTuple):
    """``one(row)`` gives an answer ``(d,)`` or None; ``many(rows)``, if it batches, ``(n, d)`` with NaN for none."""

    one: Callable[[np.ndarray], np.ndarray | None]
    many: Callable[[np.ndarray], np.ndarray] | None = None


Made = Callable[[Task, Counted], Method]


class Clock:
    """Wall and CPU seconds of a block."""

    def __enter__(self) -> Clock:
        self._begun = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._begun[0]
        self.cpu = time.process_time() - self._begun[1]


def serve(settings: Mapping[str, Made], version: str) -> None:
    """Answer the command line: each named setting explains the task's rows within the limit of seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("settings", nargs="+", choices=list(settings))
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--batches", type=int, nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=120.0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    task = Task.read(asked.folder)
    for name in asked.settings:
        measure(task, name, settings[name], version, asked)


def measure(task: Task, name: str, make: Made, version: str, asked: argparse.Namespace) -> None:
    """Construct, warm up on one further row, explain row by row, then in batches where the method has them."""
    asked.out.mkdir(parents=True, exist_ok=True)
    said: dict[str, object] = {"version": version, "rows": asked.rows, "reason": ""}
    counted = Counted(task)
    try:
        with Clock() as clock:
            method = make(task, counted)
        said |= {"construct_wall": clock.wall, "construct_cpu": clock.cpu, "construct_rows": counted.rows}
        with Clock() as clock:
            ask(method, task.warm[0], asked.limit)
        said |= {"first_wall": clock.wall, "first_cpu": clock.cpu}
        one_by_one(task, method, counted, asked.out / f"{name}.csv", asked)
    except Exception as error:
        said["reason"] = reason_of(error)
    try:
        said["batches"] = {} if said["reason"] else in_batches(task, method, counted, asked)
    except Exception as error:
        said["batch_reason"] = reason_of(error)
    (asked.out / f"{name}.json").write_text(json.dumps(said, indent=1))


def one_by_one(task: Task, method: Method, counted: Counted, path: Path, asked: argparse.Namespace) -> None:
    """A line a row, flushed: what is done survives a run that is stopped.

    Where all rows together take seconds alone, they are gone through `PASSES` times, and the quickest pass counts: what
    else the machine does should not decide. A clock of CPU time may tick every few milliseconds, which some rows do not
    take: so a pass goes round until it is long enough, and its CPU time is shared out by the rows' wall times.
    """
    started = time.process_time()  # the limit is of CPU time: a busy machine costs no rows
    lines: list[list[Any]] = []
    head = ["row", "wall", "cpu", "model_rows", "reason", *task.names]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for row in range(asked.rows):
            if time.process_time() - started > asked.limit:
                break
            before = counted.rows
            clock, answer, reason = timed(method, task.rows[row], asked.limit)
            cells = [np.nan] * len(task.names) if answer is None else np.asarray(answer, dtype=np.float64).tolist()
            lines.append([row, clock.wall, clock.cpu, counted.rows - before, reason, *map(repr, cells)])
            writer.writerow(lines[-1])
            file.flush()
    if time.process_time() - started > SOON:
        return
    rows = task.rows[: len(lines)]
    walls, cpu = min((long_pass(method, rows, asked.limit) for _ in range(PASSES)), key=lambda one: one[1])
    for line, wall in zip(lines, walls, strict=True):
        line[1:3] = wall, cpu * wall / max(sum(walls), 1e-12)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *lines])


def long_pass(method: Method, rows: np.ndarray, limit: float) -> tuple[list[float], float]:
    """Mean wall seconds of each row, and CPU seconds of one round, over as many rounds as the clock needs."""
    walls, rounds, began = np.zeros(len(rows)), 0, time.process_time()
    while rounds < 1 or (time.process_time() - began < LONG_ENOUGH and rounds < MOST_ROUNDS):
        walls += [timed(method, row, limit)[0].wall for row in rows]
        rounds += 1
    return (walls / rounds).tolist(), (time.process_time() - began) / rounds


def timed(method: Method, row: np.ndarray, limit: float) -> tuple[Clock, np.ndarray | None, str]:
    """One row explained: how long it took, the answer or None, and why there is none."""
    with Clock() as clock:
        answer, reason = ask(method, row, limit)
    return clock, answer, reason


def in_batches(task: Task, method: Method, counted: Counted, asked: argparse.Namespace) -> dict[str, object]:
    """Seconds a row, and the answers, for each size of batch; not those that would overrun the limit."""
    found: dict[str, object] = {}
    if method.many is None:
        return found
    with watched(asked.limit), Clock() as clock:
        method.many(task.rows[:TRIAL].copy())
    for size in asked.batches:
        if clock.cpu / TRIAL * size > PATIENCE * asked.limit:
            break
        rows, before = task.rows[:size].copy(), counted.rows
        with watched(2 * PATIENCE * asked.limit), Clock() as spent:
            answers = method.many(rows)
        found[str(size)] = {
            "wall": spent.wall / len(rows),
            "cpu": spent.cpu / len(rows),
            "model_rows": (counted.rows - before) / len(rows),
            "answers": np.asarray(answers, dtype=np.float64).tolist(),
        }
    return found


def ask(method: Method, row: np.ndarray, limit: float) -> tuple[np.ndarray | None, str]:
    try:
        with watched(limit):
            answer = method.one(row.copy())
    except Exception as error:  # a peer's failure is a result, not ours to mend
        return None, reason_of(error)
    return answer, "" if answer is not None else NOTHING


@contextmanager
def watched(seconds: float) -> Iterator[None]:
    """Stop what takes more CPU time; where the platform has no such clock, the whole run is stopped from outside."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"stopped after {seconds:.0f} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def reason_of(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
