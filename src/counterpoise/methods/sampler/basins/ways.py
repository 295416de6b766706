"""Ways between minima: points on the graph of neighbours that lead from one to another, asked of the model."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.sampler.basins.graph import NeighbourGraph
from counterpoise.types import Index


def explore_ways(graph: NeighbourGraph, minima: Index, *, partners: int = 6, max_points: int = 512) -> None:
    """Ask the model about points between minima ``(b, d)``, so that flooding finds ways there.

    Each minimum is joined with its ``partners`` nearest by the number of columns that differ: through all points
    between the two where these are at most ``max_points``, and along a few orders of changing one column at a time.
    """
    b = len(minima)
    if b < 2:
        return
    differs = (minima[:, None, :] != minima[None, :, :]).sum(axis=2)
    steps = np.abs(minima[:, None, :] - minima[None, :, :]).sum(axis=2)
    np.fill_diagonal(differs, minima.shape[1] + 1)
    pairs = set()
    for one in range(b):
        near = np.lexsort((steps[one], differs[one]))[: min(partners, b - 1)]
        pairs |= {(min(one, int(other)), max(one, int(other))) for other in near}
        pairs.add((0, one) if one else (0, 1))
    points = [_points_between(graph, minima[one], minima[other], max_points) for one, other in sorted(pairs)]
    graph.efforts(np.concatenate(points))


def _points_between(graph: NeighbourGraph, one: Index, other: Index, max_points: int) -> Index:
    """Points ``(p, d)`` on ways from one to the other."""
    columns = np.flatnonzero(one != other)
    menus = [_values_between(graph, int(column), int(one[column]), int(other[column])) for column in columns]
    if np.prod([float(len(menu)) for menu in menus]) <= max_points:
        grid = np.stack([axis.ravel() for axis in np.meshgrid(*menus, indexing="ij")], axis=1)
        points = np.repeat(one[None], len(grid), axis=0)
        points[:, columns] = grid
        return points
    # what goes farther from the row first: a larger change keeps the target more often than a smaller one
    row_values = graph.places.near[0, columns, 0]
    reach = [np.nan_to_num(np.abs(graph.places.far[0, columns, point[columns]] - row_values)) for point in (one, other)]
    gain = np.where(
        graph.places.is_nominal[columns], (other[columns] > 0) * 1.0 - (one[columns] > 0), reach[1] - reach[0]
    )
    falls = gain < 0
    orders = [np.lexsort((columns, falls)), np.lexsort((-columns, falls)), np.lexsort((columns, ~falls))]
    lines = []
    for order in orders:
        now = one.copy()
        for place in order:
            column = columns[place]
            way = menus[place]
            line = np.repeat(now[None], len(way), axis=0)
            line[:, column] = way
            lines.append(line)
            now = now.copy()
            now[column] = other[column]
        lines.append(now[None])
    return np.concatenate(lines)


def _values_between(graph: NeighbourGraph, column: int, one: int, other: int) -> Index:
    """The places that lead from one to the other: itself alone where one of them is unchanged, or is a category."""
    if one == 0 or other == 0 or graph.places.is_nominal[column]:
        return np.array([one, other])
    below = graph.below[column]
    if (one <= below) != (other <= below) and graph.has_own_value[column]:
        return np.array([one, 0, other])
    return np.arange(min(one, other), max(one, other) + 1)
