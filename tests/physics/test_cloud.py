"""Derivatives from values on a cloud alone, against planes, parabolas and quadrature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.physics import boltzmann, cloud
from physics.quadrature import free_energy, quantile_noise


def noise(m=64, d=3, seed=0):
    return cloud.draw_antithetic(np.random.default_rng(seed), m, d)


def test_antithetic_noise_is_paired_and_repeatable():
    z = noise(6, 2)
    np.testing.assert_array_equal(z[0::2], -z[1::2])
    np.testing.assert_array_equal(z, noise(6, 2))
    assert np.all(z.mean(axis=0) == 0)


def test_pairs_need_an_even_number():
    with pytest.raises(InputError, match="pairs"):
        noise(5)


def test_whitened_noise_has_unit_moments_and_keeps_its_pairs():
    z = cloud.whiten(np.stack([noise(seed=1), noise(seed=2)]))
    np.testing.assert_allclose(np.swapaxes(z, -1, -2) @ z / 64, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12)
    np.testing.assert_allclose(z[:, 0::2], -z[:, 1::2], atol=1e-12)


def test_whitening_too_few_samples_is_refused():
    with pytest.raises(InputError, match="must span its 3 features"):
        cloud.whiten(noise(4))


def test_slope_of_a_plane_is_exact_with_whitened_noise():
    z, b, sigma = cloud.whiten(noise()), np.array([1.0, -2.0, 3.0]), np.array([0.1, 1.0, 5.0])
    np.testing.assert_allclose(cloud.mean_gradient((sigma * z) @ b + 7.0, z, sigma), b, atol=1e-12)


def test_curvature_of_a_parabola():
    A = np.array([[2.0, 1.0], [1.0, -1.0]])
    z, sigma = cloud.whiten(noise(200_000, 2)), np.array([0.5, 2.0])
    eta = sigma * z
    np.testing.assert_allclose(cloud.mean_hessian(0.5 * (eta @ A * eta).sum(axis=-1), z, sigma), A, atol=0.1)


@pytest.mark.parametrize("x", [-0.7, 0.0, 1.3])
def test_weights_alone_give_gradient_and_hessian_of_the_free_energy(x):
    T, sigma, z = 0.6, 0.8, quantile_noise(20_000)
    energies = np.abs(x + sigma * z[:, 0])
    w = boltzmann.weights(energies, T)
    _, _, mean, variance = free_energy(lambda u: abs(x + sigma * u) / T, kinks=(-x / sigma,))
    np.testing.assert_allclose(cloud.gradient(w, z, sigma, T), [-T / sigma * mean], atol=1e-3)
    np.testing.assert_allclose(cloud.hessian(w, z, sigma, T), [[T / sigma**2 * (1 - variance)]], atol=2e-3)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 10), st.floats(0.01, 10))
def test_largest_curvature_is_at_most_temperature_over_sigma_squared(seed, T, sigma):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((2, 16, 4))
    w = boltzmann.weights(rng.exponential(5.0, (2, 16)), 1.0)
    H = cloud.hessian(w, z, sigma, T)
    assert np.all(np.linalg.eigvalsh(H)[..., -1] <= T / sigma**2 * (1 + 1e-9))


def test_product_is_the_matrix_times_the_vector():
    rng = np.random.default_rng(3)
    z, sigma, v = noise(), np.array([0.2, 0.0, 3.0]), rng.normal(size=(5, 3))
    w, T = boltzmann.weights(rng.normal(size=(5, 64)), 1.0), np.arange(1.0, 6.0)
    H = cloud.hessian(w, z, sigma, T)
    np.testing.assert_allclose(cloud.hvp(w, z, sigma, T, v), (H @ v[..., None])[..., 0], atol=1e-12)


def test_a_flat_field_has_no_slope_and_no_curvature():
    z = cloud.whiten(noise())
    w = np.full(64, 1 / 64)
    assert np.all(cloud.gradient(w, z, 0.1, 1.0) == 0)
    np.testing.assert_allclose(cloud.hessian(w, z, 0.1, 1.0), 0, atol=1e-10)


def test_a_feature_without_noise_has_no_derivative():
    z, sigma = noise(), np.array([1.0, 0.0, 1.0])
    w = boltzmann.weights(z[:, 1], 1.0)
    assert cloud.gradient(w, z, sigma, 1.0)[1] == 0
    assert np.all(cloud.hessian(w, z, sigma, 1.0)[1] == 0)
