"""Local expansion of a scalar field around a point: value, gradient, curvature, and what the expansion leaves out.

Derivatives are exact where they are given, central differences where they are not. A field with steps, such as a
forest, has no useful differences: `counterpoise.physics.cloud` holds the slopes that a cloud of noise sees instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from counterpoise.errors import InputError
from counterpoise.physics.fields import Field, Gradient, Hvp
from counterpoise.types import Array

Order = Literal[1, 2]

FIRST_DIFFERENCE_STEP = float(np.finfo(np.float64).eps ** (1 / 3))
"""Relative step of a first central difference: balances rounding against the cubic term."""

SECOND_DIFFERENCE_STEP = float(np.finfo(np.float64).eps ** (1 / 4))
"""Relative step of a second difference of values, whose rounding error is divided by the square of the step."""


def gradient(field: Field, x: Array, scale: Array | float = 1.0) -> Array:
    """Gradient ``(..., d)`` of a field at ``x`` ``(..., d)`` by central differences, 2d values a point.

    ``scale``, a scalar or ``(d,)``, is the unit of each feature: here and below, differences are taken over a small
    share of it, or of x where that is larger.

    >>> gradient(lambda x: x[..., 0] ** 2 * x[..., 1], np.array([3.0, 2.0])).round(6)
    array([12.,  9.])
    """
    h = FIRST_DIFFERENCE_STEP * _difference_units(x, scale)
    at = x[..., None, :]
    ends = [field(at + offsets) - field(at - offsets) for _, offsets in _axis_offsets(h)]
    return np.asarray(np.concatenate(ends, axis=-1) / (2 * h))


def hessian_diagonal(field: Field, x: Array, gradient: Gradient | None = None, scale: Array | float = 1.0) -> Array:
    """Diagonal of the Hessian ``(..., d)``, by differences of the gradient where it is given, else of the values.

    >>> hessian_diagonal(lambda x: x[..., 0] ** 2 * x[..., 1], np.array([3.0, 2.0])).round(4)
    array([4., 0.])
    """
    at = x[..., None, :]
    h = (SECOND_DIFFERENCE_STEP if gradient is None else FIRST_DIFFERENCE_STEP) * _difference_units(x, scale)
    found: list[Array] = []
    for axes, offsets in _axis_offsets(h):
        if gradient is None:
            found.append((field(at + offsets) - 2 * field(x)[..., None] + field(at - offsets)) / h[..., axes] ** 2)
        else:
            change = (gradient(at + offsets) - gradient(at - offsets))[..., axes]
            found.append(np.diagonal(change, axis1=-2, axis2=-1) / (2 * h[..., axes]))
    return np.concatenate(found, axis=-1)


def hvp(field: Field, x: Array, v: Array, gradient: Gradient | None = None, scale: Array | float = 1.0) -> Array:
    """Hessian-vector product ``(..., d)``: two gradients a point where they are given, else 4d values.

    >>> hvp(lambda x: x[..., 0] ** 2 * x[..., 1], np.array([3.0, 2.0]), np.array([0.0, 1.0])).round(4)
    array([6., 0.])
    """
    units = _difference_units(x, scale)
    longest = np.abs(v / units).max(axis=-1, keepdims=True)  # no feature moves by more than a step of its own
    along = v / np.where(longest > 0, longest, 1.0)
    if gradient is not None:
        return np.asarray(
            (gradient(x + FIRST_DIFFERENCE_STEP * along) - gradient(x - FIRST_DIFFERENCE_STEP * along))
            / (2 * FIRST_DIFFERENCE_STEP)
            * longest
        )
    ahead, behind = (
        (x + SECOND_DIFFERENCE_STEP * along)[..., None, :],
        (x - SECOND_DIFFERENCE_STEP * along)[..., None, :],
    )
    twists = [
        field(ahead + offsets) - field(ahead - offsets) - field(behind + offsets) + field(behind - offsets)
        for _, offsets in _axis_offsets(SECOND_DIFFERENCE_STEP * units)
    ]
    return np.asarray(np.concatenate(twists, axis=-1) / (4 * SECOND_DIFFERENCE_STEP**2 * units) * longest)


def hessian(
    field: Field, x: Array, gradient: Gradient | None = None, hvp: Hvp | None = None, scale: Array | float = 1.0
) -> Array:
    """Eq. (26): the full Hessian ``(..., d, d)``, symmetrised; for small d, since it holds d squared numbers a point.

    Columns are exact with ``hvp``; otherwise differences of ``gradient``, or of the values.

    >>> hessian(lambda x: x[..., 0] ** 2 * x[..., 1], np.array([3.0, 2.0])).round(4)
    array([[4., 6.],
           [6., 0.]])
    """
    d = x.shape[-1]
    at = np.broadcast_to(x[..., None, :], (*x.shape[:-1], d, d))
    axes = np.broadcast_to(np.eye(d), at.shape)
    columns = hvp(at, axes) if hvp is not None else _hvp(field, at, axes, gradient, scale)
    return np.asarray((columns + np.swapaxes(columns, -1, -2)) / 2)


def expand(
    field: Field,
    x: Array,
    delta: Array,
    order: Order = 2,
    gradient: Gradient | None = None,
    hvp: Hvp | None = None,
    scale: Array | float = 1.0,
) -> Array:
    """The field at ``x + delta`` as its Taylor expansion around ``x`` has it, ``(...)``.

    Second order is Eq. (2) for a score, and with a free energy for field Eq. (10) and Eq. (27); first order is
    Eq. (16) and Eq. (24). Shapes of ``x`` and ``delta``: ``(..., d)``, broadcast against each other.

    >>> def field(x): return np.exp(x[..., 0])
    >>> float(expand(field, np.zeros(1), np.array([0.5]), order=2).round(4))
    1.625
    """
    if order not in (1, 2):
        raise InputError("order must be 1 or 2", f"it is {order!r}", "choose one of the two")
    slope = gradient(x) if gradient is not None else _gradient(field, x, scale)
    value = field(x) + (slope * delta).sum(axis=-1)
    if order == 1:
        return np.asarray(value)
    x, delta = np.broadcast_arrays(x, delta)
    bent = hvp(x, delta) if hvp is not None else _hvp(field, x, delta, gradient, scale)
    return np.asarray(value + 0.5 * (delta * bent).sum(axis=-1))


def remainder(
    field: Field,
    x: Array,
    delta: Array,
    order: Order = 2,
    gradient: Gradient | None = None,
    hvp: Hvp | None = None,
    scale: Array | float = 1.0,
) -> Array:
    """The Taylor error ``(...)``: the field at ``x + delta`` less its expansion of Eq. (2) or Eq. (16).

    Of order ``|delta|**(order + 1)`` for a smooth field, so halving ``delta`` divides it by 4 or 8; a kink or a step
    within reach shows as a remainder that does not shrink like that.

    >>> def field(x): return np.exp(x[..., 0])
    >>> remainder(field, np.zeros(1), np.array([[0.4], [0.2]]), order=1).round(4)
    array([0.0918, 0.0214])
    """
    return np.asarray(field(x + delta) - expand(field, x, delta, order, gradient, hvp, scale))


def _difference_units(x: Array, scale: Array | float) -> Array:
    """The larger of scale and x; a scale of 0, as of a feature without noise, is taken as 1."""
    return np.asarray(np.maximum(np.where(np.asarray(scale) > 0, scale, 1.0), np.abs(x)))


def _axis_offsets(h: Array, max_cells: int = 4_000_000) -> Iterator[tuple[slice, Array]]:
    """Offsets ``(..., b, d)`` of length ``h`` along b axes at a time, in arrays of ``max_cells`` numbers.

    So a wide row does not need d squared numbers at once.
    """
    d = h.shape[-1]
    block = max(1, max_cells // max(1, h.size))
    for start in range(0, d, block):
        axes = slice(start, min(start + block, d))
        yield axes, h[..., None, :] * np.eye(axes.stop - start, d, start)


# `gradient` and `hvp` are also the names of arguments, which hide the functions inside those that take them.
_gradient = gradient
_hvp = hvp
