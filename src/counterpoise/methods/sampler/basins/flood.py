"""Flooding: which minima merge at which effort, from valid points and the graph of neighbours between them.

Points are taken by rising effort, as water would reach them; where two pools meet, a barrier is passed. So work the
barrier trees of lattices (Flamm et al., 2002); the merges are a minimum spanning tree of the graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.sampler.basins.graph import NeighbourGraph
from counterpoise.types import Array, Index, Mask


class MergeTree(NamedTuple):
    """Minima by rising effort, and how they merge: the rows of ``merges`` are (one, other, height).

    ``one`` is the lower of the two pools' lowest minima. Minima that no way joins do not occur in a common merge.
    """

    places: Index  # (b, d)
    effort: Array  # (b,)
    merges: Array  # (m, 3) by rising height

    def barriers(self) -> Array:
        """The barrier between any two minima ``(b, b)``: infinite where no way is known, the effort on the diagonal."""
        b = len(self.effort)
        out = np.full((b, b), np.inf)
        pools = [[place] for place in range(b)]
        for one, other, height in self.merges:
            first, second = pools[int(one)], pools[int(other)]
            out[np.ix_(first, second)], out[np.ix_(second, first)] = height, height
            joined = first + second
            for member in joined:
                pools[member] = joined
        out[np.arange(b), np.arange(b)] = self.effort
        return out


def flood(graph: NeighbourGraph, minima: Index) -> MergeTree:
    """The merge tree of minima ``(b, d)`` over all valid points that the graph knows of.

    Barriers are upper bounds where not every valid point is known, and exact where all are.
    """
    place = np.array(graph.points, dtype=np.intp).reshape(len(graph.points), -1)
    keys = np.array(graph.keys_of_points, dtype=np.uint64)
    effort = np.array([graph.known[int(key)] for key in keys])
    order = np.argsort(keys)
    owners, found = graph.neighbours(place)
    wanted = graph.keys(found)
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    there = keys[order][at] == wanted
    one, other = owners[there], order[at[there]]
    height = np.maximum(effort[one], effort[other])
    rank = np.lexsort((np.minimum(one, other), height))
    minima = np.unique(minima, axis=0)
    efforts = graph.efforts(minima)
    minima = minima[np.argsort(efforts, kind="stable")]
    efforts = np.sort(efforts, kind="stable")
    number = {int(key): place for place, key in enumerate(graph.keys(minima))}
    lowest = np.array([number.get(int(key), -1) for key in keys])  # the lowest minimum of the pool of each point
    return MergeTree(minima, efforts, _merge_pools(one[rank], other[rank], height[rank], lowest))


def _merge_pools(one: Index, other: Index, height: Array, lowest: Index) -> Array:
    """Kruskal's algorithm: edges by rising height; a merge is noted where both pools have a minimum."""
    parent = np.arange(len(lowest)).tolist()
    best = lowest.tolist()
    merges = []

    def root(point: int) -> int:
        while parent[point] != point:
            parent[point] = parent[parent[point]]
            point = parent[point]
        return point

    for first, second, level in zip(one.tolist(), other.tolist(), height.tolist(), strict=True):
        a, b = root(first), root(second)
        if a == b:
            continue
        if best[a] >= 0 and best[b] >= 0:
            merges.append((min(best[a], best[b]), max(best[a], best[b]), level))
        parent[b] = a
        best[a] = max(best[a], best[b]) if min(best[a], best[b]) < 0 else min(best[a], best[b])
    return np.array(merges).reshape(-1, 3)


def drop_shallow(tree: MergeTree, depth: float, keep: Mask | None = None) -> tuple[MergeTree, Index]:
    """The tree without minima that lie less than ``depth`` below their barrier, and where each minimum went, ``(b,)``.

    ``keep`` ``(b,)`` marks minima that are kept if they are deep enough; the others go to what they merge with.

    >>> tree = MergeTree(np.zeros((2, 1), dtype=int), np.array([1.0, 1.9]), np.array([[0, 1, 2.0]]))
    >>> drop_shallow(tree, 0.5)[1]
    array([0, 0])
    """
    b = len(tree.effort)
    into = np.arange(b)
    kept = np.ones(b, dtype=bool)
    merges = []
    for one, other, height in tree.merges:
        low, high = int(one), int(other)
        if height - tree.effort[high] < depth or not (keep is None or keep[high]):
            kept[high], into[into == high] = False, low
        else:
            merges.append((low, high, height))
    number = np.cumsum(kept) - 1
    merges = [(number[into[int(a)]], number[into[int(c)]], h) for a, c, h in merges]
    return MergeTree(tree.places[kept], tree.effort[kept], np.array(merges).reshape(-1, 3)), number[into]
