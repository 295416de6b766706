"""Minima, quench and barriers against brute force over all points of small cases."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from counterpoise.methods.sampler.basins.basins import BasinSettings, find_basins
from counterpoise.methods.sampler.basins.flood import drop_shallow, flood
from counterpoise.methods.sampler.basins.graph import NeighbourGraph
from counterpoise.methods.sampler.basins.quench import quench
from counterpoise.methods.sampler.basins.ways import explore_ways
from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.sample import sample
from counterpoise.models.goals import RangeGoal
from ensemble_cases import CASES, SMALL, Case

Point = tuple[float, ...]
NAMES = list(CASES)


def _is_neighbour(one: Point, other: Point, own: Point, values: list[list[float]], name: str) -> bool:
    """Whether two points are one step apart, by the definition alone."""
    free = (0, 1, 3) if name == "a sum" else range(len(own))
    differ = [column for column in free if one[column] != other[column]]
    if len(differ) == 1:
        column = differ[0]
        if own[column] in (one[column], other[column]) or (name == "categories" and column == 0):
            return True
        return _steps_apart(one, other, column, values) == 1
    if name == "a sum" and differ == [0, 1]:
        by = [values[c].index(other[c]) - values[c].index(one[c]) for c in (0, 1)]
        return sorted(by) == [-1, 1]
    return False


def _steps_apart(one: Point, other: Point, column: int, values: list[list[float]]) -> int:
    return abs(values[column].index(one[column]) - values[column].index(other[column]))


def _brute_force(case: Case, name: str) -> tuple[dict[Point, float], dict[tuple[Point, Point], float]]:
    """The minima with their efforts, and the barrier between any two, by looking at all points one by one."""
    points = [tuple(point) for point in case.exact.x.tolist()]
    effort = dict(zip(points, case.exact.effort.tolist(), strict=True))
    own = tuple(case.row.tolist())
    # all allowed values of a column are steps, whether some valid point has them or not
    values = case.steps
    near = {point: [other for other in points if _is_neighbour(point, other, own, values, name)] for point in points}
    minima = {p: effort[p] for p in points if not any(effort[o] < effort[p] - 1e-12 for o in near[p])}
    barrier = {}
    pool = {point: {point} for point in points}
    for height, one, other in sorted((max(effort[a], effort[b]), a, b) for a in points for b in near[a]):
        if pool[one] is not pool[other]:
            for a in pool[one] & minima.keys():
                for b in pool[other] & minima.keys():
                    barrier[a, b] = barrier[b, a] = height
            joined = pool[one] | pool[other]
            for member in joined:
                pool[member] = joined
    return minima, barrier


def _graph(case: Case) -> NeighbourGraph:
    return NeighbourGraph(case.problem, Places.of(case.problem, np.array([1.0]), SMALL), 0)


@pytest.mark.parametrize("name", NAMES)
def test_minima_and_barriers_are_those_of_brute_force(name: str) -> None:
    case = CASES[name]()
    graph = _graph(case)
    graph.efforts(graph.all_points())
    assert sorted(map(tuple, graph.values(np.array(graph.points)).tolist())) == sorted(
        map(tuple, case.exact.x.tolist())
    )
    ends = quench(graph, np.array(graph.points))
    tree = flood(graph, ends)
    found = [tuple(point) for point in graph.values(tree.places).tolist()]
    minima, barrier = _brute_force(case, name)
    assert sorted(found) == sorted(minima)
    assert tree.effort == pytest.approx([minima[point] for point in found])
    heights = tree.barriers()
    for (i, one), (j, other) in combinations(enumerate(found), 2):
        assert heights[i, j] == pytest.approx(barrier.get((one, other), np.inf)), (one, other)


@pytest.mark.parametrize("name", NAMES)
def test_a_quench_goes_down_to_the_lowest_neighbour_each_time(name: str) -> None:
    case = CASES[name]()
    graph = _graph(case)
    graph.efforts(graph.all_points())
    every = np.array(graph.points)
    ends = quench(graph, every)
    assert (graph.efforts(ends) <= graph.efforts(every)).all()
    assert np.array_equal(quench(graph, ends), ends)


def test_barriers_along_ways_that_were_looked_for_are_never_below_the_true_ones() -> None:
    case = CASES["whole numbers"]()
    full, some = _graph(case), _graph(case)
    full.efforts(full.all_points())
    minima = np.unique(quench(full, np.array(full.points)), axis=0)
    explore_ways(some, minima)
    true, found = flood(full, minima).barriers(), flood(some, minima).barriers()
    assert (found >= true - 1e-12).all()
    assert np.isfinite(found).mean() > 0.5


def test_shallow_minima_belong_to_the_deeper_ones_they_merge_with() -> None:
    case = CASES["whole numbers"]()
    graph = _graph(case)
    graph.efforts(graph.all_points())
    tree = flood(graph, quench(graph, np.array(graph.points)))
    for depth in (0.0, 0.05, 0.2, 10.0):
        left, into = drop_shallow(tree, depth)
        assert (left.effort[into] <= tree.effort + 1e-12).all()
        inside = left.barriers()
        np.fill_diagonal(inside, np.inf)
        for basin in range(1, len(left.effort)):
            assert inside[basin].min() - left.effort[basin] >= depth - 1e-12 or np.isinf(inside[basin].min())
    assert len(left.effort) == 1


def test_the_weight_of_a_basin_is_its_share_of_the_boltzmann_law() -> None:
    case = CASES["categories"]()
    T = case.temperature
    starts = case.exact.x[case.exact.effort.argsort()[:4]][None]
    draws = sample(case.problem, case.problem.make_streams(0), starts, np.array([T]), 2000, SMALL)[0]
    assert draws is not None
    places = Places.of(case.problem, np.array([1.0]), SMALL)
    found = find_basins(
        case.problem, places, 0, draws, BasinSettings(quenched=2000, min_depth=0.0, min_weight=0.0), draws.flat()[0][:0]
    )
    graph = NeighbourGraph(case.problem, places, 0)
    place = graph.places.locate(case.exact.x[None])[0]
    ends = [tuple(end) for end in graph.values(quench(graph, place)).tolist()]
    law = case.exact.law(T)
    assert found.is_exact
    for minimum, weight, error in zip(found.x.tolist(), found.weight, found.weight_error, strict=True):
        exact = law[[end == tuple(minimum) for end in ends]].sum()
        assert weight == pytest.approx(exact, abs=5 * error + 1e-3)


def test_without_a_valid_point_on_the_graph_points_that_change_the_same_columns_are_a_basin() -> None:
    case = CASES["categories"]()
    starts = case.exact.x[case.exact.effort.argsort()[:4]][None]
    draws = sample(case.problem, case.problem.make_streams(0), starts, np.array([case.temperature]), 50, SMALL)[0]
    assert draws is not None
    goal = case.problem.goal
    assert isinstance(goal, RangeGoal)
    nobody = replace(case.problem, goal=replace(goal, low=np.full(1, np.inf)))
    found = find_basins(nobody, Places.of(nobody, np.ones(1), SMALL), 0, draws, BasinSettings(), starts[0])
    assert found.weight.sum() == pytest.approx(1.0)
    changed = {tuple(each) for each in (found.x != case.row).tolist()}
    assert len(changed) == len(found.x), "each basin changes other columns"
    assert np.isinf(found.tree.barriers()[~np.eye(len(found.x), dtype=bool)]).all()
