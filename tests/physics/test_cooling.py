"""Schedules go where they say, row by row, and the adaptive ones react to what happened."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoise.errors import InputError
from counterpoise.physics import cooling
from counterpoise.physics.metropolis import MetropolisInfo, accept

STEPS = 50
SCHEDULES = [
    cooling.GeometricCooling(STEPS),
    cooling.ConstantSpeed(STEPS),
    cooling.LamDelosme(STEPS),
]


def info(acceptance, variance):
    acceptance, variance = np.atleast_1d(acceptance).astype(float), np.atleast_1d(variance).astype(float)
    return MetropolisInfo(np.zeros((len(acceptance), 1), dtype=bool), acceptance, np.zeros(len(acceptance)), variance)


def run(schedule, T, steps=STEPS, acceptance=0.5, variance=1.0):
    course = [np.asarray(T)]
    for step in range(steps):
        course.append(schedule(step, course[-1], info(np.full(len(T), acceptance), np.full(len(T), variance))))
    return np.array(course)


def test_set_courses_end_where_they_say():
    T = np.array([4.0, 0.5])
    np.testing.assert_allclose(run(cooling.GeometricCooling(STEPS, end=1e-3), T)[-1], 1e-3 * T)


def test_courses_stay_where_they_end():
    T = np.array([2.0])
    np.testing.assert_allclose(run(cooling.GeometricCooling(STEPS, 0.01), T, STEPS + 5)[-1], 0.02)


rows = arrays(np.float64, (3,), elements=st.floats(1e-6, 1e6))
shares = arrays(np.float64, (3,), elements=st.floats(0, 1))
variances = arrays(np.float64, (3,), elements=st.floats(0, 1e6))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@settings(max_examples=30)
@given(T=rows, acceptance=shares, variance=variances, step=st.integers(0, 2 * STEPS))
def test_no_row_looks_at_another(schedule, T, acceptance, variance, step):
    together = schedule(step, T, info(acceptance, variance))
    alone = [schedule(step, T[i : i + 1], info(acceptance[i], variance[i]))[0] for i in range(3)]
    np.testing.assert_array_equal(together, alone)
    assert np.all(together >= 0)


@given(T=rows, acceptance=shares, variance=variances)
def test_constant_speed_never_warms_and_never_plunges(T, acceptance, variance):
    cooled = cooling.ConstantSpeed(STEPS, limit=0.2)(0, T, info(acceptance, variance))
    assert np.all(cooled <= T)
    assert np.all(cooled >= 0.8 * T * (1 - 1e-12))


def test_constant_speed_takes_its_time_where_energy_is_to_be_lost():
    T, schedule = np.ones(3), cooling.ConstantSpeed(steps=1000, length=100.0)
    cooled = schedule(0, T, info([0.5, 0.5, 0.1], [1.0, 100.0, 1.0]))
    assert cooled[0] < cooled[1]  # a large heat capacity slows it
    assert cooled[0] < cooled[2]  # so does a chain that hardly moves
    # At one speed, distance in units of the standard deviation of the energy: d<E> / std(E) = C dT / (T sqrt(C)).
    np.testing.assert_allclose(-np.log(cooled[:2]) * np.sqrt([1.0, 100.0]), 0.1 * 0.5)


def test_a_row_of_equal_energies_cools_at_the_limit():
    assert cooling.ConstantSpeed(STEPS, limit=0.25)(0, np.ones(1), info(1.0, 0.0))[0] == pytest.approx(0.75)


def test_lam_delosme_steers_the_acceptance_to_its_target():
    rng, schedule, T = np.random.default_rng(0), cooling.LamDelosme(steps=1000), np.array([100.0, 1e-3])
    share = np.zeros((2, 300))
    for step in range(600):  # uphill moves of exponential size, so acceptance is T / (1 + T)
        taken = accept(rng.exponential(size=(2, 200)), T, rng.random((2, 200)))
        T = schedule(step, T, MetropolisInfo(taken, taken.mean(axis=-1), np.zeros(2), np.zeros(2)))
        share[:, step % 300] = taken.mean(axis=-1)
    np.testing.assert_allclose(share.mean(axis=-1), 0.44, atol=0.02)


def test_lam_delosme_aim_falls_from_all_to_nothing():
    schedule = cooling.LamDelosme(steps=100)
    aims = [schedule.target_acceptance(step) for step in range(120)]
    assert aims[0] == 1
    assert aims[15:66] == pytest.approx([0.44] * 51)
    assert aims[-1] < 1e-3
    assert all(a >= b for a, b in pairwise(aims))


def test_initial_temperature_accepts_the_typical_climb_that_often():
    E = np.random.default_rng(0).normal(size=(4, 30)) * np.array([[1.0], [10.0], [0.1], [0.0]])
    T = cooling.initial_temperature(E, acceptance=0.7)
    pairs = np.abs(E[:, :, None] - E[:, None, :]).sum(axis=(1, 2)) / (30 * 29)
    np.testing.assert_allclose(np.exp(-pairs[:3] / T[:3]), 0.7)
    assert T[3] == pytest.approx(0, abs=1e-15)


def test_initial_temperature_leaves_infinite_energies_out():
    E = np.array([[0.0, 2.0, np.inf], [np.inf, np.inf, np.inf]])
    np.testing.assert_allclose(cooling.initial_temperature(E, np.exp(-1)), [2.0, 0.0])
    with pytest.raises(InputError, match="between 0 and 1"):
        cooling.initial_temperature(E, 1.0)


@pytest.mark.parametrize("schedule", [cooling.GeometricCooling, cooling.ConstantSpeed, cooling.LamDelosme])
def test_a_schedule_needs_steps(schedule):
    with pytest.raises(InputError, match="at least one step"):
        schedule(steps=0)
