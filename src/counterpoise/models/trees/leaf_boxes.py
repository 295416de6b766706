"""LeafBoxes: a leaf of a tree as a box: the range of cells in each column that a row must be inside of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from counterpoise.models.trees.leaf_ranges import LeafRanges
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """The different ranges of cells that leaves are open to; cells are numbered through, column after column.

    Leaves share most of their ranges, above all those of one subtree, so the way into each range is found once.
    """

    place: Index  # (w,) the place of its column among those that are split
    low: Index  # (w,) the first open cell; of a category, some open level
    high: Index  # (w,) the last one, missing values aside; of a category, the same level
    missing_cell: Index  # (w,) the cell of missing values
    allows_missing: Mask  # (w,) whether it is open
    levels: tuple[tuple[Index, Index, Mask], ...]  # for each category: its ranges (k,), cells (l,), and which are open
    ranges_of_leaf: csr_array  # (leaves, w) 1 for the ranges of each leaf

    @classmethod
    def of(cls, paths: LeafRanges, first: Index) -> LeafBoxes:
        """The ranges of the leaves at the ends of paths; ``first`` ``(f + 1,)`` cell of each column."""
        narrow = (paths.low > first[:-1]) | (paths.high < first[1:] - 2) | ~paths.allows_missing
        for column, mask in paths.levels.items():
            narrow[:, column] = ~mask.all(axis=1)
        leaf, place = np.nonzero(narrow)
        kind = np.zeros(len(leaf), dtype=np.intp)  # the number of the set of levels of a category's range
        for column, mask in paths.levels.items():
            mine = np.flatnonzero(place == column)
            kind[mine] = np.unique(mask[leaf[mine]], axis=0, return_inverse=True)[1].reshape(-1)
        every = np.stack(
            [place, paths.low[leaf, place], paths.high[leaf, place], paths.allows_missing[leaf, place], kind]
        )
        different, one, range_number = np.unique(every, axis=1, return_index=True, return_inverse=True)
        at, low, high, missing, _ = different.astype(np.intp)
        levels = []
        for column, mask in paths.levels.items():
            mine = np.flatnonzero(at == column)
            levels.append((mine, np.arange(first[column], first[column + 1]), mask[leaf[one[mine]]]))
        begin = np.searchsorted(leaf, np.arange(len(paths.node) + 1))
        leaves = csr_array((np.ones(len(leaf)), range_number.reshape(-1), begin), shape=(len(paths.node), len(at)))
        return cls(at, low, high, first[1:][at] - 1, missing.astype(bool), tuple(levels), leaves)

    def ranges_around(self, cells: Index) -> Mask:
        """Mask ``(p, w)`` of the ranges that rows in these cells ``(p, f)`` are inside of."""
        cell = cells.take(self.place, axis=1)
        found = np.where(cell == self.missing_cell, self.allows_missing, (cell >= self.low) & (cell <= self.high))
        for mine, listed, open_to in self.levels:
            found[:, mine] = open_to.T[cell[:, mine] - listed[0], np.arange(len(mine))]
        return found

    def nearest_entries(self, cells: Index, row: Index, open_cells: Mask, far: Array) -> Index:
        """The nearest cell inside each range that may be taken, ``(p, w)``; -1 where none may.

        ``row`` ``(p,)`` is the row of each point; ``open_cells`` and ``far`` ``(n, cells)`` are the cells that each row
        may take and their distance from it.
        """
        number = np.arange(open_cells.shape[1])
        above = np.minimum.accumulate(np.where(open_cells, number, len(number))[:, ::-1], axis=1)[:, ::-1]
        below = np.maximum.accumulate(np.where(open_cells, number, -1), axis=1)
        # from below to the first open cell of the range, from above to the last; beyond its other end there is none
        up, down = above.take(self.low, axis=1), below.take(self.high, axis=1)
        up, down = np.where(up <= self.high, up, -1), np.where((down >= self.low) & (down <= self.high), down, -1)
        found = np.where(cells.take(self.place, axis=1) < self.low, up.take(row, axis=0), down.take(row, axis=0))
        for mine, listed, open_to in self.levels:
            price = np.where(open_cells[:, listed], far[:, listed], np.inf)[:, None, :]
            best = np.where(open_to, price, np.inf)
            cheapest = best.argmin(axis=2)
            there = np.isfinite(np.take_along_axis(best, cheapest[..., None], axis=2))[..., 0]
            found[:, mine] = np.where(there, listed[0] + cheapest, -1)[row]
        return found
