"""Bisection of many intervals at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterpoise.types import Array, Mask


def bisect(
    near: Array,
    far: Array,
    is_on_far_side: Callable[[Array], Mask | None],
    rounds: int,
    middle_of: Callable[[Array, Array], Array] = lambda near, far: (near + far) / 2,
) -> tuple[Array, Array]:
    """The ends of each interval after ``rounds`` halvings; the place where the mark turns stays between them.

    ``near`` and ``far`` have one shape; ``is_on_far_side`` marks middles that are as the far end is, in a shape that
    broadcasts to theirs, and ends the halving where it gives None.

    >>> near, far = bisect(np.zeros(2), np.ones(2), lambda x: x >= np.array([0.25, 0.7]), 20)
    >>> far.round(3).tolist()
    [0.25, 0.7]
    """
    for _ in range(rounds):
        middle = middle_of(near, far)
        is_far = is_on_far_side(middle)
        if is_far is None:
            break
        near, far = np.where(is_far, near, middle), np.where(is_far, middle, far)
    return near, far
