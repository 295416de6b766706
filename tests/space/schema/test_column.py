"""What one column of data shows: kind, range, scale, decimals, categories; and features written by hand."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.space.schema.column import Feature, dtype_range, infer_feature, round_to_decimals

LEVELS = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)


def infer(values, dtype=None, scale="std"):
    return infer_feature(pd.Series(values, dtype=dtype), "c", scale)


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        ([0.5, 1.25], "float64", "continuous"),
        ([0.5, 1.25], "float16", "continuous"),
        ([0.5, pd.NA], "Float64", "continuous"),
        ([1.0, 2.0], "float64", "continuous"),
        ([1, 2], "int64", "integer"),
        ([1, 2], "uint8", "integer"),
        ([1, pd.NA], "Int64", "integer"),
        ([1, 2.0, None], object, "integer"),
        ([1, 2.5], object, "continuous"),
        ([True, False], "bool", "boolean"),
        ([True, pd.NA], "boolean", "boolean"),
        ([True, False, None], object, "boolean"),
        (["a", "b"], None, "categorical"),
        (["a", None], "string", "categorical"),
        (["a", "b"], object, "categorical"),
        (["a", 1, True], object, "categorical"),
        (["a", "b"], "category", "categorical"),
        ([1, 2], "category", "categorical"),
        (["low", "high"], LEVELS, "ordinal"),
    ],
)
def test_kinds(values, dtype, kind):
    assert infer(values, dtype).kind == kind


@pytest.mark.parametrize(
    ("values", "dtype", "named"),
    [
        ([1 + 2j], "complex128", "complex128"),
        ([Decimal("1.5")], object, "Decimal"),
        ([[1, 2]], object, "list"),
    ],
)
def test_columns_of_other_kinds_are_refused_by_name(values, dtype, named):
    with pytest.raises(InputError, match=f"'c' is .*{named}"):
        infer(values, dtype)


@pytest.mark.parametrize(
    ("values", "dtype"), [(["2024-01-01", "2024-01-02"], "datetime64[ns]"), ([dt.date(2024, 1, 1)], object)]
)
def test_dates_are_held_fixed(values, dtype):
    assert infer(values, dtype).fixed == "it holds dates or times"


def test_ranges_and_scales():
    values = [0.0, 1.0, 2.0, 3.0, 100.0]
    assert (infer(values).lower, infer(values).upper) == (0.0, 100.0)
    assert infer(values).scale == pytest.approx(np.std(values))
    assert infer(values, scale="mad").scale == pytest.approx(1.4826)
    assert infer(values, scale="range").scale == 100.0
    assert infer([5, 5, 5, 5, 9], scale="mad").scale == pytest.approx(np.std([5, 5, 5, 5, 9]))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6),
    st.sampled_from(["std", "mad", "range"]),
)
def test_a_scale_is_always_a_positive_number(values, scale):
    assert 0 < infer(values, "float64", scale).scale < np.inf


@pytest.mark.parametrize(
    ("values", "dtype", "decimals"),
    [
        ([1.0, 2.0], "float64", 0),
        ([0.1, 2.25], "float64", 2),
        ([1e-4, 0.5], "float64", 4),
        ([4e-06, 0.5], "float64", 6),
        ([1 / 3, 0.5], "float64", None),
        ([0.1, 0.7], "float32", 1),
        ([0.1, 0.35], "float16", 2),
        ([1, 2], "int8", 0),
        ([0.5, pd.NA], "Float64", 1),
        ([1e300, 0.5], "float64", None),
    ],
)
def test_decimals_are_the_fewest_that_write_every_value(values, dtype, decimals):
    assert infer(values, dtype).decimals == decimals


@given(st.integers(0, 4), st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5))
def test_written_decimals_are_the_nearest_and_stay_when_written_again(decimals, values):
    x = np.array(values)
    written = round_to_decimals(x, decimals)
    np.testing.assert_array_equal(round_to_decimals(written, decimals), written)
    np.testing.assert_allclose(written, x, atol=0.50001 * 10.0**-decimals, rtol=1e-15)


@pytest.mark.parametrize(
    ("values", "dtype", "why"),
    [
        ([3, 3], "int64", "constant"),
        ([3.5, np.nan], "float64", "constant"),
        ([True, True], "bool", "constant"),
        (["a", "a"], None, "constant"),
        (["low", "low"], LEVELS, "constant"),
        ([np.nan, np.nan], "float64", "missing everywhere"),
        ([None, None], object, "missing everywhere"),
        ([pd.NA], "Int64", "missing everywhere"),
        ([None], LEVELS, "missing everywhere"),
    ],
)
def test_constant_and_missing_columns_are_held_fixed_and_say_so(values, dtype, why):
    assert why in infer(values, dtype).fixed
    assert infer([1, 2]).fixed == ""


def test_categories_keep_their_order_and_those_nobody_has_are_told_apart():
    feature = infer(["low", "high"], LEVELS)
    assert feature.categories == ("low", "mid", "high")
    assert feature.unseen == ("mid",)
    assert infer(["b", "a", None]).categories == ("a", "b")


def test_infinite_values_are_refused_with_their_place():
    with pytest.raises(InputError, match="'c' is infinite in row 1"):
        infer([1.0, np.inf])


@pytest.mark.parametrize(("gone", "mark"), [(None, "None"), (np.nan, "nan"), (pd.NA, "NA")])
def test_the_mark_of_a_missing_object_is_remembered(gone, mark):
    assert infer(["a", "b", gone], object).mark == mark


@pytest.mark.parametrize(
    ("dtype", "least", "most"),
    [("uint8", 0, 255), ("int8", -128, 127), ("float16", -65504, 65504), ("Int16", -32768, 32767)],
)
def test_the_room_of_a_dtype(dtype, least, most):
    assert dtype_range(infer([1, 2], dtype)) == (least, most)


def test_the_room_of_wide_dtypes_can_be_written_back():
    assert int(dtype_range(infer([1, 2], "int64"))[1]) <= 2**63 - 1
    assert dtype_range(infer([1.0, 2.0])) == (-np.inf, np.inf)
    assert dtype_range(infer(["a", "b"])) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("kind", "categories", "dtype"),
    [
        ("continuous", (), "float64"),
        ("integer", (), "int64"),
        ("boolean", (), "bool"),
        ("ordinal", ("low", "high"), pd.CategoricalDtype(["low", "high"], ordered=True)),
        ("categorical", ("a", "b"), pd.Series(["a"]).dtype),
    ],
)
def test_a_feature_written_by_hand_gets_the_dtype_of_its_kind(kind, categories, dtype):
    assert Feature("c", kind, categories=categories).dtype == dtype


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "text"}, "kind must be one of"),
        ({"kind": "continuous", "scale": 0.0}, "positive number"),
        ({"kind": "continuous", "scale": np.nan}, "positive number"),
        ({"kind": "categorical"}, "needs its categories"),
    ],
)
def test_features_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Feature("c", **fields)
