"""A question at work: a thread of its own, which can be called off when nobody waits for it any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Condition, Event, Lock, Thread
from typing import Any

from counterpoise.cancellation import Cancelled, cancelled_by

Finish = Callable[[Any, BaseException | None], None]

KINDS = {
    "answer": "answer",
    "complete": "follow-up",
    "firm": "follow-up",
    "way": "picture",
    "plane": "picture",
    "ways": "picture",
}
CANCELLED_BY = {"answer": ("answer", "follow-up", "picture"), "follow-up": ("follow-up",), "picture": ("picture",)}
"""By kind of a question which kinds of the same page's earlier questions nobody waits for any more."""
RANKS = {"answer": 1, "follow-up": 2, "picture": 2, "ahead": 3}
"""Who gives way to whom, by kind: each to those of a lower rank; what a person waits for at once has rank 0."""


class Precedence:
    """Which questions are at work, so that those of a higher rank can stand back between their steps.

    longest_wait: seconds that one step stands back at most, so that a model that hangs holds nobody up for good.
    """

    def __init__(self, longest_wait: float = 0.1) -> None:
        self.longest_wait = longest_wait
        self._changed = Condition()
        self._at_work: Counter[int] = Counter()

    def begin(self, rank: int) -> None:
        """A question of this rank is at work from now on."""
        with self._changed:
            self._at_work[rank] += 1

    def end(self, rank: int) -> None:
        """A question of this rank is at work no more."""
        with self._changed:
            self._at_work[rank] -= 1
            self._changed.notify_all()

    def give_way(self, rank: int) -> None:
        """Return when no question of a lower rank is at work, or after the longest wait."""
        if self._has_lower(rank):
            with self._changed:
                self._changed.wait_for(lambda: not self._has_lower(rank), self.longest_wait)

    def _has_lower(self, rank: int) -> bool:
        return any(self._at_work[lower] for lower in range(rank))


class QuestionThread:
    """Runs ``work`` in a daemon thread and calls ``finish`` once: with its value, with what it raised, or `Cancelled`.

    Who cancels does not wait: the work ends at its next step. A model that hangs has no next step; its thread, being a
    daemon, does not keep the program open. Between its steps the work gives way to questions of a lower rank.
    """

    def __init__(self, work: Callable[[], Any], finish: Finish, precedence: Precedence, rank: int = 0) -> None:
        self._finish, self._lock = finish, Lock()
        self._precedence, self._rank = precedence, rank
        self._called_off, self._is_finished = Event(), False
        precedence.begin(rank)
        Thread(target=self._run, args=(work,), daemon=True, name="counterpoise-question").start()

    def cancel(self) -> None:
        """Call the work off; nothing where it has ended."""
        self._called_off.set()
        self._finish_once(None, Cancelled())

    def _run(self, work: Callable[[], Any]) -> None:
        value, error = None, None
        try:
            with cancelled_by(self._called_off, lambda: self._precedence.give_way(self._rank)):
                value = work()
        except BaseException as raised:  # everything goes back to whoever waits
            error = raised
        self._finish_once(value, error)

    def _finish_once(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            is_first, self._is_finished = not self._is_finished, True
        if is_first:
            self._precedence.end(self._rank)
            self._finish(value, error)
