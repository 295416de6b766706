"""Streams: lines are read and answered in micro-batches; the position is saved only after their answers are written.

A source gives lines and takes a note of those that were answered (`commit`). Lines that were read and not answered when
a run ends are read again by the next one, where the source can do so: at least once.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from counterpoise.errors import InputError, MissingExtra


@dataclass(frozen=True)
class StreamSettings:
    """When a batch of lines is answered."""

    batch_rows: int = 64
    """Lines of a batch, at most: more would make the first of them wait."""
    wait_seconds: float = 0.02
    """How long the first line of a batch waits for others, from when it came: those that come while a batch is
    answered are the next one at once."""
    idle_seconds: float = 0.2
    """How long a source without lines is waited for at a time."""
    tick_seconds: float = 0.05
    """How often a source without lines is looked at."""
    lines_ahead: int = 256
    """Lines that are read before they are answered; beyond that whoever writes them has to wait."""
    line_bytes: int = 16_000_000
    """Bytes of a line, at most: of a longer one the beginning is kept, and it is rejected."""


class LineSource(Protocol):
    """Where lines come from."""

    def read(self, settings: StreamSettings) -> list[bytes] | None:
        """The next lines; an empty list if none came in a while, None at the end."""

    def commit(self) -> None:
        """Note that all lines read so far are answered."""


class LineAnswers(Protocol):
    """What is done with lines."""

    @property
    def is_full(self) -> bool:
        """Whether no further line is wanted."""

    def __call__(self, lines: list[bytes]) -> str:
        """The answers to some lines."""

    def write(self, text: str) -> None:
        """Have answers where they belong."""


def answer_stream(
    source: LineSource,
    answers: LineAnswers,
    settings: StreamSettings = StreamSettings(),
    hold: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Have the lines of a source answered, batch by batch, until it ends.

    ``hold`` keeps signals off while a batch is written and noted, so that no run ends between the two.
    """
    while not answers.is_full and (lines := source.read(settings)) is not None:
        if lines:
            text = answers(lines)
            with hold():
                answers.write(text)
                source.commit()


class LineCutter:
    """Cuts bytes into lines as they come; of a line of more than ``most`` bytes the first ``most`` + 1 are kept.

    >>> cutter = LineCutter(3)
    >>> cutter.add(b"ab"), cutter.add(b"c\\n\\nlong"), cutter.add(b"er\\nd"), cutter.rest
    ([], [b'abc\\n', b'\\n'], [b'long\\n'], b'd')
    """

    def __init__(self, most: int) -> None:
        self.most, self._pieces, self._size = most, list[bytes](), 0

    def add(self, given: bytes) -> list[bytes]:
        """The lines that end in what is given."""
        lines = []
        *ends, begun = given.split(b"\n")
        for end in ends:
            self._keep(end)
            lines.append(self.rest + b"\n")
            self._pieces, self._size = [], 0
        self._keep(begun)
        return lines

    @property
    def rest(self) -> bytes:
        """What has come of the line that has not ended."""
        return b"".join(self._pieces)

    def _keep(self, piece: bytes) -> None:
        kept = piece[: self.most + 1 - self._size]
        if kept:
            self._pieces.append(kept)
            self._size += len(kept)


class PipeLines:
    """The lines of a pipe, read ahead by a thread; no position is saved, as a pipe cannot be read twice.

    ``begun`` is what was read of it before, and all of it where there is no ``descriptor``.
    """

    def __init__(self, descriptor: int | None, begun: bytes = b"", settings: StreamSettings = StreamSettings()) -> None:
        self._queue: queue.Queue[tuple[float, bytes | None]] = queue.Queue(settings.lines_ahead)  # when they came
        self._cutter, self._has_ended = LineCutter(settings.line_bytes), False
        threading.Thread(target=self._read_ahead, args=(descriptor, begun), daemon=True).start()

    def _read_ahead(self, descriptor: int | None, given: bytes) -> None:
        more = True
        while more:  # a reader that a thread waits in has a lock, which the end of the program would wait for
            came = time.monotonic()
            for line in self._cutter.add(given):
                self._queue.put((came, line))
            try:
                given = b"" if descriptor is None else os.read(descriptor, 1 << 16)
            except OSError:
                given = b""
            more = bool(given)
        if self._cutter.rest:
            self._queue.put((time.monotonic(), self._cutter.rest))
        self._queue.put((time.monotonic(), None))

    def read(self, settings: StreamSettings) -> list[bytes] | None:
        """The next lines."""
        if self._has_ended:
            return None
        try:
            came, line = self._queue.get(timeout=settings.idle_seconds)
        except queue.Empty:
            return []
        lines, until = [], came + settings.wait_seconds
        while line is not None:
            lines.append(line)
            if len(lines) == settings.batch_rows:
                return lines
            try:
                left = until - time.monotonic()
                _, line = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                return lines
        self._has_ended = True
        return lines or None

    def commit(self) -> None:
        """Nothing is noted."""


class KafkaLines:
    """The messages of a Kafka topic as lines; the group's offset is committed once they are answered.

    address: ``kafka://broker:9092/topic?group=counterpoise``; further settings of the client come after the ``&``.
    """

    def __init__(self, address: str, **more: Any) -> None:
        from urllib.parse import parse_qsl, urlsplit

        parts = urlsplit(address)
        topic, chosen = parts.path.strip("/"), dict(parse_qsl(parts.query))
        if not parts.netloc or not topic:
            raise InputError(
                "a Kafka source must be kafka://BROKER/TOPIC", f"{address!r}", "for instance kafka://host:9092/alerts"
            )
        try:
            self._library = import_module("confluent_kafka")
        except ImportError as error:
            raise MissingExtra("kafka") from error
        settings = {
            "bootstrap.servers": parts.netloc,
            "group.id": chosen.pop("group", "counterpoise"),
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **chosen,
            **more,
        }
        self._consumer: Any = self._library.Consumer(settings)
        self._consumer.subscribe([topic])

    def read(self, settings: StreamSettings) -> list[bytes] | None:
        """The next messages; an empty list if none came in a while."""
        found = self._consumer.consume(settings.batch_rows, settings.wait_seconds)
        wrong = [message.error() for message in found if message.error() is not None]
        if wrong and wrong[0].fatal():
            raise InputError("the Kafka source must be readable", str(wrong[0]), "check the broker and the topic")
        return [message.value() + b"\n" for message in found if message.error() is None and message.value()]

    def commit(self) -> None:
        """Commit the offsets of all that was read."""
        try:
            self._consumer.commit(asynchronous=False)
        except self._library.KafkaException as error:
            if error.args[0].name() != "_NO_OFFSET":
                raise

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()
