"""Noise: what a row might turn out to be instead, as noisy copies of it.

The draws are the caller's, standard normals ``(n, m, d)``, one set per row: the same draws at two points of a row are
common random numbers. Copies are reflected at the region's bounds and rounded on whole numbers and listed values.
Cells that the region fixes and missing cells get no noise; categories only with a chance of ``flips``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy.special import ndtr

from counterpoise.errors import InputError
from counterpoise.objective.noisy_copies import find_noisy_cells, finish_copies
from counterpoise.objective.ranks import Ranks
from counterpoise.space.region.region import Region
from counterpoise.types import Array, Index, Mask


@runtime_checkable
class Noise(Protocol):
    """How the world may differ from a row: what makes noisy copies of it.

    A noise of your own subclasses this and says `copies` (`finish_copies` brings them back into the region), and
    `level` and `scaled` where it has a level. One that learns from the reference says `is_fitted` and `fitted`.
    """

    @property
    def level(self) -> float:
        """How strong the noise is, in units of its own; NaN where that is no one number."""
        return np.nan

    @property
    def max_level(self) -> float:
        """The strongest that this kind of noise can be."""
        return np.inf

    @property
    def is_fitted(self) -> bool:
        """Whether copies can be made; False until `fitted` has seen the reference."""
        return True

    def copies(self, x: Array, draws: Array, region: Region, scales: Array, numeric: Mask) -> Array:
        """Noisy copies ``(n, k, m, d)`` of points ``x`` ``(n, k, d)``, from standard normal ``draws`` ``(n, m, d)``.

        ``scales`` ``(d,)`` is the raw length of one unit of each feature, ``numeric`` ``(d,)`` marks numbers.
        """
        ...

    def scaled(self, level: float) -> Noise:
        """The same kind of noise at another level."""
        raise InputError("this noise must have a level", f"{self!r} has none", "define level and scaled")

    def fitted(self, reference: Array) -> Noise:
        """The same noise, knowing the encoded reference rows ``(r, d)``."""
        return self


@dataclass(frozen=True)
class Gaussian:
    """Normal noise of standard deviation ``sigma``, in feature scales.

    >>> import pandas as pd
    >>> from counterpoise.space.schema.schema import Schema
    >>> schema = Schema.infer(pd.DataFrame({"a": [0.0, 2.0], "b": [0, 8]}), scale="range")
    >>> region = Region.build(schema, np.array([[0.5, 4.0]]))
    >>> Gaussian(0.25).copies(region.x0[:, None], np.array([[[-2.0, 1.3]]]), region, schema.scales, schema.numeric)
    array([[[[0.5, 7. ]]]])
    """

    sigma: float
    flips: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.sigma) and self.sigma >= 0):
            raise InputError("the width of Gaussian noise must be at least 0", f"{self.sigma!r}", "for instance 0.2")
        _check_flips(self.flips)

    def copies(self, x: Array, draws: Array, region: Region, scales: Array, numeric: Mask) -> Array:
        noisy = find_noisy_cells(x, region, numeric)
        width = np.where(noisy.any(axis=1), self.sigma * scales, 0.0)
        moved = x[:, :, None, :] + width[:, None, None, :] * draws[:, None]
        return finish_copies(moved, x, draws, region, numeric, self.flips)

    @property
    def level(self) -> float:
        """The standard deviation."""
        return self.sigma

    @property
    def max_level(self) -> float:
        """There is none: infinite."""
        return np.inf

    @property
    def is_fitted(self) -> bool:
        """Always: it needs no reference."""
        return True

    def scaled(self, level: float) -> Gaussian:
        """The same with another standard deviation.

        >>> Gaussian(0.2, flips=0.1).scaled(0.5)
        Gaussian(sigma=0.5, flips=0.1)
        """
        return replace(self, sigma=level)

    def fitted(self, reference: Array) -> Gaussian:
        """Itself: it needs no reference."""
        return self


@dataclass(frozen=True)
class RankNoise:
    """A normal shift of standard deviation ``level`` in the reference's quantile ranks, for features with heavy tails.

    A rank that would leave the bounds is reflected, so that reference rows stay, feature by feature, distributed as
    they were. A value that many reference rows share has a stretch of ranks, and one of them is drawn. Beyond the
    reference's range a value keeps its distance from it. The ranks are learnt by ``fitted``.

    >>> import pandas as pd
    >>> from counterpoise.space.schema.schema import Schema
    >>> table = pd.DataFrame({"bytes": [0.5, 1.5, 10.5, 1000.5, 1e6]})
    >>> schema, x = Schema.infer(table), table.to_numpy()
    >>> region = Region.build(schema, x[2:3])
    >>> noise = RankNoise(0.25).fitted(x)
    >>> noise.copies(x[None, 2:3], np.array([[[-1.0], [1.0]]]), region, schema.scales, schema.numeric)[0, 0]
    array([[   1.5], [1000.5]])
    """

    level: float
    flips: float = 0.0
    ranks: Ranks | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.level) and 0 <= self.level <= 1):
            raise InputError(
                "the level of rank noise must be between 0 and 1, the whole reference", f"{self.level!r}", "give 0.02"
            )
        _check_flips(self.flips)

    @property
    def max_level(self) -> float:
        """The whole reference."""
        return 1.0

    @property
    def is_fitted(self) -> bool:
        """Whether it knows the ranks."""
        return self.ranks is not None

    def scaled(self, level: float) -> RankNoise:
        """The same with another standard deviation of the shift."""
        return replace(self, level=level)

    def fitted(self, reference: Array) -> RankNoise:
        """The same noise in the ranks of the reference ``(r, d)``; missing cells have no rank."""
        if not len(reference):
            raise InputError("rank noise needs reference rows", "there are none", "give reference=, or noise=0.2")
        return replace(self, ranks=Ranks.of(reference))

    def copies(self, x: Array, draws: Array, region: Region, scales: Array, numeric: Mask) -> Array:
        ranks, noisy = self._require_ranks(), find_noisy_cells(x, region, numeric)
        columns = np.flatnonzero(noisy.any(axis=(0, 1)))
        if len(columns) == x.shape[-1]:
            out = self._shift_ranks(ranks, x, draws, region.lower, region.upper, columns)
        else:
            out = np.repeat(x[:, :, None, :], draws.shape[1], axis=2)
            box = region.lower[:, columns], region.upper[:, columns]
            out[..., columns] = self._shift_ranks(ranks, x[..., columns], draws[..., columns], *box, columns)
        return finish_copies(out, x, draws, region, numeric, self.flips)

    def _shift_ranks(self, ranks: Ranks, x: Array, draws: Array, lower: Array, upper: Array, columns: Index) -> Array:
        """Copies ``(n, k, m, c)`` of cells ``x`` ``(n, k, c)`` of these columns, reflected at the ranks of the box."""
        first, last = ranks.rank_interval(x, columns)
        low = ranks.rank_interval(lower, columns)[0][:, None, :]
        wide = ranks.rank_interval(upper, columns)[1][:, None, :] - low
        # counted in widths of the box, a reflection is a wave of period 2
        unit = 1.0 / np.maximum(wide, 1e-300)
        wave = ((first - low) * unit)[:, :, None] + (self.level * unit)[:, :, None] * draws[:, None]
        if (last > first).any():
            wave += ((last - first) * unit)[:, :, None] * _second_uniforms(draws)[:, None]
        wave -= 2.0 * np.rint(0.5 * wave)
        np.abs(wave, out=wave)
        wave *= wide[:, :, None]
        wave += low[:, :, None]
        found = ranks.values_at(wave, columns)
        beyond = ranks.distance_outside_range(x, columns)
        return found + beyond[:, :, None] if beyond.any() else found

    def _require_ranks(self) -> Ranks:
        if self.ranks is None:
            raise InputError(
                "rank noise must know the reference", f"{self!r} is not fitted", "call its fitted(reference) first"
            )
        return self.ranks


class Calibration(NamedTuple):
    """The noise that was chosen, and the shares of copies that kept the target at the levels that were tried."""

    noise: RankNoise
    levels_tried: tuple[float, ...]
    shares_kept: tuple[float, ...]
    wanted_share: float

    @property
    def sentence(self) -> str:
        """What was chosen and why, for a report."""
        level, chosen = self.noise.level, dict(zip(self.levels_tried, self.shares_kept, strict=True))
        sentence = f"rank noise {level:g}: reference rows of the target keep it in {chosen[level]:.1%} of copies"
        if self.shares_kept[0] < self.wanted_share:
            return f"{sentence}, less than {self.wanted_share:.0%} even at this smallest level"
        return sentence if self.shares_kept[-1] < self.wanted_share else f"{sentence}, and no larger level is tried"


def calibrate(
    noise: RankNoise,
    x: Array,
    draws: Array,
    keeps: Callable[[Array], Mask],
    region: Region,
    scales: Array,
    numeric: Mask,
    *,
    levels: Sequence[float] = (0.0025, 0.005, 0.01, 0.02, 0.03, 0.05),
    wanted: float = 0.95,
) -> Calibration:
    """The largest level at which, and at all smaller ones, real rows of the target keep it in 95 % of copies.

    ``x`` ``(r, d)`` are reference rows that have the target, ``region`` is theirs, ``draws`` ``(r, m, d)``; ``keeps``
    says of copies ``(r, m, d)`` whether the target is kept, ``(r, m)``; the share is pooled over rows. Where even the
    smallest level loses too many, that level is taken: no noise at all would be no answer.
    """
    tried: list[float] = []
    kept: list[float] = []
    for level in sorted(levels):
        trial = replace(noise, level=float(level))
        tried.append(float(level))
        kept.append(float(keeps(trial.copies(x[:, None], draws, region, scales, numeric)[:, 0]).mean()))
        if kept[-1] < wanted:
            break
    passed = [level for level, share in zip(tried, kept, strict=True) if share >= wanted]
    return Calibration(replace(noise, level=(passed or tried)[-1]), tuple(tried), tuple(kept), wanted)


def _check_flips(flips: float) -> None:
    if not 0 <= flips <= 1:
        raise InputError("the chance of a flip must be between 0 and 1", f"{flips!r}", "0 leaves categories alone")


def _second_uniforms(draws: Array, resolution: float = 4096.0) -> Array:
    """A uniform number from the low digits of each normal one; opposite draws give opposite numbers.

    What a draw says beyond the resolution does not depend on what it says up to there.
    """
    return np.asarray(np.modf(ndtr(draws) * resolution)[0])
