"""A limit of model rows: never exceeded, made good use of, and the same for a row alone and in a batch."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.explanation.question import Question
from counterpoise.judge.compare import compare
from counterpoise.model_calls import Tally


def make_table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.normal(size=n).round(3) for name in ("rate", "load", "size", "age", "idle")})
    table["ports"] = rng.integers(0, 9, n)
    table["proto"] = rng.choice(["tcp", "udp", "icmp"], n)
    return table


TABLE = make_table(400)
TRUTH = (TABLE["rate"] + 0.8 * TABLE["load"] * TABLE["size"] + (TABLE["proto"] == "udp") > 0.4).to_numpy()
NUMBERS = TABLE.drop(columns="proto")
FOREST = RandomForestClassifier(25, random_state=0).fit(NUMBERS.to_numpy(), TRUTH)
LOGISTIC = LogisticRegression().fit(NUMBERS.to_numpy(), TRUTH)


class Counting:
    """A callable that counts the rows it is asked about."""

    def __init__(self, model: object, columns: list[str]) -> None:
        self.model, self.columns, self.rows = model, columns, 0

    def __call__(self, rows: object) -> np.ndarray:
        self.rows += len(rows)  # type: ignore[arg-type]
        table = rows[self.columns] if isinstance(rows, pd.DataFrame) else rows
        return self.model.predict_proba(np.asarray(table, dtype=float))  # type: ignore[attr-defined]


def explainer_of(model: object, table: pd.DataFrame = TABLE) -> tuple[cp.Explainer, Counting]:
    counting = Counting(model, list(NUMBERS))
    explainer = cp.Explainer(cp.Function(counting, labels=(False, True), link="log"), reference=table)
    explainer(table[:1], keep=0.9, model_rows=2000)  # what is asked once for each reference and target
    explainer(table[1:9], keep=0.9, model_rows=2000)
    explainer(table[1:9], threshold=0.7, keep=0.9, model_rows=2000)
    return explainer, counting


EXPLAINERS = {"forest": explainer_of(FOREST), "logistic": explainer_of(LOGISTIC)}


@settings(max_examples=12, deadline=None)
@given(
    kind=st.sampled_from(sorted(EXPLAINERS)),
    limit=st.sampled_from([60, 130, 300, 700]),
    alternatives=st.sampled_from([1, 3]),
    asked=st.sampled_from([{}, {"kept": False}, {"keep": 0.8}, {"threshold": 0.7}, {"distance": "l1"}]),
    rows=st.integers(1, 4),
)
def test_a_limit_of_model_rows_is_never_exceeded(kind, limit, alternatives, asked, rows):
    explainer, counting = EXPLAINERS[kind]
    before = counting.rows
    try:
        found = explainer(TABLE[20 : 20 + rows], model_rows=limit, alternatives=alternatives, **asked)
    except cp.InputError:
        assert limit < 300  # too few for the checks of so many answers
        return
    assert counting.rows - before <= limit * rows
    assert found.model_rows <= limit * rows


def test_a_remote_model_is_explained_with_300_rows_an_answer():
    explainer, _ = EXPLAINERS["forest"]
    found, free = explainer(TABLE[20:32], model_rows=300), explainer(TABLE[20:32], kept=False)
    assert found.valid.all()
    assert found.model_rows <= 300 * 12 < free.model_rows / 5
    assert found.effort.mean() < 1.5 * free.effort.mean()


def test_more_model_rows_bring_nearer_answers():
    explainer, _ = EXPLAINERS["forest"]
    few, many = (explainer(TABLE[20:30], model_rows=limit, kept=False).effort.mean() for limit in (40, 4000))
    assert many < few


@pytest.mark.parametrize(
    ("limit", "asked"), [(60, {}), (400, {}), (400, {"alternatives": 2}), (400, {"keep": 0.9}), (60, {"kept": False})]
)
def test_a_row_alone_is_answered_as_in_a_batch(limit, asked):
    explainer, _ = EXPLAINERS["forest"]
    together = explainer(TABLE[20:26], model_rows=limit, **asked)
    for place in range(6):
        alone = explainer(TABLE[20 + place : 21 + place], model_rows=limit, **asked)
        np.testing.assert_array_equal(alone.answers[0], together.answers[place])


def test_noisy_copies_are_left_out_where_they_are_too_many():
    explainer, _ = EXPLAINERS["forest"]
    few, many = (explainer(TABLE[20:22], model_rows=limit) for limit in (300, 1000))
    assert np.isnan(few.kept).all()
    assert any("model rows more for each row are too many" in note for note in few.notes)
    assert not np.isnan(many.kept).any()


def test_the_limit_is_said_saved_and_kept_to_by_compare():
    explainer, _ = EXPLAINERS["forest"]
    found = explainer(TABLE[20:22], model_rows=300)
    assert found.question.model_rows == 300
    assert found.question.settings["model_rows"] == "300 a row"
    assert cp.Explanation.from_json(found.to_json()).question.model_rows == 300
    assert any("40 model rows a row ended the search" in note for note in explainer(TABLE[20:22], model_rows=40).notes)
    assert Question().model_rows is None
    lines = compare({"search": cp.Search(), "random": cp.RandomSearch()}, explainer, TABLE[20:23], model_rows=200)
    assert (lines["model_rows"] <= 200).all()


@pytest.mark.parametrize("wrong", [0, 2.5, "many", True])
def test_a_limit_that_is_none_is_refused(wrong):
    with pytest.raises(cp.InputError, match="model_rows must be a whole number"):
        EXPLAINERS["forest"][0](TABLE[:1], model_rows=wrong)


def test_a_slow_model_is_asked_in_parts_that_fit_the_budget():
    """One call for all points of a step would take as long as it takes, whatever time is left."""
    sizes = []

    def slow(rows: object) -> np.ndarray:
        sizes.append(len(rows))  # type: ignore[arg-type]
        time.sleep(1e-3 * len(rows))  # type: ignore[arg-type]
        return FOREST.predict_proba(np.asarray(rows[list(NUMBERS)], dtype=float))  # type: ignore[index]

    explainer = cp.Explainer(cp.Function(slow, labels=(False, True), link="log"), reference=TABLE[:100])
    explainer(TABLE[:1], budget=0.1, kept=False)
    sizes.clear()
    found = explainer(TABLE[20:28], budget=0.5, kept=False)
    assert found.valid.any()
    assert max(sizes) * 1e-3 <= 0.5


@pytest.mark.parametrize(
    ("a_call", "a_row", "more", "less"),
    [(0.2, 0.0, 600, np.inf), (0.0, 0.005, 150, 250), (0.5, 0.005, 90, 110)],
)
def test_a_call_has_as_many_rows_as_fit_whether_calls_or_rows_take_the_time(a_call, a_row, more, less):
    tally = Tally()
    for rows in (4, 6, 100):
        tally.rows, tally.calls = tally.rows + rows, tally.calls + 1
        tally.note_call(rows, a_call + a_row * rows)
    assert more <= tally.count_rows_within(1.0) <= less


def test_a_model_that_takes_its_time_for_every_call_is_asked_about_many_rows_together():
    sizes: list[int] = []

    def slow(rows: pd.DataFrame) -> np.ndarray:
        sizes.append(len(rows))
        time.sleep(0.1)
        return FOREST.predict_proba(np.asarray(rows[list(NUMBERS)], dtype=float))

    explainer = cp.Explainer(cp.Function(slow, labels=(False, True), link="log"), reference=TABLE[:100])
    explainer(TABLE[:1], budget=0.1, kept=False)
    sizes.clear()
    found = explainer(TABLE[20:24], budget=1.5, kept=False)
    assert found.valid.all()
    assert len(sizes) * 0.1 <= 1.5 * 1.2
