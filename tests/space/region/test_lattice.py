"""The lattice: whole numbers, decimals, narrow dtypes and lists, each written exactly and inside the box."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.space.region.region import Region
from counterpoise.space.region.rounding import nearest_listed
from counterpoise.space.schema.schema import Schema


def settle(values, dtype, proposals, words=(), x0=None, bounds=None):
    """Proposals for the one column 'c' of a reference with these values, settled; the row has the first of them."""
    reference = pd.DataFrame({"c": pd.Series(values, dtype=dtype)})
    start = np.array([[float(reference["c"].iloc[0]) if x0 is None else x0]])
    region = Region.build(Schema.infer(reference), start, words, bounds)
    y, inside = region.bring_inside(np.array(proposals, dtype=float).reshape(1, -1, 1))
    np.testing.assert_array_equal(inside, region.contains(y))
    return y[0, :, 0].tolist(), inside[0].tolist()


def test_whole_numbers():
    assert settle([1, 5], "int64", [2.4, 2.6, -3.2])[0] == [2.0, 3.0, -3.0]


def test_decimals_are_written_as_people_write_them():
    assert settle([0.1, 2.5], "float64", [0.30000000000000004, 1.26, 0.7])[0] == [0.3, 1.3, 0.7]


def test_a_kept_cell_keeps_its_bits_although_it_has_more_decimals():
    moved = settle([0.1, 2.5], "float64", [0.123456, 0.123457, 0.06, 0.16], x0=0.123456)[0]
    assert moved == [0.123456, 0.123456, 0.123456, 0.2]  # 0.1 is less than half a step away: no change to be told


def test_narrow_floats_are_values_of_their_dtype():
    y, _ = settle([0.1234567, 2.5], "float32", [0.3, 1 / 3])
    assert [float(np.float32(value)) for value in y] == y
    halves, _ = settle([0.1, 2.5], "float16", [0.3])
    assert halves == [float(np.float16(0.3))]


def test_a_narrow_float_stays_on_the_inner_side_of_a_range():
    y, inside = settle([0.1234567, 2.5], "float32", [0.3, 0.29999], [cp.Range("c", 0.1, 0.3)])
    assert inside == [True, True]
    assert all(0.1 <= value <= 0.3 for value in y)


@pytest.mark.parametrize("end", [0.29, 0.57, 1.15, 2.3, 0.07])
def test_an_end_with_the_right_decimals_is_itself_allowed(end):
    y, inside = settle([0.01, 5.0], "float64", [4.0, 0.011], [cp.Range("c", end, end)])
    assert y == [end, end]
    assert inside == [True, True]


def test_listed_numbers():
    words = [cp.OneOf("c", [1, 10, 100])]
    assert settle([1, 5], "int64", [4.0, 7.0, 1e6, -5.0], words, bounds="observed")[0] == [1.0, 10.0, 100.0, 1.0]
    assert settle([0.1234567, 2.5], "float32", [0.2], [cp.OneOf("c", [0.1])])[0] == [float(np.float32(0.1))]


def test_integer_binds_even_the_row_itself():
    y, _ = settle([0.5, 2.25], "float64", [2.25, 1.6], [cp.Integer("c")], x0=2.25)
    assert y == [2.0, 2.0]


def test_numbers_beyond_double_precision_stay_as_they_are():
    assert settle([0, 2**62], "int64", [2.0**60 + 2**10])[0] == [0.0]
    assert settle([0.5, 1e300], "float64", [3e299])[0] == [3e299]


@given(st.floats(-1e6, 1e6), st.sampled_from(["float64", "float32", "float16", "int16", "Int32"]))
def test_settling_twice_is_settling_once(value, dtype):
    y, _ = settle([1, 2], dtype, [value])
    assert settle([1, 2], dtype, y)[0] == y


@given(st.lists(st.floats(-3, 9) | st.integers(-6, 18).map(lambda half: half / 2) | st.just(np.nan), min_size=1))
def test_codes_of_categories_are_rounded_as_any_listed_values_are(values):
    schema = Schema.infer(pd.DataFrame({"c": list("uvwxy")}))
    for words, first, last in (((), 0, 4), ((cp.OneOf("c", ["v", "w", "x"]),), 1, 3)):
        region = Region.build(schema, np.array([[1.0]]), words)
        x = np.array(values).reshape(1, -1, 1)
        ((_, listed),) = region.lattice.choices
        span = np.array([[np.searchsorted(listed, first), np.searchsorted(listed, last)]])
        expected = nearest_listed(listed, x[..., 0], span[:, :1], span[:, 1:])
        rounded = region.lattice.round(x, region.x0, region.lower, region.upper)[..., 0]
        np.testing.assert_array_equal(np.where(x[..., 0] == 1.0, 1.0, expected), rounded)
        off = region.lattice.is_off_lattice(x, x != 1.0)[..., 0]
        np.testing.assert_array_equal(off, ~np.isin(x[..., 0], listed) & ~np.isnan(x[..., 0]))


@pytest.mark.parametrize("size", [2.5e-13, 2**0.5])
def test_a_step_that_no_whole_number_is_a_multiple_of_is_refused_beside_integer(size: float) -> None:
    schema = cp.Schema.infer(pd.DataFrame({"load": [0.5, 4.25, 7.125]}))
    with pytest.raises(cp.ConstraintError, match="multiples that are whole"):
        Region.build(schema, np.array([[4.0]]), [cp.Step("load", size), cp.Integer("load")], None)
