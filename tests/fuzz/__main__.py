"""Many draws, in children of their own, so that a crash or a hang costs one draw and is told with its seed.

make fuzz                    a few thousand draws
make fuzz DRAWS=20000        more
make fuzz SEED=123           the one draw of a seed, with all that it asked
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from fuzz.draw import Outcome, run_draw
from fuzz.known import known_reason


def main() -> None:
    """Read the arguments, run the draws, print the failures and a summary; exit code 1 if something new failed."""
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one seed alone")
    parser.add_argument("--workers", type=int, default=2)
    wanted = parser.parse_args()
    if wanted.seed is not None:
        outcome = run_draw(wanted.seed)
        _print_failure(outcome)
        sys.exit(bool(outcome.failures))
    started = time.monotonic()
    ends = [wanted.first + wanted.draws * part // wanted.workers for part in range(wanted.workers + 1)]
    tally: Counter[str] = Counter()
    with ThreadPoolExecutor(wanted.workers) as pool:
        for part in pool.map(_count_part, ends[:-1], ends[1:]):
            tally += part
    minutes = (time.monotonic() - started) / 60
    sys.stdout.write(f"{wanted.draws} draws in {minutes:.1f} min: {dict(sorted(tally.items()))}\n")
    sys.exit(bool(tally["failed"]))


def _count_part(first: int, last: int) -> Counter[str]:
    """Counts over the seeds of one worker; failures are printed as they come."""
    tally: Counter[str] = Counter()
    for outcome in _run_in_child(first, last):
        reason = known_reason(outcome) if outcome.failures else None
        tally["known" if reason else outcome.sort] += 1
        tally["answers called valid"] += outcome.claims
        if outcome.failures and not reason:
            _print_failure(outcome)
    return tally


def _run_in_child(first: int, last: int) -> Iterator[Outcome]:
    """The outcomes of seeds, in order; a child that dies is begun again after the seed it died at."""
    while first < last:
        command = [sys.executable, "-m", "fuzz.draw", str(first), str(last)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        at = first
        for line in child.stdout:
            word, _, rest = line.partition(" ")
            if word == "begin":
                at = int(rest)
            elif word == "end":
                seed, sort, failures, *more = json.loads(rest)
                yield Outcome(seed, sort, tuple(failures), *more)
                first = seed + 1
        if child.wait() != 0:
            yield Outcome(at, "failed", (f"crash or hang: the child ended with {child.returncode}",), 0, "", 0.0)
            first = at + 1


def _print_failure(outcome: Outcome) -> None:
    lines = [f"seed {outcome.seed}: {outcome.sort}  (again, alone: make fuzz SEED={outcome.seed})", *outcome.failures]
    sys.stdout.write("\n    ".join([*lines, outcome.said]) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
