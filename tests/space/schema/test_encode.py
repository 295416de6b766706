"""Frames to arrays and back: nothing is lost, and what cannot be read is refused with its place."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.space.schema.encode import decode, decode_column, encode
from counterpoise.space.schema.schema import Feature, Schema
from worlds import POOLS, column, tables


@given(tables())
def test_rows_come_back_as_they_went_in(case):
    _, reference, _ = case
    schema = Schema.infer(reference)
    x = encode(schema, reference)
    frame = decode(schema, x)
    pd.testing.assert_frame_equal(frame, reference, check_exact=True)
    np.testing.assert_array_equal(encode(schema, frame), x)


@pytest.mark.parametrize("kind", sorted(POOLS))
def test_every_column_can_hold_a_missing_cell_or_turns_into_one_that_can(kind):
    schema = Schema.infer(pd.DataFrame({"c": column(kind, POOLS[kind][1])}))
    cells = pd.Series(decode_column(schema["c"], np.array([np.nan, 0.0])))
    assert cells.isna().tolist() == [True, False]


@given(
    dtype=st.sampled_from(["int64", "uint8", "Int64", "Int8", "UInt16", "int64[pyarrow]"]),
    values=st.lists(st.one_of(st.floats(0, 99), st.just(np.nan)), min_size=1, max_size=5),
)
def test_a_search_may_ask_between_the_whole_numbers_of_any_column(dtype, values):
    """A schema file may call such a column continuous; a dtype would cut the numbers off, or refuse them."""
    seen = Schema.infer(pd.DataFrame({"c": pd.Series([0, 99], dtype=dtype)}))
    for kind in ("integer", "continuous"):
        found = pd.Series(decode_column(replace(seen["c"], kind=kind), np.array(values))).astype("float64")
        np.testing.assert_array_equal(found.to_numpy(na_value=np.nan), np.rint(values))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_arrays_come_back_in_their_dtype(dtype):
    reference = np.array([[0, 1], [1, 0]], dtype=dtype)
    schema = Schema.infer(reference)
    array = decode(schema, encode(schema, pd.DataFrame(reference, columns=list(schema.names))))
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, reference)


def test_whole_numbers_never_wrap_around():
    schema = Schema.infer(pd.DataFrame({"u": pd.Series([0, 200], dtype="uint8"), "m": pd.Series([0, 9], dtype="Int8")}))
    frame = decode(schema, np.array([[300.0, 1000.0]]))
    assert frame["u"].tolist() == [300]
    assert frame["m"].tolist() == [1000]
    assert decode(Schema.infer(np.array([[0], [9]], dtype="uint8")), np.array([[-1.0]])).tolist() == [[-1.0]]
    assert decode(Schema.infer(pd.DataFrame({"i": [0, 9]})), np.array([[2.0**63]]))["i"].tolist() == [2.0**63]


def test_columns_may_stand_in_any_order_and_have_company():
    reference = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    rows = pd.DataFrame({"more": [0], "b": ["y"], "a": [2.0]})
    np.testing.assert_array_equal(encode(Schema.infer(reference), rows), [[2.0, 1.0]])
    pairs = pd.DataFrame([[1, 2.5]], columns=pd.Index([("a", 1), ("b", 2)], tupleize_cols=False))
    np.testing.assert_array_equal(encode(Schema.infer(pairs), pairs.iloc[:, ::-1]), [[1.0, 2.5]])


def test_other_dtypes_with_the_same_values_are_read():
    reference = pd.DataFrame({"n": [1, 2], "flag": [True, False], "c": pd.Categorical(["x", "y"])})
    rows = pd.DataFrame({"n": pd.Series([2.0], dtype="Float32"), "flag": [1], "c": pd.Series(["y"], dtype=object)})
    np.testing.assert_array_equal(encode(Schema.infer(reference), rows), [[2.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    ("reference", "row", "parts"),
    [
        ([1.5, 2.0], "fast", ["'c' must hold numbers", "row 'r' has 'fast' (str)"]),
        ([1.5, 2.0], [1], ["'c' must hold numbers", "(list)"]),
        ([1.5, 2.0], pd.Timestamp("2024-01-01"), ["'c' must hold numbers", "Timestamp"]),
        ([1.5, 2.0], 1 + 2j, ["'c' must hold numbers", "complex"]),
        ([1.5, 2.0], np.inf, ["values must be finite", "'c' is inf in row 'r'"]),
        ([1, 2], 2.5, ["'c' holds whole numbers", "row 'r' has 2.5"]),
        (["tcp", "udp"], "icmp", ["categories must be known", "'c' is 'icmp' in row 'r'; known are 'tcp', 'udp'"]),
        (["tcp", "udp"], 3, ["'c' is 3 in row 'r'"]),
        (["tcp", "udp"], [1], ["'c' is [1] in row 'r'"]),
        ([True, False], "yes", ["'c' is 'yes' in row 'r'; known are False, True"]),
    ],
)
def test_cells_that_cannot_be_read_are_named(reference, row, parts):
    schema = Schema.infer(pd.DataFrame({"c": reference}))
    cell = pd.Series([None], index=["r"], dtype=object)
    cell.iloc[0] = row
    for table in (pd.DataFrame({"c": cell}), pd.DataFrame({"c": cell.infer_objects()})):
        with pytest.raises(InputError) as caught:
            encode(schema, table)
        assert all(part in str(caught.value) for part in parts)
        assert caught.value.todo


def test_a_category_column_with_a_level_nobody_knows_is_read_unless_it_is_used():
    schema = Schema.infer(pd.DataFrame({"c": ["tcp", "udp"]}))
    dtype = pd.CategoricalDtype(["udp", "icmp", "tcp"])
    rows = pd.DataFrame({"c": pd.Series(["tcp", "udp", None], dtype=dtype)})
    np.testing.assert_array_equal(encode(schema, rows), [[0.0], [1.0], [np.nan]])
    with pytest.raises(InputError, match="'icmp'"):
        encode(schema, pd.DataFrame({"c": pd.Series(["icmp"], dtype=dtype)}))


def test_numbers_beyond_double_precision_are_read_as_the_nearest():
    schema = Schema.infer(pd.DataFrame({"i": [0, 2**62]}))
    assert encode(schema, pd.DataFrame({"i": [2**53 + 1]}))[0, 0] == 2.0**53


@pytest.mark.parametrize("gone", [None, np.nan, pd.NA])
def test_a_missing_object_is_written_as_the_reference_writes_it(gone):
    reference = pd.DataFrame({"c": pd.Series(["a", "b", gone], dtype=object)})
    cell = decode(Schema.infer(reference), np.array([[np.nan]]))["c"].iloc[0]
    assert cell is gone or (cell != cell and gone != gone)


def test_a_schema_written_by_hand_is_decoded_too():
    schema = Schema(
        (
            Feature("proto", "categorical", categories=("tcp", "udp")),
            Feature("level", "ordinal", categories=("low", "high")),
            Feature("safe", "boolean"),
            Feature("rank", "categorical", categories=(1, 2)),
        )
    )
    frame = decode(schema, np.array([[1.0, 0.0, 1.0, 1.0]]))
    assert frame.to_dict("records") == [{"proto": "udp", "level": "low", "safe": True, "rank": 2}]
    assert frame["safe"].dtype == bool


@pytest.mark.parametrize("table", [pd.DataFrame({"a": [0.5, 1.5]}), pd.DataFrame({"a": [1, 2]})])
def test_whoever_names_the_columns_of_a_decoded_frame_names_no_others(table):
    schema = Schema.infer(table)
    decode(schema, np.ones((1, 1))).columns.name = "renamed"
    assert decode(schema, np.ones((1, 1))).columns.name is None
    assert schema.edit("a", unit="s").columns.tolist() == ["a"]


def test_all_values_that_are_not_known_are_named_at_once() -> None:
    schema = Schema.infer(pd.DataFrame({"c": ["tcp", "udp"]}))
    rows = pd.DataFrame({"c": ["tcp", "irc", "radius", "irc", "udp", *"abcdef"]}, index=list("rstuvwxyz12"))
    with pytest.raises(InputError) as caught:
        encode(schema, rows)
    assert "'c' is 'irc' in row 's' and 1 more, 'radius' in row 't', 'a' in row 'w'" in str(caught.value)
    assert "and 2 other values; known are 'tcp', 'udp'" in str(caught.value)


@pytest.mark.parametrize("dtype", ["float32", "float16", "Float32"])
def test_a_number_beyond_its_dtype_is_not_shown_as_infinite(dtype: str) -> None:
    schema = Schema.infer(pd.DataFrame({"load": pd.Series([0.5, 1.5], dtype=dtype)}))
    shown = decode(schema, np.array([[1e39], [2.0]]))["load"].to_numpy(dtype=float)
    assert shown.tolist() == [1e39, 2.0]
