"""The search on leaves: menus hold the nearest values, surveys promise what trees keep, and small optima are found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.methods.incumbents import Incumbents
from counterpoise.methods.model_kinds import leaves_of
from counterpoise.methods.points import score_points
from counterpoise.methods.polish import polish_run
from counterpoise.methods.settings.finish import BatchSettings
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.starts import section_towards_row, start_at_reference_rows
from counterpoise.methods.trees.cell_menu import CellValues
from counterpoise.methods.trees.survey import _is_record_gain, survey_changes
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from problems import limit_model_rows, problem_of


def alerts(seed: int, rows: int = 200) -> pd.DataFrame:
    """Numbers of several kinds, and two categories."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "rate": rng.normal(size=rows).round(2),
            "load": rng.normal(size=rows).astype(np.float32),
            "ports": rng.integers(0, 7, rows),
            "state": pd.Categorical(rng.choice(["new", "open", "shut"], rows)),
        }
    )


def fitted(table: pd.DataFrame, seed: int = 0) -> HistGradientBoostingClassifier:
    score = table["rate"] + 0.5 * table["load"] * (table["ports"] > 3) + (table["state"] == "open")
    model = HistGradientBoostingClassifier(
        max_iter=10, max_leaf_nodes=6, min_samples_leaf=5, categorical_features="from_dtype", random_state=seed
    )
    return model.fit(table, np.where(score > 0.7, "alert", "benign"))


def flipped(table: pd.DataFrame, rows: pd.DataFrame, **question: object) -> Problem:
    """The problem of giving each row the other class."""
    model = fitted(table)
    wanted = np.where(model.predict(rows) == "alert", "benign", "alert")
    return problem_of(model, table, rows, target=wanted, **question)


@settings(max_examples=15)
@given(st.integers(0, 50))
def test_a_menu_has_the_value_of_each_cell_that_is_nearest_to_the_row(seed: int) -> None:
    table = alerts(seed)
    problem = flipped(table, table[:2])
    leaves = leaves_of(problem)
    assert leaves is not None
    menu = CellValues.of(problem, leaves)
    x0 = problem.x0
    for row, cell in zip(*np.nonzero(menu.all_values.is_allowed), strict=True):
        y = x0[row : row + 1].copy()
        y[0, menu.column[cell]] = menu.all_values.value[row, cell]
        place = leaves.place_of_cell[cell]
        assert leaves.find_cells(y)[0, place] == cell
        part = problem.take([int(row)])
        settled, inside = part.region.bring_inside(y[:, None, :])
        assert inside[0, 0]
        assert np.array_equal(settled[0], y), "it is a value that the column can hold"
        assert part.energy.distance.differences(y[:, None, :], part.x0)[0, 0, menu.column[cell]] == pytest.approx(
            menu.all_values.distance[row, cell]
        )
        # no value of the column's own that is nearer lies in the same cell
        if part.numeric[menu.column[cell]]:
            between = np.linspace(x0[row, menu.column[cell]], menu.all_values.value[row, cell], 9)[:-1]
            nearer = np.repeat(y[:, None, :], len(between), axis=1)
            nearer[0, :, menu.column[cell]] = between
            nearer = part.region.project(nearer)[0]
            shorter = np.abs(nearer[:, menu.column[cell]] - x0[row, menu.column[cell]]) < np.abs(
                menu.all_values.value[row, cell] - x0[row, menu.column[cell]]
            )
            assert (leaves.find_cells(nearer[shorter])[:, place] != cell).all()


@settings(max_examples=15)
@given(st.integers(0, 50))
def test_a_menu_that_is_not_listed_offers_the_same(seed: int) -> None:
    table = alerts(seed)
    problem = flipped(table, table[:4], constraints=[cp.Increasing("rate"), cp.Range("load", 0.1, 0.9)])
    leaves = leaves_of(problem)
    assert leaves is not None
    listed = CellValues.of(problem, leaves)
    looked_up = CellValues.of(problem, leaves, SearchSettings(batches=BatchSettings(listed_cells=0)))
    assert listed.value_table is not None
    assert looked_up.value_table is None
    rng = np.random.default_rng(seed)
    row, cell = rng.integers(0, 4, 200), rng.integers(0, len(leaves.place_of_cell), 200)
    rows = np.array([3, 1])
    part = problem.take(rows)
    for one, other in (
        (listed.look_up(row, cell), looked_up.look_up(row, cell)),
        (listed.at(part, rows).all_values, looked_up.at(part, rows).all_values),
    ):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=25)
