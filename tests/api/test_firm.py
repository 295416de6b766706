"""Firm answers: more firmness never costs less, and firm points are found where they are far."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.explanation.cards.cards import build_cards


def test_wide_noise_is_withstood_where_the_target_is_wide_enough():
    """Between the row and the wide part of the target lies a narrow strip of it, where the minimal answer is."""
    rng = np.random.default_rng(0)
    table = rng.uniform(0, 10, size=(3000, 2))
    inside = (np.abs(table[:, 0] - 2.0) < 0.1) | (table[:, 0] > 6.0)
    model = DecisionTreeClassifier(random_state=0).fit(table, np.where(inside, "ok", "bad"))
    row = np.array([[1.0, 5.0]])
    minimal = cp.explain(model, row, reference=table, target="ok")
    assert minimal.x[0, 0] < 2.2
    firm = cp.explain(model, row, reference=table, target="ok", keep=0.9, noise=0.3)
    assert firm.firm is not None
    assert firm.firm["kept"].iloc[0] > 0.9
    assert 6.0 < firm.x[0, 0] < 8.5


SHARES = st.lists(st.floats(0.05, 0.99), min_size=2, max_size=3, unique=True).map(sorted)


@cache
def model_and_table(kind: str):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.normal(size=400), "b": rng.exponential(size=400), "c": rng.integers(0, 6, 400)})
    label = np.where(np.sin(3 * table.a) + table.b - 0.3 * table.c > 0.2, "yes", "no")
    kinds = {
        "forest": RandomForestClassifier(15, random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
        "logistic": LogisticRegression(),
    }
    return cp.Explainer(kinds[kind].fit(table, label), reference=table), table


@pytest.mark.parametrize("kind", ["forest", "tree", "logistic"])
@settings(max_examples=6, deadline=None)
@given(first=st.integers(0, 390), shares=SHARES, noise=st.sampled_from([0.05, 0.2, 0.6]), seed=st.integers(0, 99))
def test_effort_never_falls_as_the_share_rises(kind, first, shares, noise, seed):
    """Separate calls with one seed; a row that is firm nowhere has its firmest candidate, whatever was asked."""
    explainer, table = model_and_table(kind)
    rows = table[first : first + 4]
    efforts = [explainer(rows, keep=q, noise=noise, seed=seed, kept=False).effort for q in shares]
    assert (np.diff(np.array(efforts), axis=0) >= 0).all()


@pytest.mark.parametrize("kind", ["forest", "tree", "logistic"])
@settings(max_examples=4, deadline=None)
@given(first=st.integers(0, 390), seed=st.integers(0, 99), noise=st.sampled_from([0.05, 0.2, 0.6]))
def test_effort_never_falls_as_the_temperature_rises(kind, first, seed, noise):
    explainer, table = model_and_table(kind)
    rows = table[first : first + 4]
    efforts = [explainer(rows, temperature=T, noise=noise, seed=seed, kept=False).effort for T in (0.1, 0.7, 3.0)]
    assert (np.diff(np.array(efforts), axis=0) >= 0).all()


def test_the_answer_to_a_share_does_not_depend_on_the_batch():
    explainer, table = model_and_table("forest")
    together = explainer(table[:5], keep=0.8, noise=0.2, kept=False)
    alone = explainer(table[3:4], keep=0.8, noise=0.2, kept=False)
    assert together.x[3].tolist() == alone.x[0].tolist()


def test_other_copies_decide_what_is_claimed():
    """A target that is narrower than the noise is kept by no point: the answer says so, and stays valid."""
    table = np.random.default_rng(0).uniform(0, 10, size=(2000, 2))
    model = DecisionTreeClassifier(random_state=0).fit(table, np.where(np.abs(table[:, 0] - 5) < 0.2, "ok", "bad"))
    firm = cp.explain(model, np.array([[1.0, 5.0]]), reference=table, target="ok", keep=0.9, noise=1.0)
    assert firm.valid.all()
    assert firm.firm["kept"].iloc[0] < 0.5
    assert "not surely in the 90%" in firm.reason[0]


@pytest.mark.parametrize("kind", ["forest", "tree", "logistic"])
def test_noisy_copies_of_a_model_that_was_read_are_not_asked_of_it(kind):
    """The claim is: its copies are, and the user's own predict decides."""
    explainer, table = model_and_table(kind)
    firm = explainer(table[:6], keep=0.9, noise=0.2)
    assert firm.model_rows / 6 < 5000


