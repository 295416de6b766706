"""One draw: make the question of a seed, ask it, judge the answer; and what became of it, on one line."""

from __future__ import annotations

import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import counterpoise as cp
from fuzz.cases import Case, draw_case
from fuzz.judge import find_failures
from fuzz.tables import LATEST

HANG_SECONDS = 60


class Outcome(NamedTuple):
    """What a draw came to: "answered", "refused" or "failed"; what failed; how many answers were called valid."""

    seed: int
    sort: str
    failures: tuple[str, ...]
    claims: int
    said: str  # the refusal, or the question where something failed
    seconds: float


class Hang(BaseException):
    """A draw took so long that it counts as a hang; no Exception, so that nothing on the way takes it for one."""


@contextmanager
def _limit_time(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Hang(f"no answer in {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_draw(seed: int, edition: int = LATEST) -> Outcome:
    """Draw, ask and judge the question of a seed in an edition."""
    started = time.process_time()
    sort, failures, claims, said = "answered", [], 0, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = draw_case(seed, edition)
        try:
            with _limit_time(HANG_SECONDS):
                try:
                    explanation = case.ask()
                except cp.CounterpoiseError as error:
                    sort, said = "refused", f"{type(error).__name__}: {error}"
                    failures = list(_unjust_refusal(case, error))
                else:
                    claims = int(explanation.valid.sum())
                    failures = list(find_failures(case, explanation))
        except Hang as hang:
            failures = [f"hang: {hang}: {_innermost(hang)}"]
        except Exception as error:
            failures = [f"traceback: {type(error).__name__}: {str(error)[:200]}: {_innermost(error)}"]
    if failures:
        sort, said = "failed", f"{said} {case.describe()}".strip()
    return Outcome(seed, sort, tuple(failures), claims, said, time.process_time() - started)


def _unjust_refusal(case: Case, error: cp.CounterpoiseError) -> Iterator[str]:
    """A model that answers about the reference and the rows was said to have failed."""
    says_nan = error.must == "the model must answer with finite numbers"  # some do, on numbers of an extreme scale
    if isinstance(error, cp.ModelError) and not says_nan and not case.subject.may_raise and case.subject.is_steady:
        yield f"model blamed: {error}: {error.__cause__!r}"[:400]


def _innermost(error: BaseException) -> str:
    """Where it happened: the last line of ours, and the last of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "counterpoise" in frame.filename and "site-packages" not in frame.filename]
    shown = [*ours[-1:], *frames[-1:]]
    return " <- ".join(
        f"{frame.filename.split('counterpoise/')[-1]}:{frame.lineno} {frame.name}" for frame in shown[::-1]
    )


def main() -> None:
    """Run draws FIRST to LAST (excluded), a line when one begins and a line when it has ended, as a parent reads it."""
    import faulthandler
    import json

    first, last = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, last):
        sys.stdout.write(f"begin {seed}\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(4 * HANG_SECONDS, exit=True)  # for hangs that no signal reaches
        sys.stdout.write(f"end {json.dumps(run_draw(seed))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