@given(st.integers(0, 200), st.sampled_from([0.05, 0.3, 1.0, 30.0]), st.booleans())
def test_a_window_has_every_cell_that_offers_something_within_reach(seed: int, reach: float, dear: bool) -> None:
    table = alerts(seed)
    words = [cp.Increasing("rate"), cp.Range("load", 0.1, 0.9), *([cp.Cost("load", up=2.5, down=0.5)] if dear else [])]
    problem = flipped(table, table[:4], constraints=words)
    leaves = leaves_of(problem)
    assert leaves is not None
    menu = CellValues.of(problem, leaves)
    window, number = menu.window(np.full(4, reach)), np.arange(len(leaves.place_of_cell))
    inside = (number >= window.first[:, leaves.place_of_cell]) & (number < window.end[:, leaves.place_of_cell])
    assert inside[menu.all_values.is_allowed & (menu.all_values.distance <= reach)].all()
    assert inside[np.arange(4)[:, None], menu.home_cells].all()


def test_answers_do_not_depend_on_whether_a_menu_is_listed() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(600, 6)), columns=[f"x{i}" for i in range(6)])
    says = table["x0"] * table["x1"] + np.sin(3 * table["x2"]) + rng.normal(size=600) > 0
    explainer = cp.Explainer(RandomForestClassifier(40, random_state=0).fit(table, says), reference=table)
    listed = explainer(table[:15], proof=False)
    unlisted = cp.Search(batches=BatchSettings(listed_cells=0))
    looked_up = explainer(table[:15], method=cp.Polished(unlisted, answers=1))
    np.testing.assert_array_equal(listed.answers, looked_up.answers)


def test_a_ration_that_reference_rows_could_use_up_is_not_lost_on_them() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(table, table["a"] + table["b"] > table["c"])
    words = [cp.Increasing("a")]
    for rows in (50, 100, 210):
        found = cp.compare({"ours": cp.Search()}, model, table[:8], reference=table, constraints=words, model_rows=rows)
        assert found["validity"].tolist() == [1.0]


def test_closed_cells_are_those_that_constraints_forbid() -> None:
    table = alerts(3)
    row = table[:1]
    words = [
        cp.Immutable("rate"),
        cp.OneOf("ports", [int(row["ports"].iloc[0]), 6]),
        cp.OneOf("state", ["new", "shut"]),
    ]
    problem = flipped(table, row, constraints=words)
    leaves = leaves_of(problem)
    assert leaves is not None
    menu = CellValues.of(problem, leaves)
    names = np.array(["rate", "load", "ports", "state"])[menu.column]
    assert not menu.all_values.is_allowed[0, names == "rate"].any()
    assert set(menu.all_values.value[0, (names == "ports") & menu.all_values.is_allowed[0]]) <= {
        float(row["ports"].iloc[0]),
        6.0,
    }
    assert set(menu.all_values.value[0, (names == "state") & menu.all_values.is_allowed[0]]) <= {0.0, 2.0}


