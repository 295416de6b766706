"""Explanations to test with: built from a reference, rows and answers given as frames, as a run would build them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from counterpoise.explanation.answered_rows import FIRM_COLUMNS
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import ENERGY_COLUMNS, AnswerEnergies, ModelScores, RowArrays
from counterpoise.explanation.json.json_question import pack_question
from counterpoise.explanation.question import Question
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array


def objects(values: Any) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def build(schema: Schema, rows: pd.DataFrame, answers: Array, **parts: Any) -> Explanation:
    """An explanation of ``rows`` with encoded answers ``(n, d)`` or ``(n, a, d)``; ``parts`` override the rest."""
    n = len(rows)
    answers = answers if answers.ndim == 3 else answers[:, None, :]
    fields: dict[str, Any] = {
        "schema": schema,
        "rows": rows,
        "x0": encode(schema, rows),
        "answers": answers,
        "count": np.full(n, answers.shape[1], dtype=np.intp),
        "valid": np.ones(n, dtype=bool),
        "status": objects(["valid"] * n),
        "reason": objects([""] * n),
        "target": objects(["benign"] * n),
        "model_scores": ModelScores(objects(["attack"] * n), objects(["benign"] * n), *np.full((4, n), 0.93)),
        "terms": AnswerEnergies(*np.full((len(ENERGY_COLUMNS), n), 1.5)),
    }
    return Explanation(**{**fields, **parts})


def firmness(rows: pd.DataFrame, kept: float) -> pd.DataFrame:
    return pd.DataFrame(dict.fromkeys(FIRM_COLUMNS, kept), index=rows.index)


def same(one: Any, other: Any) -> bool:
    """Equal in type, value and bits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (float, np.floating)):
        return repr(one) == repr(other)
    return one is other or bool(one == other)


def assert_frames(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, check_exact=True, check_column_type=True, check_index_type=True)
    for place in range(a.shape[1]):
        cells = zip(a.iloc[:, place].astype(object), b.iloc[:, place].astype(object), strict=True)
        assert all(same(x, y) for x, y in cells)


def assert_same(one: Explanation, other: Explanation) -> None:
    """Every field equal: values, types, dtypes, bits."""
    for field in fields(Explanation):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert type(a) is type(b), field.name
        if isinstance(a, pd.DataFrame):
            assert_frames(a, b)
        elif isinstance(a, np.ndarray):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert all(same(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True)), field.name
        elif isinstance(a, Explanation):
            assert_same(a, b)
        elif isinstance(a, RowArrays):
            for mine, theirs in zip(vars(a).values(), vars(b).values(), strict=True):
                assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
                assert all(same(x, y) for x, y in zip(mine.ravel(), theirs.ravel(), strict=True)), field.name
        elif isinstance(a, Question):
            assert pack_question(a) == pack_question(b)
        elif field.name == "quantiles":
            assert all(same(x, y) for x, y in zip(a, b, strict=True))
            assert all(np.array_equal(a[label], b[label], equal_nan=True) for label in a)
        else:
            assert a == b, field.name


POOLS: dict[str, tuple[Any, list[Any]]] = {
    "float64": ("float64", [0.1, -0.0, 1e-300, 3.5, 2.0**60, np.nan]),
    "float32": ("float32", [0.5, 0.1, 3.5, np.nan]),
    "int64": ("int64", [0, -7, 3, 2**53 + 1, 2**62 + 1]),
    "uint8": ("uint8", [0, 3, 255]),
    "bool": ("bool", [True, False]),
    "Int64": ("Int64", [0, 3, 2**53 + 1, pd.NA]),
    "Float64": ("Float64", [0.1, 3.5, pd.NA]),
    "Float32": ("Float32", [0.5, 3.5, pd.NA]),
    "boolean": ("boolean", [True, False, pd.NA]),
    "text": (pd.DataFrame({"t": ["x"]})["t"].dtype, ["tcp", "udp", "", None]),
    "string": ("string", ["tcp", "udp", "ICMP ü", pd.NA]),
    "object": (object, ["tcp", "udp", "icmp", None]),
    "objects": (object, [1, 2.5, 7, None]),
    "category": (pd.CategoricalDtype(["udp", "tcp", "icmp"]), ["tcp", "udp", None]),
    "numbered": (pd.CategoricalDtype([3, 1, 2]), [1, 2, 3]),
    "ordered": (pd.CategoricalDtype(["low", "mid", "high"], ordered=True), ["low", "mid", "high", None]),
}
"""Kinds of columns: a dtype, and values that such a column may hold."""


def column(kind: str, values: list[Any]) -> pd.Series[Any]:
    dtype, _ = POOLS[kind]
    return pd.Series(values, dtype=dtype)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Schema, pd.DataFrame, Array]:
    """A schema, rows in the reference's dtypes, and encoded answers ``(n, 2, d)`` to them."""
    kinds = draw(st.lists(st.sampled_from(sorted(POOLS)), min_size=1, max_size=4))
    n = draw(st.integers(1 if "objects" in kinds else 0, 4))
    reference, rows, answers = {}, {}, []
    for place, kind in enumerate(kinds):
        pool = POOLS[kind][1]
        reference[f"c{place}"] = column(kind, pool)
        drawn = draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))
        rows[f"c{place}"] = column(kind, drawn)
        known = [value for value in pool if not pd.isna(value)]
        answers.append([draw(st.lists(st.sampled_from(known), min_size=n, max_size=n)) for _ in range(2)])
    schema = Schema.infer(pd.DataFrame(reference))
    table = pd.DataFrame(rows)
    x0 = encode(schema, table)
    x = np.empty((n, 2, len(kinds)))
    for number in range(2):
        new = {f"c{place}": column(kind, answers[place][number]) for place, kind in enumerate(kinds)}
        x[:, number] = encode(schema, pd.DataFrame(new))
    keep = draw(st.lists(st.booleans(), min_size=x.size, max_size=x.size))
    x = np.where(np.reshape(keep, x.shape), x0[:, None, :], x)
    labels = draw(st.sampled_from([range(n), [f"host {i}" for i in range(n)], [5] * n]))
    return schema, table.set_axis(pd.Index(list(labels)), axis=0), x
