"""The decision average in closed form against quadrature, differences and its own extremes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.physics import decision
from physics.quadrature import free_energy

INF = np.inf
BANDS = [(0.0, INF), (0.0, 0.0), (-0.5, 1.0)]


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("kappa", [0.0, 0.3, 2.0, 40.0])
@pytest.mark.parametrize(("f", "s"), [(-2.0, 0.3), (-0.2, 1.0), (0.0, 0.1), (0.4, 2.0), (3.0, 1.0)])
def test_average_matches_quadrature(f, s, kappa, band):
    low, high = band
    kinks = tuple((end - f) / s for end in band)
    exact, action, _, _ = free_energy(lambda z: kappa * max(0.0, low - f - s * z, f + s * z - high), kinks)
    got = decision.hinge_mean(np.array(f), np.array(s), kappa, low, high)
    assert -got.log_mean == pytest.approx(exact, rel=1e-7, abs=1e-9)
    assert got.mean_action == pytest.approx(action, rel=1e-6, abs=1e-9)


# A single point is never hit, so the two-sided form has no average at infinite kappa.
@pytest.mark.parametrize(
    ("kappa", "band"), [(k, b) for k in (0.3, 2.0, 40.0, INF) for b in BANDS if k < INF or b[0] < b[1]]
)
@pytest.mark.parametrize(("f", "s"), [(-2.0, 0.3), (-0.2, 1.0), (0.05, 0.1), (0.4, 2.0), (3.0, 1.0)])
def test_derivatives_match_differences(f, s, kappa, band):
    h = 1e-5

    def log(f, s):
        return decision.hinge_mean(np.array(f), np.array(s), kappa, *band)

    got = log(f, s)
    assert got.derivative_by_mean == pytest.approx(
        (log(f + h, s).log_mean - log(f - h, s).log_mean) / (2 * h), rel=1e-5, abs=1e-6
    )
    assert got.derivative_by_spread == pytest.approx(
        (log(f, s + h).log_mean - log(f, s - h).log_mean) / (2 * h), rel=1e-5, abs=1e-6
    )
    assert got.second_derivative_by_mean == pytest.approx(
        (log(f + h, s).derivative_by_mean - log(f - h, s).derivative_by_mean) / (2 * h), rel=1e-4, abs=1e-5
    )


@given(st.floats(-50, 50), st.floats(1e-3, 50), st.floats(1e8, 1e100))
def test_a_steep_hinge_approaches_the_survival_probability(f, s, kappa):
    steep = decision.hinge_mean(np.array(f), np.array(s), kappa)
    hard = decision.hinge_mean(np.array(f), np.array(s), INF)
    if hard.log_mean > -1e4:
        assert steep.log_mean == pytest.approx(hard.log_mean, rel=1e-2, abs=1e-4)
        assert steep.derivative_by_mean == pytest.approx(hard.derivative_by_mean, rel=1e-2, abs=1e-4)


finite = st.floats(-1e12, 1e12)


@given(finite, st.floats(0, 1e12), st.one_of(st.floats(0, 1e100), st.just(INF)), finite, st.floats(0, 1e12))
def test_nothing_overflows(f, s, kappa, low, width):
    got = decision.hinge_mean(np.array(f), np.array(s), kappa, low, low + width)
    assert got.log_mean <= 1e-9
    assert not any(np.isnan(part) for part in got)


@given(finite, st.floats(0, 1e3))
def test_without_spread_it_is_the_shortfall_itself(f, kappa):
    got = decision.hinge_mean(np.array(f), np.array(0.0), kappa, -1.0, 1.0)
    assert -got.log_mean == pytest.approx(kappa * max(0.0, -1.0 - f, f - 1.0))


def test_two_sided_shortfall_is_the_papers_absolute_value():
    f = np.linspace(-2, 2, 9)
    np.testing.assert_array_equal(decision.shortfall(f, 0.5, 0.5), np.abs(f - 0.5))
    np.testing.assert_array_equal(decision.shortfall_slope(f, 0.5, 0.5), np.sign(f - 0.5))


def test_ends_may_differ_by_row():
    f = np.zeros((2, 3))
    np.testing.assert_array_equal(decision.shortfall(f, np.array([1.0, -1.0])), [[1, 1, 1], [0, 0, 0]])


def test_a_saturated_model_far_out_still_has_a_slope():
    flat = decision.hinge_mean(np.array(-5.0), np.array(1e-9), INF)
    assert flat.derivative_by_mean == pytest.approx(
        5e18
    )  # density over tail of a normal law, far out: distance over variance
    soft = decision.hinge_mean(np.array(-5.0), np.array(1e-9), 3.0)
    assert soft.log_mean == pytest.approx(-15.0)
    assert soft.derivative_by_mean == pytest.approx(3.0)
