"""A saved explanation comes back to the bit, and what is not one says so."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.json.json_archive import FORMAT_VERSION
from counterpoise.explanation.json.json_tables import pack_column, pack_index, unpack_column, unpack_index
from counterpoise.explanation.json.json_values import pack_value, unpack_value
from counterpoise.explanation.question import Question
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array
from explanations import assert_same, build, cases, firmness, objects, same


def _strict(data: Any) -> Any:
    """Through the text of a JSON that other languages read too."""
    return json.loads(json.dumps(data, allow_nan=False))


@settings(max_examples=40)
@given(cases(), st.sampled_from(["benign", np.str_("benign"), 1, np.int64(1), True, np.bool_(True), 1.5]))
def test_an_explanation_comes_back_to_the_bit(case: tuple[Schema, pd.DataFrame, Array], label: Any) -> None:
    schema, rows, x = case
    tipping = build(schema, rows, x[:, :1])
    quantiles = {
        label: np.full((11, len(schema)), np.nan),
        "other": np.linspace(0, 1, 11 * len(schema)).reshape(11, -1),
    }
    explanation = build(
        schema,
        rows,
        x,
        target=objects([label] * len(rows)),
        firm=firmness(rows, 1 / 3),
        tipping=tipping,
        evidence=np.concatenate([x, np.full_like(x[:, :1], np.nan)], axis=1),
        held={"c0": "it is constant in the reference", 7: "Immutable(7)", ("a", 1.0): ""},
        quantiles=quantiles,
        seconds=0.1 + 0.2,
        model_rows=12345678901234567,
        question=Question(target=label, seed=-3, method="Polished(Annealing(steps=200))"),
        versions={"counterpoise": "0.1.0"},
        notes=("'id' is carried through",),
    )
    text = explanation.to_json()
    back = Explanation.from_json(text)
    assert_same(explanation, back)
    assert back.to_json() == text
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


COLUMNS = {
    "time": pd.to_datetime(pd.Series(["2024-05-01 12:00:00.123456789", None])),
    "zoned": pd.to_datetime(pd.Series(["2024-05-01 12:00", None])).dt.tz_localize("Europe/Berlin"),
    "offset": pd.to_datetime(pd.Series(["2024-05-01 12:00+02:00", None])),
    "span": pd.to_timedelta(pd.Series(["3 days", None])),
    "period": pd.Series(pd.PeriodIndex(["2024-05", None], freq="M")),
    "wide": pd.Series([2**64 - 1, 0], dtype="uint64"),
    "half": pd.Series([0.1, np.inf], dtype="float16"),
    "edges": pd.Series([-np.inf, np.nan]),
    "both": pd.Series(pd.arrays.FloatingArray(np.array([np.nan, np.inf]), np.array([False, False]))),
    "dates": pd.Series(pd.Categorical([pd.Timestamp("2024-05-01"), None])),
    "labels": pd.Series(pd.Categorical([2, None], categories=[3, 2], ordered=True)),
    "plain": pd.Series(["tcp", None], dtype=object),
    "python": pd.Series(["tcp", None], dtype=pd.StringDtype("python")),
    "mostly zero": pd.Series([0.0, 2.5, np.nan], dtype=pd.SparseDtype("float64", 0.0)),
    "mostly five": pd.Series([5, 7], dtype=pd.SparseDtype("int8", 5)),
    "surrogate": pd.Series(["\ud800", "\x00\u2028</script>"], dtype=object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_that_are_only_carried_through_come_back(name: str) -> None:
    column = COLUMNS[name]
    back = unpack_column(_strict(pack_column(column)))
    pd.testing.assert_series_equal(back, column, check_names=False, check_exact=True)
    cells = zip(back.astype(object), column.astype(object), strict=True)
    assert all(same(one, other) for one, other in cells)


@pytest.mark.parametrize("dtype", ["int64[pyarrow]", "double[pyarrow]", "string[pyarrow]", "bool[pyarrow]"])
def test_arrow_columns_come_back(dtype: str) -> None:
    pytest.importorskip("pyarrow")
    values = {"int64[pyarrow]": 2**62 + 1, "double[pyarrow]": 0.1, "string[pyarrow]": "tcp", "bool[pyarrow]": True}
    column = pd.Series([values[dtype], None], dtype=dtype)
    pd.testing.assert_series_equal(unpack_column(_strict(pack_column(column))), column, check_exact=True)


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(3, 9, 2, name="n"),
        pd.Index(["a", "b"], dtype=object, name=("x", 1)),
        pd.Index([]),
        pd.Index([1, "a", None, 2.5], dtype=object),
        pd.date_range("2024-05-01", periods=3, freq="h", tz="UTC", name="ts"),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["host", None]),
        pd.CategoricalIndex(["u", "v"]),
    ],
    ids=lambda index: type(index).__name__ + str(len(index)),
)
def test_indices_come_back(index: Any) -> None:
    back = unpack_index(_strict(pack_index(index)))
    pd.testing.assert_index_equal(back, index, exact=True)
    assert getattr(back, "freq", None) == getattr(index, "freq", None)


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.integers(-128, 127).map(np.int8),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.text(st.characters(exclude_characters="\x00")).map(np.str_),
    st.booleans().map(np.bool_),
    st.sampled_from([pd.NA, pd.NaT, Decimal("1.10"), dt.date(2024, 5, 1), np.datetime64("2024-05-01", "s")]),
    st.sampled_from([dt.datetime(2024, 5, 1, tzinfo=dt.UTC), pd.Timestamp("2024-05-01", tz="Europe/Berlin")]),
    st.sampled_from([pd.Timedelta("1 day"), pd.Timestamp("2024-05-01").as_unit("s"), np.timedelta64(3, "ms")]),
)


@given(st.one_of(_VALUES, st.lists(_VALUES, max_size=3).map(tuple)))
def test_every_value_comes_back_as_what_it_was(value: Any) -> None:
    assert same(unpack_value(_strict(pack_value(value))), value)


def _small() -> Explanation:
    rows = pd.DataFrame({"a": [1.0, 2.0]})
    return build(Schema.infer(rows), rows, np.array([[2.0], [2.0]]))


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "alerts.json"
    _small().save(path)
    assert_same(Explanation.load(str(path)), _small())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("x.html", "cp.report("),
        ("x.HTM", "cp.report("),
        ("x.csv", ".to_csv("),
        ("x.xlsx", ".to_excel("),
        ("x.md", ".to_markdown("),
        ("x.txt", ".text("),
    ],
)
def test_json_is_not_saved_under_the_name_of_something_else(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        _small().save(tmp_path / name)
    assert hint in refused.value.todo
    assert not (tmp_path / name).exists()


def test_values_that_no_file_can_hold_are_refused_by_name() -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0], "id": [object(), None]})
    explanation = build(Schema.infer(rows[["a"]]), rows, np.array([[2.0], [2.0]]))
    with pytest.raises(InputError, match=r"is a builtins\.object; convert it to text"):
        explanation.to_json()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "not JSON"),
        ("row,feature\n1,a", "not JSON"),
        (b"\x80\x04\x95", "not JSON"),
        ("[1, 2]", "some other JSON"),
        ('{"format": "else", "version": 1}', "some other JSON"),
        ('{"format": "counterpoise.explanation"}', "has None"),
        ('{"format": "counterpoise.explanation", "version": 3}', "has 3"),
        ('{"format": "counterpoise.explanation", "version": 1}', "cannot be read"),
        ('{"format": "counterpoise.explanation", "version": 1, "explanation": []}', "cannot be read"),
    ],
)
def test_what_is_not_a_saved_explanation_says_so(text: str | bytes, found: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=found):
        Explanation.from_json(text)
    path = tmp_path / "file.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=found):
        Explanation.load(path)


@given(st.data())
def test_a_file_with_a_part_cut_out_is_an_input_error_or_nothing_else(data: st.DataObject) -> None:
    document = json.loads(_small().to_json())
    part = document["explanation"]
    while True:
        key = data.draw(st.sampled_from(sorted(part)))
        if not (isinstance(part[key], dict) and part[key] and data.draw(st.booleans())):
            break
        part = part[key]
    part[key] = data.draw(st.sampled_from([None, [], {}, "x", -1, {"a": 1}]))
    with contextlib.suppress(InputError):
        Explanation.from_json(json.dumps(document))


def test_a_document_from_before_there_was_evidence_can_be_read() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0]})
    document = json.loads(build(Schema.infer(table), table, np.zeros((2, 1))).to_json())
    del document["explanation"]["evidence"]
    assert Explanation.from_json(json.dumps(document)).evidence is None


def test_the_version_is_the_one_that_the_documentation_describes() -> None:
    described = (Path(__file__).parents[2] / "docs" / "reference" / "explanation-format.md").read_text(encoding="utf-8")
    assert f"format version {FORMAT_VERSION}." in described
    named = [field.name for kind in (Explanation, Feature) for field in fields(kind)]
    assert [name for name in named if f"`{name}`" not in described] == []


def test_a_document_with_a_word_that_is_no_longer_used_is_read() -> None:
    explanation = _small()
    document = json.loads(explanation.to_json())
    document["explanation"]["array_in"] = True
    assert_same(explanation, Explanation.from_json(json.dumps(document)))


HOSTILE_DTYPES = ["U100000000", "S1000000000", "<U99999999", "V1000000000", "(100000000,)i8", {"x": 1}, 7]


@pytest.mark.parametrize("dtype", HOSTILE_DTYPES)
def test_a_dtype_that_makes_a_small_document_large_is_refused(dtype: Any) -> None:
    for change in ("x0", "status"):
        document = json.loads(_small().to_json())
        document["explanation"][change]["dtype"] = dtype
        with pytest.raises(InputError, match="cannot be read"):
            Explanation.from_json(json.dumps(document))


def test_an_index_that_promises_rows_which_nobody_wrote_is_refused() -> None:
    document = json.loads(_small().to_json())
    document["explanation"]["rows"]["index"] = {"name": None, "range": [0, 10**12, 1]}
    with pytest.raises(InputError, match="cannot be read"):
        Explanation.from_json(json.dumps(document))


def test_a_target_for_each_row_comes_back_as_the_array_of_texts_that_it_was(tmp_path: Path) -> None:
    """Found by the fuzzer: texts were written under a dtype name that numpy does not read."""
    rows = pd.DataFrame({"a": [1.0, 2.0]})
    asked = Question(target=np.array(["yes", "perhaps"]))
    explanation = build(Schema.infer(rows), rows, rows.to_numpy()[:, None, :], question=asked)
    explanation.save(tmp_path / "saved.json")
    target = Explanation.load(tmp_path / "saved.json").question.target
    assert isinstance(target, np.ndarray)
    assert target.tolist() == ["yes", "perhaps"]
