"""A question at work: a thread of its own, which can be called off when nobody waits for it any more."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
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


class QuestionThread:
    """Runs ``work`` in a daemon thread and calls ``finish`` once: with its value, with what it raised, or `Cancelled`.

    Who cancels does not wait: the work ends at its next step. A model that hangs has no next step; its thread, being a
    daemon, does not keep the program open.
    """

    def __init__(self, work: Callable[[], Any], finish: Finish) -> None:
        self._finish, self._lock = finish, Lock()
        self._called_off, self._is_finished = Event(), False
        Thread(target=self._run, args=(work,), daemon=True, name="counterpoise-question").start()

    def cancel(self) -> None:
        """Call the work off; nothing where it has ended."""
        self._called_off.set()
        self._finish_once(None, Cancelled())

    def _run(self, work: Callable[[], Any]) -> None:
        value, error = None, None
        try:
            with cancelled_by(self._called_off):
                value = work()
        except BaseException as raised:  # everything goes back to whoever waits
            error = raised
        self._finish_once(value, error)

    def _finish_once(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            is_first, self._is_finished = not self._is_finished, True
        if is_first:
            self._finish(value, error)
