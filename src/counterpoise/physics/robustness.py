"""What noise and an adversary can do to an answer: the worst case, its bounds, and the share of noisy copies kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from counterpoise.errors import InputError
from counterpoise.physics import cloud, taylor
from counterpoise.physics.fields import Field, Gradient
from counterpoise.types import Array, Mask


class WorstCase(NamedTuple):
    """The worst perturbation found, ``(..., d)``, and by how much it raises the field, ``(...)``, never below 0."""

    eta: Array
    rise: Array


def worst_case(
    field: Field,
    x: Array,
    xi: Array | float,
    starts: Array,
    gradient: Gradient | None = None,
    noise: Array | None = None,
    steps: int = 30,
) -> WorstCase:
    """Eq. (29): ``argmax F(x + eta) - F(x)`` over ``|eta| <= xi``, by projected ascent from several directions at once.

    ``starts`` ``(s, d)``, standard normal, are directions to start in: at a minimum the gradient shows none. Without
    a gradient slopes come from differences, or from the cloud where ``noise`` ``(m, d)`` is given (width xi / 10; for
    trees). What is found is a lower bound of the worst case, as good as its starts.

    >>> starts = np.random.default_rng(0).standard_normal((4, 2))
    >>> found = worst_case(lambda x: (x**2).sum(axis=-1), np.array([1.0, 0.0]), 0.5, starts)
    >>> np.abs(found.eta.round(3)), float(found.rise.round(3))
    (array([0.5, 0. ]), 1.25)
    """
    xi = np.broadcast_to(np.asarray(xi, dtype=np.float64), x.shape[:-1])[..., None, None]

    def slope(points: Array) -> Array:
        if gradient is not None:
            return gradient(points)
        if noise is None:
            return taylor.gradient(field, points, xi)
        width = np.maximum(xi / 10, np.finfo(np.float64).tiny)
        values = field(points[..., None, :] + width[..., None] * noise)
        return np.asarray(cloud.mean_gradient(values, noise, 1.0) / width)

    centre = x[..., None, :]
    eta = xi * _unit_vectors(np.broadcast_to(starts, (*x.shape[:-1], *starts.shape[-2:])))
    at_centre = xi * _unit_vectors(slope(centre))  # where the linear model is worst, zero at a stationary point
    eta = np.concatenate([at_centre, eta], axis=-2)
    best_eta, best = eta, field(centre + eta)
    for t in range(steps):
        size = xi * (1 - t / steps)
        eta = eta + size * _unit_vectors(slope(centre + eta))
        length = np.linalg.norm(eta, axis=-1, keepdims=True)
        eta = eta * np.minimum(1.0, np.divide(xi, length, out=np.ones_like(length), where=length > 0))
        value = field(centre + eta)
        best_eta, best = np.where((value > best)[..., None], eta, best_eta), np.maximum(value, best)
    which = best.argmax(axis=-1)[..., None]
    rise = np.take_along_axis(best, which, axis=-1)[..., 0] - field(x)
    found = np.take_along_axis(best_eta, which[..., None], axis=-2)[..., 0, :]
    return WorstCase(np.where((rise > 0)[..., None], found, 0.0), np.maximum(rise, 0.0))


def worst_case_bound(norm: Array, largest: Array, xi: Array | float) -> Array:
    """Eq. (30): ``max |grad F| r + lam_max r**2 / 2`` over ``0 <= r <= xi``, all ``(...)``.

    The paper writes epsilon for the radius, which is xi. It bounds the second-order model of F, not F: what lies
    beyond is `counterpoise.physics.taylor.remainder`. Where the curvature is so negative that the model falls again
    inside the ball, its top counts.

    >>> worst_case_bound(np.array([1.0, 1.0]), np.array([2.0, -4.0]), 0.5)
    array([0.75 , 0.125])
    """
    top = np.divide(
        norm, -largest, out=np.full(np.broadcast_shapes(norm.shape, largest.shape), np.inf), where=largest < 0
    )
    r = np.minimum(xi, top)
    return np.asarray(norm * r + 0.5 * largest * r**2)


def is_robust(norm: Array, largest: Array, xi: Array | float, delta: Array | float) -> Mask:
    """Corrected Eq. (31): ``|grad F| xi + max(0, lam_max) xi**2 / 2 <= delta``, a rise that can be tolerated.

    Unlike the printed condition it can hold at a minimum, and it grows harder to meet as the slope grows.

    >>> is_robust(np.array([0.0, 3.0]), np.array([1.0, 1.0]), 0.5, delta=0.2)
    array([ True, False])
    """
    return np.asarray(norm * xi + 0.5 * np.maximum(0.0, largest) * np.asarray(xi) ** 2 <= delta)


def is_robust_as_printed(norm: Array, largest: Array, xi: Array | float) -> Mask:
    """Eq. (31) to the letter: ``lam_max <= 2 |grad F| / xi``; fails at every strict minimum, where the gradient is 0.

    >>> is_robust_as_printed(np.array([0.0, 3.0]), np.array([1.0, 1.0]), 0.5)
    array([False,  True])
    """
    return np.asarray(largest <= 2 * norm / xi)


def share_interval(kept: Array, total: Array | int, confidence: float = 0.95) -> tuple[Array, Array]:
    """Clopper-Pearson interval for the share of noisy copies that keep the target, from counts ``(...)``.

    >>> low, high = share_interval(np.array(90.0), 100)
    >>> float(low.round(4)), float(high.round(4))
    (0.8238, 0.951)
    """
    tail = (1 - _check_confidence(confidence)) / 2
    return _lower_share_bound(kept, total, tail), 1 - _lower_share_bound(total - kept, total, tail)


def _unit_vectors(v: Array) -> Array:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.asarray(np.divide(v, length, out=np.zeros_like(v), where=length > 0))


def _lower_share_bound(kept: Array, total: Array | int, tail: float) -> Array:
    kept = np.asarray(kept, dtype=np.float64)
    found = betaincinv(np.maximum(kept, 1), total - np.maximum(kept, 1) + 1, tail)
    return np.where(kept > 0, found, 0.0)


def _check_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError("a confidence must lie between 0 and 1", f"it is {confidence}", "give a share such as 0.95")
    return confidence
