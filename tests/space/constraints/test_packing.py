"""Packed constraints: plain values that schema files give the same constraint back for."""

import json

import pytest

import counterpoise as cp
from counterpoise.space.constraints.packing import CONSTRAINT_CLASSES, EXAMPLES, pack_constraint
from counterpoise.space.yaml.constraint_entries import CONSTRAINT_SPELLINGS, read_constraints


@pytest.mark.parametrize("constraint", EXAMPLES, ids=repr)
def test_an_example_comes_back_from_what_a_schema_file_writes(constraint):
    packed = json.loads(json.dumps(pack_constraint(constraint)))
    packed |= {"table": dict(packed["table"])} if "table" in packed else {}
    (again,) = read_constraints([packed])
    assert again == constraint
    assert repr(again) == repr(constraint)


def test_every_constraint_of_the_package_can_be_packed_and_written():
    public = {
        name
        for name in cp.__all__
        if hasattr(getattr(cp, name), "apply") and hasattr(getattr(cp, name), "__dataclass_fields__")
    }
    assert public == set(CONSTRAINT_CLASSES) == set(CONSTRAINT_SPELLINGS)
