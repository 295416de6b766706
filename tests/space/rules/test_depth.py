"""Rules of any depth are read or refused in one line; none ends in a RecursionError."""

import contextlib

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.errors import CounterpoiseError
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema

DEEP = {
    "parentheses": "(" * 2000 + "a" + ")" * 2000 + " < 1",
    "sum": "+".join(["a"] * 2400) + " < 1",
    "not": "not " * 1200 + "(a < 1)",
    "minus": "-" * 4000 + "a < 1",
    "power": "**".join(["a"] * 1500) + " < 1",
    "function": "abs(" * 900 + "a" + ")" * 900 + " < 1",
    "implications": "(" * 320 + "a<1" + " implies b<1)" * 320,
    "conjunction": " and ".join(["a<1"] * 600),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_deep_rule_is_read_or_refused(text: str) -> None:
    table = pd.DataFrame({"a": [0.0, 2.0], "b": [0.0, 2.0]})
    schema = Schema.infer(table)
    with contextlib.suppress(CounterpoiseError):  # anything else, a RecursionError above all, is a failure
        region = Region.build(schema, table.to_numpy()[:1], [cp.Rule(text)])
        assert region.contains(np.zeros((1, 1, 2))).shape == (1, 1)


def test_a_sum_of_a_hundred_columns_is_a_rule() -> None:
    table = pd.DataFrame(np.zeros((2, 101)), columns=[f"c{column}" for column in range(101)])
    schema = Schema.infer(table)
    rule = " + ".join(f"c{column}" for column in range(100)) + " == c100"
    assert Region.build(schema, table.to_numpy()[:1], [cp.Rule(rule)]).contains(np.zeros((1, 1, 101))).all()
