"""The problem: shapes in and out of the model, what is counted, and who is blamed when it fails."""

import numpy as np
import pandas as pd
import pytest

from counterpoise.errors import CapabilityError, InputError, ModelError
from counterpoise.model_calls import Tally, call_model, model_outputs
from counterpoise.models.goals import ClassGoal
from counterpoise.objective.energy import Energy
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.types import ModelBase

SCHEMA = Schema.infer(pd.DataFrame({"a": [0.0, 1.0, 5.5], "b": [0.0, 2.0, 9.5]}))
X0 = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 3.0]])


class Plane(ModelBase):
    """Decision values: 0, and a - b."""

    labels = ("no", "yes")
    link = "identity"

    def outputs(self, x):
        return np.stack([np.zeros(len(x)), x[:, 0] - x[:, 1]], axis=1)

    def predict(self, x):
        return np.array(self.labels)[self.outputs(x).argmax(axis=1)]

    def probabilities(self, x):
        return None


class Sloped(Plane):
    def gradient(self, x, weights):
        return weights[:, 1:] * np.array([1.0, -1.0])

    def hvp(self, x, weights, v):
        return np.zeros_like(v)


def problem(model=None):
    return Problem(
        X0,
        model or Plane(),
        ClassGoal(np.array([[False, True]] * 3), "identity"),
        Region.build(SCHEMA, X0),
        Energy(Distance.of(SCHEMA), 0.0, (), np.ones(3)),
        SCHEMA.scales,
        SCHEMA.numeric,
        ReferenceRows(np.empty((0, 2)), np.empty((0, 2))),
        np.array([10, 20, 30]),
    )


def test_points_are_scored_in_one_call_and_come_back_in_their_shape():
    p, x = problem(), np.arange(24.0).reshape(3, 4, 2)
    score = p.score(x)
    np.testing.assert_array_equal(score.margin, x[..., 0] - x[..., 1])
    np.testing.assert_array_equal(score.reached, x[..., 0] > x[..., 1])
    assert (p.tally.calls, p.tally.rows) == (1, 12)
    assert p.score(np.empty((3, 0, 2))).margin.shape == (3, 0)
    assert p.tally.calls == 1


def test_points_that_repeat_the_one_before_are_asked_about_once():
    every, some = problem(), problem()
    x = np.repeat(np.random.default_rng(0).normal(size=(2, 4, 2)), [1, 3, 1, 2], axis=1)
    np.testing.assert_array_equal(every.outputs(x), some.outputs(x, once=True))
    assert (every.tally.rows, some.tally.rows) == (14, 8)


def test_part_of_a_problem_shares_its_tally():
    p = problem()
    part = p.take([2])
    part.score(np.zeros((1, 5, 2)))
    assert len(part) == 1
    assert part.row_numbers.tolist() == [30]
    np.testing.assert_array_equal(part.x0, X0[2:])
    assert p.tally.rows == 5


def test_gradients_and_curvature_are_asked_for_not_guessed():
    x = np.ones((3, 2, 2))
    score, gradient = problem(Sloped()).gradient(x)
    np.testing.assert_array_equal(gradient, np.broadcast_to([1.0, -1.0], (3, 2, 2)))
    np.testing.assert_array_equal(score.margin, 0.0)
    assert problem(Sloped()).has_gradient
    assert not problem().has_gradient
    assert (problem(Sloped()).hvp(x, x) == 0).all()
    with pytest.raises(CapabilityError, match="Plane has none"):
        problem().gradient(x)
    with pytest.raises(CapabilityError, match="Plane has none"):
        problem().hvp(x, x)


def test_a_derivative_that_fails_is_blamed_on_a_row():
    class Brittle(Sloped):
        def gradient(self, x, weights):
            if (x[:, 0] == 7.0).any():
                raise FloatingPointError("too steep")
            return super().gradient(x, weights)

    x = np.ones((3, 2, 2))
    x[1, 1, 0] = 7.0
    with pytest.raises(ModelError, match="FloatingPointError on row 20, counted from 0: too steep") as caught:
        problem(Brittle()).gradient(x)
    assert caught.value.row == 20


def test_time_is_over_at_the_deadline():
    assert not problem().has_expired
    assert Problem(**{**vars(problem()), "deadline": 0.0}).has_expired


def failing(bad):
    def call(x):
        if (x[:, 0] == bad).any():
            raise ValueError("no such number")
        return np.zeros((len(x), 2))

    return call


def test_the_first_row_whose_points_fail_is_named():
    x, owners, tally = np.array([[1.0], [7.0], [7.0]]), np.array([30, 20, 10]), Tally()
    with pytest.raises(ModelError, match="ValueError on row 10, counted from 0: no such number") as caught:
        call_model(failing(7.0), x, owners, tally)
    assert caught.value.row == 10
    assert isinstance(caught.value.__cause__, ValueError)
    assert tally.rows == 3


def test_a_failure_that_does_not_come_again_blames_nobody():
    calls = []

    def once(x):
        calls.append(1)
        if len(calls) == 1:
            raise OSError("hiccup")
        return x

    with pytest.raises(ModelError, match="hiccup") as caught:
        call_model(once, np.zeros((2, 1)), np.arange(2), Tally())
    assert caught.value.row is None


@pytest.mark.parametrize("error", [CapabilityError("m", "g", "t"), InputError("m", "g", "t")])
def test_errors_about_the_question_are_passed_on_as_they_are(error):
    def call(x):
        raise error

    with pytest.raises(type(error)) as caught:
        call_model(call, np.zeros((1, 1)), np.arange(1), Tally())
    assert caught.value is error


def test_errors_in_the_house_grammar_keep_their_words_and_get_a_row():
    def call(x):
        raise ModelError("labels must be known", "it said 'x'", "list every label", row=0)

    with pytest.raises(ModelError, match="labels must be known; it said 'x'") as caught:
        call_model(call, np.zeros((2, 1)), np.array([4, 5]), Tally())
    assert caught.value.row == 4


def test_a_row_of_the_reference_is_called_one_and_is_no_row_to_explain():
    with pytest.raises(ModelError, match="on reference row 1, counted from 0: no such number; leave out") as caught:
        call_model(failing(7.0), np.array([[1.0], [7.0]]), np.arange(2), Tally(), "reference row")
    assert caught.value.row is None


@pytest.mark.parametrize(
    ("outputs", "message", "row"),
    [
        (np.zeros(2), "outputs of shape", None),
        (np.zeros((3, 2)), "outputs of shape", None),
        (np.array([[0.0, 1.0], [np.nan, 0.0]]), r"gave \[nan, 0.0\] for row 5", 5),
        (np.array([[0.0, np.inf], [1.0, 0.0]]), "for row 4", 4),
    ],
)
def test_outputs_are_checked(outputs, message, row):
    class Odd(Plane):
        def outputs(self, x):
            return outputs

    with pytest.raises(ModelError, match=message) as caught:
        model_outputs(Odd(), np.zeros((2, 2)), np.array([4, 5]), Tally())
    assert caught.value.row == row
