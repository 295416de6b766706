"""Proposals nearer to the row than a firm point: changes set back, shortened, or traded for one another."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.settings.finish import FirmSettings
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


def propose_nearer(problem: Problem, x: Array, step: int, settings: FirmSettings) -> Array:
    """Points ``(n, k, d)`` that have less of the change of ``x`` ``(n, d)``; ``step`` counts the rounds before.

    Each changed feature is set back, and shortened; all are shortened together; the smallest are set back together;
    and one is stretched while the others are shortened.
    """
    home = np.where(np.isnan(problem.x0), x, problem.x0)
    columns, real = _largest_changes(problem, x, settings.shortened_features)
    turn = slice(step % settings.share_cycle, None, settings.share_cycle)
    shares, together = settings.shortened_shares[turn], settings.scaled_shares[turn]
    parts = [_set_to(x, columns, real, problem.x0)]
    parts += [_set_to(x, columns, real, _between(problem, home, x, share)) for share in shares]
    parts += [_between(problem, home, x, share)[:, None] for share in together]
    parts.append(_set_smallest_back(problem, x, columns, real))
    stretched = _between(problem, home, x, 1 + settings.traded_share)
    shorter = _between(problem, home, x, 1 - settings.traded_share)
    traded = _set_to(shorter, columns, real, stretched)
    parts.append(np.where(real[..., None], traded, x[:, None]))  # nothing that depends on the changes of other rows
    return np.concatenate(parts, axis=1)


def stretch(problem: Problem, x: Array, factors: tuple[float, ...]) -> Array:
    """Points ``x`` ``(n, k, d)`` at multiples of their change, ``(n, k * f, d)``, inside the region."""
    start = np.where(np.isnan(problem.x0)[:, None, :], x, problem.x0[:, None, :])
    lines = [np.where(problem.numeric, start + factor * (x - start), x) for factor in factors]
    return problem.region.project(np.concatenate(lines, axis=1))


def blend(problem: Problem, x: Array, settings: FirmSettings) -> Array:
    """Points between the minimal answers and ``x`` ``(n, k, d)``."""
    assert problem.hints is not None
    best = problem.hints[:, :1]
    mixed = [np.where(problem.numeric, best + share * (x - best), x) for share in settings.blend_shares]
    return problem.region.project(np.concatenate(mixed, axis=1))


def _between(problem: Problem, home: Array, x: Array, share: float) -> Array:
    """Points ``(n, d)`` at a share of the way from the row to ``x``; categories are those of ``x``."""
    return np.where(problem.numeric, home + share * (x - home), x)


def _largest_changes(problem: Problem, x: Array, count: int) -> tuple[Index, Mask]:
    """Up to ``count`` changed columns of each row ``(n, c)``, the largest change first, and which entries are real."""
    changed = problem.region.is_changed(x[:, None])[:, 0] & problem.region.free
    size = np.abs(problem.energy.distance.differences(x[:, None], problem.x0)[:, 0])
    most = int(min(count, changed.sum(axis=1).max(initial=0)))
    order = np.argsort(np.where(changed, -np.nan_to_num(size), np.inf), axis=1, kind="stable")[:, :most]
    return order, np.take_along_axis(changed, order, axis=1)


def _set_to(x: Array, columns: Index, real: Mask, values: Array) -> Array:
    """Points ``(n, c, d)``: ``x`` with the value of one of the columns ``(n, c)`` replaced; as ``x`` if not real."""
    out = np.repeat(x[:, None], columns.shape[1], axis=1)
    new, old = (np.take_along_axis(each, columns, axis=1) for each in (values, x))
    np.put_along_axis(out, columns[..., None], np.where(real, new, old)[..., None], axis=2)
    return out


def _set_smallest_back(problem: Problem, x: Array, columns: Index, real: Mask) -> Array:
    """Points ``(n, g, d)``: only the largest changes of ``x`` are left: 1, 2, 3, 5, 8, 13 or 21 of them."""
    c = columns.shape[1]
    kept = [size for size in (1, 2, 3, 5, 8, 13, 21) if size < c - 1]
    out = np.repeat(x[:, None], len(kept), axis=1)
    for place, size in enumerate(kept):
        back = np.zeros(x.shape, dtype=bool)
        np.put_along_axis(back, columns[:, size:], real[:, size:], axis=1)
        out[:, place] = np.where(back, problem.x0, x)
    return out
