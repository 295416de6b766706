"""Lines along single features, and rows that lead nowhere by themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import counterpoise as cp
from counterpoise.methods.model_kinds import starts_at_row
from counterpoise.methods.points import score_points
from counterpoise.methods.settings.finish import BatchSettings
from counterpoise.methods.starts import find_range_crossings, is_two_sided_range
from counterpoise.methods.trials.value_ladder import max_line_model_rows, search_lines
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from problems import problem_of


def turning(rows: int = 3, **question: object) -> Problem:
    """A bent model of four numbers, and rows that should get the other class."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    score = table.a * table.b + table.c - 0.5 * table.d**2
    model = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(table, score > 0)
    some = table[:rows]
    return problem_of(model, table, some, target=~model.predict(some), **question)


@settings(max_examples=20)
@given(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["l1", "l0", "gower"]))
def test_a_line_ends_no_farther_than_any_point_of_its_ladder_that_is_enough(row: int, column: int, norm: str) -> None:
    problem = turning(4, distance=norm).take([row])
    found = search_lines(problem, alone=4, together=2)
    changed = problem.region.is_changed(found.x)[0]
    alone = changed[:4]
    assert (alone.sum(axis=1) <= 1).all()
    assert (alone.sum(axis=0) <= 1).all(), "one for every feature"
    assert not changed[-1].any(), "the row itself is there too"
    ladder = np.repeat(problem.x0[:, None, :], 40, axis=1)
    low, high = problem.region.lower[0, column], problem.region.upper[0, column]
    ladder[0, :, column] = np.concatenate(
        [problem.x0[0, column] + (end - problem.x0[0, column]) * np.linspace(0.05, 1, 20) for end in (low, high)]
    )
    enough = score_points(problem, ladder)
    mine = alone[:, column] & found.valid[0, :4]
    if enough.valid[0, -1] or enough.valid[0, 19]:  # the edge is enough, so a ladder cannot miss it
        assert mine.any()
    if mine.any():
        # between two rungs of the ladder nobody looks, and a rung is at most 2.2 times the one before
        assert found.effort[0, :4][mine].min() <= 2.3 * enough.lowest_effort[0] + 0.01


def test_lines_ask_no_more_than_they_say() -> None:
    problem = turning()
    before = problem.tally.rows
    search_lines(problem, 4, 2)
    assert (problem.tally.rows - before) / len(problem) <= max_line_model_rows(problem)


def test_lines_of_categories_alone() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({name: pd.Categorical(rng.choice(list("xyz"), 200)) for name in "ab"})
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(table, (table.a == "x") & (table.b != "z"))
    rows = table[~model.predict(table)][:5]
    problem = problem_of(model, table, rows, target=np.ones(5, dtype=bool), distance="l0")
    found = search_lines(problem, 6, 3)
    assert (problem.region.is_changed(found.x).sum(axis=-1) <= 1).all()


def test_a_row_on_a_plateau_is_answered_from_reference_rows() -> None:
    rng = np.random.default_rng(0)
    island = rng.normal([8.0, -5.0], 0.1, (15, 2))
    table = pd.DataFrame(np.vstack([rng.uniform(-3, 3, (200, 2)), island]), columns=["a", "b"])
    model = SVC(gamma=30.0).fit(table, np.repeat(["near", "far"], [200, 15]))
    explanation = cp.explain(model, table[:10], reference=table, distance="l1")
    assert explanation.valid.all()
    assert (model.predict(explanation.frame) == "far").all()


@pytest.fixture(scope="module")
def bent() -> tuple[pd.DataFrame, object]:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(250, 4)), columns=list("abcd"))
    number = 3 * table.a + table.b**2 - table.c * table.d
    return table, make_pipeline(StandardScaler(), SVR(C=50.0)).fit(table, number)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(-4, 5), st.sampled_from(["l2", "l1", "l0"]), st.booleans())
def test_a_narrow_range_is_met_where_the_way_leads_past_it(bent, low: float, distance: str, blind: bool) -> None:
    table, model = bent
    rows = table[::25]
    asked = (lambda given: model.predict(given)) if blind else model
    found = cp.explain(asked, rows, reference=table, target=(low, low + 1e-4), distance=distance)
    said = model.predict(found.frame)
    assert found.valid.all()
    assert ((said >= low) & (said <= low + 1e-4)).all()


