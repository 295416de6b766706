"""The second-order Taylor step, Eq. (2): the nearest point of a quadratic boundary, for rows that slopes mislead.

At the nearest answer the change points along the slope. Where the score bends so strongly that its tangent says little
of the boundary, steps along slopes come to rest where that is not so. Such rows get the Hessian, from differences of
slopes. With ``u`` the change in units of the feature scales and ``c + b . u + u . H u / 2`` the margin's expansion,
``min ||u||`` subject to it being enough is solved by ``u = nu (I - nu H)^-1 b``, nu the root of an increasing function.
"""

from __future__ import annotations

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.methods.points import Points, make_points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.slopes import score_and_gradient
from counterpoise.methods.smooth.taylor_steps import slack_of
from counterpoise.problem import Problem
from counterpoise.types import Array, Mask


def can_step_second_order(problem: Problem, settings: SearchSettings = DEFAULTS) -> bool:
    """Whether second-order steps can be had: of numbers alone, with as many model rows as a Hessian takes."""
    d = problem.x0.shape[1]
    asked = (
        _count_chains(problem, settings=settings)
        * settings.smooth.second_order_rounds
        * (d + 1) ** (1 if problem.has_gradient else 2)
    )
    plain = problem.is_all_numeric and problem.cloud is None and problem.region.max_changes is None
    return (
        plain
        and d <= settings.smooth.max_hessian_columns
        and asked < min(problem.model_rows_left, settings.smooth.max_hessian_model_rows)
    )


def _count_chains(problem: Problem, settings: SearchSettings = DEFAULTS) -> int:
    return settings.smooth.second_order_points if problem.has_gradient else 1


def is_not_stationary(problem: Problem, x: Array, settings: SearchSettings = DEFAULTS) -> Mask:
    """Rows whose answer ``x`` ``(n, 1, d)`` is no nearest point of a boundary, for the slope points elsewhere.

    By the dual norms: in L2 change and slope are parallel there, in L1 the steepest features alone have changed.
    """
    _, gradient = score_and_gradient(problem, x, settings=settings)
    h, u = (gradient * problem.scales)[:, 0], ((x - problem.x0[:, None, :]) / problem.scales)[:, 0]
    region = problem.region
    edge = ((x[:, 0] <= region.lower) & (h < 0)) | ((x[:, 0] >= region.upper) & (h > 0))
    h = np.where(region.free & ~edge, h, 0.0)  # what an edge holds need not agree
    if problem.energy.distance.spreads_changes:
        h = np.where(u != 0, h, 0.0)  # nor what is not worth a change
        steep, length, least = (
            np.square(h).sum(axis=1) ** 0.5,
            np.square(u * (h != 0)).sum(axis=1) ** 0.5,
            settings.smooth.min_alignment_l2,
        )
    else:
        steep, length, least = np.abs(h).max(axis=1), np.abs(u * (h != 0)).sum(axis=1), settings.smooth.min_alignment_l1
    return np.asarray(np.einsum("nd,nd->n", h, u) < least * steep * length)


def descend_second_order(
    problem: Problem, points: Points, margin: Array, settings: SearchSettings = DEFAULTS
) -> Points:
    """The best points of chains that start at the best of ``points`` ``(n, k, d)`` and take steps of Eq. (2) in full.

    Each goes as far along its steps as they stay valid, while that gains. ``margin`` ``(n, 1)`` is that of the rows.
    """
    best = points.best(_count_chains(problem, settings=settings))
    rows = np.arange(len(problem))
    for _ in range(settings.smooth.second_order_rounds):
        if problem.has_expired or not len(rows):
            break
        part, current = problem.take(rows), best.at(rows)
        r, k, d = current.x.shape
        aim = _solve_second_order_step(part, current.x, slack_of(margin[rows], settings=settings), settings=settings)
        y, inside = part.region.bring_inside(
            (current.x[:, :, None, :] + settings.smooth.second_order_shares * (aim - current.x)[:, :, None, :]).reshape(
                r, -1, d
            )
        )
        found = make_points(part, y, part.score(y), inside)
        place = np.arange(k) * len(settings.smooth.second_order_shares) + found.effort.reshape(r, k, -1).argmin(axis=2)
        row = np.arange(r)[:, None]
        better = found.effort[row, place] < current.effort * (1 - settings.smooth.second_order_gain_share)
        for mine, new in zip(best, found, strict=True):
            mine[rows] = np.where(better if mine.ndim == 2 else better[..., None], new[row, place], mine[rows])
        rows = rows[better.any(axis=1)]
    return best


