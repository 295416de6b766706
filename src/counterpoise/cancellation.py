"""Work that can be called off, and gives way to other work, between its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from typing import NamedTuple


class Cancelled(BaseException):
    """Raised in work that was called off; being no Exception, it is not taken for a fault of the model."""


class _Waiting(NamedTuple):
    """Who waits for the work of a thread: nobody once it is called off, and others whom it gives way to."""

    called_off: Event
    give_way: Callable[[], None]


_WAITING: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def cancelled_by(called_off: Event, give_way: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Inside, in this thread, work calls ``give_way`` at each step, and ends with `Cancelled` once the event is set.

    >>> event = Event()
    >>> with cancelled_by(event):
    ...     stop_if_cancelled()
    """
    token = _WAITING.set(_Waiting(called_off, give_way))
    try:
        yield
    finally:
        _WAITING.reset(token)


def stop_if_cancelled() -> None:
    """Raise `Cancelled` where the work of this thread was called off; searches and proofs ask it at every step."""
    waiting = _WAITING.get()
    if waiting is not None:
        waiting.give_way()
        if waiting.called_off.is_set():
            raise Cancelled
