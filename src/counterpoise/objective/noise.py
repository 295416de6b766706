"""Noise: what a row might turn out to be instead, as noisy copies of it.

The draws are the caller's, standard normals ``(n, m, d)``, one set per row: the same draws at two points of a row are
common random numbers. Copies are reflected at the region's bounds and rounded on whole numbers and listed values.
Cells that the region fixes and missing cells get no noise; categories only with a chance of ``flips``.
"""

from __future__ import annotations

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
class Gaussian(Noise):
    """Normal noise of standard deviation ``sigma``, in feature scales.

    sigma: the standard deviation of the noise, in standard deviations of the reference.
    flips: the probability that a category is replaced by another; 0 by default.

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

    def scaled(self, level: float) -> Gaussian:
        """The same with another standard deviation.

        >>> Gaussian(0.2, flips=0.1).scaled(0.5)
        Gaussian(sigma=0.5, flips=0.1)
        """
        return replace(self, sigma=level)


class RankPlaces(NamedTuple):
    """Where points stand among the ranks of a reference, counted in knots of their table from the ends of the box."""

    columns: Index  # (c,) those that noise moves
    start: Array  # (n, k, c) the least rank that the value has
    stretch: Array  # (n, k, m, s) a place among the knots that share the value, in columns where several do
    shared: Index  # (s,) these columns, by their places among the c
    low: Array  # (n or 1, 1, c) the lower end of the box
    wide: Array  # (n or 1, 1, c) its width


@dataclass(frozen=True)
class RankNoise:
    """A normal shift of standard deviation ``level`` in the reference's quantile ranks, for features with heavy tails.

    A rank that would leave the bounds is reflected, so that reference rows stay, feature by feature, distributed as
    they were. A value that many reference rows share has a stretch of ranks, and one of them is drawn. Beyond the
    reference's range a value keeps its distance from it. The ranks are learnt by ``fitted``.

    level: the standard deviation of the shift, as a share of all ranks: 0.02 is two of a hundred places.
    flips: the probability that a category is replaced by another; 0 by default.
    ranks: the reference's ranks; None: learnt when the noise is first used.

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
        return self.copies_at(self.locate(x, draws, region, numeric), x, draws, region, numeric)

    def locate(self, x: Array, draws: Array, region: Region, numeric: Mask) -> RankPlaces:
        """Where points ``x`` ``(n, k, d)`` stand among the ranks; it is the same at every level of the noise."""
        ranks = self._require_ranks()
        columns = np.flatnonzero(find_noisy_cells(x, region, numeric).any(axis=(0, 1)))
        top = ranks.table.shape[1] - 1
        first, last = (top * rank for rank in ranks.rank_interval(x[..., columns], columns))
        lower, upper = (_drop_equal_rows(end[:, columns]) for end in (region.lower, region.upper))
        low = top * ranks.rank_interval(lower, columns)[0][:, None, :]
        wide = top * ranks.rank_interval(upper, columns)[1][:, None, :] - low
        shared = np.flatnonzero((last > first).any(axis=(0, 1)))
        row_draws = draws[:1] if draws.strides[0] == 0 else draws  # the same draws for every row
        stretch = (last - first)[:, :, None, shared] * _second_uniforms(row_draws[..., columns[shared]])[:, None]
        return RankPlaces(columns, first - low, stretch, shared, low, wide)

    def copies_at(self, places: RankPlaces, x: Array, draws: Array, region: Region, numeric: Mask) -> Array:
        """The copies of points whose places are known."""
        columns = places.columns
        if len(columns) == x.shape[-1]:
            out = self._shift_ranks(places, x, draws)
        else:
            out = np.repeat(x[:, :, None, :], draws.shape[1], axis=2)
            out[..., columns] = self._shift_ranks(places, x[..., columns], draws[..., columns])
        return finish_copies(out, x, draws, region, numeric, self.flips)

    def _shift_ranks(self, places: RankPlaces, x: Array, draws: Array) -> Array:
        """Copies ``(n, k, m, c)`` of cells ``x`` ``(n, k, c)`` of these columns, reflected at the ranks of the box."""
        ranks = self._require_ranks()
        if draws.strides[0] == 0:  # the same draws for every row
            draws = draws[:1]
        step = self.level * (ranks.table.shape[1] - 1) * draws[:, None]
        wave = step + places.start[:, :, None]
        if len(places.shared):
            wave[..., places.shared] += places.stretch
        _reflect_wave(wave, places.wide[:, :, None], float(np.abs(step).max(initial=0.0)))
        if places.low.any():
            wave += places.low[:, :, None]
        found = ranks.values_at_knots(wave, places.columns)
        beyond = ranks.distance_outside_range(x, places.columns)
        return found + beyond[:, :, None] if beyond.any() else found

    def _require_ranks(self) -> Ranks:
        if self.ranks is None:
            raise InputError(
                "rank noise must know the reference", f"{self!r} is not fitted", "call its fitted(reference) first"
            )
        return self.ranks


def _check_flips(flips: float) -> None:
    if not 0 <= flips <= 1:
        raise InputError("the chance of a flip must be between 0 and 1", f"{flips!r}", "0 leaves categories alone")


def _reflect_wave(wave: Array, wide: Array, largest_step: float) -> None:
    """Reflect positions ``(n, k, m, c)`` at 0 and at ``wide`` ``(n, 1, 1, c)``, in place.

    A position that is less than one width outside takes one turn at each end; others are a wave of period 2 widths.
    """
    if largest_step >= wide.min(initial=np.inf):
        period = 2.0 * np.maximum(wide, 1e-9)
        wave -= period * np.rint(wave / period)
    np.abs(wave, out=wave)
    np.minimum(wave, 2.0 * wide - wave, out=wave)


def _drop_equal_rows(ends: Array) -> Array:
    """Ends of the rows' boxes ``(n, c)``, as a single line where all rows have the same."""
    return ends[:1] if len(ends) > 1 and bool((ends == ends[:1]).all()) else ends


def _second_uniforms(draws: Array, resolution: float = 4096.0) -> Array:
    """A uniform number from the low digits of each normal one; opposite draws give opposite numbers.

    What a draw says beyond the resolution does not depend on what it says up to there.
    """
    return np.asarray(np.modf(ndtr(draws) * resolution)[0])
