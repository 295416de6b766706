"""Quench: from a point downhill on the graph of neighbours, each time to the valid neighbour of least effort."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.sampler.basins.graph import NeighbourGraph
from counterpoise.types import Array, Index


def quench(graph: NeighbourGraph, place: Index, max_steps: int = 1000) -> Index:
    """The minima ``(p, d)`` that valid points ``(p, d)`` run down to; of equal neighbours the first is taken."""
    distinct, owner = np.unique(place, axis=0, return_inverse=True)
    now, effort = distinct.copy(), graph.efforts(distinct)
    next_by_key: dict[int, Index] = {}  # where each point goes, so that ways that meet are walked once
    running = np.flatnonzero(np.isfinite(effort))
    for _ in range(max_steps):
        if not len(running):
            break
        keys = graph.keys(now[running])
        _, first = np.unique(keys, return_index=True)
        open_points = running[first[[int(key) not in next_by_key for key in keys[first]]]]
        if len(open_points):
            for point, lower in zip(open_points, _lowest_neighbours(graph, now[open_points]), strict=True):
                next_by_key[int(graph.keys(now[[point]])[0])] = lower
        then = np.stack([next_by_key[int(key)] for key in keys])
        moved = (then != now[running]).any(axis=1)
        now[running] = then
        running = running[moved]
    return now[owner.ravel()]


def _lowest_neighbours(graph: NeighbourGraph, place: Index) -> Index:
    """The valid neighbour of least effort of each point ``(p, d)``, or the point itself where none is lower."""
    effort = graph.efforts(place)
    owners, found = graph.neighbours(place, all_settings=not graph.setting_never_helps)
    cost = graph.costs(found)
    lower = np.flatnonzero(cost < effort[owners] - 1e-12 * np.maximum(effort[owners], 1.0))
    owners, found = owners[lower], found[lower]
    effort = graph.efforts(found)
    out = place.copy()
    order = np.lexsort((np.arange(len(owners)), effort, owners))
    order = order[np.isfinite(effort[order])]
    _, first = np.unique(owners[order], return_index=True)
    out[owners[order][first]] = found[order][first]
    return out


def bring_to_graph(graph: NeighbourGraph, x: Array) -> Index:
    """The points ``(p, d)`` of the graph that valid points ``x`` ``(p, d)`` belong to.

    The end of an interval that stands for it may not be valid where the value inside is. Such a point is first set back
    in every column that it can do without, the one that saves most first.
    """
    place: Index = graph.places.locate(x[None])[0]
    lost = np.flatnonzero(~np.isfinite(graph.efforts(place)))
    if len(lost):
        place[lost] = graph.places.locate(_set_back_what_is_idle(graph, x[lost])[None])[0]
    return np.asarray(place)


def _set_back_what_is_idle(graph: NeighbourGraph, x: Array) -> Array:
    """Valid points ``(p, d)`` with columns set back to the row one after another, as long as they stay valid."""
    problem, places, row_values = graph.problem, graph.places, graph.problem.x0[0]
    x, running = x.copy(), np.arange(len(x))
    columns = graph.open_columns[graph.has_own_value[graph.open_columns]]
    while len(running):
        points, picks = np.nonzero(x[running][:, columns] != row_values[columns])
        if not len(points):
            break
        trial = x[running][points]
        trial[np.arange(len(points)), columns[picks]] = row_values[columns[picks]]
        trial = places.settle(trial[None])[0]
        cost = np.asarray(problem.energy.effort(trial[None], problem.x0)[0])
        now = np.asarray(problem.energy.effort(x[running][None], problem.x0)[0])
        may = np.flatnonzero((cost < now[points]) & problem.region.contains(trial[None])[0])
        reached = problem.are_reached(np.zeros(len(may), dtype=np.intp), trial[may])
        may = may[reached]
        order = may[np.lexsort((cost[may], points[may]))]
        movers, first = np.unique(points[order], return_index=True)
        x[running[movers]] = trial[order[first]]
        running = running[movers]
    return x
