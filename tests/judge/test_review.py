"""A review is of somebody else's answers, and takes nobody's word for them."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from alerts import alerts, detector, explained, training
from counterpoise.judge.review import review


def test_our_own_answers_pass() -> None:
    found = review(detector(), alerts(), explained().frame, reference=training()[0], target="benign")
    assert found.is_valid_and_feasible.all()
    assert np.allclose(found.table["l2"], explained().energy["distance"])
    assert found.table["changed"].tolist() == explained().changed.tolist()


def test_the_rows_themselves_do_not_reach_the_target() -> None:
    found = review(detector(), alerts(), alerts(), reference=training()[0], target="benign")
    assert not found.table["valid"].any()
    assert (found.table["changed"] == 0).all()


def test_broken_constraints_are_named() -> None:
    answers = alerts().assign(latency=alerts()["latency"] + 1.0, open_ports=0)
    words = [cp.Immutable("latency"), cp.MaxChanges(1)]
    found = review(detector(), alerts(), answers, reference=training()[0], target="benign", constraints=words)
    assert not found.table["feasible"].any()
    assert "Immutable('latency')" in found.table["broken"].iloc[0]
    assert "MaxChanges" in found.table["broken"].iloc[0]


def test_a_threshold_is_asked_of_the_probability() -> None:
    frame = explained().frame
    sure = detector().predict_proba(frame[list(training()[0].columns)])[:, 1]
    found = review(detector(), alerts(), frame, reference=training()[0], target="benign", threshold=float(sure.max()))
    assert found.table["valid"].tolist() == (sure >= sure.max()).tolist()


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (alerts()[:2], "one answer for each row"),
        (alerts().drop(columns="latency"), "the answers must have every column"),
    ],
)
def test_answers_that_do_not_fit_are_refused(answers: pd.DataFrame, words: str) -> None:
    with pytest.raises(cp.InputError, match=words):
        review(detector(), alerts(), answers, reference=training()[0], target="benign")


def test_a_broken_rule_is_named_with_how_far_it_is_off() -> None:
    answers = alerts().assign(open_ports=alerts()["open_ports"] + 3)
    word = cp.Rule("open_ports <= x0.open_ports")
    found = review(detector(), alerts(), answers, reference=training()[0], target="benign", constraints=[word])
    assert not found.table["feasible"].any()
    assert found.table["broken"].iloc[0] == f"{word!r} (by 3)"
