"""All legal points whose effort is at most some number, and the most that linear functions can gain inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.methods.linear.menus import Menus
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class EffortBall:
    """For n rows the points of effort ``radius`` ``(n,)`` or less: how far columns can go alone, and all together."""

    menus: Menus
    left: Array  # (n,) of the radius, when the cheapest change is paid
    up: Array  # (n, f) how far numbers can go
    down: Array  # (n, f)
    levels: Mask  # (n, t, l)
    level_values: Array  # (n, q, t, l) what levels add to the first layer's values beyond the row's own
    changes: Array  # (n,) at most

    @classmethod
    def of(cls, menus: Menus, radius: Array, max_changes: int | None, level_values: Array) -> EffortBall:
        """The ball of menus whose rows may stay as they are."""
        f, cheapest = len(menus.numbers), menus.change_price.min(initial=np.inf)
        paid = float(cheapest) if np.isfinite(cheapest) and menus.counted.all() else 0.0
        left = np.maximum(radius - paid, 0.0)
        price = menus.root + menus.unit_price
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.where(price > 0, left[:, None] / price, np.inf)
            rooms = [np.nan_to_num(far[:, :f] / rate, nan=0.0, posinf=np.inf) for rate in menus.rate]
            most = np.floor(radius / paid) if paid else np.full(len(radius), np.inf)
        most = np.minimum(most, np.inf if max_changes is None else max_changes)
        moves = menus.low <= menus.high
        up = np.where(moves, np.minimum(np.maximum(menus.high - menus.x0, 0.0), rooms[1]), 0.0)
        down = np.where(moves, np.minimum(np.maximum(menus.x0 - menus.low, 0.0), rooms[0]), 0.0)
        levels = menus.levels & (menus.level_difference <= far[:, f:, None])
        return cls(menus, left, up, down, levels, level_values, most)

    def take(self, rows: Index) -> EffortBall:
        """The balls of some rows."""
        parts = (self.left, self.up, self.down, self.levels, self.level_values, self.changes)
        return EffortBall(self.menus.take(rows), *(part[rows] for part in parts))  # type: ignore[arg-type]

    def most_gain(self, slope: Array, level_gain: Array, rows: Index) -> Array:
        """The most ``(r, a)`` that functions with slopes ``(r, a, f)`` and level gains ``(r, a, t, l)`` gain."""
        menus, f = self.menus, slope.shape[2]
        rising = slope > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            gain = np.where(rising, slope * self.up[rows, None], -slope * self.down[rows, None])
            gain = np.where(slope == 0, 0.0, gain)
            steep = np.where(gain > 0, np.abs(slope) / np.where(rising, menus.rate[1], menus.rate[0]), 0.0)
            if level_gain.shape[2]:
                each = np.where(self.levels[rows, None], np.maximum(level_gain, 0.0), 0.0)
                rate = np.where(each > 0, each / menus.level_difference[rows, None], 0.0)
                gain = np.concatenate([gain, each.max(axis=3)], axis=2)
                steep = np.concatenate([steep, rate.max(axis=3)], axis=2)
            left, found = self.left[rows, None], [gain.sum(axis=2)]
            if menus.root:
                found.append(left / menus.root * np.sqrt((steep**2).sum(axis=2)))
            if (menus.unit_price > 0).all() and f:
                found.append(left * (steep / menus.unit_price).max(axis=2, initial=0.0))
        count = self.changes[rows]
        if (count < gain.shape[2]).any():
            total = np.cumsum(np.sort(gain, axis=2)[:, :, ::-1], axis=2)
            total = np.concatenate([np.zeros_like(total[:, :, :1]), total], axis=2)
            place = np.minimum(count, gain.shape[2]).astype(np.intp)
            found.append(np.take_along_axis(total, place[:, None, None], axis=2)[..., 0])
        return np.asarray(np.fmin.reduce(found))
