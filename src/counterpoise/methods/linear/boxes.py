"""Boxes: what branching has left of the menus, and the point of each box that is best at given prices of gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpoise.methods.linear.cases import Cases
from counterpoise.methods.linear.menus import Menus
from counterpoise.types import Array, Index, Mask


class Boxes(NamedTuple):
    """b boxes: the values that columns may still take, and how many changes a point may have."""

    case: Index  # (b,)
    low: Array  # (b, f)
    high: Array  # (b, f)
    can_stay: Mask  # (b, f + t)
    levels: Mask  # (b, t, l)
    changes: Array  # (b,) the most changes; where L2 counts, exactly so many are paid for
    bound: Array  # (b,) no answer inside costs less
    price: Array  # (b, m) of gain: where to look for the best one first

    def at(self, boxes: Index | Mask) -> Boxes:
        """Some of the boxes."""
        return Boxes._make(part[boxes] for part in self)

    @classmethod
    def joined(cls, parts: list[Boxes]) -> Boxes:
        """All boxes of several parts."""
        return cls._make(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


class BoxTerms(NamedTuple):
    """What boxes are made of, gathered once: of their rows, cases and columns."""

    boxes: Boxes
    row: Index  # (b,)
    x0: Array  # (b, f)
    low: Array  # (b, f), the row's own value where a number cannot move
    high: Array  # (b, f)
    can_move: Mask  # (b, f)
    slope: Array  # (b, m, f)
    level_gain: Array  # (b, m, t, l)
    level_cost: Array  # (b, t, l)
    unit_price: Array  # (b, f)
    left: Array  # (b,) changes that are not forced
    weight: Array | None = None  # (b, conditions) whose sum with these weights is the only condition

    def weighed(self, weight: Array) -> BoxTerms:
        """With one condition, the sum of all with weights ``(b, m)``."""
        slope, gain = (_weigh(weight, each)[:, None] for each in (self.slope, self.level_gain))
        return self._replace(slope=slope, level_gain=gain, weight=weight)


class Choice(NamedTuple):
    """The best point of each box at given prices."""

    value: Array  # (b,) what its gain is worth beyond its cost
    gain: Array  # (b, m)
    x: Array  # (b, f) numbers
    level: Index  # (b, t)
    changed: Mask  # (b, f + t)


@dataclass(frozen=True, eq=False)
class Pricing:
    """Points of boxes weighed by their gain: ``max over x of price . gain(x) - cost(x)``, column by column.

    ``by_square``: the cost is the sum of squared differences, and changes are limited, not priced. Otherwise it is the
    sum over columns of ``unit_price * difference + change_price``.
    """

    menus: Menus
    cases: Cases
    by_square: bool
    unit_price: Array  # (p, f + t) of each case
    snaps: bool  # whether grids are heeded

    def gather(self, boxes: Boxes) -> BoxTerms:
        """The terms of boxes."""
        menus, cases, f = self.menus, self.cases, len(self.menus.numbers)
        row = cases.row[boxes.case]
        x0, can_move = menus.x0[row], boxes.low <= boxes.high
        forced = np.count_nonzero(~boxes.can_stay & menus.counted, axis=1)
        return BoxTerms(
            boxes,
            row,
            x0,
            np.where(can_move, boxes.low, x0),
            np.where(can_move, boxes.high, x0),
            can_move,
            cases.slope[boxes.case],
            cases.level_gain[boxes.case],
            self.cost(boxes.case, slice(f, None), menus.level_difference[row]),
            self.unit_price[boxes.case, :f],
            boxes.changes - forced,
        )

    def choose(self, terms: BoxTerms, price: Array) -> Choice:
        """The best points of boxes at prices ``(b, m)``."""
        f, boxes = len(self.menus.numbers), terms.boxes
        x, worth = self._best_numbers(terms, _weigh(price, terms.slope))
        level = np.zeros((len(x), len(self.menus.coded)), dtype=np.intp)
        if len(self.menus.coded):
            each = np.where(boxes.levels, _weigh(price, terms.level_gain) - terms.level_cost, -np.inf)
            level = each.argmax(axis=2)
            worth = np.concatenate([worth, each.max(axis=2)], axis=1)
        changed = self._best_changes(terms, worth)
        value = np.where(changed, worth, 0.0).sum(axis=1)
        x = np.where(changed[:, :f], x, terms.x0)
        choice = Choice(value, value, x, level, changed)
        return choice._replace(gain=self.gain(terms, choice))

    def gain(self, terms: BoxTerms, choice: Choice) -> Array:
        """What points gain in each condition, ``(b, m)``."""
        f = len(self.menus.numbers)
        out = np.vecdot(terms.slope, (choice.x - terms.x0)[:, None, :])
        if len(self.menus.coded):
            at = np.take_along_axis(terms.level_gain, choice.level[:, None, :, None], axis=3)[..., 0]
            out += np.where(choice.changed[:, None, f:], at, 0.0).sum(axis=2)
        return np.asarray(out)

    def most_gain(self, terms: BoxTerms) -> Array:
        """The greatest gain ``(b, m)`` that a point of each box can have in each condition, one at a time."""
        columns = []
        for condition in range(terms.slope.shape[1]):
            slope = terms.slope[:, condition]
            with np.errstate(invalid="ignore"):
                best = np.where(slope > 0, terms.high - terms.x0, terms.low - terms.x0) * slope
            worth = np.where(terms.can_move, np.where(slope == 0, 0.0, best), -np.inf)
            if len(self.menus.coded):
                levels = np.where(terms.boxes.levels, terms.level_gain[:, condition], -np.inf)
                worth = np.concatenate([worth, levels.max(axis=2)], axis=1)
            columns.append(np.where(self._best_changes(terms, worth), worth, 0.0).sum(axis=1))
        return np.stack(columns, axis=1)

    def cost(self, case: Index, columns: slice, difference: Array) -> Array:
        """What differences ``(b, columns, ...)`` cost."""
        if self.by_square:
            return difference * difference
        unit = self.unit_price[case][:, columns]
        change = self.menus.change_price[columns]
        if difference.ndim == 3:
            unit, change = unit[..., None], change[:, None]
        return np.asarray(unit * difference + change * (difference > 0))

    def costs_of(self, boxes: Boxes, effort: Array) -> Array:
        """Efforts ``(b,)`` of points of boxes in units of cost."""
        if not self.by_square:
            return effort
        left = effort - self.menus.price_changes(boxes.can_stay, boxes.changes)
        return np.square(np.maximum(left, 0.0) / self.menus.root)

    def efforts_of(self, boxes: Boxes, cost: Array) -> Array:
        """Bounds in units of cost as bounds of effort, ``(b,)``."""
        if not self.by_square:
            price = self.menus.one_change_price
            if not price or self.unit_price.any() or not self.menus.counted.all():
                return cost
            return np.asarray(price * np.ceil(cost / price - 1e-9))  # a number of changes
        paid = self.menus.price_changes(boxes.can_stay, boxes.changes)
        return np.where(np.isinf(cost), np.inf, self.menus.root * np.sqrt(cost) + paid)

    def differences(self, row: Index, x: Array) -> Array:
        """Differences ``(b, f)`` of numbers from rows ``(b,)``."""
        away = x - self.menus.x0[row]
        return np.asarray(np.abs(away) * np.where(away > 0, self.menus.rate[1], self.menus.rate[0]))

    def _best_numbers(self, terms: BoxTerms, slope: Array) -> tuple[Array, Array]:
        """For each number the best changed value, and what it is worth; minus infinity where it cannot change."""
        menus = self.menus
        rate = np.where(slope > 0, menus.rate[1], menus.rate[0])
        if self.by_square:
            with np.errstate(divide="ignore", invalid="ignore"):
                away = np.where(slope == 0, 0.0, slope / (2 * rate * rate))
        else:
            pays = np.abs(slope) > terms.unit_price * rate
            away = np.where(pays, np.where(slope > 0, np.inf, -np.inf), 0.0)
        best = np.minimum(np.maximum(terms.x0 + away, terms.low), terms.high)
        if self.snaps:
            down, up = menus.beside(terms.row, best)
            down, up = np.maximum(down, terms.low), np.minimum(up, terms.high)
            below, above = (self._worth(terms, slope, x) for x in (down, up))
            best, worth = np.where(above >= below, up, down), np.maximum(above, below)
        else:
            worth = self._worth(terms, slope, best)
        return best, np.where(terms.can_move, worth, -np.inf)

    def _worth(self, terms: BoxTerms, slope: Array, x: Array) -> Array:
        away = x - terms.x0
        difference = np.abs(away) * np.where(away > 0, self.menus.rate[1], self.menus.rate[0])
        if self.by_square:
            return np.asarray(slope * away - difference * difference)
        change = self.menus.change_price[: len(self.menus.numbers)]
        return np.asarray(slope * away - terms.unit_price * difference - change * (difference > 0))

    def _best_changes(self, terms: BoxTerms, worth: Array) -> Mask:
        """The columns that change: those that must, and the most worthy others, as many as may."""
        must, counted, left = ~terms.boxes.can_stay, self.menus.counted, terms.left
        useful = ~must & (worth > 0)
        if (np.count_nonzero(useful & counted, axis=1) > left).any():
            order = np.argsort(np.where(useful & counted, -worth, np.inf), axis=1, kind="stable")
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(worth.shape[1])[None], axis=1)
            useful &= (rank < left[:, None]) | ~counted
        return useful | must


def pick(where: Mask, one: Choice, other: Choice) -> Choice:
    """One point in some boxes ``(b,)``, the other in the rest."""
    if where.all():
        return one
    if not where.any():
        return other
    return Choice._make(np.where(where.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in zip(one, other, strict=True))


def _weigh(price: Array, gain: Array) -> Array:
    """Gains ``(b, m, ...)`` of all conditions at prices ``(b, m)``, together."""
    if gain.shape[1] == 1:
        return np.asarray(price.reshape(-1, *[1] * (gain.ndim - 2)) * gain[:, 0])
    return np.asarray(np.einsum("bm,bm...->b...", price, gain))
