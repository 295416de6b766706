"""How a box is divided: where the points beside the best price differ most, else where something is left to decide."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.linear.boxes import Boxes, Pricing
from counterpoise.methods.linear.dual import Solved
from counterpoise.types import Array, Index, Mask


class Cut(NamedTuple):
    """Where boxes ``(b,)`` are divided: by whether a column changes, by its value, or by its level."""

    column: Index
    by_change: Mask
    value: Array  # of a number
    level: Index  # of a category
    exists: Mask  # whether there is anything to divide

    def at(self, boxes: Index) -> Cut:
        """Those of some of the boxes."""
        return Cut._make(part[boxes] for part in self)


def divide(pricing: Pricing, boxes: Boxes, solved: Solved) -> tuple[Boxes | None, Index]:
    """The two halves of each box, and the places of boxes that cannot be divided."""
    if not boxes.can_stay.shape[1]:  # no column may change
        return None, np.arange(len(boxes.can_stay))
    cut = _find_cut(pricing, boxes, solved)
    line, whole = np.flatnonzero(cut.exists), np.flatnonzero(~cut.exists)
    if not len(line):
        return None, whole
    boxes, cut, f = boxes.at(line), cut.at(line), len(pricing.menus.numbers)
    first, second = (Boxes._make(part.copy() for part in boxes) for _ in range(2))
    column, is_number = cut.column, cut.column < f
    some = np.flatnonzero(cut.by_change)
    second.can_stay[some, column[some]] = False
    _hold(first, some[is_number[some]], column, f)
    _hold(first, some[~is_number[some]], column, f)
    _divide_values(pricing, first, second, np.flatnonzero(~cut.by_change & is_number), cut)
    some = np.flatnonzero(~cut.by_change & ~is_number)
    place, level = column[some] - f, cut.level[some]
    first.levels[some, place, level] = False
    second.levels[some, place] = False
    second.levels[some, place, level] = True
    second.can_stay[some, column[some]] = False
    both = Boxes.joined([first, second])
    can_move = np.concatenate([both.low <= both.high, both.levels.any(axis=2)], axis=1)
    alive = (both.can_stay | can_move).all(axis=1)
    alive &= np.count_nonzero(~both.can_stay & pricing.menus.counted, axis=1) <= both.changes
    return both.at(np.flatnonzero(alive)), whole


def _hold(boxes: Boxes, halved: Index, column: Index, f: int) -> None:
    """Leave a column of some boxes no value but the row's own."""
    mine = column[halved]
    if len(mine) and mine[0] < f:
        boxes.low[halved, mine], boxes.high[halved, mine] = np.inf, -np.inf
    else:
        boxes.levels[halved, mine - f] = False


def _divide_values(pricing: Pricing, first: Boxes, second: Boxes, halved: Index, cut: Cut) -> None:
    if not len(halved):
        return
    menus, line, column = pricing.menus, np.arange(len(halved)), cut.column[halved]
    row = pricing.cases.row[first.case[halved]]
    middle = np.zeros((len(halved), len(menus.numbers)))
    middle[line, column] = cut.value[halved]
    down, up = (values[line, column] for values in menus.beside(row, middle))
    both = down == up  # on the grid itself: the lower half has it
    step = menus.step[row, column]
    up = np.where(both & (step > 0), up + step, up)
    first.high[halved, column], second.low[halved, column] = down, up
    row_value = menus.x0[row, column]
    first.can_stay[halved, column] &= row_value <= cut.value[halved]
    second.can_stay[halved, column] &= row_value > cut.value[halved]


