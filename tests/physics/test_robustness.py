"""Worst cases against brute force, conditions at a minimum, shares against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binomtest

from counterpoise.errors import InputError
from counterpoise.physics import cloud, robustness, taylor

STARTS = np.random.default_rng(0).normal(size=(8, 3))


def trust_region(g, A, xi):
    """The largest rise of g'v + v'Av/2 in the ball, by brute force from many directions."""
    rng = np.random.default_rng(1)
    best = 0.0
    for v in rng.normal(size=(10, len(g))):
        found = minimize(
            lambda v: -(g @ v + 0.5 * v @ A @ v), xi * v / np.linalg.norm(v), method="SLSQP",
            constraints={"type": "ineq", "fun": lambda v: xi**2 - v @ v},
        )  # fmt: skip
        best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("exact", [True, False])
def test_worst_case_of_a_parabola_is_found_and_bounded(seed, exact):
    rng = np.random.default_rng(seed)
    A, g, xi = rng.normal(size=(3, 3)), rng.normal(size=3), 0.7
    A = A + A.T
    x = rng.normal(size=(2, 3))

    def field(y):
        return y @ g + 0.5 * (y @ A * y).sum(axis=-1)

    def gradient(y):
        return g + y @ A

    found = robustness.worst_case(field, x, xi, STARTS, gradient if exact else None)
    largest = np.full(2, np.linalg.eigvalsh(A)[-1])
    bound = robustness.worst_case_bound(np.linalg.norm(gradient(x), axis=-1), largest, xi)
    assert np.all(np.linalg.norm(found.eta, axis=-1) <= xi * (1 + 1e-9))
    np.testing.assert_allclose(found.rise, field(x + found.eta) - field(x))
    for row in range(2):
        assert found.rise[row] == pytest.approx(trust_region(gradient(x[row]), A, xi), rel=0.02)
    assert np.all(found.rise <= bound + 1e-9)


def test_worst_case_at_a_minimum_needs_no_slope_there():
    curvature = np.array([1.0, 4.0, 2.0])
    found = robustness.worst_case(lambda x: 0.5 * (curvature * x**2).sum(axis=-1), np.zeros(3), 0.5, STARTS)
    assert found.rise == pytest.approx(0.5 * 4 * 0.25, rel=0.02)


def test_worst_case_at_a_maximum_is_none():
    found = robustness.worst_case(lambda x: -(x**2).sum(axis=-1), np.zeros((1, 3)), 0.5, STARTS)
    assert found.rise[0] == 0
    assert np.all(found.eta == 0)


def test_steps_of_a_forest_are_climbed_by_the_cloud_each_row_in_its_own_ball():
    def stairs(x):
        return np.floor(4 * x[..., 0])

    noise = cloud.draw_antithetic(np.random.default_rng(2), 400, 3)
    found = robustness.worst_case(stairs, np.full((3, 3), 0.1), np.array([1.0, 2.0, 0.0]), STARTS, noise=noise)
    np.testing.assert_array_equal(found.rise, [4, 8, 0])


def test_bound_of_a_falling_parabola_is_its_top():
    norm, largest = np.array([1.0]), np.array([-4.0])
    grid = np.linspace(0, 0.5, 10_001)
    got = robustness.worst_case_bound(norm, largest, 0.5)
    assert got[0] == pytest.approx((norm * grid + 0.5 * largest * grid**2).max())


def test_bound_is_of_the_model_not_of_the_field():
    def quartic(x):
        return x[..., 0] ** 4

    norm, largest = np.zeros(1), np.zeros(1)
    rise = robustness.worst_case(quartic, np.zeros((1, 1)), 1.0, np.ones((1, 1))).rise
    assert rise > robustness.worst_case_bound(norm, largest, 1.0)
    assert taylor.remainder(quartic, np.zeros(1), np.ones(1)) == pytest.approx(rise[0], abs=1e-6)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 10))
def test_printed_condition_fails_at_every_strict_minimum_and_the_corrected_one_need_not(largest, xi):
    flat, curved = np.zeros(1), np.array([largest])
    assert not robustness.is_robust_as_printed(flat, curved, xi)[0]
    assert robustness.is_robust(flat, curved, xi, delta=0.5 * largest * xi**2 * 1.001)[0]
    assert not robustness.is_robust(flat, curved, xi, delta=0.5 * largest * xi**2 * 0.999)[0]


@given(st.floats(0, 10), st.floats(-10, 10), st.floats(0.01, 2), st.floats(0, 5))
def test_what_is_called_robust_rises_no_more_than_allowed_in_the_model(norm, largest, xi, delta):
    norm, largest = np.array([norm]), np.array([largest])
    if robustness.is_robust(norm, largest, xi, delta)[0]:
        assert robustness.worst_case_bound(norm, largest, xi)[0] <= delta + 1e-9


@given(st.integers(1, 200), st.data(), st.sampled_from([0.9, 0.95, 0.99]))
def test_share_interval_agrees_with_scipy(total, data, confidence):
    kept = data.draw(st.integers(0, total))
    exact = binomtest(kept, total).proportion_ci(confidence)
    low, high = robustness.share_interval(np.array([kept]), total, confidence)
    assert low[0] == pytest.approx(exact.low, abs=1e-9)
    assert high[0] == pytest.approx(exact.high, abs=1e-9)


def test_confidence_is_a_share():
    with pytest.raises(InputError, match="confidence must lie between"):
        robustness.share_interval(np.array([3]), 4, 95)
