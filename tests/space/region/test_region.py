"""The region: what it contains is what the words allow, and whatever a search proposes is settled inside it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import ConstraintError, InputError
from counterpoise.explanation import tables as answers
from counterpoise.space.region.region import Region, check_constraints
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from worlds import constraints, seeds, tables, violations

MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def region(words, bounds="observed", x0=((1.0, 2.0),), reference=None):
    table = pd.DataFrame({"a": [0, 2, 4, 9], "b": [0.0, 9.0, 4.5, 1.25]}) if reference is None else reference
    schema = Schema.infer(table)
    check_constraints(schema, words, bounds)
    return Region.build(schema, np.array(x0, dtype=float), words, bounds)


@st.composite
def settled(draw):
    named, reference, rows = draw(tables())
    words = draw(constraints(named))
    schema = Schema.infer(reference)
    x0 = encode(schema, rows)
    try:
        check_constraints(schema, words)
    except ConstraintError:
        assume(False)
    rng = np.random.default_rng(draw(seeds))
    shape = len(x0), 3, x0.shape[1]
    proposal = rng.normal(size=shape) * rng.choice([0.3, 3.0, 100.0, 1e9], size=shape)
    proposal = np.where(rng.random(shape) < 0.3, rng.choice([0.0, 0.05, 1.0, 2.5, np.nan], size=shape), proposal)
    proposal = np.where(rng.random(shape) < 0.4, x0[:, None, :], proposal)
    return named, reference, rows, words, Region.build(schema, x0, words), proposal


@MANY
@given(settled())
def test_a_settled_proposal_is_inside_where_it_is_said_to_be_and_breaks_no_word(case):
    named, reference, rows, words, built, proposal = case
    y, inside = built.bring_inside(proposal)
    np.testing.assert_array_equal(inside, built.contains(y))
    good, chain = np.nonzero(inside)
    frame = answers.restore_table(Schema.infer(reference), rows.iloc[good], built.x0[good], y[good, chain])
    assert violations(named, reference, words, rows.iloc[good], frame) == []


@MANY
@given(settled())
def test_a_feasible_row_has_a_home_and_projections_land_inside(case):
    *_, built, proposal = case
    home = built.nearest_feasible[:, None, :]
    np.testing.assert_array_equal(built.contains(home)[:, 0], built.feasible)
    assert [bool(words) for words in built.conflicts()] == (~built.feasible).tolist()
    y = built.project(proposal)
    np.testing.assert_array_equal(built.is_broken(y).any(axis=(1, 2)), built.is_broken(home).any(axis=(1, 2)))
    np.testing.assert_array_equal(built.project(y), y)
    half = np.arange(len(built.x0))[::-2].copy()  # part of a region is the region of the part
    np.testing.assert_array_equal(
        built.take(half).bring_inside(proposal[half])[0], built.bring_inside(proposal)[0][half]
    )
    np.testing.assert_array_equal(built.take(half).contains(proposal[half]), built.contains(proposal)[half])


def test_reflection_keeps_the_inside_and_folds_the_outside():
    built = region([cp.Range("b", 0, 4)])
    x = np.array([[[1.0, 3.0], [1.0, 5.0], [1.0, -1.0], [1.0, 4.0 + 8.0], [1.0, 1e6]]])
    y = built.reflect(x)[0, :, 1]
    np.testing.assert_allclose(y[:4], [3.0, 3.0, 1.0, 4.0])
    assert 0 <= y[4] <= 4


def test_the_observed_range_is_widened_to_the_row_and_lifted_by_none():
    outside = region([], x0=[[40.0, 2.0]])
    assert outside.contains(np.array([[[40.0, 2.0], [25.0, 2.0], [41.0, 2.0], [-1.0, 2.0]]])).tolist() == [
        [True, True, False, False]
    ]
    assert region([], bounds=None).contains(np.array([[[5000.0, -80.0]]])).all()


def test_a_range_of_the_users_takes_the_place_of_the_observed_one():
    built = region([cp.Range("a", 100, None)])
    assert built.nearest_feasible[0, 0] == 100
    assert built.contains(np.array([[[100.0, 2.0], [5000.0, 2.0], [99.0, 2.0]]])).tolist() == [[True, True, False]]
    half = region([cp.Range("b", None, 4)])
    assert half.contains(np.array([[[1.0, 0.0], [1.0, -0.5], [1.0, 4.5]]])).tolist() == [[True, False, False]]


def test_a_row_outside_its_range_must_come_inside_and_setting_it_back_brings_it_to_the_edge():
    built = region([cp.Range("b", 3, 5)])
    assert not built.contains(built.x0[:, None, :]).any()
    y, inside = built.bring_inside(np.array([[[1.0, 2.0], [1.0, 2.5]]]))
    assert inside.all()
    np.testing.assert_array_equal(y[0, :, 1], [3.0, 3.5])


def test_a_list_and_a_range_on_an_ordered_column_meet():
    levels = pd.CategoricalDtype(["a", "b", "c", "d", "e"], ordered=True)
    reference = pd.DataFrame({"o": pd.Series(list("abcde"), dtype=levels), "n": [1.0, 2.0, 3.0, 4.0, 5.5]})
    built = region([cp.OneOf("o", ["a", "e"]), cp.Range("o", "b", "e")], x0=[[0.0, 1.0]], reference=reference)
    y, inside = built.bring_inside(np.array([[[1.0, 1.0], [0.0, 1.0], [3.0, 2.0]]]))
    assert inside.all()
    assert set(y[0, :, 0]) == {4.0}
    with pytest.raises(ConstraintError, match="leave none for 'o'"):
        region([cp.OneOf("o", ["a", "e"]), cp.Range("o", "b", "d")], x0=[[0.0, 1.0]], reference=reference)


def test_only_increasing_narrows_an_ordered_column():
    levels = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    reference = pd.DataFrame({"o": pd.Series(["low", "mid", "high"], dtype=levels)})
    built = region([cp.Increasing("o")], x0=[[1.0]], reference=reference)
    assert built.contains(np.array([[[0.0], [1.0], [2.0]]])).tolist() == [[False, True, True]]


def test_a_category_that_nobody_has_is_no_answer_but_a_row_may_keep_it():
    dtype = pd.CategoricalDtype(["red", "green", "never"])
    reference = pd.DataFrame({"c": pd.Series(["red", "green"], dtype=dtype)})
    row, other = [[2.0]], [[0.0]]
    assert region([], x0=row, reference=reference).contains(np.array([[[2.0], [0.0]]])).all()
    assert not region([], x0=other, reference=reference).contains(np.array([[[2.0]]])).any()
    assert region([], x0=other, reference=reference, bounds=None).contains(np.array([[[2.0]]])).all()
    assert region([cp.OneOf("c", ["never"])], x0=other, reference=reference).nearest_feasible[0, 0] == 2.0


def test_a_missing_cell_stays_or_is_filled_and_nothing_else_goes_missing():
    built = region([cp.Range("b", 3, 5)], x0=[[1.0, np.nan]])
    assert built.contains(np.array([[[1.0, np.nan], [1.0, 4.0], [np.nan, 4.0], [1.0, 6.0]]])).tolist() == [
        [True, True, False, False]
    ]
    y, inside = built.bring_inside(np.array([[[np.nan, np.nan]]]))
    assert inside.all()
    np.testing.assert_array_equal(y, [[[1.0, np.nan]]])


def test_dtypes_bound_what_a_column_can_hold_even_without_bounds():
    reference = pd.DataFrame({"u": pd.Series([0, 3], dtype="uint8"), "h": pd.Series([0.1, 2.0], dtype="float16")})
    built = region([], bounds=None, x0=[[3.0, 2.0]], reference=reference)
    y, inside = built.bring_inside(np.array([[[300.0, 1e5], [-7.0, 0.123456]]]))
    assert inside.all()
    assert ((y[..., 0] >= 0) & (y[..., 0] <= 255)).all()
    assert (y[..., 1].astype("float16").astype(float) == y[..., 1]).all()
    big = pd.DataFrame({"i": [0, 2**63 - 1]})
    top = region([], bounds=None, x0=[[5.0]], reference=big).upper[0, 0]
    assert int(top) <= 2**63 - 1


def test_few_changes():
    built = region([cp.MaxChanges(1)])
    assert built.bring_inside(np.array([[[3.0, 2.0], [3.0, 4.0]]]))[1].tolist() == [[True, False]]


def test_a_row_that_must_change_more_than_it_may_is_infeasible_and_says_why():
    words = [cp.Range("a", 3, 4), cp.Range("b", 5, 6), cp.MaxChanges(1)]
    built = region(words)
    assert not built.feasible.any()
    assert built.conflicts() == [(repr(words[0]), repr(words[1]), repr(words[2]))]


def test_a_fixed_cell_that_breaks_a_word_makes_its_row_infeasible_and_no_other():
    words = [cp.Immutable("a"), cp.Range("a", 3, 9)]
    built = region(words, x0=[[1.0, 2.0], [4.0, 2.0]])
    assert built.feasible.tolist() == [False, True]
    assert built.conflicts() == [(repr(words[0]), repr(words[1])), ()]


def test_directions_that_leave_a_row_nothing_make_it_infeasible():
    built = region([cp.Increasing("a"), cp.Range("a", None, 3)], x0=[[5.0, 2.0], [2.0, 2.0]])
    assert built.feasible.tolist() == [False, True]
    between = region([cp.Increasing("b"), cp.Integer("b"), cp.Range("b", None, 5.5)], x0=[[1.0, 5.2], [1.0, 4.2]])
    assert between.feasible.tolist() == [False, True]
    assert between.nearest_feasible[1, 1] == 5.0


@pytest.mark.parametrize(
    "words",
    [
        [cp.Range("a", 0, 1), cp.Range("a", 3, 4)],
        [cp.OneOf("a", [1, 2]), cp.OneOf("a", [3])],
        [cp.OneOf("a", [1, 2]), cp.Range("a", 5, 9)],
        [cp.Integer("b"), cp.Range("b", 0.2, 0.8)],
        [cp.OneOf("a", [1.5])],
        [cp.Range("a", 3, 1)],
    ],
    ids=repr,
)
def test_contradictions_are_found_before_any_row_and_name_every_word(words):
    with pytest.raises(ConstraintError) as caught:
        region(words)
    assert all(repr(word) in caught.value.given for word in words)
    assert caught.value.must
    assert caught.value.todo


def test_a_range_narrower_than_the_decimals_is_met_without_them():
    reference = pd.DataFrame({"t": [0.1, 0.5, 2.0]})
    built = region([cp.Range("t", 0.51, 0.54)], x0=[[0.1]], reference=reference)
    y, inside = built.bring_inside(np.array([[[0.52]]]))
    assert inside.all()
    assert 0.51 <= y[0, 0, 0] <= 0.54


@pytest.mark.parametrize("bounds", ["seen", 3, True])
def test_bounds_are_observed_or_none(bounds):
    with pytest.raises(InputError, match="bounds must be 'observed' or None"):
        check_constraints(Schema.infer(pd.DataFrame({"a": [1, 2]})), [], bounds)
