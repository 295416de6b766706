"""Counterpoise beside its peers: same rows, same model files, same measures, one thread each.

python benchmarks/run.py                     every task, every method; tables in benchmarks/results
python benchmarks/run.py --quick             a few rows of a few tasks
python benchmarks/run.py --only ours         measure ours again, keep what is known of the peers
python benchmarks/run.py --only              measure nothing, write the tables of what is known
python benchmarks/run.py --tasks mlp adult   these tasks alone
python benchmarks/run.py --rows 50 --seconds 100 --jobs 2   more rows, a longer limit, two processes at once

More rows make intervals narrower and change nothing else: what is measured is said with the rows it was measured on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import comparison
import ours
import ratios
import tables
import targets
from environments import ONE_THREAD, PEERS, NotMade, Peer, python_of
from task import CACHE, Task
from tasks import NICE_TASKS, TASKS, Skipped, folder_of

HERE = Path(__file__).parent
QUICK_TASKS = ("logistic", "provable", "mlp", "adult")
MORE = {"mlp": (100,)}  # further sizes of batches
STUDIES = ("growth", "seeds")  # of ours alone
NICE_PEERS = ("nice", "dice")  # asked on the sets of NICE's own benchmark
WALL_SECONDS, WALL_FACTOR = 300, 20  # limits are of CPU time; by the wall clock only what hangs is stopped


@dataclass(frozen=True)
class Effort:
    """How much is measured: rows one by one, sizes of batches, seconds for each setting of each method."""

    rows: int
    batches: tuple[int, ...]
    limit: float
    answers: Path
    results: Path


Run = tuple[str, str, str, tuple[str, ...]]  # module, python, task, settings

FULL = Effort(20, (50,), 10.0, CACHE / "answers", HERE / "results")
QUICK = Effort(3, (50,), 2.0, CACHE / "quick", HERE / "results" / "quick")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few rows of a few tasks, a few seconds a method")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), help="these tasks alone")
    methods = ["ours", *(peer.name for peer in PEERS), *STUDIES]
    parser.add_argument("--only", nargs="*", choices=methods, help="measure these alone, and take the rest as it is")
    parser.add_argument("--rows", type=int, help="rows of each task that are asked one by one (20; at most 100)")
    parser.add_argument("--seconds", type=float, help="CPU seconds for the rows of each setting of each method (10)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once, one thread each; no more than cores")
    parser.add_argument("--results", type=Path, help="folder of the tables (benchmarks/results)")
    asked = parser.parse_args()
    effort = QUICK if asked.quick else FULL
    effort = replace(
        effort,
        rows=asked.rows or effort.rows,
        limit=asked.seconds or effort.limit,
        results=asked.results or effort.results,
    )
    names = asked.tasks or (QUICK_TASKS if asked.quick else tuple(TASKS))
    wanted = set(methods if asked.only is None else asked.only)
    warnings.simplefilter("ignore")
    skipped, ready = prepare(names)
    runs: list[Run] = []
    if "ours" in wanted:
        runs += [("ours", sys.executable, name, tuple(ours.settings_of(name))) for name in ready]
    for peer in PEERS:
        if peer.name in wanted:
            mine = [name for name in ready if name not in NICE_TASKS or peer.name in NICE_PEERS]
            runs += runs_of(peer, mine, effort, quick=asked.quick)
    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(lambda one: run(*one, effort), runs))
    for study in STUDIES:
        if study in wanted and not asked.tasks:
            execute(
                study, [sys.executable, "-m", study, str(effort.answers), *(["--quick"] if asked.quick else [])], 1200
            )
    write(skipped, [Task.read(folder_of(name)) for name in TASKS if (effort.answers / name).is_dir()], effort)


def prepare(names: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """The tasks that can be made here, and why the others cannot."""
    skipped, ready = {}, []
    for name in names:
        try:
            folder_of(name)
            ready.append(name)
        except Skipped as reason:
            skipped[name] = str(reason)
            say(f"{name}: left out: {reason}")
    return skipped, ready


def runs_of(peer: Peer, names: list[str], effort: Effort, quick: bool) -> list[Run]:
    """One peer on every task it can do; an environment that cannot be made is the reason for all of them."""
    asked = {name: settings for name in names if (settings := peer.settings_for(name, quick))}
    try:
        python = python_of(peer)
    except NotMade as reason:
        say(f"{peer.name}: {reason}")
        for name, settings in asked.items():
            refuse(effort.answers / name, settings, str(reason))
        return []
    return [(f"peers.{peer.name}", str(python), name, settings) for name, settings in asked.items()]


def run(module: str, python: str, name: str, settings: tuple[str, ...], effort: Effort) -> None:
    """One method on one task, in a process of its own; what it had not finished in time is marked so."""
    out = effort.answers / name
    for setting in settings:
        for ending in ("csv", "json"):
            (out / f"{setting}.{ending}").unlink(missing_ok=True)
    command = [python, "-m", module, str(folder_of(name)), str(out), *settings]
    command += [
        "--rows",
        str(effort.rows),
        "--limit",
        str(effort.limit),
        "--batches",
        *map(str, (*effort.batches, *MORE.get(name, ()))),
    ]
    reason = execute(f"{name}: {module}", command, WALL_SECONDS + WALL_FACTOR * effort.limit * len(settings))
    refuse(out, tuple(setting for setting in settings if not (out / f"{setting}.json").exists()), reason)


def execute(what: str, command: list[str], seconds: float) -> str:
    """Run it on one thread; why it failed, or nothing."""
    started = time.perf_counter()
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command,
            cwd=HERE,
            env=surroundings | ONE_THREAD | {"TQDM_DISABLE": "1"},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        reason = (
            "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ended without a word"])[-1][:200]
        )
    except subprocess.TimeoutExpired:
        reason = f"stopped after {seconds:.0f} s"
    say(f"{what}: {time.perf_counter() - started:.0f} s{', ' + reason if reason else ''}")
    return reason


def refuse(out: Path, settings: tuple[str, ...], reason: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for setting in settings:
        (out / f"{setting}.json").write_text(json.dumps({"reason": reason or "it left no answers"}))


def write(skipped: dict[str, str], tasks: list[Task], effort: Effort) -> None:
    """Tables, figures, the file of numbers, and what was asked of the engine beside what was measured."""
    effort.results.mkdir(parents=True, exist_ok=True)
    measured = [comparison.gather(task, effort.answers / task.name) for task in tasks]
    tables.write(measured, skipped, effort.results)
    ratios.write(measured, effort.results)
    targets.write(measured, effort.answers, effort.results)
    say(f"written to {effort.results}")


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    main()
