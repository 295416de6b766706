"""Packed constraints: plain values that give the same constraint back."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.space.constraints.packing import CONSTRAINT_CLASSES, EXAMPLES, pack_constraint, unpack_constraint
from counterpoise.space.yaml.constraint_entries import CONSTRAINT_SPELLINGS

texts = st.text(min_size=1, max_size=5)
names = texts | st.tuples(texts, texts) | st.integers(-9, 9)
values = st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | texts
constraints = st.one_of(
    st.lists(names, min_size=1, max_size=3).map(lambda given: cp.Immutable(*given)),
    st.builds(cp.Range, names | st.lists(names, min_size=1, max_size=3), values),
    st.builds(cp.OneOf, names, st.lists(values, min_size=1, max_size=3)),
    st.builds(cp.Within, names, distance=st.floats(0, 9)),
    st.builds(cp.Cost, names, st.just(float("inf")) | st.floats(0, 9)),
    st.builds(cp.Lookup, names, of=names, table=st.dictionaries(values | st.tuples(texts), values, min_size=1)),
    st.sampled_from(EXAMPLES),
)


@given(constraints)
def test_a_constraint_comes_back_through_json(constraint):
    again = unpack_constraint(json.loads(json.dumps(pack_constraint(constraint))))
    assert again == constraint
    assert repr(again) == repr(constraint)


def test_every_constraint_of_the_package_can_be_packed_and_written():
    public = {
        name
        for name in cp.__all__
        if hasattr(getattr(cp, name), "apply") and hasattr(getattr(cp, name), "__dataclass_fields__")
    }
    assert public == set(CONSTRAINT_CLASSES) == set(CONSTRAINT_SPELLINGS)


@pytest.mark.parametrize(
    ("packed", "match"),
    [
        ({"word": "Ragne", "name": "a"}, "must have a word"),
        ({"name": "a"}, "must have a word"),
        ({"word": ["Range"]}, "must have a word"),
        ({"word": "Range", "low": 1}, "add name"),
        ({"word": "Range", "name": "a", "lower": 1}, "leave out 'lower'"),
        ({"word": "Range", "name": {"list": []}, "low": 1}, "must be plain"),
    ],
)
def test_what_is_no_packed_constraint_is_refused(packed, match):
    with pytest.raises(InputError, match=match):
        unpack_constraint(packed)


def test_what_is_no_plain_value_is_refused():
    with pytest.raises(InputError, match="numbers, texts and booleans"):
        pack_constraint(cp.OneOf("day", [pd.Timestamp("2024-01-01")]))
    with pytest.raises(InputError, match="must be one of"):
        pack_constraint(lambda frame: frame["a"] > 0)  # type: ignore[arg-type]
