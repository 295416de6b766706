"""How sharply a field may change around a point: gradient norm, Lipschitz constant, largest curvature."""

from __future__ import annotations

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.physics.fields import Field, Gradient, Hvp
from counterpoise.types import Array, Mask


def least_norm_subgradient(
    smooth: Array,
    box: Array | float = 0.0,
    segment: Array | None = None,
    low: Array | float = -1.0,
    high: Array | float = 1.0,
    ball: Array | float = 0.0,
) -> Array:
    """The shortest of all subgradients ``(..., d)`` at a kink; zero exactly where the kink is a minimum.

    The subgradients are ``smooth + b + t * segment + r``: ``|b| <= box`` per feature (lam w_i where a weighted L1
    term has Delta_i = 0, else 0), ``low <= t <= high`` along ``segment`` (mu grad f at f = c; [-1, 1] for ``|f -
    c|``, [-1, 0] for the one-sided form), ``|r| <= ball`` (1 where an L2 distance is 0). ``box`` ``(..., d)``;
    ``low``, ``high``, ``ball`` ``(...)``.

    >>> least_norm_subgradient(np.array([0.5, 3.0]), box=np.array([1.0, 1.0]))
    array([0., 2.])
    >>> least_norm_subgradient(np.array([0.5, 3.0]), segment=np.array([1.0, 0.0]))
    array([0., 3.])
    """
    v = _shrink(smooth, box) if segment is None else _shrink_along_segment(smooth, box, segment, low, high)
    norm = np.linalg.norm(v, axis=-1, keepdims=True)
    kept = np.maximum(norm - np.asarray(ball)[..., None], 0.0)
    return np.asarray(v * np.divide(kept, norm, out=np.zeros_like(norm), where=norm > 0))


def gradient_norm(gradient: Array) -> Array:
    """Euclidean norm ``(...)`` of gradients ``(..., d)``, the slope of Eq. (24); what Algorithm 1 compares with C1.

    >>> gradient_norm(np.array([3.0, 4.0]))
    array(5.)
    """
    return np.asarray(np.linalg.norm(gradient, axis=-1))


def lipschitz_constant(field: Field, x: Array, radius: float, draws: Array, gradient: Gradient | None = None) -> Array:
    """Eq. (25): the steepest slope found within ``radius`` of ``x`` ``(..., d)``, a lower bound of the local L.

    ``draws`` ``(m, d)`` or ``(..., m, d)``, standard normal, become points of the ball, spread evenly in depth.
    Without a gradient the slopes are those between the points and the centre, and between one point and the next.

    >>> draws = np.random.default_rng(0).standard_normal((50, 2))
    >>> slope = lambda x: np.full(x.shape, [3.0, 0.0])
    >>> lipschitz_constant(lambda x: 3 * x[..., 0], np.zeros(2), 1.0, draws, gradient=slope)
    array(3.)
    """
    m, d = draws.shape[-2:]
    depth = ((np.arange(m) + 0.5) / m) ** (1 / d)  # as a uniform law in the ball has it
    offsets = radius * depth[:, None] * draws / np.linalg.norm(draws, axis=-1, keepdims=True)
    at = x[..., None, :] + offsets
    if gradient is not None:
        return np.asarray(gradient_norm(gradient(at)).max(axis=-1))
    values = field(at)
    out = np.abs(values - field(x)[..., None]) / np.linalg.norm(offsets, axis=-1)
    gaps = np.linalg.norm(np.diff(offsets, axis=-2), axis=-1)
    between = np.divide(np.abs(np.diff(values, axis=-1)), gaps, out=np.zeros(values[..., 1:].shape), where=gaps > 0)
    return np.asarray(np.maximum(out.max(axis=-1), between.max(axis=-1, initial=0.0)))


