"""How often each place of a column is proposed: a table a row, column and temperature, drawn from by whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.problem import Problem
from counterpoise.types import Array, Index

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ProposalTable:
    """Probabilities of proposing places 1, 2, … of a column, and of choosing a column to change or set back.

    They are whole numbers of 2**-31, so that what is drawn and what enters the ratios are the same to the last bit,
    whatever rows are drawn together. They do not depend on where a chain is, so any table keeps detailed balance.
    """

    cumulative: Counts  # (n, d, s, m + 1) sums of the probabilities of places 0 … m; place 0 has none
    column_cumulative: Counts  # (n, d)
    log_probabilities: Array  # (n, d, s, m + 1)
    setting_weights: Counts  # (n, d, s) how likely each unchanged column is chosen to be changed, beside the others

    @classmethod
    def of(cls, probability: Array, column_probability: Array, setting_weights: Array | None = None) -> ProposalTable:
        """The table of probabilities ``(n, d, s, m + 1)``, that of place 0 being 0, and of columns ``(n, d)``.

        ``setting_weights`` ``(n, d, s)`` are at most 1; None: all the same.
        """
        cumulative = _cumulate(probability)
        counts = np.diff(cumulative, axis=-1, prepend=0)
        with np.errstate(divide="ignore"):
            logs = np.log(counts / 2.0**31)
        weights = np.ones(probability.shape[:3]) if setting_weights is None else setting_weights
        return cls(cumulative, _cumulate(column_probability), logs, np.rint(weights * 2.0**31).astype(np.int64))

    def take(self, rows: Index) -> ProposalTable:
        """The table of some rows."""
        return ProposalTable(
            self.cumulative[rows],
            self.column_cumulative[rows],
            self.log_probabilities[rows],
            self.setting_weights[rows],
        )

    def draw(self, rows: Index, columns: Index, slots: Index, u: Array) -> Index:
        """A place for each entry of the broadcast index arrays, by uniform numbers ``u`` of their shape."""
        _, d, s, width = self.cumulative.shape
        table = (np.broadcast_to(rows, u.shape) * d + columns) * s + slots
        found = np.searchsorted(self._keys, (table << 32) + (u * 2.0**31).astype(np.int64), side="right")
        return np.asarray(np.minimum(found - table * width, width - 1))

    @cached_property
    def _keys(self) -> Counts:
        """All sums in one increasing list: the number of the table in front, so that one search serves all tables."""
        width = self.cumulative.shape[-1]
        numbers = np.arange(self.cumulative[..., 0].size)[:, None]
        return np.asarray((numbers << 32) + self.cumulative.reshape(-1, width)).ravel()

    def draw_columns(self, u: Array) -> Index:
        """A column for each chain, by uniform numbers ``u`` ``(n, k)``."""
        wanted = (u * 2.0**31).astype(np.int64)
        return np.asarray((self.column_cumulative[:, None, :] > wanted[..., None]).argmax(axis=-1))

    def log_probability(self, rows: Index, columns: Index, slots: Index, place: Index) -> Array:
        """Logarithm of the probability of proposing places, for the broadcast index arrays."""
        return self.log_probabilities[rows, columns, slots, place]


def tilted_probabilities(problem: Problem, places: Places, ground: Array, T: Array) -> Array:
    """The base measure times ``exp(-cost / T)``, ``(n, d, s, m + 1)``, for temperatures ``T`` ``(n, s)``.

    The cost of a place is roughly what it adds to the effort of the row's answer ``ground`` ``(n, d)``.
    """
    distance, x0 = problem.energy.distance, problem.x0
    values = np.moveaxis(places.near, -1, 1)  # (n, m + 1, d)
    delta = np.moveaxis(distance.differences(values, x0), 1, -1)
    differences = distance.differences(ground[:, None, :], x0)[:, 0]
    rest = np.sqrt(np.maximum(np.sum(differences**2, axis=1, keepdims=True) - differences**2, 0.0))[..., None]
    cost = distance.length_weight * (np.hypot(rest, delta) - rest)
    if distance.unit_prices is not None:
        cost = cost + distance.unit_prices[None, :, None] * delta
    weight = np.exp(places.log_weight)
    weight[..., 0] = 0.0
    least = np.where(weight > 0, cost, np.inf).min(axis=-1, keepdims=True, initial=np.inf)
    over = np.where(weight > 0, cost - np.where(np.isfinite(least), least, 0.0), 0.0)
    return weight[:, :, None, :] * np.exp(-over[:, :, None, :] / T[:, None, :, None])


def mix_proposals(
    places: Places, tilted: Array, visits: Array | None, settings: SamplerSettings
) -> tuple[Array, Array, Array]:
    """Probabilities of places ``(n, d, s, m + 1)`` and columns ``(n, d)`` from base measure, tilt and visits.

    The third are the weights ``(n, d, s)`` by which an unchanged column is chosen: the odds that it is changed.

    ``visits`` ``(n, d, s, m + 1)`` counts where chains have been while the proposals adapt; None: nowhere yet.
    """
    slab = np.exp(places.log_weight)
    slab[..., 0] = 0.0
    open_columns = places.is_open.astype(np.float64)
    share = settings.slab_share
    if visits is None:
        mixed = share * _normalise(slab)[:, :, None, :] + (1 - share) * _normalise(tilted)
        return mixed, _normalise(open_columns), np.repeat(open_columns[:, :, None], tilted.shape[2], axis=2)
    been = visits.copy()
    been[..., 0] = 0.0
    smooth = spread_visits(visits, places.log_weight[:, :, None, :])
    seen = smooth.sum(axis=-1, keepdims=True) > 0
    learnt = np.where(seen, _normalise(smooth), _normalise(tilted))
    mixed = share * _normalise(slab)[:, :, None, :] + share * _normalise(tilted) + (1 - 2 * share) * learnt
    total = visits.sum(axis=(2, 3))
    changed = np.divide(been.sum(axis=(2, 3)), total, out=np.zeros_like(total), where=total > 0)
    busy = np.sqrt(changed * (1 - changed) + 1e-4) * open_columns  # columns that are sometimes changed, sometimes not
    set_times, free_times = been.sum(axis=3), visits[..., 0]  # (n, d, s)
    odds = np.minimum((set_times + 0.5) / (free_times + 0.5), 1.0)
    return mixed, 0.3 * _normalise(open_columns) + 0.7 * _normalise(busy), odds * open_columns[:, :, None]


def spread_visits(visits: Array, log_weight: Array) -> Array:
    """Visits ``(..., m + 1)`` of places 1 to m, half as many added to both neighbours: they are as good a guess."""
    been = visits.copy()
    been[..., 0] = 0.0
    spread = been.copy()
    spread[..., 1:] += 0.5 * been[..., :-1]
    spread[..., :-1] += 0.5 * been[..., 1:]
    spread[..., 0] = 0.0
    return np.where(np.isfinite(log_weight), spread, 0.0)


def _normalise(weights: Array) -> Array:
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0))


def _cumulate(probability: Array) -> Counts:
    """Sums of probabilities in whole numbers of 2**-31, the last being 2**31."""
    summed = np.cumsum(probability, axis=-1)
    total = summed[..., -1:]
    share = np.divide(summed, total, out=np.zeros_like(summed), where=total > 0)
    return np.rint(share * 2.0**31).astype(np.int64)
