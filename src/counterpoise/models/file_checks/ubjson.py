"""Universal Binary JSON as XGBoost writes it, read with no length taken on trust beyond the end of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise.models.file_checks.limits import DEFAULT_LIMITS, FileLimits

SCALARS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
WORDS: dict[bytes, Any] = {b"Z": None, b"T": True, b"F": False}


def read_ubjson(data: bytes, limits: FileLimits = DEFAULT_LIMITS) -> Any:
    """The value that some bytes hold; arrays of numbers as NumPy arrays. What cannot be read is a ValueError.

    >>> read_ubjson(b"{L" + bytes(7) + b"\\x01aU\\x05}")
    {'a': 5}
    """
    return _Reader(data, limits.levels).read(0)


class _Reader:
    def __init__(self, data: bytes, max_levels: int) -> None:
        self.data, self.place, self.max_levels = data, 0, max_levels

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.place:
            raise ValueError(f"the data ends before what begins at byte {self.place}")
        self.place += count
        return self.data[self.place - count : self.place]

    def length(self) -> int:
        kind = self.take(1)
        if kind not in SCALARS or kind in b"dD":
            raise ValueError(f"there is no length at byte {self.place}")
        return int(self.scalar(kind))

    def scalar(self, kind: bytes) -> Any:
        dtype = np.dtype(SCALARS[kind])
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8")

    def read(self, level: int) -> Any:
        kind = self.take(1)
        if level > self.max_levels:
            raise ValueError(f"it is nested more than {self.max_levels} levels deep")
        if kind == b"{":
            return self.mapping(level)
        if kind == b"[":
            return self.sequence(level)
        if kind == b"S":
            return self.text()
        if kind in WORDS:
            return WORDS[kind]
        if kind in SCALARS:
            return self.scalar(kind)
        raise ValueError(f"there is no value at byte {self.place}")

    def mapping(self, level: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.data[self.place : self.place + 1] != b"}":
            name = self.text()
            if name in found:
                raise ValueError(f"{name!r} is there twice")
            found[name] = self.read(level + 1)
        self.take(1)
        return found

    def sequence(self, level: int) -> Any:
        typed = self.data[self.place : self.place + 1] == b"$"
        kind = self.take(2)[1:] if typed else b""
        if self.data[self.place : self.place + 1] == b"#":
            self.take(1)
            count = self.length()
            if kind in SCALARS:
                dtype = np.dtype(SCALARS[kind])
                return np.frombuffer(self.take(count * dtype.itemsize), dtype)
            if typed or not 0 <= count <= len(self.data) - self.place:
                raise ValueError(f"the data ends before what begins at byte {self.place}")
            return [self.read(level + 1) for _ in range(count)]
        if typed:
            raise ValueError(f"there is no length at byte {self.place}")
        found = []
        while self.data[self.place : self.place + 1] != b"]":
            found.append(self.read(level + 1))
        self.take(1)
        return found