def test_values_are_found_beyond_cells_that_hold_none() -> None:
    """Nothing whole lies between 2.5 and 2.75, and for the row's rate the tree says the same beyond it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"level": rng.choice([2.4, 2.6, 2.9], 300, p=[0.6, 0.3, 0.1]), "rate": rng.normal(1.2, 1.0, 300)}
    )
    said = (table["level"] > 2.5) & ((table["level"] > 2.75) | (table["rate"] > 0.5))
    model = DecisionTreeClassifier(random_state=0).fit(table, np.where(said, "alert", "benign"))
    assert sorted(model.tree_.threshold[model.tree_.feature == 0].round(2)) == [2.5, 2.75]
    row = pd.DataFrame({"level": [0.0], "rate": [1.0]})
    problem = problem_of(model, table, row, target="alert", bounds=None, constraints=[cp.Integer("level")])
    leaves = leaves_of(problem)
    assert leaves is not None
    menu = CellValues.of(problem, leaves)
    tried = survey_changes(problem, leaves, menu, problem.x0[:, None, :], np.full(1, 30.0)).x
    assert [3.0, 1.0] in tried[0].tolist()


def test_a_survey_changes_no_more_features_than_allowed() -> None:
    table = alerts(4)
    problem = flipped(table, table[:5], constraints=[cp.MaxChanges(1)])
    leaves = leaves_of(problem)
    assert leaves is not None
    tried = survey_changes(problem, leaves, CellValues.of(problem, leaves), problem.x0[:, None, :], np.full(5, 30.0)).x
    assert (problem.region.is_changed(tried).sum(axis=-1) <= 1).all()


def test_a_survey_of_nothing_that_may_change_stays() -> None:
    table = alerts(4)
    problem = flipped(table, table[:2], constraints=[cp.Immutable(list(table))])
    leaves = leaves_of(problem)
    assert leaves is not None
    tried = survey_changes(problem, leaves, CellValues.of(problem, leaves), problem.x0[:, None, :], np.full(2, 30.0)).x
    assert np.array_equal(tried, np.repeat(problem.x0[:, None, :], tried.shape[1], axis=1))


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from(["l2", "l1", "l0"]))
def test_of_few_cells_the_nearest_combination_is_found(seed: int, distance: str) -> None:
    """Every combination of the menu, tried one by one."""
    table = alerts(seed)
    problem = flipped(table, table[:3], distance=distance)
    leaves = leaves_of(problem)
    assert leaves is not None
    found = cp.Polished(cp.Search())(problem, Streams.of(problem.x0, 0))
    menu = CellValues.of(problem, leaves)
    for row in range(3):
        choices = [
            np.flatnonzero((leaves.place_of_cell == place) & menu.all_values.is_allowed[row])
            for place in range(len(leaves.columns))
        ]
        every = np.array(list(product(*choices)))
        points = np.repeat(problem.x0[row][None, :], len(every), axis=0)
        points[:, leaves.columns] = menu.all_values.value[row, every]
        part = problem.take([row])
        score, effort = part.score(points[None]), part.energy.effort(points[None], part.x0)
        best = np.where(score.reached, effort, np.inf).min()
        assert found.effort[row, 0] <= 1.05 * best + 1e-9


@pytest.mark.parametrize("ration", [60, 400])
def test_a_small_ration_is_kept_and_used(ration: int) -> None:
    table = alerts(5)
    problem = flipped(table, table[:4])
    limited = limit_model_rows(problem, ration)
    found = cp.Search()(limited, Streams.of(problem.x0, 0))
    assert limited.tally.rows <= 4 * ration
    assert found.valid[:, 0].all()


def test_a_row_alone_is_answered_as_in_a_batch() -> None:
    table = alerts(6)
    model = RandomForestClassifier(20, random_state=0).fit(table[["rate", "load", "ports"]], table["rate"] > 0.3)
    explainer = cp.Explainer(model, reference=table[["rate", "load", "ports"]])
    rows = table[["rate", "load", "ports"]][:12]
    together = explainer(rows)
    for place in range(12):
        alone = explainer(rows[place : place + 1])
        assert np.array_equal(alone.x, together.x[place : place + 1])


def test_gains_of_other_sizes_do_not_decide_for_a_row() -> None:
    """Outputs over many decades: what is slight beside one row's gains is not slight beside another's."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    number = np.exp(5 * (table["a"] + table["b"] * table["c"]))
    model = RandomForestRegressor(15, min_samples_leaf=5, random_state=0).fit(table, number)
    target = (None, float(np.quantile(model.predict(table), 0.1)))
    explainer = cp.Explainer(model, reference=table)
    together = explainer(table[:40], target=target)
    for place in range(40):
        alone = explainer(table[place : place + 1], target=target)
        assert np.array_equal(alone.x, together.x[place : place + 1])


