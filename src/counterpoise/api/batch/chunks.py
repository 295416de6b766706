"""Chunks: how many rows are searched together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChunkSettings:
    """How many rows are searched together; answers do not depend on it."""

    cells: int = 4_000_000
    """Rows x columns x chains worked on at once, which bounds the memory of a call,"""
    chains_per_row: int = 16
    """with so many chains taken for a row."""
    rows: int = 128
    """Rows at most: larger chunks make rows no cheaper, and lose more when a run is interrupted."""
    firm_rows: int = 64
    """The same for firm answers."""
    slow_rows: int = 32
    """The same for large trees, where a row takes a third of a second."""
    slow_tree_nodes: int = 300_000
    """Trees with more nodes than this are large."""
    call_rows: int = 0
    """Rows of every call of the model, filled up where there are fewer; 0: calls are as large as they come."""
