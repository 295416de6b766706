"""Taylor steps under relations: the nearest point of the tangent boundary where they hold to first order.

``min ||u||`` subject to ``h . u >= need`` in the box, and ``a . u <= b`` (or ``=``) for each relation expanded around
the point. In L2 by Hildreth's method (1957): each constraint in turn gets the multiplier that just meets it, given
those of the others; relations that share no column take their turn together. In L1 by the same, reweighted (Daubechies
et al., 2010): what is small counts more from round to round, until it is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.space.rules.tangent_planes import TangentPlanes
from counterpoise.types import Array, Index, Mask


def keep_relations(
    u: Array,
    faces: list[TangentPlanes],
    solve: Callable[..., Array],
    *given: Array,
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """Steps ``u`` ``(n, k, d)``, the nearest but for relations, with those that break one solved for anew.

    ``given`` are what ``solve`` is given of these points before the facets, arrays that broadcast to ``(n, k, ...)``.
    """
    n, k, d = u.shape
    flat = u.reshape(n * k, d)
    at = np.flatnonzero(_breaks_facet(faces, flat))
    if not len(at):
        return u
    arrays = (np.broadcast_to(array, (n, k, *array.shape[2:])).reshape(n * k, *array.shape[2:]) for array in given)
    out = flat.copy()
    out[at] = solve(*(array[at] for array in arrays), _take_facets(faces, at), settings=settings)
    return out.reshape(u.shape)


def _take_facets(faces: list[TangentPlanes], points: Index) -> list[TangentPlanes]:
    return [face.take_points(points) for face in faces]


class DualAscent(NamedTuple):
    """Where rounds of Hildreth's method have led p points."""

    v: Array  # (p, d) u before the box cuts it,
    t: Array  # (p,) the multiplier of the boundary,
    weights: list[Array]  # (p, m) and those of each group of facets: v = t direction - weights . slope