def test_a_narrow_range_is_searched_for_while_it_comes_nearer() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    model = GradientBoostingRegressor(random_state=0).fit(table, 2 * table["a"] + table["b"] * table["c"])
    middle = float(np.median(model.predict(table)))
    found = cp.explain(model, table[:20], reference=table, target=(middle, middle + 0.02))
    assert found.valid.mean() >= 0.9


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 5), st.lists(st.sampled_from([-9.0, -1.0, 0.0, 0.25, 0.5, 1.0]))),
        min_size=1,
        max_size=5,
    )
)
def test_records_are_the_changes_that_no_nearer_one_equals(groups: list[tuple[int, int, list[float]]]) -> None:
    """Feature by feature, outwards from the row's own cell on either side, which is there or not."""
    group, gain, own, up, expected = [], [], [], [], []
    for number, (size, at, values) in enumerate(groups):
        mine = (values * size + [0.0] * size)[:size]
        home = at if at < size else None
        first = size if home is None else home
        found = [False] * size
        most = -np.inf
        for place in range(first, size):
            found[place], most = mine[place] > most, max(most, mine[place])
        most = -np.inf if home is None else mine[home]
        for place in range(first - 1, -1, -1):
            found[place], most = mine[place] > most, max(most, mine[place])
        group += [number] * size
        gain += mine
        own += [place == home for place in range(size)]
        up += [place >= first for place in range(size)]
        expected += found
    found = _is_record_gain(np.array(group), np.array(gain), np.array(own), np.array(up))
    assert found.tolist() == expected


@given(st.integers(0, 2**32 - 1))
def test_a_board_keeps_the_best_of_each_set_of_features(seed: int) -> None:
    table = alerts(1)
    problem = flipped(table, table[:2])
    rng = np.random.default_rng(seed)
    x = np.where(
        rng.random((2, 30, 4)) < 0.4, problem.reference_rows.x[rng.integers(0, 200, (2, 30))], problem.x0[:, None, :]
    )
    points = score_points(problem, x)
    board = Incumbents(points.best(8), problem.region, keeps_one_per_feature_set=True)
    board.enter(np.arange(2), points)
    for row in range(2):
        kept = board.points.at(np.array([row]))
        sets = [line.tobytes() for line in problem.region.take([row]).is_changed(kept.x)[0][kept.valid[0]]]
        assert len(sets) == len(set(sets))
        assert kept.lowest_effort[0] == points.lowest_effort[row], "the best of all is among them"


