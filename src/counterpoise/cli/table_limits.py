"""How much a table may hold for the size of its file: a packed file of a megabyte can say that it holds a gigabyte."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path


class TooMuch(ValueError):
    """A table that holds more than a file of its size should."""


@dataclass(frozen=True)
class TableLimits:
    """What a table may hold."""

    columns: int = 100_000
    """Columns, whatever the size of the file."""
    unpacked_bytes: int = 32 * 2**20
    """What a packed text may unpack to, whatever the size of the file."""
    unpacked_ratio: int = 25
    """A larger one may unpack to so many times its size; tables of text pack to a fifth or a tenth."""
    cells: int = 20_000_000
    """Cells of a table, whatever the size of the file."""
    cells_per_byte: int = 25
    """A larger file may hold so many cells for each of its bytes."""

    def check(self, rows: int, columns: int, size: int) -> None:
        """Refuse a table of so many rows and columns in a file of ``size`` bytes before it is built."""
        if columns > self.columns:
            raise TooMuch(f"it has {columns:,} columns, more than {self.columns:,}")
        if rows * columns > max(self.cells, self.cells_per_byte * size):
            raise TooMuch(f"it says that it has {rows:,} rows of {columns:,} columns, in {size:,} bytes")


class Unpacked(gzip.GzipFile):
    """A file that gzip packed, read until it is longer than it may be."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        limits = TableLimits()
        self.most = max(limits.unpacked_bytes, limits.unpacked_ratio * path.stat().st_size)

    def read(self, size: int | None = -1) -> bytes:
        """Some of what is packed; with no size all of it, as far as the limit."""
        return self._within(super().read(self.most + 1 if size is None or size < 0 else size))

    def read1(self, size: int = -1) -> bytes:
        """What can be had at once."""
        return self._within(super().read1(size))

    def _within(self, data: bytes) -> bytes:
        if self.tell() > self.most:
            raise TooMuch(f"it unpacks to more than {self.most:,} bytes")
        return data
