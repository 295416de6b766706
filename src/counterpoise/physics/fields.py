"""What the physics works on: callables over arrays whose last axis is the row, batched over every axis before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterpoise.types import Array

Field = Callable[[Array], Array]
"""An energy, a score or a free energy: points ``(..., d)`` to values ``(...)``, each point on its own."""

Gradient = Callable[[Array], Array]
"""Points ``(..., d)`` to gradients ``(..., d)``."""

Hvp = Callable[[Array, Array], Array]
"""Points ``(..., d)`` and directions ``(..., d)`` to Hessian-vector products ``(..., d)``."""


def append_axes(quantity: Array | float, ndim: int) -> Array:
    """A per-row quantity ``()``, ``(n,)`` or ``(n, k)``, with axes appended until it has ``ndim``; scalars stay so.

    A temperature of shape ``(n,)`` belongs to rows, so against energies ``(n, k)`` it must stand on the first axis,
    where plain broadcasting would put it on the last.

    >>> append_axes(np.array([1.0, 2.0]), 2)
    array([[1.],
           [2.]])
    """
    array = np.asarray(quantity, dtype=np.float64)
    return array.reshape(array.shape + (1,) * (ndim - array.ndim)) if array.ndim else array
