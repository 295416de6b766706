"""Work that can be called off: between its steps a long computation asks whether anybody still waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event


class Cancelled(BaseException):
    """Raised in work that was called off; being no Exception, it is not taken for a fault of the model."""


_CALLED_OFF: ContextVar[Event | None] = ContextVar("called_off", default=None)


@contextmanager
def cancelled_by(event: Event) -> Iterator[None]:
    """Inside, in this thread, work ends with `Cancelled` at its next step once the event is set.

    >>> event = Event()
    >>> with cancelled_by(event):
    ...     stop_if_cancelled()
    """
    token = _CALLED_OFF.set(event)
    try:
        yield
    finally:
        _CALLED_OFF.reset(token)


def stop_if_cancelled() -> None:
    """Raise `Cancelled` where the work of this thread was called off; searches and proofs ask it at every step."""
    event = _CALLED_OFF.get()
    if event is not None and event.is_set():
        raise Cancelled