def largest_eigenvalue(hvp: Hvp, x: Array, iterations: int = 30, start: Array | None = None) -> Array:
    """The largest eigenvalue ``(...)``, sign included, of the Hessian of Eq. (26) at ``x`` ``(..., d)``, by Lanczos.

    One Hessian-vector product an iteration, for all points at once; approached from below, exact after d iterations.
    ``start`` ``(d,)`` or ``(..., d)`` must not be orthogonal to the eigenvector; the default is one fixed draw, the
    same for every point.

    >>> A = np.diag([-9.0, 1.0, 2.0])
    >>> largest_eigenvalue(lambda x, v: v @ A, np.zeros((4, 3))).round(9)
    array([2., 2., 2., 2.])
    """
    d = x.shape[-1]
    q = np.random.default_rng(d).standard_normal(d) if start is None else np.asarray(start, dtype=np.float64)
    q = np.broadcast_to(q / np.linalg.norm(q, axis=-1, keepdims=True), x.shape)
    basis: list[Array] = []
    alphas: list[Array] = []
    betas: list[Array] = []
    for _ in range(min(iterations, d)):
        basis.append(q)
        w = hvp(x, q)
        alphas.append((q * w).sum(axis=-1))
        size = np.linalg.norm(w, axis=-1)
        for _ in range(2):  # twice is enough to keep the basis orthogonal in floating point
            for b in basis:
                w = w - (b * w).sum(axis=-1, keepdims=True) * b
        beta = np.linalg.norm(w, axis=-1)
        # An exhausted Krylov space: from here on the row adds nothing, neither to its basis nor to its eigenvalues.
        spent = beta <= 1e-12 * np.maximum(size, np.finfo(np.float64).tiny)
        betas.append(np.where(spent, 0.0, beta))
        q = np.where(spent[..., None], 0.0, w / np.where(spent, 1.0, beta)[..., None])
    return _largest_tridiagonal_eigenvalue(np.stack(alphas, axis=-1), np.stack(betas, axis=-1)[..., :-1])


def is_smooth_enough(largest: Array, c2: Array | float) -> Mask:
    """Eq. (28): whether the largest curvature ``(...)`` stays within the bound; what Algorithm 1 compares with C2.

    >>> is_smooth_enough(np.array([0.5, 2.0]), 1.0)
    array([ True, False])
    """
    return np.asarray(largest <= c2)


def _largest_tridiagonal_eigenvalue(alphas: Array, betas: Array) -> Array:
    size = alphas.shape[-1]
    # A row that stopped early has zeros left over; its first Rayleigh quotient, never above its largest, fills them.
    stopped = np.concatenate(
        [np.zeros((*betas.shape[:-1], 1), dtype=bool), np.cumsum(betas == 0, axis=-1) > 0], axis=-1
    )
    matrix = np.where(stopped, alphas[..., :1], alphas)[..., None] * np.eye(size)
    matrix[..., np.arange(1, size), np.arange(size - 1)] = betas
    matrix[..., np.arange(size - 1), np.arange(1, size)] = betas
    return np.asarray(np.linalg.eigvalsh(matrix)[..., -1])


def _shrink(v: Array, box: Array | float) -> Array:
    return np.asarray(np.sign(v) * np.maximum(np.abs(v) - box, 0.0))


def _shrink_along_segment(
    smooth: Array, box: Array | float, segment: Array, low: Array | float, high: Array | float
) -> Array:
    """Bisection on the derivative of a convex function of t: the squared norm of the shrunk gradient."""
    left = np.broadcast_to(np.asarray(low, dtype=np.float64), smooth.shape[:-1])
    right = np.broadcast_to(np.asarray(high, dtype=np.float64), smooth.shape[:-1])

    def rises(t: Array) -> Mask:
        return np.asarray((segment * _shrink(smooth + t[..., None] * segment, box)).sum(axis=-1) > 0)

    at_left, at_right = rises(left), ~rises(right)
    left, right = bisect(left, right, rises, 80)
    t = np.where(at_left, low, np.where(at_right, high, 0.5 * (left + right)))
    return _shrink(smooth + t[..., None] * segment, box)
