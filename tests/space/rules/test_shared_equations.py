"""Equations solved together: wherever they leave a point, it is found, and nothing else moves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.space.region.region import Region
from counterpoise.space.rules.shared_equations import group_shared_equations
from counterpoise.space.schema.schema import Schema

NAMES = list("abcde")


def equations(weights: np.ndarray, sides: np.ndarray) -> list[str]:
    return [
        " + ".join(f"({weight:.3f})*{name}" for weight, name in zip(line, NAMES, strict=False)) + f" == {side:.3f}"
        for line, side in zip(weights, sides, strict=True)
    ]


@given(st.integers(0, 10**6), st.integers(2, 3))
def test_points_are_brought_to_where_all_equations_hold(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    weights, sides = rng.uniform(0.5, 2.0, (count, 4)) * rng.choice([-1, 1], (count, 4)), rng.normal(size=count)
    if np.linalg.cond(weights.round(3)) > 20:
        return
    table = pd.DataFrame(rng.normal(size=(30, 5)), columns=NAMES)
    schema = Schema.infer(table)
    x0 = table.to_numpy()[:6]
    region = Region.build(schema, x0, [cp.Rule(text) for text in equations(weights, sides)], None)
    assert region.contains(region.nearest_feasible[:, None, :]).all()
    np.testing.assert_allclose(
        region.nearest_feasible[:, :4] @ weights.round(3).T, np.tile(sides.round(3), (6, 1)), atol=1e-4
    )
    np.testing.assert_array_equal(region.nearest_feasible[:, 4], x0[:, 4])


def test_only_equations_that_share_columns_are_taken_together() -> None:
    schema = Schema.infer(pd.DataFrame(np.array([[0.0] * 5, [1.5] * 5]), columns=NAMES))
    words = ["a == b", "c == d + 1", "b <= c", "b + e == 2"]
    region = Region.build(schema, np.zeros((1, 5)), [cp.Rule(word) for word in words], None)
    assert group_shared_equations(region.system.clause_set.clauses) == ((0, 3),)
