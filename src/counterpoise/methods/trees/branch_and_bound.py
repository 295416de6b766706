"""Best-first branch and bound over boxes of leaves: one row to its least effort, or to a bound of it.

A node is what the leaves chosen so far leave of space: the cheapest point inside, and the leaves that still reach in.
Its bound is what that point costs; it is worth at most what the best leaves left add up to. Branching chooses a leaf of
one more tree. The least bound of all nodes that wait is a bound of the row at any time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.cell_costs import CellCosts
from counterpoise.methods.trees.reduction import _lowest
from counterpoise.methods.trees.row_leaves import RowLeaves, Words
from counterpoise.types import Array, Index, Mask

Verdict = Callable[[Index], tuple[Array, Mask]]
"""Of points as local cells ``(p, columns)``: the efforts ``(p,)`` of the answers that they are or lead to, infinite
where there is none; and whether the points themselves are refused by the model."""


class Nodes(NamedTuple):
    """Nodes of one row."""

    cells: Index  # (p, columns) the cheapest point of each, as local cells
    sets: NDArray[np.uint64]  # (p, words) the classes of levels that are left
    alive: Words  # (p, words) the leaves that reach in
    bound: Array  # (p,) of effort

    def at(self, some: Index) -> Nodes:
        return Nodes(self.cells[some], self.sets[some], self.alive[some], self.bound[some])


class Pool:
    """Nodes that wait, in arrays that grow."""

    def __init__(self, first: Nodes) -> None:
        self.arrays = [np.repeat(array, 256, axis=0) for array in first]
        self.count = 0
        self.heap: list[tuple[float, int]] = []

    def push(self, nodes: Nodes) -> None:
        size, start = len(nodes.bound), self.count
        while start + size > len(self.arrays[0]):
            self.arrays = [np.concatenate([array, array]) for array in self.arrays]
        for array, new in zip(self.arrays, nodes, strict=True):
            array[start : start + size] = new
        self.count += size
        for number, bound in enumerate(nodes.bound.tolist(), start):
            heapq.heappush(self.heap, (bound, number))

    def pop(self, most: int, limit: float) -> Nodes:
        chosen = []
        while self.heap and len(chosen) < most and self.heap[0][0] < limit:
            chosen.append(heapq.heappop(self.heap)[1])
        some = np.array(chosen, dtype=np.intp)
        return Nodes(*(array[some] for array in self.arrays))

    @property
    def least(self) -> float:
        return self.heap[0][0] if self.heap else np.inf


class Outcome(NamedTuple):
    """What a search came to."""

    bound: float  # no point that costs less meets the conditions, but for those below the limit that was given
    exhausted: bool
    nodes: int
    visits: int


class Search:
    """The branch and bound of one row."""

    def __init__(
        self, leaves: RowLeaves, costs: CellCosts, verdict: Verdict, limit: float, most_changes: float, tolerance: float
    ) -> None:
        self.leaves, self.costs, self.verdict = leaves, costs, verdict
        self.limit, self.most_changes, self.tolerance = limit, most_changes, tolerance
        self.stuck = np.inf
        self.reaching: dict[tuple[int, bytes], Words] = {}
        self.together: Words = np.zeros((len(leaves.leaves), len(leaves.full)), dtype=leaves.full.dtype)
        self.known = np.zeros(len(leaves.leaves), dtype=bool)
        self.nodes = self.visits = 0

    def run(self, most_nodes: int, widest: int) -> Outcome:
        leaves = self.leaves
        root = Nodes(leaves.start[None], leaves.sets.every[None], leaves.full[None], np.zeros(1))
        root = root._replace(bound=self.effort(root.cells))
        pool = Pool(root)
        pool.push(root)
        width = 1
        while pool.heap and pool.least < self.limit and self.nodes < most_nodes:
            popped = pool.pop(min(width, most_nodes - self.nodes), self.limit)
            width = min(2 * width, widest)
            self.nodes += len(popped.bound)
            children = self.branch(popped)
            if children is not None:
                pool.push(children)
        least = min(pool.least, self.limit, self.stuck)
        return Outcome(least, min(pool.least, self.stuck) >= self.limit, self.nodes, self.visits)

    def effort(self, cells: Index) -> Array:
        leaves = self.leaves
        square, rest = leaves.square.take(cells).sum(axis=1), leaves.rest.take(cells).sum(axis=1)
        return self.costs.effort(np.maximum(square + leaves.fixed[0], 0.0), rest + leaves.fixed[1])

    def branch(self, nodes: Nodes) -> Nodes | None:
        leaves = self.leaves
        here = leaves.inside(nodes.cells)
        now = leaves.best(here)
        met = (now @ leaves.voters >= leaves.need).all(axis=1)
        by_model = self.offer(nodes.cells, met) if met.any() else met
        best = leaves.best(nodes.alive)
        total = best @ leaves.voters
        open_ = (total >= leaves.need).all(axis=1) & (nodes.bound < self.limit)
        gap = best - now
        # condition that lacks most decides which voters may be chosen
        if leaves.voters.shape[1] > 1:
            lacking = (leaves.need - now @ leaves.voters).argmax(axis=1)
            mine = leaves.voters[:, lacking].T > 0
            wanted = np.where(mine, gap, 0.0)
            gap = np.where((wanted.max(axis=1, keepdims=True) > 0), wanted, gap)
        gap = np.where(gap > 0, gap, 0.0)
        refused = np.flatnonzero(met & open_)
        if len(refused):  # no answer although the conditions hold: any tree that is not decided yet may tell why
            gap[refused] = self.undecided(nodes.alive[refused])
        voter = gap.argmax(axis=1) if gap.shape[1] else np.zeros(len(gap), dtype=np.intp)
        undecided = (gap > 0).any(axis=1)
        stuck = open_ & ~undecided & ~by_model  # a relation refuses the point, not the box
        if stuck.any():
            self.stuck = min(self.stuck, float(nodes.bound[stuck].min()))
        chosen = np.flatnonzero(open_ & undecided)
        if not len(chosen):
            return None
        parent, leaf = self.leaves_of(nodes, chosen, voter[chosen])
        return self.children(nodes, parent, leaf)

    def undecided(self, alive: Words) -> Array:
        """How many leaves each voter could do without, ``(p, voters)``."""
        count = np.bitwise_count(alive).astype(np.float64)
        if self.leaves.several:
            count = np.add.reduceat(count, self.leaves.voter_word, axis=1)
        return count - 1.0

    def leaves_of(self, nodes: Nodes, chosen: Index, voter: Index) -> tuple[Index, Index]:
        leaves = self.leaves
        ends = np.append(leaves.voter_word[1:], len(leaves.full))
        first, count = leaves.voter_word[voter], (ends - leaves.voter_word)[voter]
        if not leaves.several:
            word, node = first, chosen
        else:
            node = np.repeat(chosen, count)
            word = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
        alive = nodes.alive[node, word]
        flags = np.unpackbits(alive[:, None].view(np.uint8), axis=1, bitorder="little")
        line, place = np.nonzero(flags)
        return node[line], leaves.leaf[word[line], place]

    def children(self, nodes: Nodes, parent: Index, leaf: Index) -> Nodes | None:
        leaves = self.leaves
        numbers = leaves.low.shape[1]
        cells = nodes.cells[parent]
        cells[:, :numbers] = np.minimum(np.maximum(cells[:, :numbers], leaves.low[leaf]), leaves.high[leaf])
        sets = nodes.sets[parent]
        if sets.shape[1]:
            sets &= leaves.sets.open[leaf]
            for column, (word, first) in enumerate(zip(leaves.sets.word, leaves.sets.first, strict=True)):
                cells[:, numbers + column] = first + np.minimum(_lowest(sets[:, word]), len(leaves.cell) - first - 1)
        bound = np.maximum(self.effort(cells), nodes.bound[parent])
        near = bound < self.limit
        if self.most_changes < np.inf:
            near &= leaves.changed.take(cells).sum(axis=1) + leaves.fixed[2] <= self.most_changes
        kept = np.flatnonzero(near)
        if not len(kept):
            return None
        parent, leaf, cells, sets, bound = parent[kept], leaf[kept], cells[kept], sets[kept], bound[kept]
        alive = nodes.alive[parent] & self.compatible(leaf)
        if sets.shape[1]:
            self.keep_to_sets(alive, sets, nodes.sets[parent])
        self.visits += alive.size
        total = leaves.best(alive) @ leaves.voters
        kept = np.flatnonzero((total >= leaves.need).all(axis=1))
        return Nodes(cells[kept], sets[kept], alive[kept], bound[kept]) if len(kept) else None

    def compatible(self, leaf: Index) -> Words:
        """The leaves ``(p, words)`` whose columns of numbers each of some leaves ``(p,)`` shares a cell with."""
        new = np.unique(leaf[~self.known[leaf]])
        if len(new):
            leaves = self.leaves
            if leaves.low.shape[1]:
                apart = np.bitwise_or.reduce(leaves.above.take(leaves.high[new], axis=0), axis=1)
                apart |= np.bitwise_or.reduce(leaves.below.take(leaves.low[new], axis=0), axis=1)
                self.together[new] = leaves.full & ~apart
            else:
                self.together[new] = leaves.full
            self.known[new] = True
        return self.together[leaf]

    def keep_to_sets(self, alive: Words, sets: NDArray[np.uint64], before: NDArray[np.uint64]) -> None:
        leaves = self.leaves
        for column, word in enumerate(leaves.sets.word):
            changed = np.flatnonzero((sets[:, word] != before[:, word]).any(axis=1))
            if not len(changed):
                continue
            different, which = np.unique(sets[changed][:, word], axis=0, return_inverse=True)
            table = np.stack([self.reached(column, line) for line in different])
            alive[changed] &= table[which.reshape(-1)]

    def reached(self, column: int, classes: NDArray[np.uint64]) -> Words:
        key = (column, classes.tobytes())
        if key not in self.reaching:
            leaves = self.leaves
            flags = np.flatnonzero(np.unpackbits(classes.view(np.uint8), bitorder="little"))
            shut = leaves.shut[leaves.sets.first[column] + flags]
            self.reaching[key] = leaves.full & ~np.bitwise_and.reduce(shut, axis=0)
        return self.reaching[key]

    def offer(self, cells: Index, met: Mask) -> Mask:
        """Points that meet the conditions, shown to the model; which of them ``(p,)`` it refuses itself."""
        effort, refused = self.verdict(cells[met])
        self.limit = min(self.limit, float(effort.min()) * (1 - self.tolerance))
        out = np.zeros(len(met), dtype=bool)
        out[met] = refused
        return out
