"""Remembered gains: what single changes added in one sweep, read off for the points that it led to.

A point that moved a little gains from most single changes what it gained before, so that the next sweep need not ask
about all of them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.types import Array, Index


class RememberedGains(NamedTuple):
    """Values ``(n, q, d, w)`` of each column, sorted, and what each adds to the margin of the point that was swept."""

    value: Array
    gain: Array

    @classmethod
    def of_sweep(cls, x: Array, column: Index, value: Array, gain: Array) -> RememberedGains:
        """Those of a sweep of points ``x`` ``(n, q, d)``: values and gains ``(n, q, g, w)`` of columns ``(n, g)``."""
        n, q, d = x.shape
        spot = np.broadcast_to(column[:, None, :], (n, q, column.shape[1]))[..., None]
        current = np.take_along_axis(x[..., None], spot, axis=2)
        values = np.concatenate([value, current], axis=-1)
        gains = np.concatenate([gain, np.zeros(current.shape)], axis=-1)
        for place in range(1, value.shape[-1]):  # a value that is listed twice is asked about once
            again = (value[..., place] == value[..., place - 1]) & (value[..., place] != current[..., 0])
            gains[..., place] = np.where(again, gains[..., place - 1], gains[..., place])
        order = np.argsort(values, axis=-1, kind="stable")
        every = cls(np.zeros((n, q, d, order.shape[-1])), np.zeros((n, q, d, order.shape[-1])))
        np.put_along_axis(every.value, spot, np.take_along_axis(values, order, axis=-1), axis=2)
        np.put_along_axis(every.gain, spot, np.take_along_axis(gains, order, axis=-1), axis=2)
        return every

    def at(self, rows: Index) -> RememberedGains:
        """Those of some rows."""
        return RememberedGains(self.value[rows], self.gain[rows])

    def pick(self, order: Index) -> RememberedGains:
        """Those of some points ``(n, k)`` of each row."""
        rows = np.arange(len(order))[:, None]
        return RememberedGains(self.value[rows, order], self.gain[rows, order])

    def predict(self, x: Array, column: Index, value: Array) -> Array:
        """What values ``(n, q, g, w)`` of columns ``(n, g)`` may add to the margin of points ``x`` ``(n, q, d)``."""
        n, q, g, _ = value.shape
        spot = np.broadcast_to(column[:, None, :], (n, q, g))[..., None]
        known, gain = (np.take_along_axis(each, spot, axis=2) for each in self)
        current = np.take_along_axis(x[..., None], spot, axis=2)
        all_values = np.concatenate([value, current], axis=-1)
        above = np.clip((known[..., None, :] <= all_values[..., None]).sum(axis=-1), 1, known.shape[-1] - 1)
        low, high = (np.take_along_axis(known, above - back, axis=-1) for back in (1, 0))
        start, end = (np.take_along_axis(gain, above - back, axis=-1) for back in (1, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((all_values - low) / (high - low), 0.0, 1.0)
        found = np.where(np.isfinite(share), start + share * (end - start), start)
        return np.asarray(found[..., :-1] - found[..., -1:])
