"""Prices of several conditions together, where what is paid for is the square of a length.

The bound of a box is concave in the prices, and quadratic where the columns that change and those that stand at an end
of their range stay the same: damped steps of Newton's climb it. One condition at a time would stall, since the bound
has kinks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.methods.linear.boxes import BoxTerms, Choice, Pricing, pick
from counterpoise.methods.settings.linear import LinearSettings
from counterpoise.types import Array, Mask


def climb_prices(
    pricing: Pricing, terms: BoxTerms, start: Array, target: Array, going: Mask, settings: LinearSettings
) -> Array:
    """Prices ``(b, m)`` near the greatest bound of points that grids leave free, from ``start`` on.

    ``going`` ``(b,)``: boxes that are to be climbed; the others keep their start.
    """
    best = start.copy()
    place = np.flatnonzero(going)
    if not len(place):
        return best
    free = replace(pricing, snaps=False)
    terms, target, price = pricing.gather(terms.boxes.at(place)), target[place], start[place]
    size = np.maximum(np.abs(target), 1e-300)
    choice = free.choose(terms, price)
    bound = (price * target).sum(axis=1) - choice.value
    damping = np.full(len(place), settings.least_damping)
    for _ in range(settings.newton_steps):
        step = _newton_step(pricing, terms, price, target, choice, damping)
        tried = np.maximum(price + step, 0.0)
        new = free.choose(terms, tried)
        found = (tried * target).sum(axis=1) - new.value
        better = found > bound
        little = better & (found - bound <= settings.newton_tolerance * np.abs(found))
        price, bound = np.where(better[:, None], tried, price), np.where(better, found, bound)
        choice = pick(better, new, choice)
        best[place] = price
        damping = np.where(better, np.maximum(0.1 * damping, settings.least_damping), 10 * damping)
        left = ~little & (damping <= settings.most_damping)
        lacking = target - choice.gain
        off = np.where(lacking > 0, lacking, np.where(price > 0, -lacking, 0.0)) / size
        left &= ~(better & (off.max(axis=1) <= settings.condition_tolerance))
        if not left.any():
            break
        if not left.all():
            kept = np.flatnonzero(left)
            terms, choice = pricing.gather(terms.boxes.at(kept)), Choice._make(part[kept] for part in choice)
            place, target, price, size = place[kept], target[kept], price[kept], size[kept]
            bound, damping = bound[kept], damping[kept]
    return best


def _newton_step(
    pricing: Pricing, terms: BoxTerms, price: Array, target: Array, choice: Choice, damping: Array
) -> Array:
    """The step ``(b, m)`` to where the columns that can still give way meet all conditions that bind."""
    f, lacking = terms.slope.shape[2], target - choice.gain
    binds = (price > 0) | (lacking > 0)
    rate = np.where(choice.x > terms.x0, pricing.menus.rate[1], pricing.menus.rate[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        give = np.where(terms.can_move, np.nan_to_num(0.5 / (rate * rate), posinf=0.0), 0.0)
    inside = choice.changed[:, :f] & (choice.x > terms.low) & (choice.x < terms.high)
    bend = (terms.slope * np.where(inside, give, 0.0)[:, None, :]) @ terms.slope.transpose(0, 2, 1)
    bend *= binds[:, :, None] & binds[:, None, :]
    most = np.vecdot(terms.slope**2, give[:, None, :])
    at = np.arange(bend.shape[1])
    damped = bend[:, at, at] + np.where(bend[:, at, at] > 0, damping[:, None], 1.0) * most
    bend[:, at, at] = np.where(binds & (damped > 0), damped, 1.0)
    return np.asarray(np.linalg.solve(bend, np.where(binds, lacking, 0.0)[..., None])[..., 0])
