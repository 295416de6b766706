"""What users give: every form of a row becomes the same frame, and what cannot is refused in one grammar."""

import numpy as np
import pandas as pd
import pytest

from counterpoise.errors import InputError
from counterpoise.space.schema.tables_in import as_rows, as_table, quote_names

TABLE = pd.DataFrame({"n": [1, 5], "rate": [0.5, 1.5], "proto": ["tcp", "udp"]}, index=["x", "y"])
NAMES = ["n", "rate", "proto"]


@pytest.mark.parametrize(
    "given",
    [
        TABLE[:1],
        TABLE.iloc[0],
        {"n": 1, "rate": 0.5, "proto": "tcp"},
        [{"n": 1, "rate": 0.5, "proto": "tcp"}],
        TABLE[:1].to_numpy(),
        TABLE.iloc[0].to_numpy(),
        [[1, 0.5, "tcp"]],
    ],
    ids=["frame", "series", "dict", "dicts", "array", "flat array", "lists"],
)
def test_one_row_in_every_form(given):
    if isinstance(given, list) and not isinstance(given[0], dict):
        given = np.array(given, dtype=object)
    table = as_rows(given, NAMES)
    assert table[NAMES].to_dict("records") == TABLE[:1].to_dict("records")


def test_the_label_of_a_series_is_kept_and_its_dtype_too():
    assert as_rows(TABLE.iloc[1], NAMES).index.tolist() == ["y"]
    assert as_rows(pd.Series({"n": 1.0}), ["n"]).index.tolist() == [0]
    masked = pd.Series({"a": 1, "b": pd.NA}, dtype="Int64", name="r")
    assert as_rows(masked, ["a", "b"]).dtypes.tolist() == [pd.Int64Dtype()] * 2


def test_several_dicts_and_nothing_at_all():
    assert len(as_rows(TABLE.to_dict("records"), NAMES)) == 2
    assert len(as_rows([], NAMES)) == 0
    assert len(as_rows(np.empty((0, 3)), NAMES)) == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (TABLE.set_axis(["n", "n", "p"], axis=1), "unique column names; given twice: 'n'"),
        (TABLE.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), axis=1), "MultiIndex with 2 levels"),
        (pd.Series([1, 2], index=["n", "n"]), "given twice: 'n'"),
        ([{"n": 1, "rate": 2}, {"n": 1}], "row 1 has no 'rate'"),
        (np.zeros((1, 2)), "the reference's 3 columns; the array has 2"),
        (np.zeros((1, 3, 1)), r"an array of shape \(1, 3, 1\)"),
        ([[1, 2, 3], [1]], "unequal length"),
        (np.array([["a", "b", "c"]]), "must hold numbers"),
        ([{"n": 1, "rate": 2, "proto": "\ud800"}], r"'\\ud800' has half of a pair"),
        ([{"n": 1, "rate": 2, "\ud800": "tcp"}], "names of rows given as dicts must be whole characters"),
        (pd.Series([1, "\ud800"], index=["n", "rate"], dtype=object), "whole characters"),
        (TABLE.set_axis(pd.Index(["n", "rate", "\ud800"], dtype=object), axis=1), "column names of the rows"),
        (TABLE.set_axis(pd.Index(["\ud800"] * len(TABLE), dtype=object)), "row labels of the rows"),
        ("text", "a text was given"),
        (None, "None was given"),
    ],
)
def test_what_is_no_row_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        as_rows(given, NAMES)


def test_an_array_gets_names():
    assert list(as_table(np.zeros((1, 2)), "reference").columns) == ["f0", "f1"]


def test_long_lists_of_names_are_cut():
    assert quote_names(list(range(10)), 3) == "0, 1, 2 and 7 more"
