"""How boxes begin and how they are divided: at the column where the points beside the best price differ most."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.linear.boxes import Boxes, Pricing
from counterpoise.methods.linear.dual import Solved
from counterpoise.types import Array, Index, Mask


def first_boxes(pricing: Pricing, reach: Array, max_changes: int | None, limit: Array) -> Boxes:
    """The boxes of all cases: everything that is legal and no farther than ``reach`` ``(n, f)`` from the row.

    Where the effort has a root, one for each number of changes whose price a row's ``limit`` ``(n,)`` can pay for.
    """
    menus, cases = pricing.menus, pricing.cases
    p, columns = len(cases.row), len(menus.numbers) + len(menus.coded)
    row = cases.row
    low, high = np.maximum(menus.low, menus.x0 - reach)[row], np.minimum(menus.high, menus.x0 + reach)[row]
    if pricing.snaps:
        low, high = menus.snapped(row, low, upwards=True), menus.snapped(row, high, upwards=False)
    shut = menus.low[row] > menus.high[row]
    low, high = np.where(shut, np.inf, low), np.where(shut, -np.inf, high)
    most = columns if max_changes is None else max_changes
    boxes = Boxes(
        np.arange(p),
        low,
        high,
        menus.can_stay[row],
        menus.levels[row],
        np.full(p, float(most)),
        np.zeros(p),
        np.zeros((p, cases.slope.shape[1])),
    )
    can_move = np.concatenate([low <= high, menus.levels[row].any(axis=2)], axis=1)
    stuck = (~can_move & ~boxes.can_stay).any(axis=1)
    boxes = boxes.at(np.flatnonzero(~stuck))
    if not pricing.by_square:
        return boxes
    return _by_changes(pricing, boxes, can_move[~stuck], limit)


def _by_changes(pricing: Pricing, boxes: Boxes, can_move: Array, limit: Array) -> Boxes:
    """A box for each number of changes that can be paid for, with the bound of columns that nothing holds back."""
    menus, cases = pricing.menus, pricing.cases
    row = cases.row[boxes.case]
    if not menus.change_price.any():
        return boxes._replace(bound=menus.root * _lengths(pricing, boxes, can_move)[:, -1])
    least = np.count_nonzero(~boxes.can_stay & menus.counted, axis=1)
    most = np.minimum(boxes.changes, np.count_nonzero(can_move, axis=1)).astype(np.intp)
    number = np.arange(can_move.shape[1] + 1)
    paid = [menus.price_changes(boxes.can_stay, np.full(len(row), float(count))) for count in number]
    bound = menus.root * _lengths(pricing, boxes, can_move) + np.stack(paid, axis=1)
    wanted = (
        (number >= np.maximum(least, int(menus.counted.all()))[:, None])
        & (number <= most[:, None])
        & (bound < limit[row, None])
    )
    box, changes = wanted.nonzero()
    return boxes.at(box)._replace(changes=changes.astype(np.float64), bound=bound[box, changes])


def _lengths(pricing: Pricing, boxes: Boxes, can_move: Array) -> Array:
    """The least length ``(b, columns + 1)`` of a change of 0, 1, 2, … columns that meets any one of the conditions."""
    menus, cases = pricing.menus, pricing.cases
    row = cases.row[boxes.case]
    out = np.zeros((len(row), can_move.shape[1] + 1))
    for condition in range(cases.slope.shape[1]):
        slope = cases.slope[boxes.case][:, condition]
        rate = np.where(slope > 0, menus.rate[1], menus.rate[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = np.where(slope == 0, 0.0, np.abs(slope) / rate)
            if len(menus.coded):
                each = np.where(boxes.levels, cases.level_gain[boxes.case][:, condition], 0.0)
                each = np.where(each > 0, each / menus.level_difference[row], 0.0)
                steep = np.concatenate([steep, each.max(axis=2)], axis=1)
            steep = np.where(can_move, steep, 0.0)
            total = np.sqrt(np.cumsum(np.sort(steep, axis=1)[:, ::-1] ** 2, axis=1))
            need = np.maximum(cases.need_least[boxes.case][:, condition], 0.0)[:, None]
            # nothing is gained where columns must change anyhow
            length = np.where(need > 0, need / total, 0.0)
        forced = np.asarray(~boxes.can_stay).any(axis=1, keepdims=True)
        length = np.where(forced, 0.0, np.nan_to_num(length, nan=np.inf, posinf=np.inf))
        out[:, 1:] = np.maximum(out[:, 1:], length)
    return out


def divide(pricing: Pricing, boxes: Boxes, solved: Solved) -> tuple[Boxes | None, Index]:
    """The two halves of each box, and the places of boxes that cannot be divided."""
    column, has_one = _where_they_differ(pricing, boxes, solved)
    whole = np.flatnonzero(~has_one)
    line = np.flatnonzero(has_one)
    if not len(line):
        return None, whole
    boxes, column = boxes.at(line), column[line]
    f, row = len(pricing.menus.numbers), pricing.cases.row[boxes.case]
    first, second = (Boxes._make(part.copy() for part in boxes) for _ in range(2))
    one, other = solved.short.changed[line, column], solved.enough.changed[line, column]
    # by whether it changes
    alike = (column < f) & (
        solved.short.x[line, np.minimum(column, f - 1)] == solved.enough.x[line, np.minimum(column, f - 1)]
    )
    some = np.flatnonzero((one != other) | alike)
    second.can_stay[some, column[some]] = False
    number, code = some[column[some] < f], some[column[some] >= f]
    first.low[number, column[number]], first.high[number, column[number]] = np.inf, -np.inf
    first.levels[code, column[code] - f] = False
    # by its value
    some = np.flatnonzero((one == other) & (column < f))
    if len(some):
        ends = (solved.short.x[line[some], column[some]] + solved.enough.x[line[some], column[some]]) / 2
        middle = np.zeros((len(some), f))
        middle[np.arange(len(some)), column[some]] = ends
        down, up = (
            pricing.menus.snapped(row[some], middle.copy(), upwards=way)[np.arange(len(some)), column[some]]
            for way in (False, True)
        )
        first.high[some, column[some]], second.low[some, column[some]] = down, up
        # the row's own value is in one half only
        own = pricing.menus.x0[row[some], column[some]]
        first.can_stay[some, column[some]] &= own <= ends
        second.can_stay[some, column[some]] &= own > ends
    some = np.flatnonzero((one == other) & (column >= f))
    if len(some):
        place, level = column[some] - f, solved.enough.level[line[some], column[some] - f]
        first.levels[some, place, level] = False
        second.levels[some, place] = False
        second.levels[some, place, level] = True
        second.can_stay[some, column[some]] = False
    both = Boxes.joined([first, second])
    can_move = np.concatenate([both.low <= both.high, both.levels.any(axis=2)], axis=1)
    alive = (both.can_stay | can_move).all(axis=1)
    alive &= np.count_nonzero(~both.can_stay & pricing.menus.counted, axis=1) <= both.changes
    return both.at(np.flatnonzero(alive)), whole


def _where_they_differ(pricing: Pricing, boxes: Boxes, solved: Solved) -> tuple[Index, Mask]:
    """The column in which the gain of the two points differs most, and whether there is one."""
    menus, cases, f = pricing.menus, pricing.cases, len(pricing.menus.numbers)
    short, enough = solved.short, solved.enough
    weight = solved.price / np.maximum(np.abs(solved.price).max(axis=1, keepdims=True), 1e-300)
    slope = np.einsum("bm,bmf->bf", weight, cases.slope[boxes.case])
    differs = slope * (enough.x - short.x)
    # what rounding of the price moves is no difference
    width = np.abs(enough.x - short.x)
    scale = np.maximum(
        np.abs(enough.x - menus.x0[cases.row[boxes.case]]), np.abs(short.x - menus.x0[cases.row[boxes.case]])
    )
    differs = np.where((width > 1e-6 * scale) | (enough.changed[:, :f] != short.changed[:, :f]), np.abs(differs), 0.0)
    if len(menus.coded):
        gain = np.einsum("bm,bmtl->btl", weight, cases.level_gain[boxes.case])
        at = [
            np.where(choice.changed[:, f:], np.take_along_axis(gain, choice.level[..., None], axis=2)[..., 0], 0.0)
            for choice in (enough, short)
        ]
        differs = np.concatenate([differs, np.abs(at[0] - at[1])], axis=1)
    if pricing.by_square and menus.one_change_price is None:
        # nothing differs, but what was paid for may have been cheaper changes: decide about the dearest one
        undecided = enough.changed & boxes.can_stay & menus.counted
        alike = ~(differs > 0).any(axis=1, keepdims=True)
        differs = np.where(alike & undecided, menus.change_price, differs)
    column = differs.argmax(axis=1)
    return column, differs[np.arange(len(column)), column] > 0
