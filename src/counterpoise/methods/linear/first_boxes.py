"""How boxes begin: everything that is legal and near enough, for each number of changes where these count."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.linear.boxes import Boxes, Pricing
from counterpoise.types import Array


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
            free = np.square(np.where(menus.counted, 0.0, steep)).sum(axis=1, keepdims=True)  # these move uncounted
            steepest = np.sort(np.where(menus.counted, steep, 0.0), axis=1)[:, ::-1]
            total = np.sqrt(free + np.cumsum(steepest**2, axis=1))
            need = np.maximum(cases.need_least[boxes.case][:, condition], 0.0)[:, None]
            # nothing is gained where columns must change anyhow
            length = np.where(need > 0, need / total, 0.0)
        forced = np.asarray(~boxes.can_stay).any(axis=1, keepdims=True)
        length = np.where(forced, 0.0, np.nan_to_num(length, nan=np.inf, posinf=np.inf))
        out[:, 1:] = np.maximum(out[:, 1:], length)
    return out
