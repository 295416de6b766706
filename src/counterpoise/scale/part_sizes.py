"""How many rows are in memory at once, so that ten million need no more than a hundred thousand do."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError


@dataclass(frozen=True)
class MemorySettings:
    """What a row takes, and how much of the memory that is allowed goes to rows."""

    part_rows: int = 2048
    """Rows of a part, at most."""
    base_bytes: int = 400_000_000
    """What Python, the libraries, the model and the reference take before any row is read."""
    cells_kept_per_cell: int = 60
    """Numbers of eight bytes that a part holds for each cell of its rows: answers, evidence, tables."""
    cells_searched_per_cell: int = 12
    """The same for each cell that a search works on at once."""


def parse_memory(text: str) -> int:
    """The bytes that a text such as 2GB or 500MB stands for.

    >>> parse_memory("2GB"), parse_memory("512 MiB")
    (2000000000, 536870912)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?)[bB]?\s*", text)
    if found is None or not float(found[1]):
        raise InputError("--memory must be a number of bytes with a unit", f"{text!r}", "for instance 2GB")
    power = " kmgt".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def fit_to_memory(
    explainer: Explainer, memory: int | None, processes: int, settings: MemorySettings = MemorySettings()
) -> int:
    """The rows of a part; with ``memory`` in bytes, the explainer's chunks are made small enough for it too."""
    if memory is None:
        return settings.part_rows
    left = (memory - settings.base_bytes * processes) // (2 * processes)
    row_bytes = 8 * max(1, len(explainer.schema)) * settings.cells_kept_per_cell
    if left < row_bytes:
        least = settings.base_bytes * processes + 2 * processes * row_bytes
        raise InputError(
            "--memory must have room for the processes and a row",
            f"{memory / 1e6:.0f} MB for {processes}",
            f"give at least {least / 1e6:.0f}MB, or fewer --jobs",
        )
    cells = max(1, left // (8 * settings.cells_searched_per_cell))
    explainer.chunks = replace(explainer.chunks, cells=min(explainer.chunks.cells, cells))
    return int(max(1, min(settings.part_rows, left // row_bytes)))
