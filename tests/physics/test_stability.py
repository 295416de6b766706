"""Eigenvalues against dense ones, subgradients against bounded least squares, slopes against known ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from counterpoise.physics import boltzmann, cloud, stability


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_largest_eigenvalue_agrees_with_the_dense_one(seed, d):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, d, d))
    A = A + np.swapaxes(A, -1, -2) + rng.normal(size=(4, 1, 1)) * 5 * np.eye(d)
    got = stability.largest_eigenvalue(lambda x, v: (A @ v[..., None])[..., 0], np.zeros((4, d)))
    np.testing.assert_allclose(got, np.linalg.eigvalsh(A)[:, -1], atol=1e-8)


def test_sign_counts_and_short_spectra_do_not_hurt():
    A = np.stack([-np.eye(6), np.zeros((6, 6)), np.diag([-5.0, -4, -4, -3, -3, -1]), np.diag([9.0, 1, 1, 1, 1, 1])])
    got = stability.largest_eigenvalue(lambda x, v: (A @ v[..., None])[..., 0], np.zeros((4, 6)))
    np.testing.assert_allclose(got, [-1, 0, -1, 9], atol=1e-9)


def test_few_iterations_suffice_for_a_wide_matrix_and_never_overshoot():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(400, 400))
    A = (A + A.T) / 2
    got = stability.largest_eigenvalue(lambda x, v: v @ A, np.zeros((2, 400)), iterations=60)
    exact = np.linalg.eigvalsh(A)[-1]
    assert np.all(got <= exact + 1e-9)
    np.testing.assert_allclose(got, exact, rtol=1e-3)


def test_curvature_of_a_cloud_without_its_matrix():
    rng = np.random.default_rng(0)
    z = cloud.draw_antithetic(rng, 200, 5)
    w = boltzmann.weights(np.abs(z[:, 0]) * np.array([[1.0], [3.0]]), 1.0)
    got = stability.largest_eigenvalue(lambda x, v: cloud.hvp(w, z, 0.3, 1.0, v), np.zeros((2, 5)))
    np.testing.assert_allclose(got, np.linalg.eigvalsh(cloud.hessian(w, z, 0.3, 1.0))[:, -1])
    np.testing.assert_array_equal(stability.is_smooth_enough(got, 1 / 0.3**2), [True, True])


@given(st.integers(0, 10**6), st.sampled_from([(-1.0, 1.0), (-1.0, 0.0)]))
def test_subgradient_is_the_shortest(seed, ends):
    rng = np.random.default_rng(seed)
    smooth, segment, box = rng.normal(size=3), rng.normal(size=3), rng.choice([0.0, 0.5, 2.0], size=3)
    got = stability.least_norm_subgradient(smooth, box, segment, *ends)
    free = box > 0
    best = lsq_linear(
        np.column_stack([np.eye(3)[:, free], segment]),
        -smooth,
        bounds=([*-box[free], ends[0]], [*box[free], ends[1]]),
        tol=1e-14,
    )
    assert (got**2).sum() == pytest.approx(2 * best.cost, abs=1e-6)


def test_subgradient_is_zero_exactly_at_a_kinked_minimum():
    # |x| + 2 |f| with f = x at x = 0; then a steeper pull than the kink can hold.
    held = stability.least_norm_subgradient(np.array([[2.5], [3.5]]), box=1.0, segment=np.array([[2.0], [2.0]]))
    np.testing.assert_allclose(held, [[0.0], [0.5]], atol=1e-12)


def test_at_no_distance_the_ball_takes_up_the_pull():
    got = stability.least_norm_subgradient(np.array([[0.6, 0.6], [3.0, 4.0]]), ball=np.ones(2))
    np.testing.assert_allclose(got, [[0, 0], [2.4, 3.2]])


def test_smooth_points_keep_their_gradient():
    g = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(stability.least_norm_subgradient(g), g)
    np.testing.assert_allclose(stability.gradient_norm(g) ** 2, (g**2).sum(axis=-1))


@pytest.mark.parametrize("exact", [True, False])
def test_lipschitz_estimate_comes_near_the_constant_from_below(exact):
    rng = np.random.default_rng(0)
    b = np.array([3.0, -4.0])
    x = rng.normal(size=(6, 2))
    gradient = (lambda x: np.broadcast_to(b, x.shape)) if exact else None
    got = stability.lipschitz_constant(lambda x: x @ b, x, 0.5, rng.normal(size=(400, 2)), gradient)
    assert np.all(got <= 5 + 1e-9)
    assert np.all(got > 4.9)


def test_lipschitz_estimate_sees_a_steep_place_within_the_radius():
    draws = np.random.default_rng(0).normal(size=(400, 1))

    def steep(x):  # slope 1, and 9 beyond 0.5
        return x[..., 0] + 8 * np.maximum(0, x[..., 0] - 0.5)

    assert stability.lipschitz_constant(steep, np.zeros(1), 0.4, draws) == pytest.approx(1)
    assert stability.lipschitz_constant(steep, np.zeros(1), 1.0, draws) > 8
