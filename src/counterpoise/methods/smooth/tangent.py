"""The Taylor step, Eq. (2): the nearest point where the linearised score reaches the target, in the distance asked for.

With ``u`` the change in units of the feature scales, ``h`` the slope of the margin in those units and ``need`` what the
margin lacks at the row, the step solves ``min ||u||`` subject to ``h . u >= need`` inside the box. For L2 that is the
root of a piecewise linear function, over the features that `counterpoise.methods.smooth.support` chooses where changes
cost something beside their size; for L1 a greedy fill of the steepest features, for L0 the fewest features whose
reach suffices. Relations are heeded in L2 and L1, `counterpoise.methods.smooth.tangent_with_relations`.
"""

from __future__ import annotations

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.smooth.followed_steps import TangentQuestion, follow_relations
from counterpoise.methods.smooth.support import choose_support
from counterpoise.methods.smooth.tangent_with_relations import keep_relations, solve_nearest_step, solve_sparsest_step
from counterpoise.problem import Problem
from counterpoise.space.rules.tangent_planes import expand_relations
from counterpoise.types import Array, Mask


def step_to_tangent_boundary(
    problem: Problem,
    x: Array,
    margin: Array,
    slope: Array,
    slack: Array | float = 0.0,
    price_factors: Array | float = 1.0,
    settings: SearchSettings = DEFAULTS,
    *,
    follows: bool = False,
) -> Array:
    """Points ``(n, k, d)`` where the expansion around ``x`` ``(n, k, d)`` reaches the margin ``slack``.

    ``slope`` is the margin's gradient ``(n, k, d)`` in raw units. Cells that may not move, categories and missing cells
    keep the value of ``x``. Where the box does not reach the target, the point of the box that comes nearest to it.
    ``price_factors`` ``(k,)`` multiply what changes cost, so that points may differ in how many they make. ``follows``:
    columns that relations compute move with the few that a step changes; otherwise all that relations bind may move.
    """
    region, scales = problem.region, problem.energy.distance.unit_lengths(problem.scales, slope)
    start = problem.x0[:, None, :]
    movable = (
        (region.free | (region.system.is_derived & can_keep_relations(problem)))
        & problem.numeric
        & ~np.isnan(problem.x0)
    )[:, None, :]
    h = np.where(movable, slope * scales, 0.0)
    with np.errstate(invalid="ignore"):
        done = np.where(movable, (x - start) / scales, 0.0)
        low = np.where(movable, (region.lower[:, None, :] - start) / scales, 0.0)
        high = np.where(movable, (region.upper[:, None, :] - start) / scales, 0.0)
    need = slack - margin + np.einsum("nkd,nkd->nk", h, done)
    if region.max_changes is not None and region.max_changes < h.shape[-1]:
        h = _keep_few_slopes(h, need, low, high, region.max_changes)
    if follows and can_keep_relations(problem) and not region.system.derivations:
        asked = TangentQuestion(h, need, low, high, done, np.asarray(scales))
        return np.where(movable, start + _follow(problem, x, asked, price_factors, settings) * scales, x)
    faces = []
    if can_keep_relations(problem):
        faces = expand_relations(region.system, x, (region.lower, region.upper), done, scales, movable[:, 0])
    distance = problem.energy.distance
    if distance.spreads_changes:
        lam = np.broadcast_to(problem.energy.l1_weights, h.shape[-1:])
        direction = _shrink_by_penalty(h, lam, settings=settings) if lam.any() else h
        if problem.energy.counts_changes:
            prices = problem.energy.change_prices * np.asarray(price_factors)[..., None]
            used = choose_support(h, need, low, high, np.broadcast_to(prices, h.shape), distance.length_weight)
            direction = np.where(used, direction, 0.0)
        u = _solve_l2_step(h, need, low, high, direction, settings=settings)
        u = keep_relations(u, faces, solve_nearest_step, h, need, low, high, direction, settings=settings)
    elif distance.unit_prices is not None:
        price = distance.unit_prices + problem.energy.l1_weights
        u = _solve_l1_step(h, need, low, high, np.abs(h) / price)
        u = keep_relations(
            u, faces, solve_sparsest_step, h, need, low, high, np.broadcast_to(price, h.shape), settings=settings
        )
    else:
        u = _solve_l0_step(h, need, low, high)
    return np.where(movable, start + u * scales, x)


def _follow(
    problem: Problem, x: Array, asked: TangentQuestion, price_factors: Array | float, settings: SearchSettings
) -> Array:
    """The step ``(n, k, d)`` that changes few columns, with what follows from them."""
    prices = np.broadcast_to(problem.energy.change_prices * np.asarray(price_factors)[..., None], asked.h.shape)
    reduced, length, slopes, used = follow_relations(problem, x, asked, prices, problem.energy.distance.length_weight)
    direction = np.where(used, reduced.h, 0.0)
    u = _solve_l2_step(reduced.h, reduced.need, reduced.low, reduced.high, direction, settings=settings) / length
    moved_along: Mask = np.asarray(slopes.any(axis=-1))
    for place, follower in enumerate(problem.region.system.clause_set.followers):
        along = asked.done[..., follower.column] + np.einsum("nkd,nkd->nk", slopes[:, :, place], u - asked.done)
        u[..., follower.column] = np.where(moved_along[:, :, place], along, u[..., follower.column])
    return np.asarray(u)


def can_keep_relations(problem: Problem) -> bool:
    """Whether steps keep to relations: there are some, and any number of features may change."""
    return len(problem.region.system) > 0 and problem.region.max_changes is None


