"""The best point that is known of each basin: intervals of the graph hold points nearer to the row than their ends."""

from __future__ import annotations

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.methods.sampler.basins.flood import MergeTree
from counterpoise.methods.sampler.basins.graph import NeighbourGraph
from counterpoise.types import Array, Index, Mask


def choose_minima(graph: NeighbourGraph, tree: MergeTree, points: Array, owner: Index) -> Array:
    """The best point ``(b, d)`` of each basin: its minimum on the graph, or one of the valid ``points`` ``(p, d)``.

    ``owner`` ``(p,)`` is the basin of each point. Within the intervals that a point is in it is brought nearer.
    """
    x = np.concatenate([graph.values(tree.places), points])
    basin = np.concatenate([np.arange(len(tree.effort)), owner])
    cost = np.asarray(graph.problem.energy.effort(x[None], graph.problem.x0)[0])
    cost[: len(tree.effort)] = graph.efforts(tree.places)  # infinite where the end of an interval is not valid
    order = np.lexsort((np.arange(len(x)), cost, basin))
    first = order[np.unique(basin[order], return_index=True)[1]]
    return _shorten_in_intervals(graph, x[first])


def _shorten_in_intervals(graph: NeighbourGraph, x: Array, passes: int = 2, halvings: int = 12) -> Array:
    """Valid points ``(p, d)``, each column within its interval as near to the row as it stays valid."""
    problem, places = graph.problem, graph.places
    x, none = x.copy(), np.zeros(len(x), dtype=np.intp)
    place = places.locate(x[None])[0]
    near, far = (np.take_along_axis(ends[0].T, place, axis=0) for ends in (places.near, places.far))
    is_wide = (place > 0) & (near != far) & ~places.is_nominal
    for column in np.tile(np.flatnonzero(is_wide.any(axis=0)), passes).tolist():
        mine = np.flatnonzero(is_wide[:, column])

        def is_better(middle: Array, mine: Index = mine, column: int = column) -> Mask:
            trial = x[mine]
            trial[:, column] = problem.region.lattice.snap(column, middle, none[mine])
            trial = places.settle(trial[None])[0]
            before, after = (np.asarray(problem.energy.effort(y[None], problem.x0)[0]) for y in (x[mine], trial))
            better = np.flatnonzero((after < before) & problem.region.contains(trial[None])[0])
            better = better[problem.are_reached(none[better], trial[better])]
            x[mine[better]] = trial[better]
            return np.isin(np.arange(len(mine)), better)

        bisect(near[mine, column], x[mine, column], is_better, halvings)
    return x


def sort_by_effort(tree: MergeTree, effort: Array) -> tuple[MergeTree, Index]:
    """The same tree with the efforts ``(b,)``, none of them raised, in rising order; and where each minimum went.

    >>> tree = MergeTree(np.zeros((2, 1), dtype=int), np.array([1.0, 1.9]), np.array([[0, 1, 2.0]]))
    >>> sort_by_effort(tree, np.array([1.0, 0.5]))[1]
    array([1, 0])
    """
    order = np.argsort(effort, kind="stable")
    into = np.argsort(order)
    pool = into.tolist()  # of each minimum, the lowest one of those that it has merged with
    merges = []
    for one, other, height in tree.merges:
        low, high = sorted((pool[int(one)], pool[int(other)]))
        pool = [low if each == high else each for each in pool]
        merges.append((low, high, height))
    return MergeTree(tree.places[order], effort[order], np.array(merges).reshape(-1, 3)), into
