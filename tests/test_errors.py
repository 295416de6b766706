"""The error tree: one grammar, nothing lost on the way through a process boundary."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise import errors
from counterpoise.errors import (
    CapabilityError,
    ConstraintError,
    CounterpoiseError,
    InputError,
    Interrupted,
    MissingExtra,
    ModelError,
)
from counterpoise.plain_text import escape_controls

SPOKEN = [CounterpoiseError, InputError, ConstraintError, CapabilityError, ModelError, Interrupted]
EVERY = [*SPOKEN, MissingExtra]


def test_every_class_of_the_module_is_in_these_tables() -> None:
    found = {v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, BaseException)}
    assert found == set(EVERY)


@pytest.mark.parametrize("kind", EVERY)
def test_one_except_clause_catches_them_all(kind: type[CounterpoiseError]) -> None:
    assert issubclass(kind, CounterpoiseError)
    assert issubclass(kind, Exception)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (InputError, ValueError),
        (ConstraintError, ValueError),
        (CapabilityError, TypeError),
        (ModelError, RuntimeError),
        (MissingExtra, ImportError),
    ],
)
def test_code_that_catches_the_builtin_catches_ours(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)


@pytest.mark.parametrize("kind", SPOKEN)
@given(must=st.text(), given_=st.text(), todo=st.text())
def test_the_message_is_the_three_parts_in_order(
    kind: type[CounterpoiseError], must: str, given_: str, todo: str
) -> None:
    error = kind(must, given_, todo)
    assert str(error) == escape_controls(f"{must}; {given_}; {todo}", keep="\n")
    assert (error.must, error.given, error.todo) == (must, given_, todo)


@pytest.mark.parametrize("kind", SPOKEN)
@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_message_and_data_survive_a_process_boundary(kind: type[CounterpoiseError], through) -> None:
    error = kind("a", "b", "c", partial={"rows": [1, 2]}, row=7, column="latency")
    again = through(error)
    assert type(again) is kind
    assert str(again) == "a; b; c"
    assert (again.partial, again.row, again.column) == ({"rows": [1, 2]}, 7, "latency")


@pytest.mark.parametrize("through", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_missing_extra_survives_a_process_boundary(through) -> None:
    again = through(MissingExtra("torch"))
    assert type(again) is MissingExtra
    assert again.extra == "torch"
    assert str(again) == str(MissingExtra("torch"))


def test_what_was_finished_is_none_unless_given() -> None:
    assert ModelError("a", "b", "c").partial is None
    assert ModelError("a", "b", "c").row is None
    assert Interrupted("a", "b", "c").partial is None


def test_a_missing_extra_names_the_line_that_installs_it() -> None:
    assert "pip install 'counterpoise[boosting]'" in str(MissingExtra("boosting"))


def test_an_error_without_all_three_parts_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        InputError("only what must hold")  # type: ignore[call-arg]
