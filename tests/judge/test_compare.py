"""Metrics against their definitions, and comparisons: fair, the same for everybody, open to answers from elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import LocalOutlierFactor

import counterpoise as cp
from api.houses import MODEL, ROWS, TRAIN
from counterpoise.judge import metrics

NUMBERS = TRAIN[["area", "rooms"]]
PLAIN = LogisticRegression(max_iter=1000).fit(NUMBERS, MODEL.predict(TRAIN))
SHORT = NUMBERS[PLAIN.predict(NUMBERS) == "cheap"][:4]
DELTAS = arrays(np.float64, (3, 5), elements=st.one_of(st.just(0.0), st.floats(1e-3, 1e3)))


@given(DELTAS)
@settings(max_examples=50, deadline=None)
def test_norms_are_numpys_and_in_their_order(delta):
    for name, order in (("l1", 1), ("l2", 2), ("linf", np.inf)):
        mine = getattr(metrics, f"{name}_distance")(delta)
        np.testing.assert_allclose(mine, np.linalg.norm(delta, order, axis=1), rtol=1e-12)
    assert (metrics.linf_distance(delta) <= metrics.l2_distance(delta) * (1 + 1e-12)).all()
    assert (metrics.l2_distance(delta) <= metrics.l1_distance(delta) * (1 + 1e-12)).all()
    np.testing.assert_allclose(metrics.sparsity(delta), 1 - metrics.l0_distance(delta) / 5)


@given(arrays(np.float64, (4, 3), elements=st.floats(-5, 5)))
@settings(max_examples=25, deadline=None)
def test_diversity_is_between_0_and_1_and_0_for_twins(points):
    far = np.abs(points[:, None] - points[None]).sum(axis=-1)
    assert -1e-9 <= metrics.diversity(far[None])[0] <= 1 + 1e-9
    twins = np.concatenate([points, points[:1]])
    assert abs(metrics.diversity(np.abs(twins[:, None] - twins[None]).sum(axis=-1)[None])[0]) < 1e-9


def test_plausibility_is_that_of_real_neighbours():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    x = np.array([[0.0, 0.0], [9.0, 9.0]])
    far = np.sort(np.linalg.norm(rows[None] - x[:, None], axis=-1), axis=1)[:, :5].mean(axis=1)
    np.testing.assert_allclose(metrics.knln_distance(x, rows), far)
    assert metrics.local_outlier(x, rows)[1] > 2 > metrics.local_outlier(x, rows)[0]
    np.testing.assert_allclose(
        metrics.local_outlier(x, rows), -LocalOutlierFactor(20, novelty=True).fit(rows).score_samples(x)
    )


def test_answers_of_seeds_that_agree_are_stable_and_missing_ones_do_not_count():
    x = np.ones((3, 2, 4))
    assert metrics.instability(x, np.ones(4)).tolist() == [0.0, 0.0]
    x[1, 0] = 3.0
    x[2, 0] = np.nan
    x[1:, 1] = np.nan
    assert metrics.instability(x, np.ones(4))[0] == 2.0  # two answers, each 1 from their mean in four features
    assert np.isnan(metrics.instability(x, np.ones(4))[1])  # a lone answer has nothing to differ from
    x[:2, 0, 3] = np.nan  # a cell that is missing in the row and stays so
    assert metrics.instability(x, np.ones(4))[0] == pytest.approx(np.sqrt(3))


@given(arrays(np.float64, (6, 2), elements=st.floats(-5, 5)))
@settings(max_examples=50, deadline=None)
def test_cost_is_the_share_of_the_reference_that_is_passed(rows):
    numeric = np.array([True, True])
    x0, x = rows[:3], rows[3:]
    both = metrics.cost(x, x0, np.abs(x - x0), rows, numeric)
    ranks = [[(rows[:, k] <= part[i, k]).mean() for k in (0, 1)] for part in (x, x0) for i in range(3)]
    expected = np.abs(np.array(ranks[:3]) - np.array(ranks[3:])).sum(axis=1)
    np.testing.assert_allclose(both, expected)
    category = metrics.cost(x, x0, np.ones((3, 2)), rows, np.array([True, False]))
    assert (category >= 1).all()


def test_a_method_and_its_answers_as_a_frame_are_judged_alike():
    explainer = cp.Explainer(MODEL, reference=TRAIN)
    found = explainer(ROWS, method=cp.NearestNeighbour())
    table = cp.compare({"ran": cp.NearestNeighbour(), "frame": found.frame, "explained": found}, explainer, ROWS)
    judged = table.drop(columns=["seconds", "model_rows", "instability", "diversity"])
    pd.testing.assert_series_equal(judged.loc["ran"], judged.loc["frame"], check_names=False)
    pd.testing.assert_series_equal(judged.loc["ran"], judged.loc["explained"], check_names=False)
    assert table.loc["ran", "model_rows"] > 0
    assert np.isnan(table.loc["frame", "seconds"])


def test_answers_that_break_a_constraint_or_miss_are_not_valid():
    words = [cp.Range("area", 0, 100)]
    theirs = pd.DataFrame({"area": [500.0, 60.0, np.nan, 90.0], "rooms": [6, 2, 3, 6]}, index=SHORT.index)
    table = cp.compare({"theirs": theirs}, PLAIN, SHORT, reference=NUMBERS, constraints=words)
    line = table.loc["theirs"]
    reached = (PLAIN.predict(theirs.iloc[[0, 1, 3]].astype({"rooms": int})) == "dear").tolist()
    assert line["reached"] == sum(reached) / 4
    assert line["feasibility"] == 0.5
    assert line["validity"] == sum(reached[1:]) / 4
    assert line["violations"] > 0


def test_the_best_of_all_has_a_ratio_of_one_and_seeds_are_compared():
    methods = {"ours": cp.Polished(cp.Search()), "random": cp.RandomSearch(rounds=2)}
    table = cp.compare(methods, PLAIN, SHORT, reference=NUMBERS, seeds=(0, 1), lam=0.0)
    assert table.loc["ours", "l2_to_best"] == pytest.approx(1.0, abs=1e-3)
    assert table.loc["random", "l2_to_best"] >= 1
    assert table.loc["random", "instability"] > table.loc["ours", "instability"] >= 0


def test_each_answer_is_a_line_and_the_table_is_their_mean_over_rows_and_seeds():
    methods = {"random": cp.RandomSearch(rounds=2), "nearest": cp.NearestNeighbour()}
    settings = {"reference": NUMBERS, "seeds": (0, 1, 2), "model_rows": 300}
    table, each = (cp.compare(methods, PLAIN, SHORT, each=word, **settings) for word in (False, True))
    assert len(each) == 2 * 3 * len(SHORT)
    good = each[each["valid"] & each["feasible"]].groupby("method")
    for name in ("l2", "robustness", "cost"):
        np.testing.assert_allclose(table[name], good[name].mean()[table.index])
    assert (each.groupby("row")["l2_to_best"].min() == 1).all()


def test_a_threshold_is_judged_by_the_models_own_probability():
    sure = cp.compare([cp.NearestNeighbour()], MODEL, ROWS, reference=TRAIN, target="dear", threshold=0.8)
    assert sure.loc["NearestNeighbour", "validity"] == 1
    barely = cp.explain(MODEL, ROWS, reference=TRAIN, target="dear").frame
    table = cp.compare({"barely": barely}, MODEL, ROWS, reference=TRAIN, target="dear", threshold=0.8)
    assert table.loc["barely", "validity"] == 0


def test_a_range_of_a_number_is_a_target_too():
    def size(frame):
        return frame["area"].to_numpy(dtype=float) + 10 * frame["rooms"].to_numpy(dtype=float)

    table = cp.compare([cp.RandomSearch(), cp.Lime()], size, SHORT, reference=NUMBERS, target=(150, 160))
    assert (table["validity"] == 1).all()


def test_alternatives_have_a_diversity():
    table = cp.compare([cp.RandomSearch()], MODEL, ROWS, reference=TRAIN, alternatives=2)
    assert 0 < table.loc["RandomSearch", "diversity"] <= 1


def test_a_ration_binds_every_method():
    methods = {"spheres": cp.GrowingSpheres(), "random": cp.RandomSearch()}
    free, bound = (cp.compare(methods, PLAIN, SHORT, reference=NUMBERS, model_rows=ration) for ration in (None, 150))
    assert bound.loc["random", "model_rows"] < free.loc["random", "model_rows"]
    assert (bound["model_rows"] <= free["model_rows"]).all()


@pytest.mark.parametrize(
    ("methods", "more"),
    [
        ({}, {}),
        ([cp.Lime(), cp.Lime()], {}),
        ({"one": 3}, {}),
        ({"one": NUMBERS[:2]}, {}),
        ({"one": NUMBERS[["area"]][:4]}, {}),
        ({"one": cp.Lime()}, {"seeds": ()}),
    ],
)
def test_questions_that_make_no_sense_are_refused(methods, more):
    with pytest.raises(cp.InputError):
        cp.compare(methods, PLAIN, SHORT, reference=NUMBERS, **more)


def test_an_explainer_needs_no_second_reference():
    with pytest.raises(cp.InputError):
        cp.compare([cp.Lime()], cp.Explainer(PLAIN, reference=NUMBERS), SHORT, reference=NUMBERS)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"seconds": -1}, "seconds must be the time for each row"),
        ({"seconds": "1"}, "seconds must be the time for each row"),
        ({"model_rows": 0}, "model_rows must be a whole number of at least 1"),
        ({"model_rows": 2.5}, "model_rows must be a whole number of at least 1"),
        ({"seeds": 5}, "seeds must be a list of at least one"),
        ({"seeds": ()}, "seeds must be a list of at least one"),
    ],
)
def test_budgets_and_seeds_that_make_no_sense_are_named(wrong, named):
    with pytest.raises(cp.InputError, match=named):
        cp.compare([cp.NearestNeighbour()], PLAIN, SHORT, reference=NUMBERS, **wrong)
