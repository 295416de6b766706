"""Derivatives against analytic ones, and remainders of the right order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.physics import taylor

A = np.array([[2.0, 0.5, 0.0], [0.5, -1.0, 0.3], [0.0, 0.3, 4.0]])
B = np.array([1.0, -2.0, 0.5])


def wave(x):
    return np.sin(x @ B) + 0.5 * (x @ A * x).sum(axis=-1)


def wave_gradient(x):
    return np.cos(x @ B)[..., None] * B + x @ A


def wave_hvp(x, v):
    return -np.sin(x @ B)[..., None] * (v @ B)[..., None] * B + v @ A


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(4, 2, 3))


def test_gradient_matches_the_analytic_one(x):
    np.testing.assert_allclose(taylor.gradient(wave, x), wave_gradient(x), atol=1e-8)


@pytest.mark.parametrize("gradient", [None, wave_gradient])
def test_curvature_products_and_matrix_match_the_analytic_ones(x, gradient):
    v = np.random.default_rng(1).normal(size=x.shape)
    exact = np.stack([wave_hvp(x, np.broadcast_to(e, x.shape)) for e in np.eye(3)], axis=-1)
    tolerance = 1e-5 if gradient is None else 1e-7
    np.testing.assert_allclose(taylor.hvp(wave, x, v, gradient), wave_hvp(x, v), atol=tolerance)
    np.testing.assert_allclose(taylor.hessian(wave, x, gradient), exact, atol=tolerance)
    np.testing.assert_allclose(
        taylor.hessian_diagonal(wave, x, gradient), np.diagonal(exact, axis1=-2, axis2=-1), atol=tolerance
    )
    np.testing.assert_allclose(taylor.hessian(wave, x, hvp=wave_hvp), exact, atol=1e-13)


@pytest.mark.parametrize("scale", [np.array([1e9, 1.0, 1e-6]), np.array([1e-9, 1.0, 1e6])])
def test_differences_follow_the_units_of_the_features(x, scale):
    def field(y):
        return wave(y / scale)

    v = np.random.default_rng(1).normal(size=x.shape)
    np.testing.assert_allclose(taylor.gradient(field, x * scale, scale) * scale, wave_gradient(x), atol=1e-8)
    np.testing.assert_allclose(taylor.hvp(field, x * scale, v * scale, scale=scale) * scale, wave_hvp(x, v), atol=1e-5)
    units = scale[:, None] * scale
    np.testing.assert_allclose(
        taylor.hessian(field, x * scale, scale=scale) * units, taylor.hessian(wave, x, hvp=wave_hvp), atol=1e-5
    )
    np.testing.assert_allclose(
        taylor.hessian_diagonal(field, x * scale, scale=scale) * scale**2,
        np.diagonal(taylor.hessian(wave, x, hvp=wave_hvp), axis1=-2, axis2=-1),
        atol=1e-5,
    )


def test_the_slopes_of_a_very_wide_row_are_right():
    x = np.linspace(-1.0, 1.0, 3000)  # its offsets along all axes at once would be nine million numbers
    slopes = taylor.gradient(lambda points: np.sin(points).sum(axis=-1), x)
    np.testing.assert_allclose(slopes, np.cos(x), atol=1e-6)


def test_product_with_a_zero_direction_is_zero(x):
    assert np.all(taylor.hvp(wave, x, np.zeros_like(x), wave_gradient) == 0)
    assert np.all(taylor.hvp(wave, x, np.zeros_like(x)) == 0)


@given(st.lists(st.floats(-2, 2), min_size=6, max_size=6))
def test_second_order_is_exact_for_a_parabola(numbers):
    x, delta = np.array(numbers[:3]), np.array(numbers[3:])

    def parabola(x):
        return 0.5 * (x @ A * x).sum(axis=-1)

    left = taylor.remainder(parabola, x, delta, 2, lambda x: x @ A, lambda x, v: v @ A)
    assert abs(left) < 1e-12


@pytest.mark.parametrize(("order", "factor"), [(1, 4), (2, 8)])
def test_remainder_shrinks_with_its_order(x, order, factor):
    delta = np.full(3, 1e-2)
    whole = taylor.remainder(wave, x, delta, order, wave_gradient, wave_hvp)
    half = taylor.remainder(wave, x, delta / 2, order, wave_gradient, wave_hvp)
    np.testing.assert_allclose(whole / half, factor, rtol=0.2)


def test_a_kink_shows_as_a_remainder_that_does_not_shrink():
    kink = taylor.remainder(lambda x: np.abs(x[..., 0]), np.array([-1e-3]), np.array([[0.2], [0.1]]), 2)
    assert kink[0] / kink[1] < 2.1


def test_order_is_one_or_two():
    with pytest.raises(InputError, match="order must be 1 or 2"):
        taylor.expand(wave, np.zeros(3), np.ones(3), order=3)
