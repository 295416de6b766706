"""The schema: features in order, found by name, edited one at a time."""

import numpy as np
import pandas as pd
import pytest

from counterpoise.errors import InputError
from counterpoise.space.schema.schema import Feature, Schema, array_names

TABLE = pd.DataFrame({"n": [1, 5, 9], "rate": [0.5, 1.5, 2.5], "proto": ["tcp", "udp", "tcp"]})


def test_a_schema_is_read_from_a_frame_or_an_array():
    schema = Schema.infer(TABLE)
    assert schema.names == ("n", "rate", "proto")
    assert schema.frame
    assert len(schema) == 3
    from_array = Schema.infer(TABLE[["n", "rate"]].to_numpy())
    assert from_array.names == ("f0", "f1") == tuple(array_names(2))
    assert not from_array.frame
    assert [feature.kind for feature in from_array] == ["continuous", "continuous"]


def test_arrays_over_all_columns():
    schema = Schema.infer(TABLE)
    np.testing.assert_array_equal(schema.numeric, [True, True, False])
    np.testing.assert_allclose(schema.scales, [TABLE.n.std(ddof=0), TABLE.rate.std(ddof=0), 1.0])
    np.testing.assert_array_equal(schema.observed_ranges, [[1, 0.5, -np.inf], [9, 2.5, np.inf]])
    for array in (schema.numeric, schema.scales, schema.observed_ranges, schema.dtype_ranges):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_features_are_found_by_name_and_edited_in_a_copy():
    schema = Schema.infer(TABLE)
    assert schema["rate"].kind == "continuous"
    assert schema.position("proto") == 2
    assert "rate" in schema
    assert "speed" not in schema
    assert ["rate"] not in schema
    edited = schema.edit("rate", unit="Hz", scale=2.0)
    assert edited["rate"].unit == "Hz"
    assert edited.scales[1] == 2.0
    assert schema["rate"].unit == ""
    with pytest.raises(InputError, match="'speed' is not among 'n', 'rate', 'proto'"):
        schema.position("speed")


def test_names_may_be_anything_that_can_be_looked_up():
    table = pd.DataFrame({0: [1, 2], ("a", 1): [3, 4], "b": [5, 6]})
    table.columns = pd.Index([0, ("a", 1), "b"], tupleize_cols=False)
    assert Schema.infer(table).names == (0, ("a", 1), "b")


def test_schemas_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="given twice: 'a'"):
        Schema((Feature("a", "integer"), Feature("a", "continuous")))
    with pytest.raises(InputError, match="at least one feature"):
        Schema(())
    with pytest.raises(InputError, match="'std', 'mad' or 'range'"):
        Schema.infer(TABLE, scale="iqr")
    with pytest.raises(InputError, match="at least one row"):
        Schema.infer(TABLE[:0])
