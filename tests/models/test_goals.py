"""Goals: margins, decisions and slopes, by hand and against differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.models.goals import MIN_PROBABILITY, ClassGoal, RangeGoal, ThresholdGoal, apply_link

WANTED = np.array([[True, False, False], [False, True, True], [True, False, False]])


def test_the_margin_is_over_the_strongest_rival():
    outputs = np.array([[[3.0, 1.0, 2.0]], [[3.0, 1.0, 2.0]], [[0.0, 0.0, -1.0]]])
    goal = ClassGoal(WANTED, "identity")
    np.testing.assert_array_equal(goal.margin(outputs)[:, 0], [1.0, -1.0, 0.0])
    np.testing.assert_array_equal(goal.is_reached(outputs)[:, 0], [True, False, True])


def test_of_equal_outputs_the_first_wins():
    goal = ClassGoal(np.array([[True, False], [False, True]]), "identity")
    np.testing.assert_array_equal(goal.is_reached(np.zeros((2, 1, 2)))[:, 0], [True, False])


def test_probabilities_are_compared_by_their_logarithms_and_never_by_that_of_zero():
    assert apply_link(np.array([0.0, 0.5]), "log").tolist() == [np.log(MIN_PROBABILITY), np.log(0.5)]
    goal = ClassGoal(np.array([[False, True]]), "log")
    assert goal.margin(np.array([[[1.0, 0.0]]]))[0, 0] == pytest.approx(np.log(MIN_PROBABILITY))
    assert goal.margin(np.array([[[0.2, 0.8]]]))[0, 0] == pytest.approx(np.log(4.0))


@given(st.lists(st.floats(0.001, 1.0), min_size=3, max_size=3), st.sampled_from(["identity", "log"]))
def test_a_class_is_reached_where_its_margin_is_positive(values, link):
    outputs = np.array([[values]])
    for row in WANTED:
        goal = ClassGoal(row[None], link)
        margin = goal.margin(outputs)[0, 0]
        assert bool(goal.is_reached(outputs)[0, 0]) is bool(margin > 0) or margin == 0


def test_a_threshold_is_reached_at_the_probability_itself():
    goal = ThresholdGoal(np.array([[False, True]]), np.array([0.8]))
    outputs = np.array([[[0.2, 0.8], [0.21, 0.79], [0.0, 1.0]]])
    np.testing.assert_array_equal(goal.is_reached(outputs), [[True, False, True]])
    assert goal.margin(outputs)[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(goal.margin(outputs)).all()


def test_several_wanted_classes_share_a_threshold():
    goal = ThresholdGoal(np.array([[True, True, False]]), np.array([0.6]))
    assert goal.is_reached(np.array([[[0.3, 0.3, 0.4]]])).all()


def test_a_range_is_reached_at_its_ends():
    goal = RangeGoal(np.array([1.0, -np.inf]), np.array([2.0, 0.0]))
    outputs = np.array([[[1.0], [2.0], [2.5]], [[0.0], [-9.0], [0.1]]])
    np.testing.assert_array_equal(goal.is_reached(outputs), [[True, True, False], [True, True, False]])
    np.testing.assert_allclose(goal.margin(outputs), [[0.0, 0.0, -0.5], [0.0, 9.0, -0.1]])


GOALS = [
    ClassGoal(WANTED, "identity"),
    ClassGoal(WANTED, "log"),
    ThresholdGoal(WANTED, np.array([0.3, 0.6, 0.9])),
    RangeGoal(np.array([0.1, -np.inf, 0.0]), np.array([0.2, 0.0, np.inf])),
]


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: type(goal).__name__)
def test_slopes_are_the_derivatives_of_the_margin(goal):
    rng, step = np.random.default_rng(0), 1e-6
    width = 1 if isinstance(goal, RangeGoal) else 3
    outputs = rng.dirichlet(np.ones(3), size=(3, 4))[..., :width]
    slopes = goal.slopes(outputs)
    for column in range(width):
        nudge = np.zeros(width)
        nudge[column] = step
        difference = (goal.margin(outputs + nudge) - goal.margin(outputs - nudge)) / (2 * step)
        np.testing.assert_allclose(slopes[..., column], difference, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: type(goal).__name__)
def test_groups_hold_the_rows_that_want_the_same(goal):
    groups = [set(group.tolist()) for group in goal.group_rows()]
    assert set().union(*groups) == {0, 1, 2}
    assert sum(map(len, groups)) == 3
    assert [set(group.tolist()) for group in goal.take([1, 1]).group_rows()] == [{0, 1}]
    if isinstance(goal, ClassGoal):
        assert {0, 2} in groups
    assert goal.take([]).group_rows() == ()
