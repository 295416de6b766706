"""A cloud of noise around a point, and the derivatives that its Boltzmann weights alone give.

A cloud is ``x + sigma * noise`` with standard normal ``noise`` ``(..., m, d)``, drawn by the caller: the same noise
at two points is common random numbers, and its shape says who shares it. ``sigma``, a scalar or ``(d,)``, is in the
units of the feature; a feature with sigma 0 has no noise, and its derivative is given as 0. All that is used of a
field are its values on the cloud, so everything here holds for a forest or any callable.
"""

from __future__ import annotations

import numpy as np

from counterpoise.errors import InputError
from counterpoise.physics.fields import append_axes
from counterpoise.types import Array


def draw_antithetic(rng: np.random.Generator, m: int, d: int) -> Array:
    """Standard normal noise ``(m, d)`` in pairs ``z, -z`` next to each other, so its mean is exactly 0; m must be even.

    >>> noise = draw_antithetic(np.random.default_rng(0), 4, 3)
    >>> noise.shape, bool(np.all(noise[0::2] == -noise[1::2]))
    ((4, 3), True)
    """
    if m < 2 or m % 2:
        raise InputError("noise comes in pairs", f"{m} samples were asked for", "ask for an even number, at least 2")
    half = rng.standard_normal((m // 2, d))
    return np.stack([half, -half], axis=1).reshape(m, d)


def whiten(noise: Array) -> Array:
    """The noise ``(..., m, d)`` turned linearly until its second moment is exactly the identity; needs rank d.

    Removes the sampling error of a quadratic field from every average over the cloud, and makes `hessian` exactly
    zero where the field is flat. Antithetic pairs stay pairs.

    >>> noise = whiten(draw_antithetic(np.random.default_rng(0), 8, 2))
    >>> bool(np.allclose(noise.T @ noise / 8, np.eye(2)))
    True
    """
    m, d = noise.shape[-2:]
    values, vectors = np.linalg.eigh(np.swapaxes(noise, -1, -2) @ noise / m)
    if np.any(values[..., 0] <= values[..., -1] * 1e-12):
        raise InputError(
            f"whitened noise must span its {d} features", f"{m} samples do not", f"draw more than {2 * d} of them"
        )
    return np.asarray(noise @ (vectors / np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def points(x: Array, sigma: Array | float, noise: Array) -> Array:
    """The cloud ``(..., m, d)`` around ``x`` ``(..., d)``.

    >>> points(np.array([1.0, 1.0]), np.array([0.0, 2.0]), np.array([[3.0, 0.5]]))
    array([[1., 2.]])
    """
    return np.asarray(x[..., None, :] + sigma * noise)


def weighted_mean(weights: Array, values: Array) -> Array:
    """Weighted mean over the cloud: ``(..., m)`` and ``(..., m, d)`` to ``(..., d)``.

    >>> weighted_mean(np.array([0.25, 0.75]), np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([3., 1.])
    """
    return np.asarray((weights[..., None, :] @ values)[..., 0, :])


def mean_gradient(values: Array, noise: Array, sigma: Array | float) -> Array:
    """Gradient ``(..., d)`` of the cloud's mean of a field, from its values ``(..., m)`` alone (Stein's identity).

    With whitened noise this is the slope of the least-squares plane through the cloud.

    >>> noise = whiten(draw_antithetic(np.random.default_rng(0), 8, 2))
    >>> mean_gradient(0.1 * noise @ [3.0, 2.0], noise, 0.1).round(9)
    array([3., 2.])
    """
    m = noise.shape[-2]
    centred = values - values.mean(axis=-1, keepdims=True)
    return _divide_by_sigma(weighted_mean(centred / m, noise), sigma)


def mean_hessian(values: Array, noise: Array, sigma: Array | float) -> Array:
    """Hessian ``(..., d, d)`` of the cloud's mean of a field, from its values ``(..., m)`` alone (Price's identity).

    >>> noise = draw_antithetic(np.random.default_rng(0), 20_000, 2)
    >>> np.abs(mean_hessian((0.1 * noise[:, 0]) ** 2, noise, 0.1).round(1))
    array([[2., 0.],
           [0., 0.]])
    """
    m = noise.shape[-2]
    centred = (values - values.mean(axis=-1, keepdims=True)) / m
    moment = np.swapaxes(noise, -1, -2) @ (centred[..., None] * noise)  # sum of centred values is 0: no identity left
    return _divide_by_sigma_pairs(moment, sigma)


def gradient(weights: Array, noise: Array, sigma: Array | float, T: Array | float) -> Array:
    """Gradient of the free energy from Boltzmann weights alone: ``-(T / sigma**2) sum (w - 1/m) eta``.

    ``weights`` ``(..., m)``, ``noise`` ``(..., m, d)`` as drawn, before any reflection or rounding; ``(..., d)``.

    >>> noise = np.array([[1.0], [-1.0]])
    >>> gradient(np.array([0.75, 0.25]), noise, 0.5, T=1.0)
    array([-1.])
    """
    pull = weighted_mean(weights - 1 / noise.shape[-2], noise)
    return np.asarray(-append_axes(T, pull.ndim) * _divide_by_sigma(pull, sigma))


def hessian(weights: Array, noise: Array, sigma: Array | float, T: Array | float) -> Array:
    """Eq. (26) from the cloud: ``H_F = (T / sigma**2) (I - Cov_p(eta) / sigma**2)``, ``(..., d, d)``.

    Its largest eigenvalue is at most ``T / sigma**2``, whatever the field. With m samples of d features the covariance
    has an error of about ``sqrt(d / m)``, which whitened noise removes where the field is flat.

    >>> noise = np.array([[1.0], [-1.0]])
    >>> hessian(np.array([0.75, 0.25]), noise, 0.5, T=1.0)
    array([[1.]])
    """
    centre = weighted_mean(weights, noise)
    spread = noise - centre[..., None, :]
    covariance = np.swapaxes(spread, -1, -2) @ (weights[..., None] * spread)
    lost = np.eye(noise.shape[-1]) - covariance
    return np.asarray(append_axes(T, lost.ndim) * _divide_by_sigma_pairs(lost, sigma))


def hvp(weights: Array, noise: Array, sigma: Array | float, T: Array | float, v: Array) -> Array:
    """`hessian` times ``v`` ``(..., d)`` in O(md), for rows too wide for a full matrix.

    >>> noise = np.array([[1.0], [-1.0]])
    >>> hvp(np.array([0.75, 0.25]), noise, 0.5, 1.0, np.array([2.0]))
    array([2.])
    """
    v = _divide_by_sigma(v, sigma)
    spread = noise - weighted_mean(weights, noise)[..., None, :]
    along = (spread @ v[..., None])[..., 0]
    lost = v - weighted_mean(weights * along, spread)
    return np.asarray(append_axes(T, lost.ndim) * _divide_by_sigma(lost, sigma))


def _invert_sigma(sigma: Array | float, d: int) -> Array:
    sigma = np.asarray(sigma, dtype=np.float64)
    sigma = sigma if sigma.ndim else np.full(d, sigma)
    return np.divide(1.0, sigma, out=np.zeros_like(sigma), where=sigma > 0)


def _divide_by_sigma(values: Array, sigma: Array | float) -> Array:
    return np.asarray(values * _invert_sigma(sigma, values.shape[-1]))


def _divide_by_sigma_pairs(values: Array, sigma: Array | float) -> Array:
    inverse = _invert_sigma(sigma, values.shape[-1])
    return np.asarray(values * inverse[..., :, None] * inverse[..., None, :])
