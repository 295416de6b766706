"""The places of one column: the values or intervals that it can be changed to, in order, with their base weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.space.region.lattice import MAX_EXACT_COUNT
from counterpoise.types import Array


@dataclass(frozen=True, eq=False)
class ColumnPlaces:
    """m places of a column, in increasing order. A place is one value, or an interval between two ends.

    ``near`` and ``far`` are the ends of an interval by their distance from the row's own value, both equal for a single
    value; on a lattice they are values of it, both included. ``upper`` is the largest value that belongs to a place.
    ``weight`` is the share of the base measure, which adds up to 1.
    """

    near: Array  # (m,)
    far: Array  # (m,)
    upper: Array  # (m,)
    weight: Array  # (m,)
    unit: float = 0.0  # distance of neighbouring values inside an interval; 0: any number

    @classmethod
    def of_values(cls, values: Array, reference: Array, cell_ends: tuple[Array, Array] | None = None) -> ColumnPlaces:
        """One place a value, sorted, with the share of the reference that has this value, or lies in its cell.

        ``reference`` is sorted. ``cell_ends`` are the lower (excluded) and upper ends of the cells that values stand
        for. Every place counts half a row more than it has, so that none has weight 0.

        >>> ColumnPlaces.of_values(np.array([1.0, 5.0]), np.array([1.0, 1.0, 3.0, 5.0])).weight
        array([0.625, 0.375])
        """
        if cell_ends is None:
            upper = np.append((values[1:] + values[:-1]) / 2, np.inf)[: len(values)]
            found = [np.searchsorted(reference, values, side=side) for side in ("left", "right")]
        else:
            upper = cell_ends[1]
            found = [np.searchsorted(reference, ends, side="right") for ends in cell_ends]
        weight = found[1] - found[0] + 0.5
        return cls(
            values, values, upper, np.asarray(weight / weight.sum() if len(values) else weight, dtype=np.float64)
        )

    @classmethod
    def of_intervals(
        cls,
        row_value: float,
        box: tuple[float, float],
        width: float,
        reference: Array,
        settings: SamplerSettings,
        unit: float = 0.0,
        origin: float = 0.0,
    ) -> ColumnPlaces:
        """Intervals on either side of the row's value inside the ``box``, widening with the distance.

        Inside each interval the base measure is uniform; their shares are those of the sorted ``reference``, read off
        the straight lines between its quantiles.
        """
        ends = [_interval_ends(abs(edge - row_value), width, settings) for edge in box]
        below, above = row_value - ends[0][::-1], row_value + ends[1]
        near, far = np.concatenate([below[1:], above[:-1]]), np.concatenate([below[:-1], above[1:]])
        low, high = np.minimum(near, far), np.maximum(near, far)
        if unit:
            low, high = _inner_lattice_ends(low, high, near, unit, origin)
            keep = low <= high
            up = far > near
            near, far = np.where(up, low, high)[keep], np.where(up, high, low)[keep]
            low, high = low[keep], high[keep]
            share = _reference_share(reference, low - unit / 2, high + unit / 2)
        else:
            share = _reference_share(reference, low, high)
        if not len(near):
            return cls(near, far, high, share, unit)
        share = share + 0.5 / (max(len(reference), 1) + len(share))
        return cls(near, far, high, share / share.sum(), unit)


def _interval_ends(reach: float, width: float, settings: SamplerSettings) -> Array:
    """Distances from the row's own value at which intervals end: 0, the last being ``reach``."""
    if not reach > 0:
        return np.zeros(1)
    steps = width * np.arange(1, settings.linear_intervals + 1)
    ends = [0.0, *steps[steps < reach].tolist()]
    step = width
    while len(ends) > settings.linear_intervals and ends[-1] + step < reach:
        step *= settings.widening
        ends.append(ends[-1] + step)
    if len(ends) > 1 and reach - ends[-1] < 0.3 * step:  # no sliver at the end
        ends.pop()
    return np.array([*ends, reach])


def _inner_lattice_ends(low: Array, high: Array, near: Array, unit: float, origin: float) -> tuple[Array, Array]:
    """The least and greatest lattice values of intervals, their nearer ends left out: they belong to what is nearer."""
    up = near == low
    first, last = (low - origin) / unit, (high - origin) / unit
    slack = 1e-9 * np.maximum(np.abs(first), 1.0)
    least = np.where(up, np.floor(first + slack) + 1, np.ceil(first - slack))
    most = np.where(up, np.floor(last + slack), np.ceil(last - slack) - 1)
    return origin + least * unit, origin + most * unit


def _reference_share(reference: Array, low: Array, high: Array, quantiles: int = 33) -> Array:
    """The share of the reference between ends, ``(m,)``: straight lines between its quantiles."""
    if not len(reference):
        return np.ones(len(low)) / max(len(low), 1)
    knots = np.unique(np.quantile(reference, np.linspace(0, 1, quantiles)))
    below = np.searchsorted(reference, knots, side="right") / len(reference)
    if len(knots) == 1:
        return np.asarray((low <= knots[0]) & (knots[0] <= high), dtype=np.float64)
    at_low, at_high = (np.interp(ends, knots, below, left=0.0, right=1.0) for ends in (low, high))
    return np.maximum(at_high - at_low, 0.0)


def list_lattice_values(first: float, last: float, unit: float, origin: float, most: int) -> Array | None:
    """All values of a lattice between two counts, or None where there are more than ``most``."""
    if not (abs(first) < MAX_EXACT_COUNT and abs(last) < MAX_EXACT_COUNT) or last - first >= most:
        return None
    return np.asarray(origin + np.arange(first, last + 1) * unit)
