"""An axis by rank: values stand where they lie among the reference, so that a few huge ones do not crowd the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.explanation.tables import QUANTILE_SHARES
from counterpoise.types import Array


@dataclass(frozen=True, eq=False)
class RankAxis:
    """A rising map from values to places in [0, 1] and back; straight between the quantiles that it is made of.

    A hundredth of it follows the values themselves, so that two values are never at one place.
    """

    values: Array  # (q,) rising
    places: Array  # (q,) rising, 0 to 1

    @classmethod
    def of(cls, populations: Sequence[Array], ends: Sequence[float], linear_share: float = 0.01) -> RankAxis | None:
        """The axis of populations given by their quantiles ``(q,)``, each counted alike, and of values to show.

        None where there is no population, all values are one, or they differ by too little or too much for slopes.

        >>> axis = RankAxis.of([np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1e6])], [2.0])
        >>> axis.place(np.array([0.0, 5.0, 1e6])).round(2)
        array([0. , 0.5, 1. ])
        """
        known = [levels for levels in populations if not np.isnan(levels).any()]
        values = np.unique(np.concatenate([*known, np.asarray(ends, dtype=np.float64)])) if known else np.empty(0)
        values = values[np.isfinite(values)]
        with np.errstate(over="ignore", divide="ignore"):
            if len(values) < 2 or not np.isfinite([*(1.0 / np.diff(values)), values[-1] - values[0]]).all():
                return None
        shares = np.mean([_middle_ranks(levels, values) for levels in known], axis=0)
        shares = np.maximum.accumulate(shares)
        spread = (shares - shares[0]) / max(float(shares[-1] - shares[0]), 1e-12)
        straight = (values - values[0]) / (values[-1] - values[0])
        rising = np.linspace(0.0, 1.0, len(values))  # however close two values are
        mixed = (1 - 2 * linear_share) * spread + linear_share * (straight + rising)
        return cls(values, mixed)

    def place(self, values: Array) -> Array:
        """The places of values, in [0, 1]."""
        return np.asarray(np.interp(values, self.values, self.places))

    def value(self, places: Array) -> Array:
        """The values at places in [0, 1]."""
        return np.asarray(np.interp(places, self.places, self.values))

    def ticks(self, count: int = 5) -> Array:
        """Values to mark: those at even places, each once."""
        return np.unique(self.value(np.linspace(0.0, 1.0, count)))


def is_crowded(axis: RankAxis, low: float, high: float, ends: Sequence[float], crowded_share: float = 0.05) -> bool:
    """Whether values would crowd on a straight axis from ``low`` to ``high``.

    Either the two ``ends`` to tell apart are closer than ``crowded_share`` of it, and farther apart by rank; or they
    are one, and the middle half of the reference is within that share.
    """
    length, apart = high - low, abs(ends[1] - ends[0])
    if length <= 0:
        return False
    if apart > 0:
        by_rank = float(np.ptp(axis.place(np.asarray(ends))) / max(np.ptp(axis.place(np.array([low, high]))), 1e-12))
        return apart < crowded_share * length and by_rank > apart / length
    return float(np.ptp(axis.value(np.array([0.25, 0.75])))) < crowded_share * length


def _middle_ranks(levels: Array, values: Array) -> Array:
    """The share of a population below each value, half of those that have it included."""
    left = np.interp(values, *_first_of_each(levels, QUANTILE_SHARES, last=False))
    right = np.interp(values, *_first_of_each(levels, QUANTILE_SHARES, last=True))
    return np.asarray((left + right) / 2)


def _first_of_each(levels: Array, shares: Array, *, last: bool) -> tuple[Array, Array]:
    """Quantiles without repetition, each with its first share, or its last."""
    distinct, first, counts = np.unique(levels, return_index=True, return_counts=True)
    return distinct, shares[first + (counts - 1 if last else 0)]