def test_ways_across_a_range_end_inside_and_steps_are_not_halved(bent) -> None:
    table, model = bent
    rows = table[:10]
    problem = problem_of(model, table, rows, target=(1.0, 1.001))
    far = ~((model.predict(rows) >= 1.0) & (model.predict(rows) <= 1.001))
    assert find_range_crossings(problem).valid[far].all()
    pieces = problem.take(np.arange(3))
    assert np.array_equal(find_range_crossings(problem).x[:3], find_range_crossings(pieces).x), (
        "no row knows of the others"
    )
    trees = RandomForestRegressor(5, random_state=0).fit(table, model.predict(table))
    assert is_two_sided_range(problem)
    assert not is_two_sided_range(problem_of(trees, table, rows, target=(1.0, 1.001)))


def test_one_change_meets_a_narrow_range_where_one_suffices(bent) -> None:
    table, model = bent
    rows = table[:20]
    low = 1.0
    before = model.predict(rows)
    rows = rows[(before < low) | (before > low + 0.01)]
    below = model.predict(rows) < low
    enough = np.zeros(len(rows), dtype=bool)
    for name in table:  # an edge of the box on the other side: then the line passes through
        for end in (table[name].min(), table[name].max()):
            enough |= (model.predict(rows.assign(**{name: end})) < low) != below
    found = cp.explain(model, rows, reference=table, target=(low, low + 0.01), distance="l0")
    assert enough.sum() > 10
    assert (found.changed[enough] == 1).mean() > 0.9


def test_reference_rows_come_first_where_a_search_needs_what_they_know() -> None:
    problem = turning(distance="l1")
    assert starts_at_row(problem)
    assert not starts_at_row(turning())
    assert not starts_at_row(turning(distance="l1", constraints=[cp.MaxChanges(1)]))
    assert not starts_at_row(turning(distance={"l1": 1.0, "l0": 0.1}))
    numbers = LinearRegression().fit(problem.x0, [1.0, 2.0, 3.0])
    assert not starts_at_row(problem_of(numbers, problem.x0, problem.x0, target=(5, 6), distance="l1"))


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_a_mixture_that_counts_changes_is_no_farther_than_the_answers_of_fewest_changes(weight: float) -> None:
    mixed = {"l2": 1.0, "l0": weight}
    problem = turning(12, distance=mixed)
    streams = Streams.of(problem.x0, 0)
    found = cp.Polished(cp.Search())(problem, streams).effort.min(axis=1)
    sparse = cp.Polished(cp.Search())(turning(12, distance="l0"), streams).x[:, :1]
    few = problem.energy.effort(sparse, problem.x0)[:, 0]
    assert (found <= few * 1.05).mean() > 0.8


def test_a_range_is_met_as_near_as_its_nearer_end_where_that_is_inside() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    model = SVR().fit(x, np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2])
    said = model.predict(x)
    low = float(np.quantile(said, 0.8))
    rows = x[said < np.quantile(said, 0.5)][:12]
    one = cp.explain(model, rows, reference=x, target=(low, None), lam=0, values="any")
    both = cp.explain(model, rows, reference=x, target=(low, low + 1e-3 * float(said.std())), lam=0, values="any")
    assert both.valid.all()
    inside = (model.predict(one.x) >= low) & (model.predict(one.x) <= low + 1e-3 * said.std())
    assert inside.sum() >= 3
    near, far = one.energy["distance"].to_numpy()[inside], both.energy["distance"].to_numpy()[inside]
    assert (far <= near * 1.02).all()


@pytest.mark.parametrize("distance", ["l1", "l0"])
def test_answers_do_not_depend_on_how_many_points_are_tried_at_once(distance) -> None:
    x, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=60, random_state=0, tol=0.1)).fit(x, y)
    asked = cp.Explainer(model, reference=x)
    whole = asked(x[:12], distance=distance)
    parts = asked(x[:12], distance=distance, method=cp.Polished(cp.Search(batches=BatchSettings(cells=20_000))))
    np.testing.assert_allclose(parts.x, whole.x, rtol=0, atol=1e-9)
