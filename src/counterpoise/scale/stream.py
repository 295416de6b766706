"""Streams: lines come, micro-batches are answered, answers go out, and only then is it noted how far one has read.

A source gives lines and takes a note of those that were answered (`commit`). Lines that were read and not answered when
a run ends are read again by the next one, where the source can do so: at least once.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

from counterpoise.errors import InputError, MissingExtra
from counterpoise.scale.files import replace_file


@dataclass(frozen=True)
class StreamSettings:
    """When a batch of lines is answered."""

    batch_rows: int = 64
    """Lines of a batch, at most: more would make the first of them wait."""
    wait_seconds: float = 0.2
    """How long the first line of a batch waits for others."""
    tick_seconds: float = 0.05
    """How often a source without lines is looked at."""
    lines_ahead: int = 256
    """Lines that are read before they are answered; beyond that whoever writes them has to wait."""


class LineSource(Protocol):
    """Where lines come from."""

    def read(self, settings: StreamSettings) -> list[bytes] | None:
        """The next lines, none where none came in a while, None at the end."""

    def commit(self) -> None:
        """Note that all lines read so far are answered."""


def answer_stream(
    source: LineSource, answer: Callable[[list[bytes]], None], settings: StreamSettings = StreamSettings()
) -> None:
    """Have the lines of a source answered, batch by batch, until it ends."""
    while (lines := source.read(settings)) is not None:
        if lines:
            answer(lines)
            source.commit()


class PipeLines:
    """The lines of a pipe, read ahead by a thread; a pipe cannot be read twice, so there is nothing to note."""

    def __init__(self, stream: IO[bytes], settings: StreamSettings = StreamSettings()) -> None:
        self._queue: queue.Queue[bytes | None] = queue.Queue(settings.lines_ahead)
        self._has_ended = False
        threading.Thread(target=self._read_ahead, args=(stream,), daemon=True).start()

    def _read_ahead(self, stream: IO[bytes]) -> None:
        for line in iter(stream.readline, b""):
            self._queue.put(line)
        self._queue.put(None)

    def read(self, settings: StreamSettings) -> list[bytes] | None:
        """The next lines."""
        if self._has_ended:
            return None
        try:
            first = self._queue.get(timeout=settings.wait_seconds)
        except queue.Empty:
            return []
        lines, until = [], time.monotonic() + settings.wait_seconds
        while first is not None:
            lines.append(first)
            left = until - time.monotonic()
            if len(lines) == settings.batch_rows or left <= 0:
                return lines
            try:
                first = self._queue.get(timeout=left)
            except queue.Empty:
                return lines
        self._has_ended = True
        return lines or None

    def commit(self) -> None:
        """Nothing is noted."""


class FileLines:
    """The lines of a file that grows, through rotation and truncation; ``offsets`` names the file of notes.

    A line counts once it ends. A file that was moved away is read to its end before the one that took its place.
    """

    def __init__(self, path: str | Path, offsets: str | Path | None = None) -> None:
        self.path, self.offsets = Path(path), None if offsets is None else Path(offsets)
        self._file: IO[bytes] | None = None
        self._place = 0  # up to here lines were given out
        if self.offsets is not None and self.offsets.exists():
            self._return_to(json.loads(self.offsets.read_text(encoding="utf-8")))

    def _return_to(self, note: dict[str, int]) -> None:
        """Go on where the note says, in the file that it speaks of, wherever that was moved."""
        near = [self.path, *sorted(self.path.parent.glob(f"{self.path.name}*"))]
        for path in near:
            if path.is_file() and path.stat().st_ino == note["inode"] and path.stat().st_size >= note["offset"]:
                self._open(path, note["offset"])
                return

    def _open(self, path: Path, place: int = 0) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._place = path.open("rb"), place

    def read(self, settings: StreamSettings) -> list[bytes] | None:
        """The next whole lines; none where the file has not grown."""
        if self._file is None:
            if not self.path.is_file():
                time.sleep(settings.tick_seconds)
                return []
            self._open(self.path)
        lines = self._whole_lines(settings.batch_rows)
        if lines:
            return lines
        if not self._follow():
            time.sleep(settings.tick_seconds)
        return []

    def _whole_lines(self, most: int) -> list[bytes]:
        assert self._file is not None
        self._file.seek(self._place)
        lines: list[bytes] = []
        while len(lines) < most and (line := self._file.readline()).endswith(b"\n"):
            lines.append(line)
            self._place += len(line)
        return lines

    def _follow(self) -> bool:
        """Go to what took the file's place, or to its beginning where it was cut; whether there was such a thing."""
        assert self._file is not None
        mine = os.fstat(self._file.fileno())
        if mine.st_size < self._place:
            self._place = 0
            return True
        if self.path.is_file() and self.path.stat().st_ino != mine.st_ino:
            self._open(self.path)
            return True
        return False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def commit(self) -> None:
        """Note how far the file is answered."""
        if self.offsets is not None and self._file is not None:
            note = {"inode": os.fstat(self._file.fileno()).st_ino, "offset": self._place}
            with replace_file(self.offsets) as temporary:
                temporary.write_text(json.dumps(note), encoding="utf-8")


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
        """The next messages; none where none came in a while."""
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
