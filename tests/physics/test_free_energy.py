"""Every estimator against known answers: parabolas in closed form, one-dimensional clouds by quadrature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from counterpoise.errors import InputError
from counterpoise.physics import cloud, taylor
from counterpoise.physics.boltzmann import weights
from counterpoise.physics.entropy import cloud_entropy_gradient
from counterpoise.physics.estimators.closed_form import ClosedForm
from counterpoise.physics.estimators.monte_carlo import MonteCarlo, cloud_free_energy
from counterpoise.physics.estimators.variational import Variational
from physics.quadrature import free_energy, quantile_noise

A = np.array([[3.0, 1.0], [1.0, 0.5]])
CENTRE = np.array([0.5, -1.0])
SIGMA = np.array([0.4, 1.5])
T = 0.7
ESTIMATORS = [ClosedForm("diagonal"), ClosedForm("full"), MonteCarlo(400), Variational(400)]


def parabola(x):
    return 0.5 * ((x - CENTRE) @ A * (x - CENTRE)).sum(axis=-1)


def parabola_gradient(x):
    return (x - CENTRE) @ A


def exact_parabola(x, matrix=A):
    """F, gradient and Hessian: the energy of a parabola convolved with the cloud is a parabola again."""
    wide = np.linalg.inv(matrix) + np.diag(SIGMA**2) / T
    gap = x - CENTRE
    log_det = np.linalg.slogdet(np.eye(2) + np.diag(SIGMA**2) @ matrix / T)[1]
    return 0.5 * gap @ np.linalg.solve(wide, gap) + 0.5 * T * log_det, np.linalg.solve(wide, gap), np.linalg.inv(wide)


def kinked(x):
    return np.abs(x[..., 0]) + 0.5 * np.cos(2 * x[..., 0])


def kinked_gradient(x):
    return np.sign(x) - np.sin(2 * x)


@pytest.mark.parametrize("gradient", [None, parabola_gradient])
def test_laplace_is_exact_for_a_parabola(gradient):
    x = np.array([1.0, 2.0])
    value, slope, bend = exact_parabola(x)
    F = ClosedForm("full").full_form(parabola, x, SIGMA, T, gradient=gradient, hessian=True)
    tolerance = 1e-5 if gradient is None else 1e-8
    np.testing.assert_allclose(F.value, value, rtol=tolerance)
    np.testing.assert_allclose(F.gradient, slope, rtol=10 * tolerance)
    np.testing.assert_allclose(F.hessian, bend, rtol=10 * tolerance)


def test_laplace_takes_the_curvature_it_is_given():
    x, counted = np.array([[1.0, 2.0]]), []

    def gradient(y):
        counted.append(y.size)
        return parabola_gradient(y)

    for covariance, given_curvature in [("full", A), ("diagonal", np.diag(A))]:
        counted.clear()
        estimator = ClosedForm(covariance)
        got = estimator.full_form(parabola, x, SIGMA, T, gradient=gradient, curvature=lambda x, c=given_curvature: c)
        assert counted == [2]  # one gradient, no differences
        np.testing.assert_allclose(got.value, estimator.full_form(parabola, x, SIGMA, T).value, rtol=1e-6)


def test_diagonal_laplace_is_exact_for_independent_features():
    def independent(x):
        return 0.5 * (np.diag(A) * (x - CENTRE) ** 2).sum(axis=-1)

    value, slope, bend = exact_parabola(np.array([1.0, 2.0]), np.diag(np.diag(A)))
    F = ClosedForm("diagonal").full_form(independent, np.array([1.0, 2.0]), SIGMA, T, hessian=True)
    np.testing.assert_allclose(F.value, value, rtol=1e-6)
    np.testing.assert_allclose(F.gradient, slope, rtol=1e-5)
    np.testing.assert_allclose(F.hessian, bend, rtol=1e-4, atol=1e-12)


def test_laplace_from_a_cloud_alone():
    x, noise = np.array([1.0, 2.0]), cloud.whiten(cloud.draw_antithetic(np.random.default_rng(0), 40_000, 2))
    value, slope, _ = exact_parabola(x)
    F = ClosedForm("full", samples=40_000).full_form(parabola, x, SIGMA, T, noise=noise)
    np.testing.assert_allclose(F.value, value, rtol=0.05)
    np.testing.assert_allclose(F.gradient, slope, rtol=0.1)


def test_laplace_does_not_exist_where_the_field_falls_faster_than_the_cloud_thins():
    x = np.array([[1.0], [5.0]])

    def field(x):  # a hill around 5, a valley around 1
        return np.where(x[..., 0] < 3, 1, -1) * (x[..., 0] - np.where(x[..., 0] < 3, 1, 5)) ** 2

    for covariance in ("diagonal", "full"):
        F = ClosedForm(covariance).full_form(field, x, 1.0, 1.0)
        assert np.isfinite(F.value[0])
        assert np.isnan(F.value[1])


@pytest.mark.parametrize("gradient", [None, parabola_gradient])
def test_sampling_agrees_with_the_parabola_within_its_standard_error(gradient):
    x, estimator = np.array([1.0, 2.0]), MonteCarlo(20_000)
    noise = estimator.draw(np.random.default_rng(1), 2)
    value, slope, bend = exact_parabola(x)
    F = estimator.full_form(parabola, x, SIGMA, T, noise=noise, gradient=gradient, hessian=True)
    weights = np.exp(-parabola(cloud.points(x, SIGMA, noise)) / T)
    error = T * weights.std() / weights.mean() / np.sqrt(len(noise))  # to first order in 1/m
    assert abs(F.value - value) < 4 * error < 0.1
    np.testing.assert_allclose(F.gradient, slope, atol=0.06)
    np.testing.assert_allclose(F.hessian, bend, atol=0.3)


@pytest.mark.parametrize("x", [-1.1, 0.0, 0.4])
@pytest.mark.parametrize("gradient", [None, kinked_gradient])
def test_sampling_agrees_with_quadrature_on_a_kinked_energy(x, gradient):
    sigma, noise = 0.8, quantile_noise(20_000)
    F = MonteCarlo(20_000).full_form(kinked, np.array([x]), sigma, T, noise=noise, gradient=gradient, hessian=True)
    value, action, mean, variance = free_energy(
        lambda z: float(kinked(np.array([x + sigma * z]))) / T, kinks=(-x / sigma,)
    )
    assert F.value == pytest.approx(T * value, abs=1e-4)
    assert F.energy == pytest.approx(T * action, abs=1e-3)
    assert F.gradient[0] == pytest.approx(-T / sigma * mean, abs=2e-3)
    assert F.hessian[0, 0] == pytest.approx(T / sigma**2 * (1 - variance), abs=5e-3)


def test_laplace_error_on_a_smooth_energy_falls_with_the_fourth_power_of_sigma():
    def soft(x):
        return np.log(np.cosh(x[..., 0]))

    def error(sigma):
        exact = T * free_energy(lambda z: float(soft(np.array([0.8 + sigma * z]))) / T)[0]
        return abs(float(ClosedForm("full").full_form(soft, np.array([0.8]), sigma, T).value) - exact)

    assert error(0.4) < 1e-2
    assert 8 < error(0.4) / error(0.2) < 32


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("kappa", [0.5, 4.0])
@pytest.mark.parametrize("band", [(0.0, np.inf), (0.0, 0.0), (-0.3, 0.6)])
@pytest.mark.parametrize("with_gradient", [True, False])
def test_decision_form_of_a_linear_score_agrees_with_quadrature(estimator, kappa, band, with_gradient):
    low, high = band
    x, b, sigma, c = 0.3, 1.5, 0.6, 0.2
    noise = quantile_noise(4000)
    if isinstance(estimator, Variational):  # fit and judge on halves of the same quality
        noise = np.concatenate([quantile_noise(2000), quantile_noise(2000)])
    value, action, mean, _ = free_energy(
        lambda z: kappa * max(0.0, low - (b * (x + sigma * z) - c), b * (x + sigma * z) - c - high),
        kinks=tuple(((end + c) / b - x) / sigma for end in band),
    )
    F = estimator.decision_form(
        lambda x: b * x[..., 0] - c, np.array([x]), sigma, T, kappa, low=low, high=high, noise=noise,
        gradient=(lambda x: np.full(x.shape, b)) if with_gradient else None,
    )  # fmt: skip
    slack = 0.12 * T if isinstance(estimator, Variational) else 2e-3
    assert -2e-3 < F.value - T * value < slack
    assert F.energy == pytest.approx(T * action, abs=max(2e-3, slack))
    assert F.gradient[0] == pytest.approx(-T / sigma * mean, abs=5e-3 if slack < 0.01 else 0.25)


@pytest.mark.parametrize("estimator", [ClosedForm(), MonteCarlo(20_000)], ids=repr)
def test_an_infinite_kappa_prices_the_chance_that_the_flip_survives(estimator):
    x, noise = np.array([[0.5], [-0.5]]), quantile_noise(20_000)
    F = estimator.decision_form(lambda x: 2 * x[..., 0], x, 0.4, 1.0, np.inf, noise=noise)
    np.testing.assert_allclose(np.exp(-F.value), norm.cdf([1.25, -1.25]), atol=2e-3)
    np.testing.assert_allclose(F.energy, 0, atol=1e-12)
    assert np.all(F.gradient < 0)


def test_the_linearised_decision_has_the_gradient_of_its_own_value():
    def score(x):
        return np.tanh(x[..., 0]) + 0.3 * x[..., 1] ** 2 - 0.4

    def score_gradient(x):
        return np.stack([1 / np.cosh(x[..., 0]) ** 2, 0.6 * x[..., 1]], axis=-1)

    def value(x):
        return ClosedForm().decision_form(score, x, SIGMA, T, 3.0, gradient=score_gradient).value

    x = np.array([[0.2, 0.7], [-0.5, 1.2]])
    F = ClosedForm().decision_form(score, x, SIGMA, T, 3.0, gradient=score_gradient)
    np.testing.assert_allclose(F.gradient, taylor.gradient(value, x), rtol=1e-5)


def test_sampled_gradient_is_the_derivative_of_the_sampled_value():
    noise = MonteCarlo(64).draw(np.random.default_rng(2), 2)

    def smooth(x):
        return np.sin(x[..., 0]) + 0.5 * (x**2).sum(axis=-1)

    def smooth_gradient(x):
        return x + np.stack([np.cos(x[..., 0]), 0 * x[..., 1]], axis=-1)

    def value(x):
        return MonteCarlo(64).full_form(smooth, x, SIGMA, T, noise=noise).value

    x = np.array([[0.3, -0.2], [1.0, 2.0]])
    F = MonteCarlo(64).full_form(smooth, x, SIGMA, T, noise=noise, gradient=smooth_gradient)
    np.testing.assert_allclose(F.gradient, taylor.gradient(value, x), atol=1e-7)


def test_entropy_gradient_is_the_derivative_of_the_entropy():
    noise = MonteCarlo(64).draw(np.random.default_rng(2), 2)

    def entropy(x):
        return MonteCarlo(64).full_form(parabola, x, SIGMA, T, noise=noise).entropy

    x = np.array([[0.3, -0.2], [1.0, 2.0]])
    points = cloud.points(x, SIGMA, noise)
    E = parabola(points)
    got = cloud_entropy_gradient(weights(E, T), E, parabola_gradient(points), T)
    np.testing.assert_allclose(got, taylor.gradient(entropy, x), atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@given(st.integers(0, 10**6), st.floats(0.05, 20), st.booleans())
def test_free_energy_is_mean_energy_less_temperature_times_entropy(estimator, seed, T, with_gradient):
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(3, 2, 2)), cloud.draw_antithetic(rng, 32, 2)
    temperatures = T * np.array([1.0, 2.0, 3.0])
    gradient = parabola_gradient if with_gradient else None
    full = estimator.full_form(parabola, x, SIGMA, temperatures, noise=noise, gradient=gradient)
    score = estimator.decision_form(
        parabola, x, SIGMA, temperatures, 2.0, low=1.0, high=2.0, noise=noise, gradient=gradient
    )
    for F in (full, score):
        there = np.isfinite(F.value)  # sampled curvature may leave the parabola of a row open downward
        np.testing.assert_allclose(F.value, F.energy - temperatures[:, None] * F.entropy, rtol=1e-9, atol=1e-9)
        assert np.all(F.entropy[there] <= 1e-9)
        assert F.gradient.shape == x.shape


@given(st.integers(0, 10**6), st.floats(0.05, 5), st.floats(0.05, 3), st.booleans())
def test_variational_bounds_the_free_energy_of_any_parabola_from_above(seed, T, sigma, with_gradient):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    matrix, centre, x = root @ root.T, rng.normal(size=3), rng.normal(size=3)
    halves = [cloud.whiten(cloud.draw_antithetic(rng, 16, 3)) for _ in range(2)]  # makes means of parabolas exact

    def energy(x):
        return 0.5 * ((x - centre) @ matrix * (x - centre)).sum(axis=-1)

    exact = ClosedForm("full").full_form(energy, x, sigma, T, gradient=lambda x: (x - centre) @ matrix)
    gradient = (lambda x: (x - centre) @ matrix) if with_gradient else None
    F = Variational(32).full_form(energy, x, sigma, T, noise=np.concatenate(halves), gradient=gradient)
    assert F.value >= exact.value - 1e-6 * max(1.0, abs(exact.value))


@pytest.mark.parametrize("with_gradient", [True, False])
def test_variational_is_tight_for_independent_parabolas(with_gradient):
    def energy(x):
        return 0.5 * (np.array([4.0, 0.2]) * (x - 1) ** 2).sum(axis=-1)

    x = np.array([[0.0, 3.0], [1.0, 1.0]])
    noise = np.concatenate([cloud.whiten(cloud.draw_antithetic(np.random.default_rng(s), 4000, 2)) for s in (0, 1)])
    exact = ClosedForm("diagonal").full_form(energy, x, 0.8, 1.0, hessian=True)
    gradient = (lambda x: np.array([4.0, 0.2]) * (x - 1)) if with_gradient else None
    F = Variational(8000, steps=40).full_form(energy, x, 0.8, 1.0, noise=noise, gradient=gradient, hessian=True)
    tolerance = 1e-6 if with_gradient else 0.02
    np.testing.assert_allclose(F.value, exact.value, atol=tolerance)
    np.testing.assert_allclose(F.gradient, exact.gradient, atol=10 * tolerance)
    np.testing.assert_allclose(F.hessian, exact.hessian, atol=20 * tolerance)


@pytest.mark.parametrize("x", [-1.1, 0.0, 0.4])
def test_variational_bounds_a_kinked_energy_from_above(x):
    noise = np.concatenate([quantile_noise(2000)] * 2)
    exact = T * free_energy(lambda z: float(kinked(np.array([x + 0.8 * z]))) / T, kinks=(-x / 0.8,))[0]
    F = Variational(4000).full_form(kinked, np.array([x]), 0.8, T, noise=noise)
    assert exact - 1e-4 < F.value < exact + 0.05


def test_sampling_is_biased_upward():
    rng = np.random.default_rng(5)
    noise = np.stack([cloud.draw_antithetic(rng, 4, 2) for _ in range(4000)])
    x = np.array([1.0, 2.0])
    F = MonteCarlo(4).full_form(parabola, np.broadcast_to(x, (4000, 2)), SIGMA, T, noise=noise)
    assert F.value.mean() - 4 * F.value.std() / 4000**0.5 > exact_parabola(x)[0]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_row_alone_gets_what_it_gets_in_a_batch(estimator):
    rng = np.random.default_rng(0)
    x, noise, T = rng.normal(size=(3, 2, 2)), rng.normal(size=(3, 1, 32, 2)), np.array([0.5, 1.0, 2.0])
    together = estimator.full_form(parabola, x, SIGMA, T, noise=noise)
    alone = estimator.full_form(parabola, x[1:2], SIGMA, T[1:2], noise=noise[1:2])
    np.testing.assert_allclose(together.value[1:2], alone.value, rtol=1e-12)
    np.testing.assert_allclose(together.gradient[1:2], alone.gradient, rtol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_a_feature_without_noise_is_held_in_place(estimator):
    noise = cloud.draw_antithetic(np.random.default_rng(0), 64, 2)
    x = np.array([1.0, 2.0])
    F = estimator.full_form(parabola, x, np.array([0.4, 0.0]), T, noise=noise, gradient=parabola_gradient)

    def first_only(y):
        return parabola(np.stack([y[..., 0], np.full(y.shape[:-1], 2.0)], axis=-1))

    def first_gradient(y):
        return parabola_gradient(np.stack([y[..., 0], np.full(y.shape[:-1], 2.0)], axis=-1))[..., :1]

    alone = estimator.full_form(first_only, x[:1], 0.4, T, noise=noise[:, :1], gradient=first_gradient)
    np.testing.assert_allclose(F.value, alone.value, rtol=1e-6)
    np.testing.assert_allclose(F.gradient[0], alone.gradient[0], rtol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_at_zero_temperature_the_decision_form_is_gone(estimator):
    noise = cloud.draw_antithetic(np.random.default_rng(0), 32, 2)
    F = estimator.decision_form(parabola, np.ones((2, 2)), SIGMA, 0.0, 3.0, low=100.0, noise=noise)
    assert np.all(F.value == 0)
    assert np.all(F.gradient == 0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_curvature_exceeds_temperature_over_sigma_squared(estimator):
    rng = np.random.default_rng(0)
    noise = cloud.draw_antithetic(rng, 64, 2)
    for form in (estimator.full_form, lambda f, x, s, T, **k: estimator.decision_form(f, x, s, T, 5.0, low=2.0, **k)):
        F = form(parabola, rng.normal(size=(20, 2)), 0.5, T, noise=noise, gradient=parabola_gradient, hessian=True)
        assert np.all(np.linalg.eigvalsh(F.hessian)[..., -1] <= T / 0.25 * (1 + 1e-9))


def test_a_forest_like_score_has_a_direction():
    def steps(x):  # constant on boxes: every difference is zero
        return np.floor(2 * x[..., 0]) - 0.5

    noise = cloud.draw_antithetic(np.random.default_rng(0), 2000, 2)
    x = np.array([0.3, 0.0])
    assert np.all(taylor.gradient(steps, x) == 0)
    for estimator in (ClosedForm(samples=2000), MonteCarlo(2000), Variational(2000)):
        F = estimator.decision_form(steps, x, 0.5, 1.0, 2.0, noise=noise)
        assert F.gradient[0] < -0.3
        assert abs(F.gradient[1]) < 0.2


def test_a_cloud_that_loses_every_copy_is_infinite_and_has_no_direction():
    F = cloud_free_energy(np.full((1, 4), np.inf), np.ones((4, 2)), 1.0, 1.0)
    assert F.value[0] == np.inf
    assert np.all(F.gradient == 0)


def test_wrong_questions():
    noise = np.zeros((4, 1))
    with pytest.raises(InputError, match="above 0"):
        MonteCarlo(4).full_form(kinked, np.zeros(1), 1.0, 0.0, noise=noise)
    with pytest.raises(InputError, match="at least 0"):
        ClosedForm().decision_form(kinked, np.zeros(1), 1.0, -1.0, 1.0)
    with pytest.raises(InputError, match="MonteCarlo averages over noise"):
        MonteCarlo(4).full_form(kinked, np.zeros(1), 1.0, 1.0)
    with pytest.raises(InputError, match="kappa must be finite"):
        Variational(4).decision_form(kinked, np.zeros(1), 1.0, 1.0, np.inf, noise=noise)
    with pytest.raises(InputError, match="multiple of 4"):
        Variational(6).draw(np.random.default_rng(0), 1)
    with pytest.raises(InputError, match="diagonal"):
        ClosedForm("round")
