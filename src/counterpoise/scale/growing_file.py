"""A file that grows: its lines, through rotation and truncation, with a note of how far they are answered."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import IO, Any

from counterpoise.errors import InputError
from counterpoise.scale.files import replace_file
from counterpoise.scale.stream import StreamSettings

LAST_BYTES = 256  # before a place in a file, by which the file is known again


class FileLines:
    """The lines of a file that grows, through rotation and truncation; ``offsets`` names the file of notes.

    A line counts once it ends. A file that was moved away is read to its end, and those that were rotated after it,
    before the one that took its place. ``first_line`` is that of the file in which the reading began, such as the
    header of CSV; None at the beginning of a file.
    """

    def __init__(self, path: str | Path, offsets: str | Path | None = None) -> None:
        self.path, self.offsets = Path(path), None if offsets is None else Path(offsets)
        self._file: IO[bytes] | None = None
        self._place = 0  # up to here lines were given out
        self._last = b""  # what the file has before that place
        self.first_line: bytes | None = None
        self.is_lost = False  # whether the file that the note speaks of was not found
        if self.offsets is not None and self.offsets.exists():
            self._return_to(self._read_note(self.offsets))

    @staticmethod
    def _read_note(path: Path) -> dict[str, Any]:
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
            return {"inode": int(note["inode"]), "offset": int(note["offset"]), "end": str(note["end"])}
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                "--offsets must name a file that watch has written", f"{str(path)!r}: {error!r}", "choose another name"
            ) from None

    def _return_to(self, note: dict[str, Any]) -> None:
        """Go on where the note says, in the file that it speaks of, wherever that was moved."""
        near = [self.path, *self._list_rotated_files()]
        for path in sorted(near, key=lambda path: not path.is_file() or path.stat().st_ino != note["inode"]):
            if path.is_file() and path.stat().st_size >= note["offset"]:
                with path.open("rb") as file:
                    last = self._bytes_before(file, note["offset"])
                    if hashlib.sha256(last).hexdigest() != note["end"]:
                        continue
                    file.seek(0)
                    self.first_line = file.readline() if note["offset"] else None
                self._open(path, note["offset"])
                return
        self.is_lost = True

    def _list_rotated_files(self) -> list[Path]:
        """Earlier files that log rotation has renamed, oldest first; compressed ones are left out."""
        ending = re.compile(re.escape(self.path.name) + r"[.-]\d[\d.:T-]*")
        beside = self.path.parent.glob(f"{glob.escape(self.path.name)}*")
        found = [path for path in beside if ending.fullmatch(path.name)]
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    @staticmethod
    def _bytes_before(file: IO[bytes], place: int) -> bytes:
        start = max(0, place - LAST_BYTES)
        file.seek(start)
        return file.read(place - start)

    def _open(self, path: Path, place: int = 0) -> None:
        self.close()
        self._file, self._place = path.open("rb"), place
        self._last = self._bytes_before(self._file, place)

    def read(self, settings: StreamSettings) -> list[bytes] | None:
        """The next whole lines; none where the file has not grown."""
        if self._file is None:
            if not self.path.is_file():
                time.sleep(settings.tick_seconds)
                return []
            self._open(self.path)
        self._go_back_if_cut()
        lines = self._whole_lines(settings.batch_rows, settings.line_bytes) or self._follow()
        if not lines:
            time.sleep(settings.tick_seconds)
        return lines

    def _whole_lines(self, most: int, most_bytes: int) -> list[bytes]:
        assert self._file is not None
        self._file.seek(self._place)
        lines: list[bytes] = []
        while len(lines) < most and (line := self._file.readline(most_bytes + 1)):
            end = line
            while not end.endswith(b"\n") and (more := self._file.readline(most_bytes)):  # the rest of one too long
                end = (end + more)[-LAST_BYTES:]
            if not end.endswith(b"\n"):
                break
            lines.append(line if line.endswith(b"\n") else line + b"\n")
            self._place = self._file.tell()
            self._last = (self._last + end)[-LAST_BYTES:]
        return lines

    def _go_back_if_cut(self) -> None:
        """Begin anew where the file was cut, also where it has grown beyond the place since."""
        assert self._file is not None
        if self._bytes_before(self._file, self._place) != self._last:
            self._place, self._last = 0, b""

    def _follow(self) -> list[bytes]:
        """Switch to the file that follows after rotation; returns the unfinished last line of the old one."""
        assert self._file is not None
        mine = os.fstat(self._file.fileno()).st_ino
        there = [path for path in (*self._list_rotated_files(), self.path) if path.is_file()]
        inodes = [path.stat().st_ino for path in there]
        later = there[inodes.index(mine) + 1 :] if mine in inodes else there[-1:]
        if not later or later[0].stat().st_size == 0:  # whoever writes may still hold the old one
            return []
        self._file.seek(self._place)
        rest = self._file.read()
        if rest.endswith(b"\n"):  # it has grown meanwhile
            return []
        self._open(later[0])
        return [rest + b"\n"] if rest else []

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def commit(self) -> None:
        """Note how far the file is answered."""
        if self.offsets is not None and self._file is not None:
            note = {
                "inode": os.fstat(self._file.fileno()).st_ino,
                "offset": self._place,
                "end": hashlib.sha256(self._last).hexdigest(),
            }
            with replace_file(self.offsets) as temporary:
                temporary.write_text(json.dumps(note), encoding="utf-8")
