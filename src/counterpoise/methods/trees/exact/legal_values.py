"""The values of a column that a changed cell may take, next to given numbers: steps, decimals, dtypes, lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.space.region.lattice import MAX_EXACT_COUNT, Lattice
from counterpoise.types import Array, Index, Mask


def legal_ends(
    lattice: Lattice, column: Index, least: Array, most: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """The smallest legal value from ``least`` to ``high``, and the largest from ``low`` to ``most``, ``(n, cells)``.

    Where there is none, what comes back lies outside.
    """
    up, down = least.copy(), most.copy()
    up, down = np.where(np.isfinite(up), up, high), np.where(np.isfinite(down), down, low)
    nowhere = ~np.isfinite(up) & ~np.isfinite(down)
    up, down = np.where(nowhere, 0.0, up), np.where(nowhere, 0.0, down)
    for number, dtype in lattice.narrow_floats:
        mine = np.flatnonzero(column == number)
        up[:, mine], down[:, mine] = _rounded_up(up[:, mine], dtype), -_rounded_up(-down[:, mine], dtype)
    place = lattice.place_by_column[column]
    mine = np.flatnonzero(place >= 0)
    if len(mine):
        narrow = dict(lattice.narrow_floats)
        grid = _Grid.of(lattice, place[mine], [narrow.get(number) for number in column[mine].tolist()])
        up[:, mine], down[:, mine] = grid.up(up[:, mine]), grid.down(down[:, mine])
    for number, listed in lattice.choices:
        mine = np.flatnonzero(column == number)
        padded = np.concatenate([[-np.inf], listed, [np.inf]])
        up[:, mine] = padded[np.searchsorted(listed, up[:, mine], side="left") + 1]
        down[:, mine] = padded[np.searchsorted(listed, down[:, mine], side="right")]
    return up, down


def _rounded_up(values: Array, dtype: np.dtype[Any]) -> Array:
    """The smallest number of a narrow dtype that is at least each of the values."""
    with np.errstate(over="ignore"):
        near: NDArray[Any] = values.astype(dtype)
        less = near.astype(np.float64) < values
        return np.where(less, np.nextafter(near, dtype.type(np.inf)), near).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Grid:
    """Columns of cells whose values are counted in steps: whole numbers, decimals, steps from the row's own value."""

    step: Array  # (g,)
    parts: Array  # (g,)
    origin: Array  # (n, g)
    binds: Mask  # (n, g) whether the box holds a count, so that values off the grid are not legal
    dtypes: list[np.dtype[Any] | None]
    skipped: Array  # (n, g) a count that is written as the row's own value is; NaN: none

    @classmethod
    def of(cls, lattice: Lattice, place: Index, dtypes: list[np.dtype[Any] | None]) -> _Grid:
        bound = (lattice.first_count <= lattice.last_count) | lattice.binds_unchanged[lattice.columns]
        step, parts = lattice.step[place], lattice.divisor[place]
        return cls(step, parts, lattice.origin[:, place], bound[:, place], dtypes, lattice.row_count[:, place])

    def up(self, values: Array) -> Array:
        """The smallest values on the grid that are at least each of the values ``(n, g)``."""
        return self._beyond(values, 1.0)

    def down(self, values: Array) -> Array:
        """The largest values on the grid that are at most each of the values ``(n, g)``."""
        return self._beyond(values, -1.0)

    def _beyond(self, values: Array, sign: float) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            count = np.rint((values - self.origin) * self.parts / self.step)
            for _ in range(2):  # a count is at most one off by rounding, two in a dtype that rounds again
                before = count - sign
                count = np.where(sign * (self._value(before) - values) >= 0, before, count)
            for _ in range(3):
                count = np.where(sign * (self._value(count) - values) < 0, count + sign, count)
            count = np.where(count == self.skipped, count + sign, count)
            on_grid = self.binds & (np.abs(count) < MAX_EXACT_COUNT)
            return np.where(on_grid, self._value(count), values)

    def _value(self, count: Array) -> Array:
        value = count * self.step / self.parts + self.origin
        for dtype in {dtype for dtype in self.dtypes if dtype is not None}:
            mine = [place for place, column_dtype in enumerate(self.dtypes) if column_dtype == dtype]
            value[:, mine] = value[:, mine].astype(dtype)
        return value
