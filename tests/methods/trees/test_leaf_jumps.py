"""Jumps into leaves: of a single tree the nearest answer is found, whatever is missing, whole, named or forbidden."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import counterpoise as cp
from counterpoise.methods.model_kinds import leaves_of
from counterpoise.methods.settings.search_settings import DEFAULTS
from counterpoise.methods.trees.cell_menu import CellValues
from counterpoise.methods.trees.leaf_jumps import jump_into_leaves
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from problems import problem_of


def flows(seed: int, rows: int = 400) -> pd.DataFrame:
    """Numbers, some of them missing, counts and names."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "rate": rng.normal(size=rows),
            "load": rng.normal(size=rows),
            "ports": rng.integers(0, 9, rows),
            "state": pd.Categorical(rng.choice(["idle", "new", "open", "shut"], rows)),
        }
    )
    table.loc[rng.random(rows) < 0.1, "load"] = np.nan
    return table


def of_one_tree(seed: int, rows: int, **question: object) -> Problem:
    """The problem of giving rows the other class of a deep tree that knows all kinds of columns."""
    table = flows(seed)
    rng = np.random.default_rng(seed)
    wave = np.sin(3 * table["rate"]) + table["load"].fillna(0.3) * (table["ports"] % 3 - 1)
    labels = np.where(wave + (table["state"].isin(["new", "shut"])) + rng.normal(0, 0.3, len(table)) > 0.5, "bad", "ok")
    model = HistGradientBoostingClassifier(
        max_iter=1,
        learning_rate=1.0,
        max_leaf_nodes=None,
        min_samples_leaf=3,
        categorical_features="from_dtype",
        random_state=0,
    ).fit(table, labels)
    wanted = np.where(model.predict(table[:rows]) == "bad", "ok", "bad")
    return problem_of(model, table, table[:rows], target=wanted, **question)


def nearest_answers(problem: Problem) -> np.ndarray:
    """The least effort of each row by looking into every leaf, column by column: infinite where none is open."""
    leaves = leaves_of(problem)
    assert leaves is not None
    menu, paths = CellValues.of(problem, leaves), leaves.leaf_ranges
    said = np.repeat(leaves.to_outputs(leaves.base + leaves.value)[None], len(problem), axis=0)
    reached = problem.goal.is_reached(said)  # (n, leaves)
    out = np.full(len(problem), np.inf)
    norm = problem.energy.distance.name
    for row in range(len(problem)):
        home = leaves.find_cells(problem.x0[row : row + 1])[0]
        steps = np.empty((len(leaves.value), len(home)))
        for place, (start, stop) in enumerate(zip(leaves.first_cells[:-1], leaves.first_cells[1:], strict=True)):
            cells = np.arange(start, stop)
            if place in paths.levels:
                inside = paths.levels[place]
            else:
                inside = (cells >= paths.low[:, place, None]) & (cells <= paths.high[:, place, None])
                inside[:, -1] = paths.allows_missing[:, place]
            allowed = inside & (menu.all_values.is_allowed[row, cells] | (cells == home[place]))
            costs = np.where(cells == home[place], 0.0, menu.all_values.distance[row, cells])
            steps[:, place] = np.where(allowed, costs, np.inf).min(axis=1)
        length = {"l2": np.sqrt((steps**2).sum(axis=1)), "l1": steps.sum(axis=1), "l0": (steps > 0).sum(axis=1) * 1.0}
        out[row] = length[norm][reached[row] & np.isfinite(steps).all(axis=1)].min(initial=np.inf)
    return out


@settings(max_examples=12)
@given(st.integers(0, 200), st.sampled_from(["l2", "l1", "l0"]), st.booleans())
def test_of_a_single_tree_the_nearest_answer_is_found(seed: int, distance: str, bound: bool) -> None:
    words = [cp.Immutable("state"), cp.Increasing("ports"), cp.Decreasing("rate")] if bound else []
    problem = of_one_tree(seed, 6, distance=distance, constraints=words, lam=0)
    best = nearest_answers(problem)
    run = cp.Search()(problem, Streams.of(problem.x0, 0))
    found = run.effort.min(axis=1)
    assert found == pytest.approx(best, rel=1e-6)


def test_jumps_lead_into_leaves_and_change_nothing_else() -> None:
    problem = of_one_tree(1, 5)
    leaves = leaves_of(problem)
    assert leaves is not None
    menu, cells = CellValues.of(problem, leaves), leaves.find_cells(problem.x0)
    tried = jump_into_leaves(
        problem, leaves, menu, problem.x0[:, None, :], cells, leaves.survey_single_changes(cells, cells), np.ones(5)
    )
    for row, points in enumerate(tried):
        own = leaves.finder.find_leaves(cells[row : row + 1])[0]
        there = leaves.finder.find_leaves(leaves.find_cells(points))[:, 0]
        assert own[0] not in there
        assert (
            len(set(there.tolist())) >= DEFAULTS.trees.leaf_jumps_per_point - DEFAULTS.trees.sufficient_jumps_per_point
        ), "they go to different ones"
        inside = problem.region.take([row]).contains(points[None])[0]
        assert inside.all()


def test_the_nearest_answer_is_found_among_many_leaves() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 6))
    y = (np.sin(2 * x).sum(axis=1) > 0).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(x, y)
    assert tree.get_n_leaves() > 300
    problem = problem_of(tree, x, x[:20], target=1 - tree.predict(x[:20]), lam=0)
    assert cp.Search()(problem, Streams.of(problem.x0, 0)).effort.min(axis=1) == pytest.approx(
        nearest_answers(problem), rel=1e-6
    )


@pytest.mark.parametrize("lam", [0, "auto"])
def test_cells_that_hold_no_listed_value_are_shut(lam: object) -> None:
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(300, 4)).round(2), columns=list("abcd"))
    tree = DecisionTreeClassifier(random_state=0).fit(x, x["a"] + x["b"] > 0)
    words = [cp.OneOf("a", [-1.0, 1.0])]
    problem = problem_of(tree, x, x[:20], target=True, constraints=words)
    leaves = leaves_of(problem)
    assert leaves is not None
    menu = CellValues.of(problem, leaves)
    assert np.isfinite(menu.all_values.value[menu.all_values.is_allowed]).all()
    assert cp.explain(tree, x[:20], reference=x, target=True, lam=lam, constraints=words).valid.all()


def test_a_point_exactly_on_the_boundary_is_surveyed_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(300, 4)).round(2), columns=list("abcd"))
    tree = DecisionTreeRegressor(random_state=0).fit(x, np.rint(2 * x["a"] + x["b"]))
    assert cp.explain(tree, x[tree.predict(x) < 0][:20], reference=x, target=(1.0, None)).valid.all()


def test_another_value_of_the_own_cell_is_taken_where_the_own_one_may_not_be_kept() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-4, 2, 400), rng.uniform(-1, 1, 400)])
    tree = DecisionTreeClassifier(random_state=0).fit(x, (x[:, 0] <= -1.35) & (x[:, 1] > 0))
    row = np.array([[-1.61, -0.1]])
    explanation = cp.explain(tree, row, reference=x, target=True, constraints=[cp.OneOf("f0", [-2.87, -0.9])])
    assert explanation.valid.all()
    assert explanation.x[0, 0] == -2.87
    assert 0 <= explanation.x[0, 1] < 0.05
