"""The language of rules: it means what it says, refuses the rest with a mark under it, and executes nothing."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.errors import ConstraintError
from counterpoise.space.constraints.between_features import Derived, Rule
from counterpoise.space.rules.expressions import AbsoluteValue, BinaryOperation, Column, Extremum, Number, RowColumn
from counterpoise.space.rules.formulas import Combination, Compare, Membership, split_into_clauses
from counterpoise.space.rules.parse import backquote_name, parse_expression, parse_formula
from counterpoise.space.schema.schema import Schema

TABLE = pd.DataFrame(
    {
        "a": [1.5, 2.0, -3.25, 4.0],
        "b": [2.5, 2.0, 8.0, 4.5],
        "class": [4.0, 4.5, 4.75, 8.5],  # a word of Python's own is a name like any other
        "min": [0, 1, 2, 5],
        "Flow Rate": [0, 3, 5, 9],
        "proto": ["tcp", "udp", "tcp", "icmp"],
        "port": pd.Categorical([80, 443, 80, 22]),
        "grade": pd.Categorical(["low", "mid", "high", "mid"], categories=["low", "mid", "high"], ordered=True),
        "flag": [True, False, True, True],
    }
)
SCHEMA = Schema.infer(TABLE)
GRADES = ["low", "mid", "high"]


def encoded(row: dict) -> np.ndarray:
    cells = []
    for feature in SCHEMA:
        value = row[feature.name]
        cells.append(float(value) if feature.is_numeric else float(feature.categories.index(value)))
    return np.array(cells)


rows = st.fixed_dictionaries(
    {
        "a": st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0]),
        "b": st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0]),
        "class": st.sampled_from([0.0, 1.0, 1.5, 2.5, 6.0]),
        "min": st.integers(-3, 3),
        "Flow Rate": st.integers(-3, 3),
        "proto": st.sampled_from(["tcp", "udp", "icmp"]),
        "port": st.sampled_from([22, 80, 443]),
        "grade": st.sampled_from(GRADES),
        "flag": st.booleans(),
    }
)

MEANINGS = {
    "a + b == class": lambda x, o: x["a"] + x["b"] == x["class"],
    "a < b": lambda x, o: x["a"] < x["b"],
    "a <= b <= class": lambda x, o: x["a"] <= x["b"] <= x["class"],
    "b >= a != 0": lambda x, o: x["b"] >= x["a"] != 0,
    "-a + 2 * b - class / 2 > 0.5": lambda x, o: -x["a"] + 2 * x["b"] - x["class"] / 2 > 0.5,
    "a ** 2 <= 1e0": lambda x, o: x["a"] ** 2 <= 1,
    "min(a, b, 1) == 1": lambda x, o: min(x["a"], x["b"], 1) == 1,
    "max(a, b) <= min": lambda x, o: max(x["a"], x["b"]) <= x["min"],
    "abs(a - x0.a) <= 1": lambda x, o: abs(x["a"] - o["a"]) <= 1,
    "`Flow Rate` >= x0.`Flow Rate`": lambda x, o: x["Flow Rate"] >= o["Flow Rate"],
    "proto == 'udp'": lambda x, o: x["proto"] == "udp",
    '"udp" != proto': lambda x, o: x["proto"] != "udp",
    "proto in ['tcp', 'icmp']": lambda x, o: x["proto"] in ("tcp", "icmp"),
    "proto not in ['tcp', 'icmp']": lambda x, o: x["proto"] not in ("tcp", "icmp"),
    "proto == x0.proto": lambda x, o: x["proto"] == o["proto"],
    "port == 443": lambda x, o: x["port"] == 443,
    "port in (22, 80)": lambda x, o: x["port"] in (22, 80),
    "min in [1, 2]": lambda x, o: x["min"] in (1, 2),
    "grade >= 'mid'": lambda x, o: GRADES.index(x["grade"]) >= 1,
    "grade > x0.grade": lambda x, o: GRADES.index(x["grade"]) > GRADES.index(o["grade"]),
    "flag": lambda x, o: x["flag"],
    "not flag or a > 0": lambda x, o: not x["flag"] or x["a"] > 0,
    "flag == True": lambda x, o: x["flag"],
    "flag + min == 2": lambda x, o: x["flag"] + x["min"] == 2,
    "if a > x0.a then b >= x0.b + 2": lambda x, o: not x["a"] > o["a"] or x["b"] >= o["b"] + 2,
    "proto == 'udp' implies min == 0": lambda x, o: x["proto"] != "udp" or x["min"] == 0,
    "a > 0 and (b > 0 implies min > 0) and flag": lambda x, o: (
        x["a"] > 0 and (x["b"] <= 0 or x["min"] > 0) and x["flag"]
    ),
    "if a > 0 then if b > 0 then min > 0": lambda x, o: x["a"] <= 0 or x["b"] <= 0 or x["min"] > 0,
    "not (a > 0 and not b <= 0)": lambda x, o: not (x["a"] > 0 and x["b"] > 0),
}


@pytest.mark.parametrize("text", MEANINGS)
@settings(max_examples=25)
@given(x=rows, x0=rows)
def test_a_rule_means_what_it_says(text, x, x0):
    holds = parse_formula(text, SCHEMA, 1e-9).holds(encoded(x), encoded(x0))
    assert bool(holds) == bool(MEANINGS[text](x, x0))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a + * b == 1", 4),
        ("a = b", 2),
        ("a <= b <=", 9),
        ("a + (b == 1", 4),
        ("a % b == 0", 2),
        ("a == 1 & b == 2", 7),
        ("nothing == 1", 0),
        ("a == x0.nothing", 5),
        ("a == x0", 5),
        ("proto == 'sctp'", 9),
        ("proto < 'udp'", 0),
        ("proto + 1 == 2", 0),
        ("a == 'tcp'", 5),
        ("a.b == 1", 0),
        ("`Flow Rate == 1", 0),
        ("sqrt(a) == 1", 0),
        ("abs(a, b) == 1", 0),
        ("a + b", 0),
        ("a == (b > 1)", 6),
        ("if a > 1", 0),
        ("a > 1 then b > 1", 6),
        ("proto in 'tcp'", 9),
        ("a implies b > 1", 0),
    ],
)
def test_a_wrong_rule_points_at_the_character(text, place):
    with pytest.raises(ConstraintError) as caught:
        Rule(text).compile_relation(SCHEMA)
    assert caught.value.position == place
    lines = str(caught.value).split("\n")
    assert lines[1].strip() == text.strip()
    assert lines[2].index("^") - lines[1].index(text) == place


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true') == 0",
        "a.__class__ == 1",
        "(lambda: 1)() == 1",
        "[c for c in a] == 1",
        "a if b else min == 1",
        "f'{a}' == 'b'",
        "(a := 1) == 1",
        "a @ b == 1",
        "a[0] == 1",
        "min(*a) == 1",
        "max(a, key=b) == 1",
        "exec('1') == 1",
        "a; b",
        "",
        "   ",
        "a == 1" * 1000,
        "(" * 400 + "a == 1" + ")" * 400,
    ],
)
def test_nothing_but_the_language_is_taken(text):
    with pytest.raises(ConstraintError):
        Rule(text).compile_relation(SCHEMA)


def test_a_division_by_zero_is_undefined_and_undefined_is_not_held():
    rule = parse_formula("a / b <= 5", SCHEMA)
    x = np.zeros((len(SCHEMA), 3))
    x[:2] = [[1.0, 1.0, 60.0], [0.0, 2.0, 2.0]]
    truth = rule.truth(x, x)
    assert truth.is_true.tolist() == [False, True, False]
    assert truth.is_false.tolist() == [False, False, True]
    np.testing.assert_array_equal(rule.defect(x, x), [math.nan, 0.0, 25.0])
    # where the condition is false, an undefined consequence does no harm
    assert parse_formula("if b != 0 then a / b <= 5", SCHEMA).holds(x, x).tolist() == [True, True, False]
    # a missing cell leaves a rule open as well
    x[0, 1] = np.nan
    assert not rule.truth(x, x).is_true[1]
    assert not rule.truth(x, x).is_false[1]


@pytest.mark.parametrize(("a", "b", "holds"), [(1.0005, 1.0, True), (1.002, 1.0, False), (1000.5, 1000.0, True)])
def test_a_tolerance_is_relative_to_the_larger_side_and_at_least_to_one(a, b, holds):
    x = np.zeros(len(SCHEMA))
    x[:2] = a, b
    assert bool(parse_formula("a == b", SCHEMA, 1e-3).holds(x, x)) == holds
    assert bool(parse_formula("a <= b", SCHEMA, 1e-3).holds(x, x)) == holds
    assert not parse_formula("a < b", SCHEMA, 1e-3).holds(x, x)


leaves = st.one_of(
    st.integers(0, 2).map(Column), st.integers(0, 2).map(RowColumn), st.sampled_from([-2.0, 0.0, 1.0, 3.0]).map(Number)
)


def grown(inner):
    pairs = st.builds(BinaryOperation, st.sampled_from(["+", "-", "*", "/"]), inner, inner)
    return st.one_of(
        pairs,
        st.builds(lambda e: BinaryOperation("**", e, Number(2.0)), inner),
        st.builds(AbsoluteValue, inner),
        st.builds(
            lambda w, p: Extremum(w, tuple(p)), st.sampled_from(["min", "max"]), st.lists(inner, min_size=1, max_size=3)
        ),
    )


expressions = st.recursive(leaves, grown, max_leaves=6)
points = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array)


@given(expressions, points, points)
def test_slopes_are_those_of_the_value(made, x, x0):
    x = np.round(x, 2) + np.array([0.0013, 0.0027, 0.0041])  # off the kinks
    value, slopes = made.value_and_slopes(x, x0)
    np.testing.assert_array_equal(value, made.value(x, x0))
    assert set(slopes) == made.columns
    step = 1e-6
    for column, slope in slopes.items():
        up, down = x.copy(), x.copy()
        up[column] += step
        down[column] -= step
        high, low = made.value(up, x0), made.value(down, x0)
        if np.isfinite(value) and np.isfinite(slope) and abs(high) < 1e4 and abs(slope) < 1e4:
            curved = abs(high - 2 * value + low) > 1e-7 * max(1.0, abs(value))  # a kink or a pole between
            assert curved or abs((high - low) / (2 * step) - slope) < 1e-3 * max(1.0, abs(slope))


@given(expressions, points, points, st.floats(-2, 2))
def test_a_linear_expression_is_the_sum_of_its_slopes(made, x, x0, t):
    if made.degree > 1:
        return
    zero, slopes = made.value_and_slopes(np.zeros(3), x0)
    if np.isfinite(zero):
        total = zero + sum(slope * x[column] for column, slope in slopes.items())
        assert abs(made.value(x, x0) - total) <= 1e-9 * max(1.0, abs(total))


compares = st.builds(
    Compare, st.sampled_from(["==", "!=", "<=", "<"]), expressions, expressions, st.sampled_from([0.0, 1e-6, 0.5])
)
formulas = st.recursive(
    st.one_of(
        compares, st.builds(lambda e, v: Membership(e, tuple(v)), expressions, st.lists(st.sampled_from([0.0, 1.0])))
    ),
    lambda inner: st.builds(
        lambda how, parts: Combination(how, tuple(parts)),
        st.sampled_from(["all", "any"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=4,
)


@given(formulas, points, points)
def test_a_formula_and_its_negation_are_never_both_true_and_undefined_together(stated, x, x0):
    truth, other = stated.truth(x, x0), stated.negate().truth(x, x0)
    assert not (truth.is_true and truth.is_false)
    assert (bool(truth.is_true), bool(truth.is_false)) == (bool(other.is_false), bool(other.is_true))
    assert bool(stated.holds(x, x0)) == bool(truth.is_true)
    defect = stated.defect(x, x0)
    assert bool(truth.is_true) == (defect == 0)
    assert np.isnan(defect) or defect >= 0


@given(formulas, points, points)
def test_all_clauses_hold_where_the_formula_does(stated, x, x0):
    parts = split_into_clauses(stated)
    assert not any(isinstance(part, Combination) and part.quantifier == "all" for part in parts)
    exact = all(part.tolerance == 0 for part in parts if isinstance(part, Compare))
    if exact:
        assert all(part.holds(x, x0) for part in parts) == bool(stated.holds(x, x0))


@given(expressions, st.integers(0, 2), expressions, points, points)
def test_writing_out_a_column_is_the_same_as_computing_it_first(made, column, inner, x, x0):
    y = x.copy()
    y[column] = inner.value(x, x0)
    np.testing.assert_array_equal(made.substitute({column: inner}).value(x, x0), made.value(y, x0))


@pytest.mark.parametrize("name", ["rate", "Flow Rate", "if", "x0", "a.b", "1st", "and", "Ünïcode"])
def test_a_quoted_name_reads_back(name):
    schema = Schema.infer(pd.DataFrame({"other": [1, 2], name: [1, 2]}))
    assert parse_expression(f"{backquote_name(name)} + x0.{backquote_name(name)}", schema) == BinaryOperation(
        "+", Column(1), RowColumn(1)
    )


def test_a_derived_feature_takes_an_expression_and_nothing_else():
    assert Derived("a", "b / class").compile_relation(SCHEMA).expression == BinaryOperation("/", Column(1), Column(2))
    for text in ("b == 1", "if b > 1 then a > 1"):
        with pytest.raises(ConstraintError):
            Derived("a", text).compile_relation(SCHEMA)
    with pytest.raises(ConstraintError, match="must be a number"):
        Derived("proto", "a").compile_relation(SCHEMA)


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, math.nan, "small"])
def test_a_tolerance_must_be_one(tolerance):
    with pytest.raises(ConstraintError, match="tolerance"):
        Rule("a == b", tolerance=tolerance)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fwd-packets > 3", "fwd-packets"),
        ("b <= 2 * (fwd-packets)", "fwd-packets"),
        ("b < x0.fwd-packets", "fwd-packets"),
        ("if b > 1 then Flow Rate > 2", "Flow Rate"),
        ("b-1-st == 2", "b-1-st"),
    ],
)
def test_a_name_without_its_backquotes_is_recognised(text, name):
    schema = Schema.infer(pd.DataFrame({"fwd-packets": [1, 2], "b": [1, 3], "Flow Rate": [1, 2], "b-1-st": [1, 4]}))
    with pytest.raises(ConstraintError, match=f"in backquotes: `{name}`"):
        Rule(text).compile_relation(schema)
    assert Rule(text.replace(name, f"`{name}`")).compile_relation(schema)


def test_a_subtraction_stays_one_and_an_unknown_name_is_not_guessed_at():
    schema = Schema.infer(pd.DataFrame({"fwd-packets": [1, 2], "b": [1, 3], "a": [1, 2]}))
    assert Rule("a - b > 1").compile_relation(schema)
    with pytest.raises(ConstraintError, match=r"(?s)'c', which is no feature, .*there are fwd-packets, b, a") as caught:
        Rule("c - fwd > `fwd-packets`").compile_relation(schema)
    assert "backquotes" not in str(caught.value)


PAIR = Schema.infer(TABLE[["a", "b"]])
TOO_LONG = {
    "a sum": (" + ".join(["a"] * 201) + " <= 9", "more than 200 operations inside one another"),
    "signs": ("-" * 300 + "a <= 9", "more than 200 operations"),
    "more signs": ("-" * 4900 + "a <= 9", "nested too deeply|more than 200 operations"),
    "negations": ("not " * 300 + "a <= 9", "more than 200 operations"),
    "powers": ("a <= " + "9**" * 300 + "9", "more than 200 operations"),
    "brackets": ("(" * 101 + "a" + ")" * 101 + " <= 9", "more than 100 brackets inside one another"),
    "calls": ("abs(" * 300 + "a" + ")" * 300 + " <= 9", "more than 100 brackets"),
    "open brackets": ("a in " + "[" * 4000, "more than 100 brackets"),
    "implications": ("if a < 9 then " * 21 + "a < 9", "more than 20 implications"),
    "implications in brackets": ("(a < 9 implies " * 21 + "a < 9" + ")" * 21, "more than 20 implications"),
    "alternatives": (
        "(a < 1 or (b < 1 and (a < 2 or (b < 2 and (a < 3 or (b < 3 and (a < 4 or b < 4)))))))",
        "more than 3 alternatives inside one another",
    ),
    "comparisons": (
        f"max({', '.join('ab' * 20)}) <= min({', '.join('ab' * 20)})",
        "more than 100 comparisons in one rule",
    ),
    "terms": (" and ".join(f"a <= {number}" for number in range(101)), "more than 100 comparisons"),
    "a chain": (" <= ".join("ab" * 51), "more than 100 comparisons"),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_rule_that_is_too_deep_or_too_long_is_refused_with_its_limit(name: str) -> None:
    text, message = TOO_LONG[name]
    with pytest.raises(ConstraintError, match=message):
        parse_formula(text, PAIR)


@pytest.mark.parametrize(
    "text",
    [
        " + ".join(["a"] * 199) + " <= 9",
        "-" * 198 + "a <= 9",
        "not " * 198 + "a <= 9",
        "a <= " + "1**" * 198 + "1",
        "abs(" * 98 + "a" + ")" * 98 + " <= 9",
        "max(a, " * 98 + "b" + ")" * 98 + " <= 9",
        " implies ".join(["a < 9"] * 21),
    ],
    ids=["sum", "signs", "negations", "powers", "calls", "choices", "implications"],
)
def test_a_rule_within_its_limits_can_be_worked_with_wherever_it_is_called_from(text: str) -> None:
    def work() -> None:
        found = parse_formula(text, PAIR)
        x = np.ones((2, 3))
        assert np.array_equal(found.holds(x, x), ~found.negate().holds(x, x))
        assert np.isfinite(found.defect(x, x)).all()
        assert hash(found) == hash(parse_formula(text, PAIR))
        assert found == parse_formula(text, PAIR)
        assert repr(found)
        assert split_into_clauses(found.substitute({0: Column(1)}))

    def call(frames: int) -> None:
        call(frames - 1) if frames else work()

    call(300)


def test_implications_in_a_row_are_one_choice() -> None:
    """ "If a then (if b then c)" is "not a, or not b, or c": a repair tries three ways and not ways inside ways."""
    nested = parse_formula("a < 1 implies (a < 2 implies (b < 1 implies b < 2))", PAIR)
    assert nested == parse_formula("not a < 1 or not a < 2 or not b < 1 or b < 2", PAIR)
