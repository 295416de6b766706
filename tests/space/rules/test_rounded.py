"""A column that is written rounded is the expression to within half a unit, and moves along with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import ConstraintError
from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.discover.discover import discover_strict
from counterpoise.space.region.region import Region
from counterpoise.space.rules.parse import parse_formula
from counterpoise.space.schema.schema import Schema

TABLE = pd.DataFrame({"mean": [0, 900], "bytes": [0, 90000], "packets": [0, 100], "share": [0.01, 9.99]})
SCHEMA = Schema.infer(TABLE)
whole = st.integers(-1000, 1000).map(float)


@given(whole, whole, st.integers(-50, 50).map(float), st.integers(0, 2))
def test_it_holds_within_half_a_unit_of_the_quotient(mean: float, total: float, count: float, decimals: int) -> None:
    formula = parse_formula(f"mean == round(bytes / packets, {decimals})", SCHEMA, 1e-6)
    held = bool(formula.holds(np.array([mean, total, count, 0.0]), np.zeros(4)))
    negated = bool(formula.negate().holds(np.array([mean, total, count, 0.0]), np.zeros(4)))
    assert not (held and negated)
    if count == 0:
        assert held == (total == 0)
        return
    gap = abs(mean - total / count) * 10**decimals
    if abs(gap - 0.5) > 1e-5:
        assert held == (gap < 0.5) == (not negated)
    elif abs(gap - 0.5) < 1e-12:
        assert held, "a tie may go either way"


def test_a_rounded_column_follows_and_counts_as_none() -> None:
    row = np.array([[50.0, 1000.0, 20.0, 1.0]])
    region = Region.build(SCHEMA, row, [Rule("round(bytes / packets) == mean")])
    there, inside = region.bring_inside(row[:, None] + [[[0, 307.0, 0, 0]]])
    assert inside.all()
    np.testing.assert_array_equal(there[0, 0], [65, 1307, 20, 1])
    assert region.system.change_shares.tolist() == [0, 1, 1, 1]
    assert not region.system.has_only_orders


def test_what_is_divided_is_nothing_where_the_divisor_is_nothing() -> None:
    row = np.array([[0.0, 0.0, 0.0, 1.0]])
    region = Region.build(SCHEMA, row, [Rule("mean == round(bytes / packets)")])
    assert region.system.holds(row[:, None]).all()
    assert not region.system.holds(row[:, None] + [[[0, 400.0, 0, 0]]]).any()
    assert not region.system.holds(row[:, None] + [[[400.0, 400.0, 0, 0]]]).any()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("mean + 1 == round(bytes / packets)", "beside something else"),
        ("x0.mean == round(bytes / packets)", "beside something else"),
        ("mean <= round(bytes / packets)", "inside something else"),
        ("mean == 1 + round(bytes / packets)", "inside something else"),
        ("mean == round(bytes / packets, packets)", "number of decimals"),
        ("mean == round(bytes, packets, 3)", "number of decimals"),
        ("mean == round(bytes / packets, -1)", "number of decimals"),
        ("mean == round(bytes / packets, 99)", "number of decimals"),
    ],
)
def test_round_elsewhere_is_refused_with_its_place(text: str, what: str) -> None:
    with pytest.raises(ConstraintError, match=what):
        parse_formula(text, SCHEMA)


@given(st.integers(0, 10**6), st.integers(0, 2))
def test_a_rounded_mean_is_found_and_chance_is_not(seed: int, decimals: int) -> None:
    rng = np.random.default_rng(seed)
    packets = rng.integers(0, 60, 400)
    size = np.where(packets > 0, rng.integers(1000, 90000, 400), 0)
    mean = (size / np.maximum(packets, 1)).round(decimals)
    table = pd.DataFrame({"packets": packets, "bytes": size, "mean": mean if decimals else mean.astype(int)})
    table["small"], table["other"] = rng.integers(0, 3, 400), rng.integers(0, 400, 400)
    found = [each.constraint.text for each in discover_strict(table, Schema.infer(table))]
    near = [
        text for text in found if text == "bytes == packets * mean"
    ]  # where a tolerance is as large as the rounding
    others = [text for text in found if " <= " not in text and text not in near]
    assert others == [f"mean == round(bytes / packets{f', {decimals}' if decimals else ''})"]
    assert decimals or not near


def test_an_answer_has_no_bytes_without_packets() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    rng = np.random.default_rng(0)
    packets = rng.integers(0, 30, 500)
    table = pd.DataFrame({"packets": packets, "bytes": np.where(packets > 0, rng.integers(400, 9000, 500), 0)})
    table["mean"] = np.floor(table.bytes / table.packets.clip(lower=1) + 0.5).astype(int)
    model = GradientBoostingClassifier(random_state=0).fit(table, (table.bytes > 3000) & (table["mean"] < 300))
    found = cp.explain(model, table.iloc[:40], reference=table, kept=False)
    assert found.valid.all()
    assert ((found.frame.bytes - found.frame["mean"] * found.frame.packets).abs() <= found.frame.packets / 2).all()