def _find_cut(pricing: Pricing, boxes: Boxes, solved: Solved) -> Cut:
    menus, f = pricing.menus, len(pricing.menus.numbers)
    short, enough = solved.short, solved.enough
    differs = _differences(pricing, boxes, solved)
    is_clear = (differs > 0).any(axis=1)
    column, line = differs.argmax(axis=1), np.arange(len(differs))
    by_change = short.changed[line, column] != enough.changed[line, column]
    number = np.minimum(column, max(f - 1, 0))
    value = (short.x[line, number] + enough.x[line, number]) / 2 if f else np.zeros(len(line))
    level = enough.level[line, np.maximum(column - f, 0)] if len(menus.coded) else np.zeros(len(line), dtype=np.intp)
    exists = is_clear.copy()
    # both points are the same one, which something else forbids: decide what is left open
    for found, is_change in (
        (_dearest_change(pricing, boxes, solved), True),
        (_widest_range(pricing, boxes, solved), False),
        (_undecided_changes(boxes), True),
        (_undecided_levels(boxes, f), False),
    ):
        other = ~exists & (found.max(axis=1, initial=0.0) > 0)
        if not other.any():
            continue
        place = found.argmax(axis=1)
        column, by_change, exists = (
            np.where(other, place, column),
            np.where(other, is_change, by_change),
            exists | other,
        )
        if len(menus.coded):
            level = np.where(other, enough.level[line, np.maximum(place - f, 0)], level)
        if f:
            number = np.minimum(place, f - 1)
            ends = boxes.low[line, number], boxes.high[line, number]
            middle = np.where(ends[0] <= ends[1], ends[0], 0.0) / 2 + np.where(ends[0] <= ends[1], ends[1], 0.0) / 2
            value = np.where(other, middle, value)
    return Cut(column, by_change, value, level, np.asarray(exists))


def _differences(pricing: Pricing, boxes: Boxes, solved: Solved) -> Array:
    """How much the gain of the points on either side of the price differs in each column, ``(b, f + t)``."""
    menus, cases, f = pricing.menus, pricing.cases, len(pricing.menus.numbers)
    short, enough, x0 = solved.short, solved.enough, menus.x0[cases.row[boxes.case]]
    weight = solved.price / np.maximum(solved.price.max(axis=1, keepdims=True), 1e-300)
    slope = np.einsum("bm,bmf->bf", weight, cases.slope[boxes.case])
    moved = np.abs(enough.x - short.x)
    # what rounding of the price moves is no difference
    far = np.maximum(np.abs(enough.x - x0), np.abs(short.x - x0))
    clear = (moved > 1e-6 * far) | (enough.changed[:, :f] != short.changed[:, :f])
    differs = np.where(clear, np.abs(slope) * moved, 0.0)
    if not len(menus.coded):
        return differs
    gain = np.einsum("bm,bmtl->btl", weight, cases.level_gain[boxes.case])
    one, other = (
        np.where(choice.changed[:, f:], np.take_along_axis(gain, choice.level[..., None], axis=2)[..., 0], 0.0)
        for choice in (enough, short)
    )
    return np.concatenate([differs, np.abs(one - other)], axis=1)


def _dearest_change(pricing: Pricing, boxes: Boxes, solved: Solved) -> Array:
    """What undecided changes cost, ``(b, f + t)``, where others that were paid for may have been cheaper."""
    if not pricing.by_square or pricing.menus.one_change_price is not None:
        return np.zeros((len(boxes.case), 1))
    undecided = solved.enough.changed & boxes.can_stay & pricing.menus.counted
    return np.where(undecided, pricing.menus.change_price, 0.0)


def _widest_range(pricing: Pricing, boxes: Boxes, solved: Solved) -> Array:
    """How much of the gain the ranges of changed numbers leave open, ``(b, f)``."""
    menus, f = pricing.menus, len(pricing.menus.numbers)
    width = np.where(boxes.low < boxes.high, boxes.high, 0.0) - np.where(boxes.low < boxes.high, boxes.low, 0.0)
    least = np.maximum(0.5 * menus.step[pricing.cases.row[boxes.case]], 1e-6 * np.abs(boxes.high))
    wide = (width > least) & np.isfinite(width) & solved.enough.changed[:, :f]
    return np.where(wide, np.abs(pricing.cases.slope[boxes.case]).max(axis=1) * width, 0.0)


def _undecided_changes(boxes: Boxes) -> Array:
    """1 for columns ``(b, f + t)`` that may change or stay."""
    can_move = np.concatenate([boxes.low <= boxes.high, boxes.levels.any(axis=2)], axis=1)
    return (can_move & boxes.can_stay).astype(np.float64)


def _undecided_levels(boxes: Boxes, f: int) -> Array:
    """1 for categories, ``(b, f + t)``, that have several levels to change to."""
    several = np.count_nonzero(boxes.levels, axis=2) > 1
    return np.concatenate([np.zeros((len(several), f)), several], axis=1)
