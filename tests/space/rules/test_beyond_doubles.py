"""Rules whose sides leave double precision, or have no value: they bind nobody's answer by accident."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoise as cp

TABLE = pd.DataFrame({"a": np.arange(40.0) % 9, "b": np.arange(40) % 7})
LINEAR = LogisticRegression().fit(TABLE, TABLE["a"] > 4)


def by_sum(rows: pd.DataFrame) -> pd.Series:
    return rows["a"] + rows["b"] > 7


@pytest.mark.parametrize("model", [LINEAR, by_sum])
@pytest.mark.parametrize("rule", ["a * 1e308 * 1e308 <= 1", "1 >= a * 1e308 * 10 + b", "not a * 1e308 * 1e308 > 1"])
def test_a_side_beyond_double_precision_is_not_near_a_number(model: object, rule: str) -> None:
    found = cp.explain(model, TABLE[:6], reference=TABLE, constraints=[cp.Rule(rule)], target=True)
    assert (found.frame["a"][found.valid] == 0).all()
    free = cp.explain(model, TABLE[:6], reference=TABLE, target=True)
    assert (free.frame["a"][free.valid] > 0).any()


@pytest.mark.parametrize("model", [LINEAR, by_sum])
def test_a_derived_value_beyond_double_precision_is_no_answer(model: object) -> None:
    made = cp.Derived("b", "a * 1e308 * 1e308")
    found = cp.explain(model, TABLE[:6], reference=TABLE, constraints=[made], target=True)
    changed = found.frame["a"] != TABLE["a"][:6]
    assert not (changed & (found.frame["a"] > 0)).any()


@pytest.mark.parametrize("model", [LINEAR, by_sum])
@pytest.mark.parametrize("rule", ["a / 0 <= 1", "a == b / 0", "1 / (a - a) <= 3"])
def test_a_rule_that_is_undefined_everywhere_has_no_answer(model: object, rule: str) -> None:
    found = cp.explain(model, TABLE[:3], reference=TABLE, constraints=[cp.Rule(rule)], target=True)
    assert not found.valid.any()
