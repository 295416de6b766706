"""The Taylor step in L2 under relations: the nearest point of the tangent boundary where they hold to first order.

``min ||u||`` subject to ``h . u >= need`` in the box, and ``a . u <= b`` (or ``=``) for each relation expanded around
the point. Hildreth's method (1957): each constraint in turn gets the multiplier that just meets it, given those of the
others; relations that share no column take their turn together.
"""

from __future__ import annotations

import numpy as np

from counterpoise.space.facets import Facets
from counterpoise.types import Array

ROUNDS = 10  # with which answers are as near as with 100, docs/choices.md


def heeded(u: Array, h: Array, need: Array, low: Array, high: Array, direction: Array, faces: list[Facets]) -> Array:
    """Steps ``u`` ``(n, k, d)``, the nearest but for relations, with those that break one taken anew.

    ``direction`` ``(n, k, d)`` is the way to the boundary, ``h`` but for what a penalty takes off it.
    """
    n, k, d = u.shape
    flat = u.reshape(n * k, d)
    wrong = np.zeros(n * k, dtype=bool)
    for face in faces:
        wrong |= face.broken(flat)
    at = np.flatnonzero(wrong)
    if not len(at):
        return u

    def some(array: Array) -> Array:
        return np.broadcast_to(array, (n, k, *array.shape[2:])).reshape(n * k, *array.shape[2:])[at]

    out = flat.copy()
    broken = [face.at(at) for face in faces]
    out[at] = nearest(some(h), some(need), some(low), some(high), some(direction), broken)
    return out.reshape(u.shape)


def nearest(h: Array, need: Array, low: Array, high: Array, direction: Array, faces: list[Facets]) -> Array:
    """The nearest ``u`` ``(p, d)`` to 0 in the box that reaches ``need`` ``(p,)`` and keeps to the facets.

    >>> zero, far = np.zeros((1, 1)), np.full((1, 2), 9.0)
    >>> face = Facets(np.array([[0, 1]]), np.array([[[1.0, -1.0]]]), zero, zero, np.array([False]))
    >>> h = np.array([[2.0, 0.0]])  # the first is to grow, and may not exceed the second
    >>> nearest(h, np.array([2.0]), -far, far, h, [face]).round(2)
    array([[1., 1.]])
    """
    v, t = np.zeros(h.shape), np.zeros(need.shape)  # u before the box cuts it, and the multiplier of the boundary
    inverse, weights = [], []
    for face in faces:
        size = np.einsum("pmc,pmc->pm", face.slope, face.slope)
        inverse.append(np.divide(1.0, size, out=np.zeros_like(size), where=size > 0))
        weights.append(np.zeros_like(size))
    for number in range(ROUNDS):
        inner = (v > low) & (v < high) if number else np.ones(v.shape, dtype=bool)
        u = np.minimum(np.maximum(v, low), high)
        rate = np.einsum("pd,pd->p", np.where(inner, direction, 0.0), h)
        lacking = need - np.einsum("pd,pd->p", h, u)
        after = np.maximum(t + np.divide(lacking, rate, out=np.zeros_like(rate), where=rate > 0), 0.0)
        v += (after - t)[:, None] * direction
        t = after
        if number == ROUNDS - 1:
            break
        for place, face in enumerate(faces):
            cells = v[:, face.columns]
            u = np.minimum(np.maximum(cells, low[:, face.columns]), high[:, face.columns])
            beyond = np.einsum("pmc,pmc->pm", face.slope, u) - face.bound
            weight = weights[place] + beyond * inverse[place]
            weight = np.where(face.equal, weight, np.maximum(weight, 0.0))
            v[:, face.columns] = cells - (weight - weights[place])[..., None] * face.slope
            weights[place] = weight
    return np.minimum(np.maximum(v, low), high)
