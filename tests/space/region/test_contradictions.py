"""Contradictions among boxes, whole numbers and linear rules are found before any search, and named without padding."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.errors import ConstraintError
from counterpoise.space.region.contradictions import find_irreducible_subset
from counterpoise.space.region.region import Region, check_constraints
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from worlds import seeds

SOME = settings(max_examples=40)
NAMES = ["a", "b", "c", "d"]
TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)) * 5, columns=NAMES)
WHOLE = pd.DataFrame(np.random.default_rng(0).integers(-20, 20, (30, 4)), columns=NAMES)


def stated(weights, sign, bound):
    text = " + ".join(f"{float(weight)!r} * {name}" for weight, name in zip(weights, NAMES, strict=True) if weight)
    return cp.Rule(f"{text} {sign} {float(bound)!r}")


def empty(rules):
    """Whether no point satisfies rules (weights, sign, bound), by a linear program of the test's own."""
    below = [(w, b) if s == "<=" else (-w, -b) for w, s, b in rules if s != "=="]
    same = [(w, b) for w, s, b in rules if s == "=="]
    found = linprog(
        np.zeros(len(NAMES)),
        A_ub=[w for w, _ in below] or None,
        b_ub=[b for _, b in below] or None,
        A_eq=[w for w, _ in same] or None,
        b_eq=[b for _, b in same] or None,
        bounds=[(None, None)] * len(NAMES),
    )
    return found.status == 2


@st.composite
def contradictory(draw):
    """Rules of which some, added up with positive weights, say 0 <= -1; and others that have nothing to do with it."""
    rng = np.random.default_rng(draw(seeds))
    count = draw(st.integers(1, 3))
    rows = rng.integers(-3, 4, (count, len(NAMES))).astype(float)
    bounds = rng.integers(-5, 6, count).astype(float)
    shares = rng.integers(1, 3, count).astype(float)
    last, rest = -(shares @ rows), -(shares @ bounds) - 1.0
    rules = [(w, "<=", b) for w, b in zip(rows, bounds, strict=True) if w.any()] + [(last, "<=", rest)]
    rules = [(w, s, b) for w, s, b in rules if w.any()]
    for _ in range(draw(st.integers(0, 2))):
        weights = rng.integers(-2, 3, len(NAMES)).astype(float)
        if weights.any():
            rules.append((weights, "==", float(rng.integers(-9, 9))))
    rules = [rules[place] for place in rng.permutation(len(rules))]
    return [(-w, ">=", -b) if s == "<=" and rng.random() < 0.5 else (w, s, b) for w, s, b in rules]


@SOME
@given(contradictory())
def test_contradictory_rules_are_always_found_and_each_that_is_named_is_needed(rules):
    words = {repr(stated(*rule)): rule for rule in rules}
    if not empty(list(words.values())):  # a rule 0 <= -1 has no feature in it and cannot be written
        return
    with pytest.raises(ConstraintError, match="no row satisfies") as caught:
        check_constraints(Schema.infer(TABLE), [stated(*rule) for rule in rules], None)
    named = [words[word] for word in caught.value.words]
    assert empty(named)
    for left_out in range(len(named)):
        assert not empty(named[:left_out] + named[left_out + 1 :])


@SOME
@given(seeds, st.sampled_from([TABLE, WHOLE]))
def test_rules_around_a_known_row_are_never_called_contradictory(seed, table):
    rng = np.random.default_rng(seed)
    point = table.iloc[int(rng.integers(len(table)))].to_numpy(dtype=float)
    words = []
    for _ in range(5):
        weights = rng.integers(-3, 4, len(NAMES)).astype(float)
        if weights.any():
            sign = rng.choice(["==", "<=", ">="])
            slack = 0.0 if sign == "==" else float(rng.integers(0, 2))
            words.append(stated(weights, sign, float(weights @ point) + (slack if sign == "<=" else -slack)))
    schema = Schema.infer(table)
    check_constraints(schema, words)
    region = Region.build(schema, encode(schema, table.iloc[:6]), words)
    assert region.feasible.all()  # the known row is within the observed range of every other


@pytest.mark.parametrize(
    "words",
    [
        [cp.Rule("2 * a == 2 * b + 1")],
        [cp.Rule("a < b"), cp.Rule("b < a + 1")],
        [cp.Rule("a + b == 7"), cp.Rule("a == b")],
        [cp.Range("a", 0, 3), cp.Rule("a >= b + 2"), cp.Range("b", 2, 9)],
        [cp.Rule("max(a, b) <= c"), cp.Rule("a >= c + 1")],
        [cp.Rule("abs(a) <= 1"), cp.Rule("a >= 2")],
        [cp.Derived("d", "a + b"), cp.Range("d", 5, 9), cp.Rule("a + b <= 4")],
    ],
    ids=repr,
)
def test_whole_numbers_boxes_and_derived_features_count_as_well(words):
    with pytest.raises(ConstraintError, match="no row satisfies") as caught:
        check_constraints(Schema.infer(WHOLE), [cp.Immutable("d"), cp.Rule("c <= 100"), *words], None)
    assert set(caught.value.words) == set(map(repr, words))


def test_a_contradiction_of_one_row_is_found_before_the_search_and_named():
    def score(frame):
        return np.asarray(frame["a"] + frame["b"], dtype=float)

    words = [cp.Rule("a + b <= 4"), cp.Rule("c <= 100"), cp.Increasing("a"), cp.Range("b", 1, None)]
    rows = pd.DataFrame({"a": [1, 9], "b": [1, 1], "c": [0, 0], "d": [0, 0]})
    found = cp.explain(score, rows, reference=WHOLE, constraints=words, target=(3.5, None))
    assert found.status.tolist() == ["valid", "infeasible"]
    named = [repr(word) for word in words if repr(word) in found.reason[1]]
    assert named == [repr(words[0]), repr(words[2]), repr(words[3])]


def test_what_the_solver_cannot_see_is_not_called_a_contradiction():
    words = [cp.Rule("a * b == 3"), cp.Rule("a * b == 4")]
    check_constraints(Schema.infer(WHOLE), words)
    model = LogisticRegression().fit(WHOLE, WHOLE.a > 0)
    found = cp.explain(model, WHOLE.iloc[:2], reference=WHOLE, constraints=words)
    assert found.status.tolist() == ["not_found"] * 2
    assert all("satisfies every relation" in reason for reason in found.reason)
    assert all(repr(words[0]) in reason or repr(words[1]) in reason for reason in found.reason)
    pd.testing.assert_frame_equal(found.frame, WHOLE.iloc[:2])  # nothing that breaks a rule is proposed


@given(
    st.sets(st.integers(0, 11), min_size=1, max_size=4),
    st.sets(st.integers(0, 11), min_size=1, max_size=4),
)
def test_an_irreducible_set_is_contradictory_and_has_nothing_to_spare(one, other):
    def wrong(items):
        return one <= set(items) or other <= set(items)

    kept = find_irreducible_subset(12, wrong)
    assert wrong(kept)
    assert not any(wrong([item for item in kept if item != left]) for left in kept)
