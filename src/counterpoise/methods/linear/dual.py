"""The bound of a box: prices of gain at which even the best point costs so much, found condition by condition.

For any prices >= 0, no point that meets the conditions costs less than ``price . need - max(price . gain - cost)``. The
greatest such bound is where the best point just meets the conditions; on either side of that price lie the point that
falls short and the one that does not, and where they differ the box is divided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.linear.boxes import Boxes, BoxTerms, Choice, Pricing, pick
from counterpoise.methods.linear.price_ascent import climb_prices
from counterpoise.methods.settings.linear import LinearSettings
from counterpoise.types import Array, Index, Mask


class Solved(NamedTuple):
    """Boxes with their bounds; the points on either side of the best prices."""

    bound: Array  # (b,) in the units of cost; infinite where no point of the box meets the conditions
    price: Array  # (b, m)
    short: Choice
    enough: Choice


def solve(pricing: Pricing, boxes: Boxes, most_wanted: Array, settings: LinearSettings) -> Solved:
    """The greatest bound of each box, as near as the settings take it, or one of at least ``most_wanted`` ``(b,)``."""
    cases, terms = pricing.cases, pricing.gather(boxes)
    least, most = cases.need_least[boxes.case], cases.need_most[boxes.case]
    reach = pricing.most_gain(terms)
    hopeless = np.asarray((reach < least).any(axis=1))
    target = np.where(reach < most, np.maximum(reach, least), most)
    price = np.zeros_like(least)
    enough = short = pricing.choose(terms, price)
    gain, value, going, rounds = enough.gain, enough.value.copy(), ~hopeless, settings.condition_rounds
    if pricing.by_square:
        price, value, short, enough, gain = _turn_together(pricing, terms, target, going, enough, most_wanted, settings)
        rounds = settings.rounds_after_climb if least.shape[1] > 1 else 0
    elif least.shape[1] == 1:
        rounds = 1
    for number in range(rounds):
        lacking, size = target - gain, np.maximum(np.abs(target), 1e-300)
        off = np.where(lacking > 0, lacking / size, np.where(price > 0, -lacking / size, 0.0))
        going = going & (off.max(axis=1) > (0.0 if number == 0 else settings.condition_tolerance))
        going &= (price * least).sum(axis=1) - value < most_wanted
        open_boxes = np.flatnonzero(going)
        if not len(open_boxes):
            break
        part = terms if len(open_boxes) == len(going) else pricing.gather(boxes.at(open_boxes))
        condition = off[open_boxes].argmax(axis=1)
        short_by = lacking[open_boxes, condition]
        wanted = most_wanted[open_boxes]
        found = _turn_one(pricing, part, price[open_boxes], condition, target[open_boxes], short_by, wanted, settings)
        (price[open_boxes], value[open_boxes]), (below, above) = found[:2], found[2:]
        short, enough = _put(short, open_boxes, below), _put(enough, open_boxes, above)
        gain = _between(short.gain, enough.gain, target, open_boxes, condition)
    bound = (price * least).sum(axis=1) - value
    return Solved(np.where(hopeless, np.inf, np.maximum(bound, 0.0)), price, short, enough)


def _turn_together(
    pricing: Pricing,
    terms: BoxTerms,
    target: Array,
    going: Mask,
    free: Choice,
    most_wanted: Array,
    settings: LinearSettings,
) -> tuple[Array, Array, Choice, Choice, Array]:
    """Prices of all conditions, found where grids leave columns free, and then turned together.

    With them, what the best point is worth there, the points on either side, and the gains ``(b, m)`` between these.
    ``free`` are the best points at no price.
    """
    boxes = terms.boxes
    weight = climb_prices(pricing, terms, boxes.price, target, going, settings)
    need, scale = (weight * target).sum(axis=1), np.zeros(len(weight))
    value, short, enough, gain = free.value.copy(), free, free, free.gain
    some = np.flatnonzero(going & (need > (weight * free.gain).sum(axis=1)))
    if len(some):
        every = pricing.gather(boxes.at(some))
        part, none, one = every.weighed(weight[some]), np.zeros(len(some), dtype=np.intp), need[some, None]
        found = _turn_one(pricing, part, np.zeros((len(some), 1)), none, one, need[some], most_wanted[some], settings)
        scale[some], value[some] = found[0][:, 0], found[1]
        share = _share(found[2].gain[:, 0], found[3].gain[:, 0], need[some])[:, None]
        below, above = (each._replace(gain=pricing.gain(every, each)) for each in found[2:])
        short, enough, gain = _put(short, some, below), _put(enough, some, above), gain.copy()
        gain[some] = share * above.gain + (1 - share) * below.gain
    return weight * scale[:, None], value, short, enough, gain


def _between(short: Array, enough: Array, target: Array, boxes: Index, condition: Index) -> Array:
    """Gains ``(b, m)`` of the mixture of two points that just meets one condition ``(s,)`` in some boxes ``(s,)``."""
    low, high, need = (gain[boxes, condition] for gain in (short, enough, target))
    share, between = _share(low, high, need)[:, None], enough.copy()
    between[boxes] = share * enough[boxes] + (1 - share) * short[boxes]
    return between


def _share(low: Array, high: Array, need: Array) -> Array:
    """The share of the higher gain in the mixture of two that just meets a need, ``(b,)`` each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((high > low) & (low < need), np.clip((need - low) / (high - low), 0.0, 1.0), 1.0)


