"""Basins: what quenches to the same minimum, how much of the ensemble lies there, and what it takes to leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.methods.sampler.basins.flood import MergeTree, drop_shallow, flood
from counterpoise.methods.sampler.basins.graph import NeighbourGraph
from counterpoise.methods.sampler.basins.quench import bring_to_graph, quench
from counterpoise.methods.sampler.basins.ways import explore_ways
from counterpoise.methods.sampler.draws import Draws
from counterpoise.methods.sampler.places import Places
from counterpoise.problem import Problem
from counterpoise.space.nearest_rows import spread_places
from counterpoise.types import Array, Index


@dataclass(frozen=True)
class BasinSettings:
    """How basins are looked for.

    >>> BasinSettings().min_depth
    1.0
    """

    quenched: int = 300
    """Draws that are quenched, evenly spread over all."""
    min_depth: float = 1.0
    """A minimum that lies less than this many temperatures below its lowest barrier belongs to the deeper one."""
    max_exact_points: int = 20_000
    """Rows with at most so many points, valid or not, are flooded exactly."""
    min_weight: float = 0.01
    """Basins that hold less of the ensemble are left out, except that of least effort and those of known answers."""


@dataclass(frozen=True, eq=False)
class Basins:
    """The basins of one row, by rising effort of their minima."""

    x: Array  # (b, d) minima
    effort: Array  # (b,)
    weight: Array  # (b,) share of the ensemble at its temperature
    weight_error: Array  # (b,) standard error
    mean_effort: Array  # (b,) of the ensemble's points there; NaN where there are none
    width: Array  # (b,) spread of those points, in typical spreads of the features
    tree: MergeTree
    is_exact: bool  # barriers and minima are those of all points, not of what was visited
    assigned_by_distance: (
        float  # share of quenched draws whose interval's end is not valid: the nearest minimum has them
    )


def find_basins(
    problem: Problem, places: Places, row: int, draws: Draws, settings: BasinSettings, known: Array
) -> Basins | None:
    """The basins of a row at the temperature of its draws, and the merge tree of their minima.

    None where no valid point is on the graph, as where the ends of all intervals that were drawn are not.

    ``known`` ``(a, d)`` are valid points found elsewhere, such as the row's answers; NaN: none. A way out that the
    search knows is a basin however seldom the draws went there: its weight is what they say, 0 where none did.
    """
    graph = NeighbourGraph(problem, places, row)
    x, effort = draws.flat()
    picks = spread_places(len(x), settings.quenched)
    x, effort = x[picks], effort[picks]
    place = bring_to_graph(graph, x)
    is_exact = graph.size() <= settings.max_exact_points
    known = known[~np.isnan(np.where(np.isnan(graph.problem.x0), 0.0, known)).any(axis=1)]
    known_place = bring_to_graph(graph, known)
    minima, owner, known_owner, guessed = _quench_draws(graph, place, known_place, all_points=is_exact)
    if not len(minima):
        return None
    if not is_exact:
        explore_ways(graph, minima)
    tree = flood(graph, minima)
    order = {key: number for number, key in enumerate(graph.keys(tree.places).tolist())}
    number = np.array([order[key] for key in graph.keys(minima).tolist()], dtype=np.intp)
    owner = number[owner]
    weight = np.bincount(owner, minlength=len(tree.effort)) / len(owner)
    keep = weight >= settings.min_weight
    keep[:1] = True
    keep[number[known_owner]] = True
    tree, into = drop_shallow(tree, settings.min_depth * float(draws.T[0]), keep)
    owner = into[owner]
    weight = np.bincount(owner, minlength=len(tree.effort)) / len(owner)
    size = max(min(draws.effective_size, len(owner)), 1.0)
    mean, width = (np.full(len(weight), np.nan) for _ in range(2))
    scales = np.where(graph.problem.numeric, graph.problem.scales, 1.0)
    for basin in np.unique(owner).tolist():
        mine = owner == basin
        mean[basin] = effort[mine].mean()
        spread = np.nan_to_num(x[mine] / scales).std(axis=0)
        width[basin] = float(np.sqrt((spread**2).sum()))
    error = np.sqrt((weight * (1 - weight) + 0.25 / size) / size)
    return Basins(graph.values(tree.places), tree.effort, weight, error, mean, width, tree, is_exact, guessed)


def _quench_draws(
    graph: NeighbourGraph, place: Index, known: Index, *, all_points: bool
) -> tuple[Index, Index, Index, float]:
    """The distinct minima ``(b, d)``, which of them draws ``(p, d)`` and known points run down to, share of guesses."""
    valid = np.isfinite(graph.efforts(place))
    known = known[np.isfinite(graph.efforts(known))]
    drawn, others = int(valid.sum()), len(known)
    starts = np.concatenate([place[valid], known])
    if all_points:
        every = graph.all_points()
        graph.efforts(every)
        starts = np.concatenate([starts, np.array(graph.points, dtype=np.intp).reshape(-1, place.shape[1])])
    if not len(starts):
        nobody = np.zeros(0, dtype=np.intp)
        return place[:0], nobody, nobody, 1.0
    ends = quench(graph, starts)
    minima, found = np.unique(ends, axis=0, return_inverse=True)
    owner = np.zeros(len(place), dtype=np.intp)
    owner[valid] = found.ravel()[:drawn]
    for point in np.flatnonzero(~valid).tolist():
        unlike = ((minima > 0) != (place[point] > 0)).sum(axis=1)
        owner[point] = np.lexsort((np.abs(minima - place[point]).sum(axis=1), unlike))[0]
    guessed = float(1 - valid.mean()) if len(valid) else 0.0
    return minima, owner, found.ravel()[drawn : drawn + others], guessed
