"""Calls of one size: a model whose outputs depend on how many rows are asked about together is asked in equal blocks.

Products of matrices add up otherwise for another number of rows. In blocks of one size, the last one filled up with
its own last row, what the model says of a row depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from counterpoise.space.schema.tables_in import take_points
from counterpoise.types import Array, Points


def call_in_blocks(call: Callable[[Any], Any], x: Points, block_rows: int) -> Any:
    """What a model's function says of ``x`` ``(p, d)``, asked in calls of ``block_rows`` rows each.

    >>> sizes = []
    >>> def call(x):
    ...     sizes.append(len(x))
    ...     return 2 * x
    >>> call_in_blocks(call, np.arange(5.0)[:, None], 2).ravel().tolist(), sizes
    ([0.0, 2.0, 4.0, 6.0, 8.0], [2, 2, 2])
    """
    count = len(x)
    if not count:
        return call(x)
    starts = range(0, count, block_rows)
    parts = [call(take_points(x, np.minimum(np.arange(start, start + block_rows), count - 1))) for start in starts]
    return _join(parts, count, block_rows)


def _join(parts: list[Any], count: int, block_rows: int) -> Any:
    """What the blocks gave as if it were one answer: an array, None, or outputs with what gives their gradient."""
    if parts[0] is None:
        return None
    if isinstance(parts[0], tuple):
        outputs, pulls = zip(*parts, strict=True)

        def pull(weights: Array) -> Array:
            starts = range(0, count, block_rows)
            places = [np.minimum(np.arange(start, start + block_rows), count - 1) for start in starts]
            slopes = [pull_block(weights[rows]) for pull_block, rows in zip(pulls, places, strict=True)]
            return np.concatenate(slopes)[:count]

        return np.concatenate(outputs)[:count], pull
    arrays = [np.asarray(part) for part in parts]
    if any(array.ndim == 0 or len(array) != block_rows for array in arrays):
        return arrays[0]  # no line for each row: whoever asked will say so
    return np.concatenate(arrays)[:count]
