"""What came of each row, in words that a person can act on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import counterpoise as cp
from api.houses import FAST, MODEL, PRICE, ROWS, TRAIN, explainer


def reasons(*words, rows=ROWS, target="dear", **settings):
    e = explainer(constraints=list(words))(rows, target=target, method=FAST, **settings)
    return e.status.tolist(), e.reason.tolist()


def test_an_answer_needs_no_reason():
    assert reasons() == (["valid"] * 6, [""] * 6)


def test_already_there():
    dear = TRAIN[MODEL.predict(TRAIN) == "dear"][:1]
    assert reasons(rows=dear) == (["optimal"], ["the model already says dear"])
    model = LinearRegression().fit(TRAIN[["area"]], PRICE)
    e = cp.explain(model, {"area": 100.0}, reference=TRAIN[["area"]], target=(0, None), method=FAST)
    said = model.predict(pd.DataFrame({"area": [100.0]}))[0]
    assert e.reason.tolist() == [f"the model already says {said:g}"]


def test_not_found_names_what_stands_in_the_way():
    words = [cp.Immutable("area", "heating"), cp.Range("rooms", 1, 2)]
    status, why = reasons(*words)
    lost = [reason for outcome, reason in zip(status, why, strict=True) if outcome == "not_found"]
    assert lost
    for reason in lost:
        assert reason.startswith("no feasible row was found that the model calls dear")
        assert repr(words[0]) in reason
        assert repr(words[1]) in reason


def test_not_found_for_want_of_changes_names_the_limit():
    status, why = reasons(cp.Mutable("garden", "rooms"), cp.MaxChanges(1))
    assert any("MaxChanges(count=1)" in reason for reason in why)
    assert "not_found" in status


def test_not_found_because_nothing_may_change():
    status, why = reasons(cp.Immutable(list(TRAIN.columns)))
    assert set(status) == {"not_found"}
    assert all("every feature is held fixed" in reason for reason in why)


def test_infeasible_says_which_value_cannot_obey_what():
    words = [cp.Immutable("area"), cp.Range("area", 500, 600)]
    status, why = reasons(*words)
    assert set(status) == {"infeasible"}
    assert why[0] == f"no row satisfies {words[0]!r} and {words[1]!r}, because 'area' is {ROWS['area'].iloc[0]}"


def test_an_infeasible_row_has_no_answer_and_a_miss_has_one():
    e = explainer(constraints=[cp.Immutable("area"), cp.Range("area", 500, 600)])(ROWS, method=FAST)
    assert e.count.tolist() == [0] * 6
    assert len(e.alternatives) == 0
    pd.testing.assert_frame_equal(e.frame, ROWS)
    missed = explainer(constraints=[cp.Mutable("garden")])(ROWS, method=FAST)
    assert (missed.count == 1).all()


@pytest.mark.parametrize("threshold", [None, 0.999999])
def test_what_was_asked_for_is_said(threshold):
    _, why = reasons(cp.Mutable("garden"), threshold=threshold)
    sure = "" if threshold is None else " with a probability of at least 0.999999"
    assert any(f"that the model calls dear{sure};" in reason for reason in why)


def test_scores_of_misses_are_those_of_the_miss():
    e = explainer(constraints=[cp.Mutable("garden")])(ROWS, method=FAST)
    column = MODEL.classes_.tolist().index("dear")
    np.testing.assert_allclose(e.scores["probability_after"], MODEL.predict_proba(e.frame)[:, column])
    assert e.scores["after"].tolist() == MODEL.predict(e.frame).tolist()


def test_a_row_that_may_not_change_at_all_is_told_why():
    e = explainer(reference=ROWS[:1])(ROWS[:1], target="dear", method=FAST)
    assert e.status.tolist() == ["not_found"]
    assert "every feature is held fixed: 'area' is held fixed because it is constant in the reference" in e.reason[0]