def solve_nearest_step(
    h: Array,
    need: Array,
    low: Array,
    high: Array,
    direction: Array,
    faces: list[TangentPlanes],
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """The nearest ``u`` ``(p, d)`` to 0 in the box that reaches ``need`` ``(p,)`` and keeps to the facets.

    ``direction`` ``(p, d)`` is the way to the boundary: ``h`` but for what a penalty takes off it.

    >>> zero, far = np.zeros((1, 1)), np.full((1, 2), 9.0)
    >>> face = TangentPlanes(np.array([[0, 1]]), np.array([[[1.0, -1.0]]]), zero, zero + 1e-9, np.array([False]))
    >>> h = np.array([[2.0, 0.0]])  # the first is to grow, and may not exceed the second
    >>> solve_nearest_step(h, np.array([2.0]), -far, far, h, [face]).round(2)
    array([[1., 1.]])
    """
    found = _ascend_multipliers(h, need, low, high, direction, faces, settings=settings)
    u = np.minimum(np.maximum(found.v, low), high)
    off = np.flatnonzero(_breaks_facet(faces, u, settings.smooth.repair_tolerance_share))
    if len(off):
        part, left = (
            DualAscent(found.v[off], found.t[off], [weight[off] for weight in found.weights]),
            _take_facets(faces, off),
        )
        exact = _solve_active_facets(
            h[off], need[off], low[off], high[off], direction[off], left, part, settings=settings
        )
        held = ~_breaks_facet(left, exact)
        u[off[held]] = exact[held]
    return u


def _breaks_facet(faces: list[TangentPlanes], u: Array, leave: float = 0.0) -> Mask:
    """Which points ``u`` ``(p, d)`` are on the wrong side of some facet."""
    wrong = np.zeros(len(u), dtype=bool)
    for face in faces:
        wrong |= face.is_broken(u, leave)
    return wrong


def _ascend_multipliers(
    h: Array,
    need: Array,
    low: Array,
    high: Array,
    direction: Array,
    faces: list[TangentPlanes],
    settings: SearchSettings = DEFAULTS,
) -> DualAscent:
    """Each constraint in turn given the multiplier that just meets it, a few times."""
    v, t = np.zeros(h.shape), np.zeros(need.shape)
    inverse, weights = [], []
    for face in faces:
        size = np.einsum("pmc,pmc->pm", face.slope, face.slope)
        inverse.append(np.divide(1.0, size, out=np.zeros_like(size), where=size > 0))
        weights.append(np.zeros_like(size))
    for number in range(settings.smooth.hildreth_rounds):
        inner = (v > low) & (v < high) if number else np.ones(v.shape, dtype=bool)
        u = np.minimum(np.maximum(v, low), high)
        rate = np.einsum("pd,pd->p", np.where(inner, direction, 0.0), h)
        lacking = need - np.einsum("pd,pd->p", h, u)
        after = np.maximum(t + np.divide(lacking, rate, out=np.zeros_like(rate), where=rate > 0), 0.0)
        v += (after - t)[:, None] * direction
        t = after
        if number == settings.smooth.hildreth_rounds - 1:
            break
        for place, face in enumerate(faces):
            cells = v[:, face.columns]
            u = np.minimum(np.maximum(cells, low[:, face.columns]), high[:, face.columns])
            beyond = np.einsum("pmc,pmc->pm", face.slope, u) - face.bound
            moves = np.where(u == cells, face.slope, 0.0)  # what the box has cut does not move
            size = np.einsum("pmc,pmc->pm", moves, moves)
            rate = np.divide(1.0, size, out=inverse[place].copy(), where=size > 0)
            weight = weights[place] + beyond * rate
            weight = np.where(face.is_equation, weight, np.maximum(weight, 0.0))
            v[:, face.columns] = cells - (weight - weights[place])[..., None] * face.slope
            weights[place] = weight
    return DualAscent(v, t, weights)


def _solve_active_facets(
    h: Array,
    need: Array,
    low: Array,
    high: Array,
    direction: Array,
    faces: list[TangentPlanes],
    found: DualAscent,
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """Points ``(p, d)`` that meet the facets which bind them exactly, all at once.

    Which ones bind, and which cells the box cuts, is taken from the ascent and mended while it changes.
    """
    columns = np.unique(np.concatenate([face.columns.ravel() for face in faces]))
    slope, bound, slack, equal = _stack_facets(faces, columns)
    out, v, weight = found.v.copy(), found.v, np.concatenate(found.weights, axis=1)
    used = np.concatenate([(found.t > 0)[:, None], equal | (weight > 0)], axis=1)  # the boundary comes first
    left = np.arange(len(v))
    for _ in range(settings.smooth.active_set_rounds):
        inner = (v > low) & (v < high)
        cut = np.where(inner, 0.0, np.minimum(np.maximum(v, low), high))
        multiplier = _solve_multipliers(h, need, direction, inner, cut, columns, slope, bound, used, settings=settings)
        v = multiplier[:, :1] * direction
        v[:, columns] -= (multiplier[:, None, 1:] @ slope)[:, 0]
        u = np.minimum(np.maximum(v, low), high)
        out[left] = u
        beyond = (slope @ u[:, columns, None])[..., 0] - bound
        wanting = np.concatenate([(np.einsum("pd,pd->p", h, u) < need)[:, None], beyond > slack], axis=1)
        always_binds = np.concatenate([np.zeros(1, dtype=bool), equal])  # an equation binds in any case
        now = np.where(used, always_binds | (multiplier > 0), wanting)
        changed = (now != used).any(axis=1) | (((v > low) & (v < high)) != inner).any(axis=1)
        keep = np.flatnonzero(changed)
        if not len(keep):
            break
        left, v, used = left[keep], v[keep], now[keep]
        h, need, low, high, direction = h[keep], need[keep], low[keep], high[keep], direction[keep]
        slope, bound, slack = slope[keep], bound[keep], slack[keep]
    return out


def _solve_multipliers(
    h: Array,
    need: Array,
    direction: Array,
    inner: Mask,
    cut: Array,
    columns: Index,
    slope: Array,
    bound: Array,
    used: Mask,
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """The multipliers ``(p, 1 + m)`` of the boundary and of the facets with which those that are ``used`` are met.

    Cells that are not ``inner`` ``(p, d)`` stay where the box has ``cut`` them. Few facets bind a point, so each
    point's equations hold these alone; their number is rounded up, by the point's own count, so that points of about
    the same size are solved together and no point's rounding depends on the others.
    """
    p, m = bound.shape
    out = np.zeros((p, m + 1))
    step = settings.smooth.facet_count_step
    sizes = np.minimum(-(-used[:, 1:].sum(axis=1) // step) * step, m)
    ridge = settings.smooth.ridge_share * np.square(slope).sum(axis=-1).max(axis=1, initial=0.0)
    binding_first = np.argsort(~used[:, 1:], axis=1, kind="stable")
    for size in np.unique(sizes).tolist():
        at = np.flatnonzero(sizes == size)
        facets = binding_first[at, :size]
        places = np.pad(facets + 1, ((0, 0), (1, 0)))
        out[at[:, None], places] = _solve_binding_facets(
            h[at], need[at], direction[at], inner[at], cut[at], columns, slope[at[:, None], facets],
            bound[at[:, None], facets], used[at[:, None], places], ridge[at],
        )  # fmt: skip
    return out


def _solve_binding_facets(
    h: Array,
    need: Array,
    direction: Array,
    inner: Mask,
    cut: Array,
    columns: Index,
    slope: Array,
    bound: Array,
    used: Mask,
    ridge: Array,
) -> Array:
    """The same for points that ``m`` facets may bind: one linear system for each point."""
    p, m = bound.shape
    free = slope * inner[:, None, columns]
    system = np.empty((p, m + 1, m + 1))
    system[:, 0, 0] = np.einsum("pd,pd->p", np.where(inner, direction, 0.0), h)
    system[:, 0, 1:] = -(free @ h[:, columns, None])[..., 0]
    system[:, 1:, 0] = (free @ direction[:, columns, None])[..., 0]
    system[:, 1:, 1:] = -(free @ slope.transpose(0, 2, 1))
    right = np.concatenate(
        [(need - np.einsum("pd,pd->p", h, cut))[:, None], bound - (slope @ cut[:, columns, None])[..., 0]], axis=1
    )
    diagonal = np.arange(m + 1)
    used = used & (system[:, diagonal, diagonal] != 0)  # a facet all of whose cells are cut has no say
    system[:, diagonal[1:], diagonal[1:]] -= ridge[:, None]
    system *= used[:, :, None] & used[:, None, :]
    system[:, diagonal, diagonal] += ~used
    return np.linalg.solve(system, np.where(used, right, 0.0)[..., None])[..., 0]


def _stack_facets(faces: list[TangentPlanes], columns: Index) -> tuple[Array, Array, Array, Mask]:
    """All facets side by side: slopes ``(p, m, c)`` by some columns, bounds and slacks ``(p, m)``, the equations."""
    bound, slack = (np.concatenate([getattr(face, name) for face in faces], axis=1) for name in ("bound", "slack"))
    slope, first = np.zeros((*bound.shape, len(columns))), 0
    for face in faces:
        m = len(face.columns)
        slope[:, first + np.arange(m)[:, None], np.searchsorted(columns, face.columns)] = face.slope
        first += m
    return slope, bound, slack, np.concatenate([face.is_equation for face in faces])


def solve_sparsest_step(
    h: Array,
    need: Array,
    low: Array,
    high: Array,
    price: Array,
    faces: list[TangentPlanes],
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """The same where ``sum_j price_j |u_j|`` counts, ``price`` ``(p, d)``: few of the ``u`` ``(p, d)`` are not 0.

    >>> far = np.full((1, 3), 9.0)
    >>> h = np.array([[2.0, 1.0, -1.0]])
    >>> solve_sparsest_step(h, np.array([2.0]), -far, far, np.ones((1, 3)), []).round(2)
    array([[1., 0., 0.]])
    """
    unit = np.ones(h.shape)
    home = np.abs(np.minimum(np.maximum(0.0, low), high))  # what has to move in any case
    for number in range(settings.smooth.reweighting_rounds + 2):
        last = number == settings.smooth.reweighting_rounds + 1
        used = unit > 0
        below = np.divide(low, unit, out=np.full(unit.shape, -np.inf), where=used)
        above = np.divide(high, unit, out=np.full(unit.shape, np.inf), where=used)
        scaled = [face._replace(slope=face.slope * unit[:, face.columns]) for face in faces]
        scaled_step = h * unit, need, below, above, h * unit, scaled
        u = unit * (
            solve_nearest_step(*scaled_step, settings=settings)
            if last
            else np.minimum(np.maximum(_ascend_multipliers(*scaled_step, settings=settings).v, below), above)
        )
        size, largest = np.maximum(np.abs(u), home), np.abs(u).max(axis=1, keepdims=True)
        none = size < settings.smooth.zero_change_share * largest
        size = (
            np.where(none, home, size)
            if number == settings.smooth.reweighting_rounds
            else size + settings.smooth.weight_floor_share * 0.5**number * largest
        )
        unit = np.sqrt(size / np.maximum(price, 1e-300))
    return np.where(used, u, 0.0)