@pytest.mark.parametrize("kind", ["forest", "tree", "logistic"])
def test_claims_hold_on_copies_that_neither_search_nor_verification_saw(kind):
    explainer, table = model_and_table(kind)
    firm = explainer(table[:20], keep=0.8, noise=0.1)
    claims = np.flatnonzero((firm.firm["kept_low"] >= 0.8).to_numpy() & firm.valid)
    assert len(claims) >= 15
    rng = np.random.default_rng(99)
    low, high = table.min().to_numpy(), table.max().to_numpy()
    for row in claims:
        copies = firm.x[row] + 0.1 * firm.schema.scales * rng.normal(size=(2000, 3))
        copies = np.where(copies < low, 2 * low - copies, np.where(copies > high, 2 * high - copies, copies))
        copies[:, 2] = np.rint(copies[:, 2])
        said = explainer.model.predict(np.clip(copies, low, high))
        assert np.mean(said == firm.scores["after"].iloc[row]) > 0.8 - 3 * 0.009


CONSTRAINTS = {
    "none": [],
    "held": [cp.Immutable("a")],
    "one way": [cp.Increasing("b"), cp.Range("a", -1.5, 1.5)],
    "few": [cp.MaxChanges(2)],
}


@pytest.mark.parametrize("kind", ["forest", "logistic"])
@settings(max_examples=2, deadline=None)
@given(
    first=st.integers(0, 390),
    shares=SHARES.map(lambda shares: shares[:2]),
    given_constraints=st.sampled_from(list(CONSTRAINTS)),
    alternatives=st.integers(2, 3),
    budget=st.sampled_from([None, 600.0]),
)
def test_effort_never_falls_with_alternatives_and_constraints_and_the_first_is_the_least_listed(
    kind, first, shares, given_constraints, alternatives, budget
):
    explainer, table = model_and_table(kind)
    asked = explainer.with_constraints(*CONSTRAINTS[given_constraints])
    settings_of_call = {"noise": 0.3, "kept": False, "alternatives": alternatives, "budget": budget}
    found = [asked(table[first : first + 2], keep=q, **settings_of_call) for q in shares]
    assert (np.diff(np.array([each.effort for each in found]), axis=0) >= 0).all()
    for each in found:
        listed = np.where(np.isnan(each.measures.effort), np.inf, each.measures.effort)
        assert (listed.min(axis=1) >= each.effort - 1e-12).all()
    single = asked(table[first : first + 2], keep=shares[-1], noise=0.3, kept=False)
    assert single.x.tolist() == found[-1].x.tolist()


def test_the_frontier_is_that_search_and_cores_do_not_matter():
    explainer, table = model_and_table("forest")
    rows = table[:3]
    wanted = explainer(rows, target="no", keep=0.8, noise=0.2, kept=False, n_jobs=2)
    curve = cp.frontier(explainer, rows, keep=(0.8, 0.95), temperature=(0.2, 2.0), noise=0.2, target="no").table
    line = curve.set_index("asked").loc["keep 0.8"]
    assert line["effort"] == pytest.approx(wanted.effort[wanted.valid].mean())
    assert (curve["effort"].iloc[:3].diff().dropna() >= 0).all()
    assert curve["effort"].iloc[4] >= curve["effort"].iloc[3]


def test_a_share_of_few_copies_is_told_of_as_many_as_were_drawn():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"load": rng.normal(size=80), "rate": rng.normal(size=80)})
    model = LogisticRegression().fit(table, np.where(table.sum(axis=1) > 0, "alert", "benign"))
    e = cp.explain(model, table[:2], reference=table, target="benign", keep=0.9, model_rows=300)
    assert e.firm is not None
    copies = int(e.firm["copies"].iloc[0])
    assert copies < 100
    kept = round(float(e.kept[0]) * copies)
    assert f"It holds in {kept} of {copies} noisy copies, too few to be sure of 90 %" in e[0].text()
    assert f"{kept} of {copies} noisy copies" in build_cards(e)[0].firmness
    assert not [note for note in e.notes if "was not measured" in note]
    assert cp.Explanation.from_json(e.to_json()).text() == e.text()
    plenty = cp.explain(model, table[:1], reference=table, target="benign", keep=0.9)
    assert plenty.firm is not None
    assert plenty.firm["copies"].tolist() == [1000.0]
    assert "of 100 noisy copies" in plenty.text()