class _Side(NamedTuple):
    """One end of the interval that holds the best price of a condition."""

    price: Array  # (b,)
    gap: Array  # (b,) by which the gain of the best point exceeds the target
    bound: Array  # (b,)
    choice: Choice

    def moved(self, where: Mask, new: _Side) -> _Side:
        """Set anew in some boxes."""
        if where.all():
            return new
        if not where.any():
            return self
        price, gap, bound = (np.where(where, theirs, kept) for kept, theirs in zip(self[:3], new[:3], strict=True))
        return _Side(price, gap, bound, pick(where, new.choice, self.choice))

    def at(self, boxes: Index) -> _Side:
        """The ends of some of the boxes."""
        price, gap, bound = (part[boxes] for part in self[:3])
        return _Side(price, gap, bound, Choice._make(part[boxes] for part in self.choice))

    def with_some(self, boxes: Index, new: _Side) -> _Side:
        """Set anew in some boxes ``(s,)``."""
        price, gap, bound = (part.copy() for part in self[:3])
        price[boxes], gap[boxes], bound[boxes] = new[:3]
        return _Side(price, gap, bound, _put(self.choice, boxes, new.choice))


def _turn_one(
    pricing: Pricing,
    terms: BoxTerms,
    price: Array,
    condition: Index,
    target: Array,
    lacking: Array,
    most_wanted: Array,
    settings: LinearSettings,
) -> tuple[Array, Array, Choice, Choice]:
    """Prices with that of one condition ``(b,)`` turned to where its gain reaches the target.

    With them, what the best point is worth there, and the points on either side. Each side bounds the best bound from
    above by its tangent: where the two meet is looked at next, in turn with the secant of the gains.
    """
    line = np.arange(len(price))
    need, old_price = target[line, condition], price[line, condition]
    turn = _Turn(pricing, terms, price, condition, need, (price * target).sum(axis=1) - old_price * need, most_wanted)
    guess = np.maximum(terms.boxes.price[line, condition], old_price)
    first = _first_price(pricing, terms, guess, condition, np.where(need > 0, need, lacking), settings)
    low, high = _bracket(turn, first, settings)
    low, high = _close_in(turn, low, high, settings.halvings, settings)
    settled = low.gap >= 0  # free of charge
    lower = settled | (low.bound > high.bound)
    asked = price.copy()
    asked[line, condition] = np.where(lower, low.price, high.price)
    value = np.where(lower, low.choice.value, high.choice.value)
    return asked, value, low.choice, pick(settled, low.choice, high.choice)


class _Turn(NamedTuple):
    """One condition of each box, whose price is turned while those of the others stay."""

    pricing: Pricing
    terms: BoxTerms
    price: Array  # (b, m)
    condition: Index  # (b,)
    need: Array  # (b,)
    others: Array  # (b,) what the other prices add to the bound
    most_wanted: Array  # (b,) a bound that is enough

    def at(self, boxes: Index) -> _Turn:
        """That of some of the boxes."""
        terms = self.pricing.gather(self.terms.boxes.at(boxes))
        if self.terms.weight is not None:
            terms = terms.weighed(self.terms.weight[boxes])
        price, need, others, wanted = (part[boxes] for part in (self.price, self.need, self.others, self.most_wanted))
        return _Turn(self.pricing, terms, price, self.condition[boxes], need, others, wanted)

    def ask(self, value: Array) -> _Side:
        """The best points at a price ``(b,)`` of the condition."""
        line, tried_price = np.arange(len(value)), self.price.copy()
        tried_price[line, self.condition] = value
        choice = self.pricing.choose(self.terms, tried_price)
        gap = choice.gain[line, self.condition] - self.need
        return _Side(value, gap, self.others + value * self.need - choice.value, choice)