@given(st.integers(0, 19))
def test_sections_lead_to_the_boundary(row: int) -> None:
    """On a linear score the boundary is met once: the last valid point of the line is within a section of a section."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    model = LogisticRegression().fit(table, table["a"] + 2 * table["b"] > 0)
    problem = problem_of(model, table, table[row : row + 1])
    start = start_at_reference_rows(problem, 1)
    found = section_towards_row(problem, start, 16, 2)
    assert found.valid.all()
    share = (found.x - problem.x0[:, None, :])[0, 0, 0] / (start.x - problem.x0[:, None, :])[0, 0, 0]
    margin = float(problem.score(problem.x0[:, None, :]).margin[0, 0])
    exact = -margin / (float(start.margin[0, 0]) - margin)
    assert exact - 1e-9 <= share <= exact + 2 / 256


@settings(max_examples=10)
@given(st.integers(0, 50))
def test_where_one_change_is_enough_the_cheapest_one_is_found(seed: int) -> None:
    table = alerts(seed)
    problem = flipped(table, table[:8], distance="l0")
    leaves = leaves_of(problem)
    assert leaves is not None
    menu = CellValues.of(problem, leaves)
    every = np.repeat(problem.x0[:, None, :], len(leaves.place_of_cell), axis=1)
    every[:, np.arange(len(leaves.place_of_cell)), menu.column] = np.where(
        menu.all_values.is_allowed, menu.all_values.value, problem.x0[:, menu.column]
    )
    cheapest = score_points(problem, every).lowest_effort
    found = cp.Search()(problem, Streams.of(problem.x0, 0)).effort.min(axis=1)
    one = np.isfinite(cheapest)
    if one.any():
        first = problem.take(np.flatnonzero(one))
        assert cp.Search()(first, Streams.of(first.x0, 0)).steps == 1, "the first survey has seen all of them"
    assert found[one] == pytest.approx(cheapest[one])
    assert (found[~one] >= 2).all()


@settings(max_examples=10)
@given(st.integers(0, 50))
def test_single_changes_that_are_tried_are_of_different_features(seed: int) -> None:
    table = alerts(seed)
    problem = flipped(table, table[:8])
    leaves = leaves_of(problem)
    assert leaves is not None
    home = problem.x0[:, None, :]
    tried = survey_changes(problem, leaves, CellValues.of(problem, leaves), home, np.full(8, np.inf)).x[
        :, -DEFAULTS.trees.single_changes_tried :
    ]
    changed = tried != home
    assert (changed.sum(axis=2) <= 1).all()
    assert (changed.sum(axis=1) <= 1).all()
    assert score_points(problem, tried).valid[changed.any(axis=2)].all(), "each of them is enough"


def test_a_narrow_range_is_found_from_reference_rows_that_just_miss_it() -> None:
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(1500, 5)), 1)
    model = GradientBoostingRegressor(n_estimators=30, random_state=0)
    said = model.fit(x, 10 * np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + x[:, 3]).predict(x)
    middle = float(np.quantile(said, 0.7))
    outside = x[np.abs(said - middle) > 0.005]
    explanation = cp.explain(model, x[:25], reference=outside, target=(middle - 0.005, middle + 0.005))
    assert explanation.valid.all(), "what one row can have, all of them can"


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 50))
def test_answers_that_have_been_surveyed_are_as_short_as_polishing_makes_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    score = table["a"] * table["b"] + table["c"] - 0.7 * table["d"] ** 2 + 0.5 * table["e"]
    model = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(table, np.where(score > 0, "high", "low"))
    rows = table[:30]
    problem = problem_of(model, table, rows, target=np.where(model.predict(rows) == "high", "low", "high"))
    run = cp.Search()(problem, Streams.of(problem.x0, 0))
    assert run.locally_minimal_effort is not None
    known = run.effort[:, 0] == run.locally_minimal_effort
    assert known.any(), "some answers have been surveyed"
    longer = polish_run(problem, run._replace(locally_minimal_effort=None), 1)
    np.testing.assert_array_equal(longer.effort[known, 0], run.effort[known, 0])
    np.testing.assert_array_equal(polish_run(problem, run, 1).effort[:, 0], longer.effort[:, 0])


def test_what_is_known_of_surveys_says_nothing_where_relations_or_a_ceiling_bind() -> None:
    table = alerts(3)
    for word in (cp.MaxChanges(2), cp.Rule("rate <= 5")):
        problem = flipped(table, table[:6], constraints=[word])
        run = cp.Search()(problem, Streams.of(problem.x0, 0))
        assert run.locally_minimal_effort is None or np.isnan(run.locally_minimal_effort).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 200), st.booleans())
def test_points_made_of_the_menu_are_settled_as_they_are(seed: int, bound: bool) -> None:
    table = alerts(seed)
    words = [cp.Range("rate", -2.0, 2.0), cp.OneOf("ports", [0, 1, 3, 6]), cp.Increasing("load"), cp.Immutable("state")]
    rng = np.random.default_rng(seed)
    some = [word for word in words if rng.random() < 0.5] if bound else []
    problem = flipped(table, table[table["ports"].isin([0, 1, 3, 6])][:6], constraints=some)
    leaves = leaves_of(problem)
    assert leaves is not None
    menu = CellValues.of(problem, leaves)
    points = survey_changes(problem, leaves, menu, problem.region.nearest_feasible[:, None, :], np.full(6, 30.0)).x[
        :, :8
    ]
    every = survey_changes(problem, leaves, menu, points, np.full(6, 5.0)).x
    for one, other in zip(menu.settle_in_region(every), problem.region.bring_inside(every), strict=True):
        np.testing.assert_array_equal(one, other)
