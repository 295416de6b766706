"""Nodes of a branch and bound, and the pool in which they wait, the cheapest first."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.exact.row_leaves import Cells
from counterpoise.methods.trees.exact.voters import Words
from counterpoise.types import Array, Index

AT_FIRST = 256  # nodes that a pool has room for


class Nodes(NamedTuple):
    """Boxes of one row: what the leaves chosen so far leave of space."""

    cells: Cells  # (p, columns) the cheapest point of each, as local cells
    sets: NDArray[np.uint64]  # (p, words) the classes of levels that are left
    alive: Words  # (p, words) the leaves that reach in
    bound: Array  # (p,) of effort

    def at(self, places: Index) -> Nodes:
        """Some of the nodes."""
        return Nodes(self.cells[places], self.sets[places], self.alive[places], self.bound[places])


class Pool:
    """Nodes that wait; of equals the one that came first is taken first."""

    def __init__(self, root: Nodes) -> None:
        self._arrays = Nodes(*(np.empty((AT_FIRST, *array.shape[1:]), dtype=array.dtype) for array in root))
        self._used, self._came = 0, 0
        self._heap: list[tuple[float, int, int]] = []  # bound, number by arrival, place in the arrays
        self.push(root, np.inf)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def least(self) -> float:
        """The least bound of all nodes that wait; infinite where none does."""
        return self._heap[0][0] if self._heap else np.inf

    def push(self, nodes: Nodes, limit: float) -> None:
        """Let nodes wait; where room is short those whose bound has come to the limit are dropped."""
        size = len(nodes.bound)
        if self._used + size > len(self._arrays.bound):
            self._tidy(size, limit)
        start, room = self._used, self._arrays
        part = slice(start, start + size)
        room.cells[part], room.sets[part], room.alive[part], room.bound[part] = nodes
        for place, bound in enumerate(nodes.bound.tolist(), start):
            heapq.heappush(self._heap, (bound, self._came, place))
            self._came += 1
        self._used += size

    def pop(self, most: int, limit: float) -> Nodes:
        """The cheapest nodes below the limit, at most so many."""
        places: list[int] = []
        while self._heap and len(places) < most and self._heap[0][0] < limit:
            places.append(heapq.heappop(self._heap)[2])
        return self._arrays.at(np.array(places, dtype=np.intp))

    def _tidy(self, size: int, limit: float) -> None:
        """Make room for so many nodes."""
        kept = [entry for entry in self._heap if entry[0] < limit]
        places = np.array([place for _, _, place in kept], dtype=np.intp)
        room = max(AT_FIRST, 2 * (len(kept) + size))
        arrays = []
        for array in self._arrays:
            fresh = np.empty((room, *array.shape[1:]), dtype=array.dtype)
            fresh[: len(kept)] = array[places]
            arrays.append(fresh)
        self._arrays, self._used = Nodes(*arrays), len(kept)
        self._heap = [(bound, came, place) for place, (bound, came, _) in enumerate(kept)]
        heapq.heapify(self._heap)
