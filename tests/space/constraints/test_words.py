"""The words: how they read, how they take names, and what they refuse."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.errors import ConstraintError
from counterpoise.space.region.region import check_constraints
from counterpoise.space.schema.schema import Schema

LEVELS = pd.CategoricalDtype(["low", "high"], ordered=True)
SCHEMA = Schema.infer(
    pd.DataFrame(
        {"age": [1, 2], "rate": [0.5, 1.5], "proto": ["tcp", "udp"], "level": pd.Series(["low", "high"], dtype=LEVELS)}
    )
)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (cp.Immutable("age"), "Immutable('age')"),
        (cp.Immutable("age", "rate"), "Immutable('age', 'rate')"),
        (cp.Immutable(["age", "rate"]), "Immutable('age', 'rate')"),
        (cp.Mutable({"rate", "age"}), "Mutable('age', 'rate')"),
        (cp.Increasing("age"), "Increasing('age')"),
        (cp.Decreasing("age"), "Decreasing('age')"),
        (cp.Integer("rate"), "Integer('rate')"),
        (cp.Range("rate", 0, 1), "Range(name='rate', low=0, high=1)"),
        (cp.OneOf("proto", ["tcp"]), "OneOf(name='proto', values=('tcp',))"),
        (cp.MaxChanges(2), "MaxChanges(count=2)"),
    ],
)
def test_words_read_as_they_are_written_and_are_equal_by_what_they_say(word, text):
    assert repr(word) == text
    assert word == eval(text, vars(cp))
    assert hash(word) == hash(eval(text, vars(cp)))
    check_constraints(SCHEMA, [word])


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        (cp.Immutable("agee"), ["Immutable('agee') names 'agee'", "'age'"]),
        (
            cp.Range("proto", "tcp", "udp"),
            ["Range must name a feature", "have an order", "'proto' is categorical"],
        ),
        (cp.Increasing("proto"), ["'proto' is categorical", "OneOf"]),
        (cp.Range("rate", "slow", None), ["must give numbers for 'rate'", "'slow'"]),
        (cp.Range("rate", np.nan, 1), ["must give numbers for 'rate'"]),
        (cp.Range("level", "medium", None), ["must name categories of 'level'", "'medium'; there are 'low', 'high'"]),
        (cp.OneOf("proto", ["icmp"]), ["must name categories of 'proto'", "'icmp'; there are 'tcp', 'udp'"]),
        (cp.OneOf("proto", [["tcp"]]), ["must name categories of 'proto'"]),
        (cp.OneOf("rate", [np.inf]), ["finite"]),
        ("Immutable('age')", ["must be Counterpoise's words"]),
        (cp.Immutable, ["must be Counterpoise's words"]),
    ],
)
def test_words_that_do_not_fit_the_table_are_refused(word, parts):
    with pytest.raises(ConstraintError) as caught:
        check_constraints(SCHEMA, [word])
    assert all(part in str(caught.value) for part in parts)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cp.Immutable(),
        lambda: cp.Mutable([]),
        lambda: cp.Range("age"),
        lambda: cp.OneOf("proto", []),
        lambda: cp.OneOf("proto", "tcp"),
        lambda: cp.MaxChanges(0),
        lambda: cp.MaxChanges(1.5),
        lambda: cp.MaxChanges(True),
    ],
)
def test_words_that_say_nothing_are_refused(make):
    with pytest.raises(ConstraintError) as caught:
        make()
    assert all([caught.value.must, caught.value.given, caught.value.todo])


@pytest.mark.parametrize("swapped", [False, True])
def test_a_feature_that_is_both_immutable_and_mutable_is_named(swapped):
    words = [cp.Immutable("age", "proto"), cp.Mutable("rate", "age")]
    with pytest.raises(ConstraintError, match=r"not by both; .* both name 'age'; drop it from one of them"):
        check_constraints(SCHEMA, words[::-1] if swapped else words)
    check_constraints(SCHEMA, [cp.Immutable("proto"), cp.Mutable("rate", "age"), cp.Immutable("proto")])
