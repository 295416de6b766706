"""Random numbers: one stream per row, keyed by the seed and the row's own content.

A row explained alone draws the same numbers as the same row in a batch, in any order and on any worker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class StreamKey(IntEnum):
    """Sets draws apart from those of a search with the same seed: ``seed ^ StreamKey.CHECK``."""

    FRESH_COPIES = 0x5EED
    """Copies that firm answers are measured on, and that noise is calibrated on."""
    CHECK = 0xC4EC4
    """Copies of a later look at answers: robustness, stability, frontier, profile."""
    METRICS = 0x7AB1E
    """Copies of the metrics of a comparison."""


def row_key(row: Array, seed: int) -> int:
    """A 128-bit key of the row's encoded values ``(d,)`` and the seed.

    >>> row_key(np.array([1.0, 2.0]), 0) == row_key(np.array([1.0, 2.0]), 0)
    True
    >>> row_key(np.array([1.0, 2.0]), 0) == row_key(np.array([1.0, 2.5]), 0)
    False
    """
    canonical = np.asarray(row, dtype=np.float64) + 0.0  # -0.0 and 0.0 are the same value, so the same stream
    canonical[np.isnan(canonical)] = np.nan  # one bit pattern for every missing cell
    digest = hashlib.blake2b(canonical.tobytes() + str(int(seed)).encode(), digest_size=16)
    return int.from_bytes(digest.digest(), "little")


@dataclass(frozen=True, eq=False)
class Stream:
    """The random numbers of one row; the generator is made at its first use, since many searches need none."""

    make_generator: Callable[[], np.random.Generator]

    @cached_property
    def generator(self) -> np.random.Generator:
        """The generator of the row's numbers."""
        return self.make_generator()


@dataclass(frozen=True)
class Streams:
    """The streams of n rows; draws come as ``(rows, ...)`` arrays and advance only the rows asked for."""

    row_streams: tuple[Stream, ...]

    @classmethod
    def of(cls, x0: Array, seed: int) -> Streams:
        """The streams of the encoded rows ``x0`` ``(n, d)``.

        >>> a = Streams.of(np.array([[1.0], [2.0]]), seed=0).uniform((3,))
        >>> b = Streams.of(np.array([[2.0]]), seed=0).uniform((3,))
        >>> bool((a[1] == b[0]).all())
        True
        """
        return cls(tuple(Stream(partial(_seed_generator, row, seed)) for row in x0))

    def __len__(self) -> int:
        return len(self.row_streams)

    def take(self, rows: Index | Sequence[int]) -> Streams:
        """The streams of some rows: the same ones, not copies."""
        return Streams(tuple(self.row_streams[int(row)] for row in rows))

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Uniform numbers in [0, 1), ``(n, *shape)``."""
        out = np.empty((len(self), *shape))
        for row, stream in enumerate(self.row_streams):
            stream.generator.random(out=out[row])
        return out

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal numbers, ``(n, *shape)``."""
        out = np.empty((len(self), *shape))
        for row, stream in enumerate(self.row_streams):
            stream.generator.standard_normal(out=out[row])
        return out

    def integers(self, high: int, shape: tuple[int, ...]) -> Index:
        """Integers in [0, high), ``(n, *shape)``."""
        out = np.empty((len(self), *shape), dtype=np.intp)
        for row, stream in enumerate(self.row_streams):
            out[row] = stream.generator.integers(high, size=shape)
        return out


def draw_keyed_normals(key: bytes, seed: int, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers of a stream that belongs to no row, such as that of a target class.

    >>> bool((draw_keyed_normals(b"benign", 0, (2,)) == draw_keyed_normals(b"benign", 0, (2,))).all())
    True
    """
    digest = hashlib.blake2b(key + str(int(seed)).encode(), digest_size=16)
    generator = np.random.Generator(np.random.SFC64(int.from_bytes(digest.digest(), "little")))
    return generator.standard_normal(shape)


def _seed_generator(row: Array, seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(row_key(row, seed)))
