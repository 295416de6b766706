"""Answers come back in the input's own columns, dtypes and index, and what did not change is the input's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.explanation.tables import (
    QUANTILE_SHARES,
    differs,
    list_changes,
    percentile,
    population_quantiles,
    restore_table,
)
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array
from explanations import POOLS, cases, column


def _bits(column: pd.Series[Any]) -> list[tuple[type, str]]:
    return [(type(value), repr(value)) for value in column.astype(object).tolist()]


def _answers(reference: pd.DataFrame, rows: pd.DataFrame, x: list[list[float]]) -> pd.DataFrame:
    schema = Schema.infer(reference)
    return restore_table(schema, rows, encode(schema, rows), np.array(x, dtype=np.float64))


@given(cases())
def test_answers_have_the_input_s_dtypes_index_and_unchanged_cells(case: tuple[Schema, pd.DataFrame, Array]) -> None:
    schema, rows, x = case
    before, x0 = rows.copy(deep=True), encode(schema, rows)
    frame = restore_table(schema, rows, x0, x[:, 0])
    pd.testing.assert_frame_equal(rows, before)
    pd.testing.assert_index_equal(frame.index, rows.index, exact=True)
    pd.testing.assert_index_equal(frame.columns, rows.columns, exact=True)
    assert frame.dtypes.tolist() == rows.dtypes.tolist()
    np.testing.assert_array_equal(encode(schema, frame), x[:, 0])
    changed = differs(x0, x[:, :1])[:, 0]
    for place, name in enumerate(rows.columns):
        same = ~changed[:, place]
        assert _bits(frame[name][same]) == _bits(rows[name][same])


@given(st.data())
def test_a_column_in_another_dtype_than_the_reference_s_still_holds_the_answer_exactly(data: st.DataObject) -> None:
    groups = (["float64", "float32", "int64", "uint8", "Int64", "Float64", "objects"], ["bool", "boolean"])
    texts = ["text", "string", "object", "category", "ordered"]
    group = data.draw(st.sampled_from((*groups, texts)))
    one, other = data.draw(st.sampled_from(group)), data.draw(st.sampled_from(group))
    reference = pd.DataFrame({"a": column(one, POOLS[one][1])})
    schema = Schema.infer(reference)
    shared = [v for v in POOLS[other][1] if _encodes(schema, other, v)]
    known = [v for v in POOLS[one][1] if not pd.isna(v)]
    if not shared:
        return
    own = data.draw(st.lists(st.sampled_from(shared), min_size=2, max_size=4))
    rows = pd.DataFrame({"a": column(other, own)})
    x0, x = encode(schema, rows), encode(schema, rows)
    x[0] = encode(schema, pd.DataFrame({"a": column(one, [data.draw(st.sampled_from(known))])}))[0]
    frame = restore_table(schema, rows, x0, x)
    np.testing.assert_array_equal(encode(schema, frame), x)
    left = rows["a"][1:].tolist(), frame["a"][1:].tolist()
    assert all(pd.isna(b) if pd.isna(a) else a == b for a, b in zip(*left, strict=True))


def _encodes(schema: Schema, kind: str, value: Any) -> bool:
    try:
        encode(schema, pd.DataFrame({"a": column(kind, [value])}))
    except ValueError:
        return False
    return True


def test_a_dtype_that_cannot_hold_the_new_value_gives_way_to_the_reference_s() -> None:
    reference = pd.DataFrame({"a": [1.5, 2.0]})
    assert _answers(reference, pd.DataFrame({"a": [1, 7]}), [[2.5], [7]])["a"].tolist() == [2.5, 7.0]
    assert _answers(reference, pd.DataFrame({"a": [1, 7]}), [[2.0], [7]])["a"].dtype == np.int64
    assert _answers(pd.DataFrame({"a": [1, 300]}), pd.DataFrame({"a": [1, 2]}, dtype="uint8"), [[300], [2]])[
        "a"
    ].tolist() == [300, 2]


def test_no_unchanged_cell_is_altered_to_make_room_for_a_changed_one() -> None:
    wide = 2**53 + 1  # has no float64
    frame = _answers(pd.DataFrame({"a": [1.5, 2.0]}), pd.DataFrame({"a": [1, wide]}), [[2.5], [wide]])
    assert frame["a"].tolist() == [2.5, wide]


def test_categories_are_extended_only_when_needed() -> None:
    reference = pd.DataFrame({"a": pd.Categorical(["tcp", "udp", "icmp"])})
    rows = pd.DataFrame({"a": pd.Categorical(["tcp", "tcp"], categories=["udp", "tcp", "unused"])})
    udp, icmp = (float(list(reference["a"].cat.categories).index(name)) for name in ("udp", "icmp"))
    tcp = float(list(reference["a"].cat.categories).index("tcp"))
    assert _answers(reference, rows, [[udp], [tcp]])["a"].dtype == rows["a"].dtype
    extended = _answers(reference, rows, [[icmp], [tcp]])["a"]
    assert extended.tolist() == ["icmp", "tcp"]
    assert extended.cat.categories.tolist() == ["udp", "tcp", "unused", "icmp"]


def test_a_new_level_of_an_ordered_category_takes_its_place_in_the_order() -> None:
    reference = pd.DataFrame({"a": column("ordered", ["low", "mid", "high"])})
    rows = pd.DataFrame({"a": pd.Categorical(["low", "high"], categories=["low", "high"], ordered=True)})
    answer = _answers(reference, rows, [[1.0], [2.0]])["a"]
    assert answer.cat.ordered
    assert answer.cat.categories.tolist() == ["low", "mid", "high"]
    assert (answer.min(), answer.max()) == ("mid", "high")


def test_flags_written_as_numbers_stay_numbers() -> None:
    for dtype in ("int64", "Int64", "float32"):
        rows = pd.DataFrame({"a": pd.Series([0, 1], dtype=dtype)})
        frame = _answers(pd.DataFrame({"a": [False, True]}), rows, [[1.0], [1.0]])
        assert frame["a"].dtype == rows["a"].dtype
        assert frame["a"].tolist() == [1, 1]


def test_columns_that_the_schema_does_not_have_are_carried_through() -> None:
    rows = pd.DataFrame({"when": pd.to_datetime(["2024-05-01"]), "a": [1], "id": [object()]})
    frame = _answers(pd.DataFrame({"a": [1, 5]}), rows, [[4.0]])
    assert frame.columns.tolist() == ["when", "a", "id"]
    assert frame["id"].iloc[0] is rows["id"].iloc[0]
    assert frame["when"].equals(rows["when"])


@settings(max_examples=50)
@given(cases())
def test_the_list_of_changes_leads_from_the_row_to_the_answer(case: tuple[Schema, pd.DataFrame, Array]) -> None:
    schema, rows, x = case
    x0 = encode(schema, rows)
    changes = list_changes(schema, rows, x0, x, [2] * len(rows))
    assert len(changes) == np.count_nonzero(differs(x0, x))
    frames = [restore_table(schema, rows, x0, x[:, alternative]) for alternative in range(2)]
    for change in changes:
        name = schema.names[change.column]
        own = rows[name].iloc[change.row]
        assert (pd.isna(own) and pd.isna(change.before)) or own == change.before
        assert frames[change.alternative][name].iloc[change.row] == change.after
        assert change.size > 0


def test_answers_beyond_the_count_are_not_listed() -> None:
    schema = Schema.infer(pd.DataFrame({"a": [0.0, 1.0]}))
    rows = pd.DataFrame({"a": [0.0, 0.0]})
    x = np.array([[[1.0], [np.nan]], [[1.0], [0.5]]])
    listed = list_changes(schema, rows, encode(schema, rows), x, [0, 2])
    assert [(change.row, change.alternative) for change in listed] == [(1, 0), (1, 1)]


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.floats(-6, 6), st.floats(0, 3))
def test_percentiles_lie_between_0_and_100_and_never_fall_as_the_value_grows(
    values: list[float], value: float, step: float
) -> None:
    schema = Schema.infer(pd.DataFrame({"a": [-5.0, 5.0]}))
    levels = population_quantiles(schema, np.array(values)[:, None])[:, 0]
    assert 0 <= percentile(levels, value) <= percentile(levels, value + step) <= 100
    assert percentile(levels, min(values) - 1) == 0
    assert percentile(levels, max(values) + 1) == 100


def test_a_value_that_many_rows_share_lies_in_the_middle_of_them() -> None:
    schema = Schema.infer(pd.DataFrame({"a": [0.0, 1.0]}))
    levels = population_quantiles(schema, np.array([[0.0]] * 50 + [[1.0]] * 51))[:, 0]
    assert percentile(levels, 0.0) == pytest.approx(12.5)
    assert percentile(levels, 1.0) == pytest.approx(75.0)


def test_categories_and_columns_without_values_have_no_percentile() -> None:
    schema = Schema.infer(pd.DataFrame({"a": ["u", "v"], "b": [1.0, 2.0]}))
    levels = population_quantiles(schema, np.array([[0.0, np.nan], [1.0, np.nan]]))
    assert levels.shape == (len(QUANTILE_SHARES), 2)
    assert np.isnan(levels).all()
    assert np.isnan(percentile(levels[:, 0], 1.0))
