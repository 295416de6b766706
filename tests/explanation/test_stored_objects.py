"""Objects are recognised by their settings: the same settings, the same object; any other setting, another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.explanation.stored_objects import StoredObject, are_same, hash_settings, is_same


class Own:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts


@dataclass(frozen=True)
class Settings:
    rate: float
    names: tuple[str, ...] = ()


def below(limit: Any) -> Any:
    return lambda frame: frame["a"] < limit


def fitted(depth: int) -> Any:
    x = np.arange(40.0)[:, None]
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, (x[:, 0] * 7) % 5 > 2)


CASES = [
    lambda k: Own(k),
    lambda k: Own({"a": k}, {1, k + 5}, [k]),
    lambda k: Own(np.array([1.0, k])),
    lambda k: Own(np.array(["a", k], dtype=object)),
    lambda k: Own(pd.DataFrame({"a": [k, 2]})),
    lambda k: Settings(0.5, ("a", str(k))),
    lambda k: below(k),
    lambda k: Own(fitted(k + 1)),
    lambda k: cp.Range("a", k, 9),
    lambda k: cp.Annealing(steps=k + 10),
]


@pytest.mark.parametrize("make", CASES)
def test_the_hash_tells_settings_apart(make: Any) -> None:
    assert hash_settings(make(1)) == hash_settings(make(1))
    assert hash_settings(make(1)) != hash_settings(make(2))
    assert is_same(make(1), make(1))
    assert not is_same(make(1), make(2))


def test_an_object_that_holds_itself_has_a_hash() -> None:
    one, other = Own(), Own()
    one.parts, other.parts = (one,), (other,)
    assert is_same(one, other)


def test_a_record_is_known_by_its_settings_or_else_by_its_text() -> None:
    record = StoredObject.of(cp.Range("a", 0, 1))
    assert record.matches(cp.Range("a", 0, 1))
    assert not record.matches(cp.Range("a", 0, 2))
    assert StoredObject("", repr(cp.Range("a", 0, 1)), "").matches(cp.Range("a", 0, 1))
    assert are_same([record, Own(1)], [Own(1), cp.Range("a", 0, 1)])
    assert not are_same([record], [record, record])
