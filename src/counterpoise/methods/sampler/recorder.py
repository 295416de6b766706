"""What the sweeps of some rows have gone through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.types import Array, Index


@dataclass(eq=False)
class Recorder:
    """Points and efforts, a list entry a sweep, with counts of changes and of swaps."""

    x: list[Array]  # (n, c, d) at the lowest temperature
    effort: list[Array]  # (n, c, s)
    changed: Array  # (n, s, d) counts at each temperature
    tried: Array  # (n, s - 1)
    taken: Array  # (n, s - 1)

    @classmethod
    def empty(cls, n: int, slots: int, d: int) -> Recorder:
        """Nothing recorded yet."""
        return cls([], [], np.zeros((n, slots, d)), np.zeros((n, slots - 1)), np.zeros((n, slots - 1)))

    def take(self, rows: Index) -> Recorder:
        """The record of some rows."""
        return Recorder(
            [x[rows] for x in self.x],
            [effort[rows] for effort in self.effort],
            self.changed[rows],
            self.tried[rows],
            self.taken[rows],
        )
