"""Entropies and divergences against scipy, the corrected equations and the printed ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, multivariate_normal, norm

from counterpoise.physics import entropy, taylor
from counterpoise.physics.boltzmann import log_density

GRID = np.linspace(-40, 40, 16_001)
VOLUME = GRID[1] - GRID[0]


def random_covariance(rng, d):
    root = rng.normal(size=(d, d))
    return root @ root.T + 0.1 * np.eye(d)


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_normal_entropies_agree_with_scipy(seed, d):
    rng = np.random.default_rng(seed)
    covariance, std = random_covariance(rng, d), rng.uniform(0.1, 5, size=d)
    assert entropy.gaussian_entropy(covariance) == pytest.approx(multivariate_normal(np.zeros(d), covariance).entropy())
    assert entropy.diagonal_entropy(std) == pytest.approx(norm(scale=std).entropy().sum())
    assert entropy.diagonal_entropy(std, literal=True) == pytest.approx(
        entropy.gaussian_entropy(np.diag(std**2), literal=True)
    )


def test_printed_normal_entropy_is_right_up_to_a_constant():
    covariances = np.stack([random_covariance(np.random.default_rng(s), 3) for s in range(4)])
    gap = entropy.gaussian_entropy(covariances) - entropy.gaussian_entropy(covariances, literal=True)
    np.testing.assert_allclose(gap, 1.5 * np.log(2 * np.pi * np.e))


@pytest.mark.parametrize("law", [norm(0.3, 1.7), laplace(-1.0, 0.8)])
def test_entropy_on_a_grid_and_from_samples_agree_with_scipy(law):
    assert entropy.grid_entropy(law.logpdf(GRID), VOLUME) == pytest.approx(law.entropy(), abs=1e-5)
    samples = law.rvs(size=40_000, random_state=0)
    assert entropy.sampled_entropy(law.logpdf(samples)) == pytest.approx(law.entropy(), abs=0.02)
    assert entropy.sampled_entropy(law.logpdf(samples), literal=True) == pytest.approx(-law.entropy(), abs=0.02)


def test_entropy_of_a_boltzmann_law_is_what_thermodynamics_says():
    T, E = 0.6, np.abs(GRID)  # a Laplace law of scale T
    log_p = log_density(E, T, VOLUME)
    assert entropy.grid_entropy(log_p, VOLUME) == pytest.approx(1 + np.log(2 * T), abs=1e-5)


@given(st.integers(0, 10**6))
def test_divergences_agree_with_each_other_and_with_the_integral(seed):
    rng = np.random.default_rng(seed)
    (m, w), (s, t) = rng.normal(size=(2, 1)), rng.uniform(0.5, 2, size=(2, 1))
    exact = entropy.diagonal_divergence(m, s, w, t)
    assert entropy.gaussian_divergence(m, np.diag(s**2), w, np.diag(t**2)) == pytest.approx(exact)
    p, q = norm(m[0], s[0]).logpdf(GRID), norm(w[0], t[0]).logpdf(GRID)
    assert entropy.grid_divergence(p, q, VOLUME) == pytest.approx(exact, abs=1e-6)
    assert exact >= 0


def test_full_divergence_against_samples():
    rng = np.random.default_rng(0)
    p = multivariate_normal(rng.normal(size=3), random_covariance(rng, 3))
    q = multivariate_normal(rng.normal(size=3), random_covariance(rng, 3))
    x = p.rvs(size=200_000, random_state=1)
    sampled = p.logpdf(x) - q.logpdf(x)
    exact = entropy.gaussian_divergence(p.mean, p.cov, q.mean, q.cov)
    assert abs(sampled.mean() - exact) < 4 * sampled.std() / 200_000**0.5


@given(st.floats(-3, 3), st.floats(0.3, 3))
def test_surrogate_gives_the_entropy_back_and_the_printed_sign_does_not(centre, scale):
    p, q = laplace(0.0, 1.0), norm(centre, scale)
    cross = entropy.grid_cross_entropy(p.logpdf(GRID), q.logpdf(GRID), VOLUME)
    divergence = entropy.grid_divergence(p.logpdf(GRID), q.logpdf(GRID), VOLUME)
    assert entropy.surrogate_entropy(cross, divergence) == pytest.approx(p.entropy(), abs=1e-4)
    assert entropy.surrogate_entropy(cross, divergence, literal=True) == pytest.approx(
        p.entropy() + 2 * divergence, abs=1e-4
    )


@given(st.floats(-3, 3), st.floats(0.3, 3))
def test_cross_entropy_and_matched_moments_bound_the_entropy_from_above(centre, scale):
    p, q = laplace(0.0, 1.0), norm(centre, scale)
    assert entropy.grid_cross_entropy(p.logpdf(GRID), q.logpdf(GRID), VOLUME) >= p.entropy() - 1e-5
    assert entropy.moment_matched_entropy_bound(np.array([[p.var()]])) >= p.entropy()


def test_the_printed_bound_is_false_in_both_directions():
    p = norm(0.0, 1.0)
    over, under = (
        entropy.printed_entropy_bound(
            entropy.diagonal_entropy(np.array([s])),
            entropy.diagonal_divergence(np.zeros(1), np.ones(1), np.zeros(1), np.array([s])),
        )
        for s in (1.5, 0.5)
    )
    assert under < p.entropy() < over


def test_entropy_gradient_against_its_closed_form():
    mean, std = np.zeros(2), np.array([0.5, 2.0])
    z = np.random.default_rng(0).normal(size=(200_000, 2))
    x = mean + std * z
    log_p = norm(mean, std).logpdf(x).sum(axis=-1)
    by_std = (z**2 - 1) / std  # of ln p, at fixed samples
    exact = taylor.gradient(entropy.diagonal_entropy, std)
    np.testing.assert_allclose(exact, 1 / std, rtol=1e-6)
    np.testing.assert_allclose(entropy.entropy_gradient(log_p, by_std), exact, atol=0.03)
    printed = entropy.entropy_gradient(log_p, by_std, literal=True)
    assert np.all(np.abs(printed / exact - 1) > 10)  # grows with the number of samples


def test_impossible_cells_add_nothing():
    log_p = np.array([-np.inf, 0.0])
    assert entropy.grid_entropy(log_p, 1.0) == 0
    assert entropy.grid_cross_entropy(log_p, np.array([-np.inf, -1.0]), 1.0) == 1