def _keep_few_slopes(h: Array, need: Array, low: Array, high: Array, count: int) -> Array:
    """The slope with all but ``count`` features of each point set to 0; those go back to the row.

    The steepest features make the shortest step, but where the box stops them short of the target, those with the
    largest reach go first.
    """
    with np.errstate(invalid="ignore"):
        span = np.where(h != 0, h * np.where(h > 0, high, low), 0.0)
    steep = np.argpartition(-np.abs(h), count - 1, axis=-1)[..., :count]
    wide = np.argpartition(-span, count - 1, axis=-1)[..., :count]
    enough = np.take_along_axis(span, steep, axis=-1).sum(axis=-1) >= need
    used = np.where(enough[..., None], steep, wide)
    out = np.zeros_like(h)
    np.put_along_axis(out, used, np.take_along_axis(h, used, axis=-1), axis=-1)
    return out


def _solve_l2_step(
    h: Array, need: Array, low: Array, high: Array, direction: Array, settings: SearchSettings = DEFAULTS
) -> Array:
    """``min ||u||_2 + sum_j lam_j |u_j|``: ``u = clip(t * direction)`` with t the root of ``h . u = need``.

    The direction is that of `_shrink_by_penalty`. The function of t is concave and piecewise linear, so that Newton's
    rule from the left ends at the root.
    """
    t = np.zeros_like(need)
    u = np.minimum(np.maximum(np.zeros_like(h), low), high)
    for _ in range(settings.smooth.root_rounds):
        reached = np.einsum("nkd,nkd->nk", h, u)
        lacking = need - reached
        inner = ((t[..., None] * direction >= low) & (t[..., None] * direction <= high)) & _can_still_move(
            direction, u, low, high
        )
        rate = np.einsum("nkd,nkd->nk", np.where(inner, direction, 0.0), h)
        going = (lacking > 1e-12 * np.maximum(np.abs(need), 1e-300)) & (rate > 0)
        if not going.any():
            break
        t = np.where(going, t + lacking / np.where(rate > 0, rate, 1.0), t)
        ahead = t[..., None] * direction
        u = np.minimum(np.maximum(ahead, low), high)
        if (u == ahead).all():  # no edge was met: the root of a line
            break
    return u


def _shrink_by_penalty(h: Array, lam: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """``h`` with ``lam`` times its own length taken off every entry: the root of ``s = ||max(|h| - lam s, 0)||``."""
    size, sign = np.abs(h), np.sign(h)
    left = size
    high = np.sqrt(np.einsum("nkd,nkd->nk", h, h))[..., None]
    if (
        lam.max() * np.sqrt(h.shape[-1]) < settings.smooth.slight_penalty_share
    ):  # then the length hardly depends on the cut
        for _ in range(settings.smooth.shrinkage_rounds):
            left = np.maximum(size - lam * high, 0.0)
            high = np.sqrt(np.einsum("nkd,nkd->nk", left, left))[..., None]
        return np.asarray(sign * left)

    def is_long_enough(length: Array) -> Mask:
        left = np.maximum(size - lam * length, 0.0)
        return np.asarray(np.sqrt(np.einsum("nkd,nkd->nk", left, left))[..., None] <= length)

    low, _ = bisect(np.zeros_like(high), high, is_long_enough, settings.smooth.shrinkage_halvings)
    return np.asarray(sign * np.maximum(size - lam * low, 0.0))


def _can_still_move(direction: Array, u: Array, low: Array, high: Array) -> Mask:
    """Whether a cell still moves when t grows."""
    return np.where(direction > 0, u < high, u > low)


def _solve_l1_step(h: Array, need: Array, low: Array, high: Array, worth: Array) -> Array:
    """``min ||u||_1``: features in the order of their worth, each filled to the edge until enough is reached."""
    base = np.clip(np.zeros_like(h), low, high)
    cap = np.where(h > 0, high, low) - base
    cap = np.where(h != 0, cap, 0.0)
    order = np.argsort(-worth, axis=-1, kind="stable")
    gain = np.take_along_axis(h * np.where(h != 0, cap, 0.0), order, axis=-1)
    lacking = (need - np.einsum("nkd,nkd->nk", h, base))[..., None]
    before = np.cumsum(np.where(np.isfinite(gain), gain, np.inf), axis=-1)
    before = np.concatenate([np.zeros_like(before[..., :1]), before[..., :-1]], axis=-1)
    still = np.maximum(lacking - before, 0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        steep = np.take_along_axis(h, order, axis=-1)
        part = np.where(still <= 0, 0.0, np.minimum(still, gain)) / steep
    part = np.where(np.isfinite(part), part, 0.0)
    u = np.zeros_like(h)
    np.put_along_axis(u, order, part, axis=-1)
    return base + u


def _solve_l0_step(h: Array, need: Array, low: Array, high: Array) -> Array:
    """``min ||u||_0``: the features with the largest reach, as few as suffice; among them, the steepest first."""
    base = np.clip(np.zeros_like(h), low, high)
    with np.errstate(invalid="ignore"):
        reach = np.where(h != 0, h * (np.where(h > 0, high, low) - base), 0.0)
    order = np.argsort(-reach, axis=-1, kind="stable")
    sorted_reach = np.take_along_axis(reach, order, axis=-1)
    lacking = (need - np.einsum("nkd,nkd->nk", h, base))[..., None]
    total = np.cumsum(np.where(np.isfinite(sorted_reach), sorted_reach, np.inf), axis=-1)
    before = np.concatenate([np.zeros_like(total[..., :1]), total[..., :-1]], axis=-1)
    used = np.zeros(h.shape, dtype=bool)
    np.put_along_axis(used, order, before < lacking, axis=-1)
    chosen = np.where(used, h, 0.0)
    return _solve_l1_step(chosen, need, low, high, np.abs(chosen))