def _solve_second_order_step(problem: Problem, x: Array, slack: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """The nearest points ``(n, k, d)`` where the expansion around ``x``, to second order, reaches ``slack``."""
    n, k, d = x.shape
    scales, region, start = problem.scales, problem.region, problem.x0[:, None, :]
    apart = settings.smooth.hessian_step_scales if problem.has_gradient else settings.smooth.rough_hessian_step_scales
    step = np.where(x + apart * scales > region.upper[:, None, :], -apart, apart)  # inwards, at an edge
    around = np.concatenate([x[:, :, None, :], x[:, :, None, :] + step[..., None] * np.diag(scales)], axis=2)
    # differences, though some models have Hessian products: these serve every link, and black boxes
    score, slopes = score_and_gradient(problem, around.reshape(n, -1, d), settings=settings)
    slopes = (slopes * scales).reshape(n, k, d + 1, d)
    h, hessian = slopes[:, :, 0], (slopes[:, :, 1:] - slopes[:, :, :1]) / step[..., None]
    hessian = (hessian + np.swapaxes(hessian, -1, -2)) / 2
    u = (x - start) / scales
    low, high = (region.lower[:, None, :] - start) / scales, (region.upper[:, None, :] - start) / scales
    bent = np.einsum("nkij,nkj->nki", hessian, u)
    b, c = h - bent, score.margin.reshape(n, k, -1)[..., 0] - slack - np.einsum("nkd,nkd->nk", h - 0.5 * bent, u)
    held = np.broadcast_to(~region.free[:, None, :], x.shape)
    if problem.energy.counts_changes:  # a feature more would cost more than its size
        held = held | (u == 0)
    v = np.where(held, u, 0.0)
    for _ in range(settings.smooth.edge_rounds):
        fixed = np.where(held, v, 0.0)
        pulled = np.einsum("nkij,nkj->nki", hessian, fixed)
        rest = c + np.einsum("nkd,nkd->nk", b + 0.5 * pulled, fixed)
        loose = ~held
        v = fixed + _solve_quadratic_step(
            hessian * (loose[..., None] & loose[..., None, :]), loose * (b + pulled), rest, settings=settings
        )
        inside = np.minimum(np.maximum(v, low), high)
        if (inside == v).all():
            break
        held, v = held | (inside != v), inside
    return np.asarray(start + v * scales)


def _solve_quadratic_step(hessian: Array, b: Array, c: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """``min ||v||`` subject to ``c + b . v + v . H v / 2 >= 0``: ``(n, k, d)``; 0 where c is enough."""
    is_finite = np.isfinite(hessian).all(axis=(-2, -1), keepdims=True)  # columns of an extreme scale have no curvature
    values, axes = np.linalg.eigh(np.where(is_finite, hessian, 0.0))
    b = np.einsum("nkij,nki->nkj", axes, b)
    top = np.maximum(values.max(axis=-1), 0.0)
    low, high = np.zeros(c.shape), np.where(top > 0, (1 - 1e-12) / np.where(top > 0, top, 1.0), 1e12)

    def along(nu: Array) -> Array:
        return np.asarray(nu[..., None] * b / (1 - nu[..., None] * values))

    def is_enough(nu: Array) -> Mask:
        v = along(nu)
        return np.asarray(c + np.einsum("nkd,nkd->nk", b, v) + 0.5 * np.einsum("nkd,nkd,nkd->nk", values, v, v) >= 0)

    def middle_of(low: Array, high: Array) -> Array:  # nu may span many decades: halved as a power where it is large
        return np.where(low > 0, np.sqrt(low * high), np.minimum(high / 2, high * 1e-6))

    _, high = bisect(low, high, is_enough, settings.smooth.multiplier_halvings, middle_of)
    v = np.einsum("nkij,nkj->nki", axes, along(high))
    return np.where(c[..., None] >= 0, 0.0, v)
