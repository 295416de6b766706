"""A model reads the columns it was fitted on, by name, in its order, in the reference's dtypes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.models.inputs import find_model_columns, make_input_function, make_up_rows
from counterpoise.space.schema.schema import Feature, Schema

TABLE = pd.DataFrame(
    {"n": np.array([1, 5], dtype=np.int32), "proto": pd.Categorical(["tcp", "udp"]), "rate": [0.5, 1.5]}
)
SCHEMA = Schema.infer(TABLE)
ROWS = np.array([[1.0, 0.0, 0.5], [5.0, 1.0, 1.5]])


@given(st.permutations(["n", "proto", "rate"]), st.integers(1, 3))
def test_columns_come_in_the_models_order_and_dtypes(order: list[str], count: int) -> None:
    names = order[:count]
    pd.testing.assert_frame_equal(make_input_function(SCHEMA, names, count, frame=True)(ROWS), TABLE[names])


def test_a_model_with_names_gets_them_even_from_an_array() -> None:
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    given = make_input_function(Schema.infer(array), ["a", "b"], 2, frame=True)(array)
    pd.testing.assert_frame_equal(given, pd.DataFrame(array, columns=["a", "b"]))


def test_a_model_without_names_gets_an_array_from_a_frame() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    given = make_input_function(Schema.infer(table), None, 2, frame=False)(np.array([[1.0, 3.0]]))
    assert isinstance(given, np.ndarray)
    assert given.tolist() == [[1.0, 3.0]]


def test_a_column_that_the_reference_lacks_is_named() -> None:
    with pytest.raises(InputError, match="it has no 'port'; it has 'n', 'proto', 'rate'"):
        find_model_columns(SCHEMA, ["n", "port"], 2)


def test_a_different_number_of_columns_is_refused() -> None:
    with pytest.raises(InputError, match="the 5 columns that the model was fitted on; it has 3"):
        find_model_columns(SCHEMA, None, 5)


def test_rows_made_up_from_a_schema_lie_inside_it() -> None:
    schema = Schema(
        (
            Feature("a", "integer", lower=2, upper=9),
            Feature("b", "continuous"),
            Feature("c", "boolean", categories=(False, True)),
        )
    )
    rows = make_up_rows(schema)
    assert ((rows[:, 0] >= 2) & (rows[:, 0] <= 9) & (rows[:, 0] % 1 == 0)).all()
    assert np.isfinite(rows).all()
    assert set(rows[:, 2]) == {0.0, 1.0}
