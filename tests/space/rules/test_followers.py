"""A column that an equation computes moves along with those that it is computed from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema

TABLE = pd.DataFrame({"fwd": [0, 40], "bwd": [0, 40], "total": [0, 80], "size": [0, 9], "bytes": [0, 720]})
ROW = np.array([[3.0, 4.0, 7.0, 5.0, 35.0]])


def region(*rules: str) -> Region:
    return Region.build(Schema.infer(TABLE), ROW, [Rule(rule) for rule in rules])


@pytest.mark.parametrize("rule", ["total == fwd + bwd", "fwd + bwd == total"])
def test_a_total_moves_along_with_its_parts(rule: str) -> None:
    there, inside = region(rule).bring_inside(ROW[:, None] + [[[6.0, 0, 0, 0, 0]]])
    assert inside.all()
    np.testing.assert_array_equal(there[0, 0], [9, 4, 13, 5, 35])


def test_what_follows_from_what_follows_moves_too() -> None:
    chained = region("bytes == total * size", "total == fwd + bwd")
    there, inside = chained.bring_inside(ROW[:, None] + [[[0, 2.0, 0, 0, 0]]])
    assert inside.all()
    np.testing.assert_array_equal(there[0, 0], [3, 6, 9, 5, 45])


def test_what_was_moved_with_the_total_keeps_the_sum() -> None:
    there, inside = region("total == fwd + bwd").bring_inside(ROW[:, None] + [[[2.0, 0, 6, 0, 0]]])
    assert inside.all()
    assert there[0, 0, 2] == there[0, 0, :2].sum() > 7


def test_of_two_equal_columns_one_change_is_counted() -> None:
    assert region("fwd == bwd", "total == fwd + bwd").system.change_shares.tolist() == [0, 1, 0, 1, 1]
    turning = region("fwd == bwd", "bwd == fwd")  # neither follows itself through the other
    assert len(turning.system.clause_set.followers) == 1
