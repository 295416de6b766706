"""Which features a Taylor step changes, where every change costs something beside its size.

The step solves ``min ||u|| + sum_j p_j [u_j != 0]`` subject to ``h . u >= need`` inside the box. For a given set of
features the nearest point is along their slopes, at ``need / ||h_S||``; of all sets of k features that cost the same
the k steepest are the best. So the k that costs least is read off a running sum. Where the box stops a feature short,
it is held at the edge, and the rest are chosen again.
"""

from __future__ import annotations

import numpy as np

from counterpoise.types import Array, Mask


def choose_support(
    h: Array, need: Array, low: Array, high: Array, prices: Array, length_weight: float = 1.0, rounds: int = 4
) -> Mask:
    """The features ``(n, k, d)`` that a step to the tangent boundary should change.

    ``h`` ``(n, k, d)`` are slopes and ``low``, ``high`` the box, in units of distance; ``need`` ``(n, k)`` what is
    missing at the row; ``prices`` ``(n, k, d)`` what each change costs. All features where they do not reach.

    >>> h, box = np.array([[[3.0, 2.0, 0.5]]]), np.full((1, 1, 3), 9.0)
    >>> choose_support(h, np.array([[3.0]]), -box, box, np.full((1, 1, 3), 0.1))[0, 0]
    array([ True,  True, False])
    """
    held = np.minimum(np.maximum(np.zeros_like(h), low), high)  # what the box moves by itself
    is_held = (held != 0) | (h == 0)
    edge = np.where(h > 0, high, low)
    chosen = is_held & (h != 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worth = np.where(h != 0, h * h / prices, 0.0)
    for _ in range(rounds):
        lacking = np.maximum(need - np.vecdot(h, held), 0.0)
        square = np.vecdot(held, held)
        order = np.argsort(np.where(is_held, 1.0, -worth), axis=-1, kind="stable")
        steep = np.take_along_axis(np.where(is_held, 0.0, h * h), order, axis=-1).cumsum(axis=-1)
        paid = np.take_along_axis(np.where(is_held, 0.0, prices), order, axis=-1).cumsum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            length = np.sqrt(square[..., None] + np.square(lacking[..., None]) / steep)
        cost = np.where(steep > 0, length_weight * length + paid, np.inf)
        most = np.where(lacking > 0, cost.argmin(axis=-1), -1)[..., None]
        rank = np.argsort(order, axis=-1, kind="stable")
        mine = (rank <= most) & ~is_held
        total = np.take_along_axis(steep, np.maximum(most, 0), axis=-1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = np.where(mine & (total > 0), lacking[..., None] / total * h, 0.0)
        past = mine & (np.abs(u) > np.abs(edge))
        chosen = (is_held & (h != 0)) | mine
        if not past.any():
            break
        held, is_held = np.where(past, edge, held), is_held | past
    with np.errstate(invalid="ignore"):
        reach = np.where(chosen, h * edge, 0.0).sum(axis=-1)
    return np.where((reach >= need)[..., None], chosen, True)