def _bracket(turn: _Turn, first: Array, settings: LinearSettings) -> tuple[_Side, _Side]:
    """Two prices ``(b,)`` that have the best one between them, near ``first``, which is about where it is."""
    near = turn.ask(first)
    behind = near.gap < 0
    beside = turn.ask(first * np.where(behind, 1 + settings.bracket, 1 - settings.bracket))
    low, high = beside.moved(behind, near), near.moved(behind, beside)
    ahead = low.gap >= 0
    if ahead.any():
        low, high = low.moved(ahead, turn.ask(np.zeros(len(first)))), high.moved(ahead, low)
    for number in range(settings.raises):
        behind = (high.gap < 0) & (low.gap < 0)
        if not behind.any():
            break
        low = low.moved(behind, high)
        high = turn.ask(np.where(behind, 2.0 ** (1 + number) * high.price, high.price))
    return low, high


def _close_in(turn: _Turn, low: _Side, high: _Side, halvings: int, settings: LinearSettings) -> tuple[_Side, _Side]:
    """Both ends of the interval that holds the best price, moved towards each other."""
    for number in range(halvings):
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (high.bound - low.bound - low.gap * low.price + high.gap * high.price) / (high.gap - low.gap)
            ceiling = low.bound - low.gap * (meet - low.price)
            secant = high.price - high.gap * (high.price - low.price) / (high.gap - low.gap)
            secant = secant + settings.overshoot * (high.price - secant)  # so that both ends close in
        near = (low.gap >= 0) | (np.abs(high.gap) <= settings.gain_tolerance * np.abs(turn.need))
        near |= ceiling - np.maximum(low.bound, high.bound) <= settings.bound_tolerance * np.abs(ceiling)
        near |= np.maximum(low.bound, high.bound) >= turn.most_wanted
        near |= high.price - low.price <= settings.price_tolerance * high.price
        left = np.flatnonzero(~near)
        if not len(left):
            break
        if len(left) <= len(near) * settings.few_left:  # the others need not wait for them
            parts = _close_in(turn.at(left), low.at(left), high.at(left), halvings - number, settings)
            return low.with_some(left, parts[0]), high.with_some(left, parts[1])
        middle = meet if number % 2 else secant
        middle = np.where((middle > low.price) & (middle < high.price), middle, (low.price + high.price) / 2)
        new = turn.ask(np.where(near, high.price, middle))
        low, high = low.moved((new.gap < 0) & ~near, new), high.moved((new.gap >= 0) & ~near, new)
    return low, high


def _first_price(
    pricing: Pricing, terms: BoxTerms, guess: Array, condition: Index, need: Array, settings: LinearSettings
) -> Array:
    """A price from which to look: what a gain costs if columns are filled in turn, the cheapest first."""
    if pricing.by_square:  # what a sum of conditions is worth where grids leave columns free
        return np.ones(len(need))
    line = np.arange(len(need))
    slope = terms.slope[line, condition]
    if not slope.shape[1]:  # categories alone
        return np.where(guess > 0, guess, 1.0)
    rate = np.where(slope > 0, pricing.menus.rate[1], pricing.menus.rate[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(slope > 0, terms.high - terms.x0, terms.low - terms.x0)
        gain = np.where((slope != 0) & terms.can_move, slope * away, 0.0)
        cost = terms.unit_price * np.abs(away) * rate + pricing.menus.change_price[: slope.shape[1]]
        worth = np.where(gain > 0, cost / gain, np.inf)
    order = np.argsort(worth, axis=1)
    filled = np.cumsum(np.take_along_axis(np.maximum(gain, 0.0), order, axis=1), axis=1)
    place = np.minimum(np.count_nonzero(filled < need[:, None], axis=1), worth.shape[1] - 1)
    found = np.take_along_axis(worth, np.take_along_axis(order, place[:, None], axis=1), axis=1)[:, 0]
    found = np.where(np.isfinite(found), found, np.where(guess > 0, guess, 1.0))
    return np.asarray(np.maximum(found, 1e-300) * (1 + settings.nudge))


def _put(into: Choice, places: Index, new: Choice) -> Choice:
    if len(places) == len(into.value):
        return new
    out = Choice._make(part.copy() for part in into)
    for mine, theirs in zip(out, new, strict=True):
        mine[places] = theirs
    return out
