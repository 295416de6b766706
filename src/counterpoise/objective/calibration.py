"""Noise "auto": rank noise at the largest level that real rows of the target withstand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from counterpoise.objective.noise import RankNoise
from counterpoise.space.region.region import Region
from counterpoise.types import Array, Mask


@dataclass(frozen=True)
class CalibrationSettings:
    """How noise "auto" is found: the levels, the share that must keep the target, and what it is counted on."""

    levels: tuple[float, ...] = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)  # shares of the reference's ranks
    wanted_share: float = 0.95  # of copies of these rows that must keep the target
    rows: int = 200  # reference rows of the target, evenly spread
    copies: int = 4  # noisy copies of each: many rows and few copies tell more than the reverse


class Calibration(NamedTuple):
    """The noise that was chosen, and the shares of copies that kept the target at the levels that were tried."""

    noise: RankNoise
    levels_tried: tuple[float, ...]
    shares_kept: tuple[float, ...]
    settings: CalibrationSettings

    @property
    def sentence(self) -> str:
        """What was chosen and why, for a report."""
        level, wanted = self.noise.level, self.settings.wanted_share
        share = dict(zip(self.levels_tried, self.shares_kept, strict=True))[level]
        sentence = f"rank noise {level:g}: reference rows of the target keep it in {share:.1%} of copies"
        if share < wanted:
            return f"{sentence}, less than {wanted:.0%} even at this smallest level"
        return f"{sentence}, and no larger level is tried" if level == max(self.settings.levels) else sentence


def calibrate(
    noise: RankNoise,
    x: Array,
    draws: Array,
    keeps: Callable[[Array], Mask],
    region: Region,
    numeric: Mask,
    settings: CalibrationSettings = CalibrationSettings(),
) -> Calibration:
    """The largest level at which real rows of the target keep it in ``settings.wanted_share`` of copies, by bisection.

    ``x`` ``(r, d)`` are reference rows that have the target, ``region`` is theirs, ``draws`` ``(r, m, d)``; ``keeps``
    says of copies ``(r, m, d)`` whether the target is kept, ``(r, m)``; the share is pooled over rows, and all levels
    have the same draws. Where even the smallest level loses too many, that level is taken: no noise at all would be no
    answer.
    """
    levels = sorted(settings.levels)
    shares: dict[float, float] = {}

    places = noise.locate(x[:, None], draws, region, numeric)

    def is_withstood(level: float) -> bool:
        copies = noise.scaled(level).copies_at(places, x[:, None], draws, region, numeric)
        shares[level] = float(keeps(copies[:, 0]).mean())
        return shares[level] >= settings.wanted_share

    withstood, lost = -1, len(levels)  # places of the largest level known to be withstood and the least known not to be
    while lost - withstood > 1:
        middle = (withstood + lost) // 2
        if is_withstood(levels[middle]):
            withstood = middle
        else:
            lost = middle
    tried = tuple(sorted(shares))
    return Calibration(
        replace(noise, level=levels[max(withstood, 0)]), tried, tuple(shares[level] for level in tried), settings
    )
