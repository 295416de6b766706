"""Relations in proofs of linear models: conditions like any other, held against all points of small tables."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.problems import problem_of

import counterpoise as cp
from counterpoise.methods.linear.exact import prove_linear
from counterpoise.methods.settings.linear import LinearSettings
from counterpoise.problem import Problem

VALUES = [np.arange(6.0), np.arange(6.0), np.arange(11.0), np.arange(5.0)]
WORDS = {
    "order": cp.Rule("received <= sent + 2"),
    "strict": cp.Rule("received < sent + 2"),
    "two orders": cp.Rule("received <= sent and ports <= received + 1"),
    "distance": cp.Rule("abs(sent - received) <= 2"),
    "sum": cp.Rule("sent + received == total"),
    "derived": cp.Derived("total", "sent + received"),
    "product": cp.Rule("ports * sent <= 12"),
    "choice": cp.Rule("ports >= 2 or sent <= 3"),
}


def asked(seed: int, word: str, classes: int, **question: object) -> Problem | None:
    """Two rows of counts, and a linear model that may read three of the four."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"sent": rng.integers(0, 6, 80), "received": rng.integers(0, 6, 80)})
    table["total"], table["ports"] = table["sent"] + table["received"], rng.integers(0, 5, 80)
    score = table.to_numpy() @ rng.normal(size=4) + rng.normal(size=80)
    if classes == 1:
        model = make_pipeline(StandardScaler(), Ridge()).fit(table, score)
        middle = float(np.median(model.predict(table)))
        question |= {"target": (middle, middle + 1.0)}
    else:
        seen = table.assign(received=0) if seed % 2 else table
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(seen, pd.qcut(score, classes, labels=False))
    try:
        return problem_of(model, table, table[:2], constraints=[WORDS[word]], **question)
    except AttributeError:  # every row is there already
        return None


def least_effort(problem: Problem) -> np.ndarray:
    """The least effort of each row, by trying every combination of counts."""
    points = np.array(list(product(*VALUES)))[None].repeat(len(problem), axis=0)
    good = problem.score(points).reached & problem.region.contains(points)
    return np.where(good, problem.energy.effort(points, problem.x0), np.inf).min(axis=1)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10_000),
    word=st.sampled_from(sorted(WORDS)),
    classes=st.sampled_from([1, 2, 3]),
    distance=st.sampled_from(["l2", "l1", "l0"]),
    lam=st.sampled_from([0.0, 0.1]),
)
def test_no_bound_is_above_the_least_of_all_points(seed, word, classes, distance, lam):
    problem = asked(seed, word, classes, distance=distance, lam=lam)
    assume(problem is not None)
    proof = prove_linear(problem, np.full(len(problem), np.inf), settings=THOROUGH)
    best = least_effort(problem)
    known = ~np.isnan(proof.bound)
    assert (proof.bound[known] <= best[known] * (1 + 1e-9) + 1e-12).all()
    assert not (proof.is_infeasible & np.isfinite(best)).any()
    assert (proof.effort >= best * (1 - 1e-9)).all()
    if word in ("order", "two orders", "distance", "sum", "derived") and known.all():
        np.testing.assert_allclose(proof.effort, best, rtol=1e-6)
        assert (proof.bound >= best * (1 - 1e-6)).all()


THOROUGH = LinearSettings(boxes=5_000, boxes_with_relations=5_000)


def test_an_order_that_stands_in_the_way_is_part_of_the_bound():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"sent": rng.uniform(0, 4, 200).round(2), "ports": rng.integers(0, 5, 200)})
    table["received"] = (table["sent"] * rng.uniform(0, 1, 200)).round(2)
    model = LogisticRegression().fit(table, table["received"] - 0.5 * table["sent"] + 0.1 * table["ports"] > 0.5)
    rows = table[~model.predict(table)][:6]
    found = cp.explain(model, rows, reference=table, constraints=[cp.Rule("received <= sent")], values="any")
    free = cp.explain(model, rows, reference=table, relations=None, values="any")
    assert (found.gap < 1e-3).all()  # up to what the tolerance of the rule lets through
    assert (found.bound > free.bound * 1.01).any()


@pytest.mark.parametrize("proof", ["auto", True])
def test_answers_keep_the_relations_and_are_no_farther_than_without_a_proof(proof):
    table = pd.DataFrame(np.random.default_rng(5).normal(size=(120, 3)).round(2), columns=list("abc"))
    table["b"] = table["a"] + table["b"].abs()
    model = LogisticRegression().fit(table, table["b"] - 2 * table["a"] + table["c"] > 0.5)
    plain, proven = (
        cp.explain(model, table[:10], reference=table, constraints=[cp.Rule("a <= b")], proof=each)
        for each in (False, proof)
    )
    both = plain.valid & proven.valid
    assert both.all()
    assert (proven.effort <= plain.effort * (1 + 1e-9)).all()
    assert (proven.frame["a"] <= proven.frame["b"] + 2e-6).all()  # the tolerance of a rule


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    word=st.sampled_from(["order", "strict", "two orders", "distance", "sum", "derived"]),
    classes=st.integers(1, 3),
    distance=st.sampled_from(["l1", "l0", "gower"]),
    lam=st.sampled_from([0.0, 0.1]),
)
def test_efforts_that_add_up_are_least_under_linear_relations(seed, word, classes, distance, lam):
    problem = asked(seed, word, classes, distance=distance, lam=lam)
    assume(problem is not None)
    least = least_effort(problem)
    found = prove_linear(problem, np.full(len(problem), np.inf))
    exists = np.isfinite(least)
    np.testing.assert_array_equal(found.is_infeasible, ~exists)
    np.testing.assert_allclose(found.effort[exists], least[exists], rtol=1e-6)
    np.testing.assert_allclose(found.bound[exists], least[exists], rtol=1e-6)


@pytest.mark.parametrize(("seed", "word"), [(1085, "sum"), (1149, "derived"), (7, "sum")])
def test_a_column_that_moves_along_is_no_change_that_a_bound_counts(seed, word):
    problem = asked(seed, word, 1, distance="l2", lam=0.1)
    found, least = prove_linear(problem, np.full(len(problem), np.inf)), least_effort(problem)
    assert (found.bound <= least * (1 + 1e-6)).all()


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), word=st.sampled_from(["order", "two orders", "distance", "sum"]))
def test_rounds_of_few_boxes_lead_to_the_least_as_well(seed, word):
    problem = asked(seed, word, 2, distance="l2", lam=0.1)
    assume(problem is not None)
    limits = LinearSettings(boxes=10**6, boxes_with_relations=10**6, boxes_at_first=1, relation_rounds=20)
    found, least = prove_linear(problem, np.full(len(problem), np.inf), 0.0, limits), least_effort(problem)
    exists = np.isfinite(least)
    np.testing.assert_allclose(found.effort[exists], least[exists], rtol=1e-6)
    np.testing.assert_allclose(found.bound[exists], least[exists], rtol=1e-6)
