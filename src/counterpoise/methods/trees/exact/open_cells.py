"""The cells that a row can be in for less than its incumbent costs, and the walls of leaves in their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from counterpoise.methods.trees.exact.cell_costs import CellCosts
from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.leaf_boxes import LeafBoxes
from counterpoise.models.trees.leaf_ranges import LeafRanges
from counterpoise.models.trees.leaves import Leaves
from counterpoise.types import Array, Index, Mask

MOST_LEAF_COLUMNS = 40_000_000  # leaves times columns: beyond it walls take more memory than a proof is worth


@dataclass(frozen=True, eq=False)
class LeafWalls:
    """All walls of a model's leaves, tree after tree; cells are numbered through, as `Leaves` does."""

    walls: LeafBoxes
    tree: Index  # (leaves,)
    begin: Index  # (trees,) the first leaf of each
    value: Array  # (leaves, s) what each leaf adds to every sum
    low: Array  # (trees, s) the least that each tree adds,
    high: Array  # (trees, s) and the greatest


_KNOWN: WeakKeyDictionary[Leaves, LeafWalls] = WeakKeyDictionary()


def walls_of(leaves: Leaves, trees: TreeEnsemble | None) -> LeafWalls | None:
    """The walls of leaves, made once; None where there are too many."""
    if leaves not in _KNOWN:
        paths = leaves.leaf_ranges
        if paths is None and (trees is None or len(leaves.value) * len(leaves.columns) > MOST_LEAF_COLUMNS):
            return None
        if paths is None:
            assert trees is not None
            paths = LeafRanges.of(trees, leaves.columns, leaves.edges, leaves.first_cells)
            value = leaves.value[np.searchsorted(np.flatnonzero(trees.feature < 0), paths.node)]
            _KNOWN[leaves] = _made(leaves, paths, LeafBoxes.of(paths, leaves.first_cells), value)
        else:
            walls = leaves.leaf_boxes
            assert walls is not None
            _KNOWN[leaves] = _made(leaves, paths, walls, leaves.value)
    return _KNOWN[leaves]


def _made(leaves: Leaves, paths: LeafRanges, walls: LeafBoxes, leaf_values: Array) -> LeafWalls:
    value = np.zeros((len(leaf_values), len(leaves.base)))
    first = leaves.first_sum[paths.tree]
    for k in range(leaf_values.shape[1]):
        rows = np.flatnonzero(first + k < value.shape[1])  # beyond the last sum there are zeros that fill up lines
        value[rows, first[rows] + k] = leaf_values[rows, k]
    begin = np.searchsorted(paths.tree, np.arange(leaves.tree_count))
    low, high = np.minimum.reduceat(value, begin, axis=0), np.maximum.reduceat(value, begin, axis=0)
    return LeafWalls(walls, paths.tree, begin, value, low, high)


class SetWalls(NamedTuple):
    """The walls of a column of levels, or of numbers that the row misses: which open cells each lets in."""

    walls: Index  # (k,)
    cells: Index  # (m,) open ones, numbered as open cells
    open: Mask  # (k, m)


class OpenCells(NamedTuple):
    """Open cells, numbered through column after column, and every wall in their numbers."""

    cell: Index  # (open,) the number of each among all cells
    first: Index  # (f + 1,) the first open cell of each column
    start: Index  # (f,) the cheapest one of each
    low: Index  # (walls,) the first open cell inside each wall; beyond high where there is none
    high: Index  # (walls,)
    near: Index  # (walls,) the cheapest one inside
    shut: Mask  # (walls,) walls without an open cell
    sets: dict[int, SetWalls]  # by place of the column

    @classmethod
    def of(
        cls, leaves: Leaves, model: LeafWalls, costs: CellCosts, row: int, terms: Array, limit: float
    ) -> OpenCells | None:
        """The open cells of a row; None where its nearest legal point costs as much as the limit, or there is none."""
        walls, split, start = model.walls, len(leaves.place_of_cell), costs.start[row]
        total = costs.start_terms[row]
        alone = total[:, None] - terms[:, start][:, leaves.place_of_cell] + terms[:, :split]
        may = costs.open[row, :split] & (costs.effort(np.maximum(alone[0], 0.0), alone[1]) < limit)
        if not costs.feasible[row] or not may[start].all():
            return None
        count = np.concatenate([[0], np.cumsum(may)])
        row_count = count[start]
        low, high = count[walls.low], count[walls.high + 1] - 1
        near = np.minimum(np.maximum(row_count[walls.place], low), high)
        shut, sets, price = low > high, {}, terms[0] + terms[1]
        for place, cells, mine, inside in _set_walls(leaves, model, costs.missing[row]):
            open_places = np.flatnonzero(may[cells])
            part = SetWalls(mine, count[cells[open_places]], inside[:, open_places])
            each = np.where(part.open, price[cells[open_places]], np.inf)
            near[mine], shut[mine] = part.cells[each.argmin(axis=1)], ~part.open.any(axis=1)
            sets[place] = part
        return cls(np.flatnonzero(may), count[leaves.first_cells], row_count, low, high, near, shut, sets)

    def list_restricted_columns(self, model: LeafWalls, leaf: Index) -> tuple[Index, Index]:
        """The walls of leaves ``(a,)`` that keep out an open cell: places in that list, and walls, each ``(e,)``."""
        table, place = model.walls.ranges_of_leaf, model.walls.place
        begin, width = table.indptr[leaf], table.indptr[leaf + 1] - table.indptr[leaf]
        entry = np.repeat(begin - np.cumsum(width) + width, width) + np.arange(width.sum())
        wall = table.indices[entry].astype(np.intp)
        narrow = (self.low > self.first[place]) | (self.high < self.first[place + 1] - 1)
        for part in self.sets.values():
            narrow[part.walls] = ~part.open.all(axis=1)
        kept = np.flatnonzero(narrow[wall])
        return np.repeat(np.arange(len(leaf)), width)[kept], wall[kept]


def _set_walls(leaves: Leaves, model: LeafWalls, missing: Mask) -> list[tuple[int, Index, Index, Mask]]:
    """For each column whose walls are sets: its place, its cells, its walls, and which cells each lets in."""
    walls, found = model.walls, []
    for mine, cells, inside in model.walls.levels:
        found.append((int(leaves.place_of_cell[cells[0]]), cells, mine, inside))
    for place in np.flatnonzero(missing).tolist():
        if leaves.edges[place] is None:
            continue
        mine = np.flatnonzero(walls.place == place)
        cells = np.arange(leaves.first_cells[place], leaves.first_cells[place + 1])
        inside = (cells >= walls.low[mine][:, None]) & (cells <= walls.high[mine][:, None])
        inside[:, -1] = walls.allows_missing[mine]
        found.append((place, cells, mine, inside))
    return found
