"""Basins: what quenches to the same minimum, how much of the ensemble lies there, and what it takes to leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.methods.sampler.basins.flood import MergeTree, drop_shallow, flood
from counterpoise.methods.sampler.basins.graph import NeighbourGraph
from counterpoise.methods.sampler.basins.minima import choose_minima, sort_by_effort
from counterpoise.methods.sampler.basins.quench import bring_to_graph, quench
from counterpoise.methods.sampler.basins.ways import explore_ways
from counterpoise.methods.sampler.draws import Draws
from counterpoise.methods.sampler.places import Places
from counterpoise.problem import Problem
from counterpoise.space.nearest_rows import spread_places
from counterpoise.types import Array, Index, Mask


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
) -> Basins:
    """The basins of a row at the temperature of its draws, and the merge tree of their minima.

    ``known`` ``(a, d)`` are valid points found elsewhere, such as the row's answers; NaN: none. A way out that the
    search knows is a basin however seldom the draws went there: its weight is what they say, 0 where none did. The
    minimum of a basin is the best point that is known of it, an answer or a draw included.
    """
    graph = NeighbourGraph(problem, places, row)
    x, effort = draws.flat()
    picks = spread_places(len(x), settings.quenched)
    x, effort = x[picks], effort[picks]
    is_exact = graph.size() <= settings.max_exact_points
    known = known[~np.isnan(np.where(np.isnan(graph.problem.x0), 0.0, known)).any(axis=1)]
    points = np.concatenate([x, known, draws.best_x[None]])
    tree, owner, is_guessed = _merge_tree(graph, points, is_exact=is_exact)
    drawn, answers = owner[: len(x)], owner[len(x) : -1]
    keep = np.bincount(drawn, minlength=len(tree.effort)) >= settings.min_weight * len(drawn)
    keep[:1] = True
    keep[answers] = True
    tree, into = drop_shallow(tree, settings.min_depth * float(draws.T[0]), keep)
    owner = into[owner]
    minima = choose_minima(graph, tree, points, owner)
    tree, into = sort_by_effort(tree, np.asarray(graph.problem.energy.effort(minima[None], graph.problem.x0)[0]))
    minima, owner = minima[np.argsort(into)], into[owner[: len(x)]]
    weight = np.bincount(owner, minlength=len(tree.effort)) / len(owner)
    size = max(min(draws.effective_size, len(owner)), 1.0)
    mean, width = (np.full(len(weight), np.nan) for _ in range(2))
    for basin in np.unique(owner).tolist():
        mine = owner == basin
        mean[basin], width[basin] = effort[mine].mean(), _measure_width(graph, x[mine])
    error = np.sqrt((weight * (1 - weight) + 0.25 / size) / size)
    guessed = float(is_guessed[: len(x)].mean())
    return Basins(minima, tree.effort, weight, error, mean, width, tree, is_exact, guessed)


def _merge_tree(graph: NeighbourGraph, points: Array, *, is_exact: bool) -> tuple[MergeTree, Index, Mask]:
    """The merge tree of the minima of valid points ``(p, d)``, the minimum of each point, and which are guesses."""
    place = bring_to_graph(graph, points)
    is_guessed = ~np.isfinite(graph.efforts(place))
    starts = place[~is_guessed]
    if is_exact:
        graph.efforts(graph.all_points())
        starts = np.concatenate([starts, np.array(graph.points, dtype=np.intp).reshape(-1, place.shape[1])])
    if not len(starts):
        return *_gather_by_changes(graph, points), is_guessed
    ends = quench(graph, starts)
    minima, found = np.unique(ends, axis=0, return_inverse=True)
    owner = np.zeros(len(place), dtype=np.intp)
    owner[~is_guessed] = found.ravel()[: len(place) - int(is_guessed.sum())]
    for point in np.flatnonzero(is_guessed).tolist():
        unlike = ((minima > 0) != (place[point] > 0)).sum(axis=1)
        owner[point] = np.lexsort((np.abs(minima - place[point]).sum(axis=1), unlike))[0]
    if not is_exact:
        explore_ways(graph, minima)
    tree = flood(graph, minima)
    order = {key: number for number, key in enumerate(graph.keys(tree.places).tolist())}
    number = np.array([order[key] for key in graph.keys(minima).tolist()], dtype=np.intp)
    return tree, number[owner], is_guessed


def _gather_by_changes(graph: NeighbourGraph, points: Array) -> tuple[MergeTree, Index]:
    """A tree without merges where no end of an interval is valid: points that change the same columns are a basin."""
    place = graph.places.locate(points[None])[0]
    cost = np.asarray(graph.problem.energy.effort(points[None], graph.problem.x0)[0])
    _, kind = np.unique(place > 0, axis=0, return_inverse=True)
    order = np.lexsort((cost, kind.ravel()))
    first = order[np.unique(kind.ravel()[order], return_index=True)[1]]
    rank = np.argsort(cost[first], kind="stable")
    tree = MergeTree(place[first[rank]], cost[first[rank]], np.empty((0, 3)))
    return tree, np.argsort(rank)[kind.ravel()]


def _measure_width(graph: NeighbourGraph, x: Array) -> float:
    """The spread of points ``(p, d)`` in typical spreads of the features; a category is changed or it is not."""
    problem = graph.problem
    changed = problem.region.is_changed(x[None])[0]
    values = np.where(problem.numeric, np.nan_to_num(x / np.where(problem.numeric, problem.scales, 1.0)), changed)
    return float(np.sqrt((values.std(axis=0) ** 2).sum()))
