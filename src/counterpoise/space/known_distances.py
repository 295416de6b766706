"""The distances that have a name: L2, L1, L0, Gower, MAD, mixtures of them, and the largest difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.errors import InputError
from counterpoise.space.distance import Distance
from counterpoise.space.norms import Norm, name_mixture
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array


@dataclass(frozen=True, eq=False)
class LargestDifference(Distance):
    """The largest difference of a feature: the norm L-infinity, "linf"."""

    @property
    def name(self) -> str:
        """How people write it."""
        return "linf"

    def norm(self, delta: Array, x0: Array) -> Array:
        """The largest of the differences ``(n, k, d)``, ``(n, k)``."""
        return np.asarray(delta.max(axis=-1))

    def slopes(self, delta: Array, x0: Array) -> Array:
        """1 at the largest difference, 0 elsewhere, ``(n, k, d)``."""
        return np.where((delta > 0) & (delta == delta.max(axis=-1, keepdims=True)), 1.0, 0.0)

    def reach(self, effort: Array) -> Array:
        """The effort itself."""
        return np.asarray(effort)


@dataclass(frozen=True, eq=False)
class NormMixture(Distance):
    """A norm, or a weighted mixture of norms. L2, L1 and L0 are the usual ones of the differences.

    Gower is their mean, with numbers divided by their range instead of their unit. MAD is their sum, with numbers
    divided by their median absolute deviation, so that a column with a few huge values does not become cheap.

    >>> mixture = NormMixture(np.ones(2), np.ones(2), np.zeros(2, dtype=bool), mixture=(("l2", 1.0), ("l0", 0.1)))
    >>> mixture.name, float(mixture(np.array([[[3.0, 4.0]]]), np.zeros((1, 2)))[0, 0])
    ('1 l2 + 0.1 l0', 5.2)
    """

    mixture: tuple[tuple[Norm, float], ...] = (("l2", 1.0),)
    deviations: Array | None = None  # (d,) the median absolute deviations, for "mad"; None: the units

    @property
    def name(self) -> str:
        """How people write it: the norm's name, or the mixture."""
        return name_mixture(self.mixture)

    @cached_property
    def length_weight(self) -> float:
        """The weight of L2."""
        return self._weight("l2")

    @cached_property
    def unit_prices(self) -> Array | None:
        """What L1, Gower and MAD ask for one unit of each difference, ``(d,)``."""
        l1, gower, mad = self._weight("l1"), self._weight("gower"), self._weight("mad")
        if not (l1 or gower or mad):
            return None
        return np.asarray(l1 + gower * self.unit / self.span / len(self.unit) + mad * self._per_deviation)

    @cached_property
    def change_price(self) -> float:
        """The weight of L0."""
        return self._weight("l0")

    @property
    def typical_cost(self) -> float:
        """The weights of the norms together, Gower's over the number of features."""
        return sum(weight / (len(self.unit) if name == "gower" else 1) for name, weight in self.mixture)

    @property
    def averages_features(self) -> bool:
        """Whether Gower has a part in it."""
        return self._weight("gower") > 0

    @property
    def is_single_norm(self) -> bool:
        """Whether the mixture has a single norm."""
        return len(self.mixture) == 1

    def reach(self, effort: Array) -> Array:
        """The effort over what L2, L1 and MAD together ask at least for one unit; L0 and Gower set no limit."""
        mad = self._weight("mad") * min(1.0, self._per_deviation.min(initial=1.0))
        least = self._weight("l2") + self._weight("l1") + mad
        return np.asarray(effort / least) if least else np.full_like(effort, np.inf)

    def norm(self, delta: Array, x0: Array) -> Array:
        """The weighted sum ``(n, k)`` of the norms of the differences ``(n, k, d)``."""
        if self._is_plain_l2:
            return np.asarray(np.sqrt(np.vecdot(delta, delta)))
        total = np.zeros(delta.shape[:-1])
        for name, weight in self.mixture:
            if name == "l2":
                total += weight * np.sqrt(np.vecdot(delta, delta))
            elif name == "l1":
                total += weight * delta.sum(axis=-1)
            elif name == "l0":
                total += weight * np.count_nonzero(delta, axis=-1)
            elif name == "mad":
                total += weight * np.einsum("nkd,nd->nk", delta, self._mad_shares(x0))
            else:
                total += weight * np.einsum("nkd,nd->nk", delta, self._gower_shares(x0)) / delta.shape[-1]
        return total

    def slopes(self, delta: Array, x0: Array) -> Array:
        """The slopes of L2, L1, Gower and MAD, weighted, ``(n, k, d)``; L0 has none."""
        total = np.zeros_like(delta)
        for name, weight in self.mixture:
            if name == "l2":
                length = np.sqrt(np.vecdot(delta, delta))[..., None]
                total += weight * np.divide(delta, length, out=np.zeros_like(delta), where=length > 0)
            elif name == "l1":
                total += weight
            elif name == "gower":
                total += weight * self._gower_shares(x0)[:, None, :] / delta.shape[-1]
            elif name == "mad":
                total += weight * self._mad_shares(x0)[:, None, :]
        return total

    def cell_shares(self, x0: Array) -> Array:
        """What Gower and MAD together ask for a scaled difference of each cell, ``(n, d)``."""
        gower = self._weight("gower") * self._gower_shares(x0) / x0.shape[1]
        return np.asarray(gower + self._weight("mad") * self._mad_shares(x0))

    def _weight(self, norm: Norm) -> float:
        return dict(self.mixture).get(norm, 0.0)

    @cached_property
    def _is_plain_l2(self) -> bool:
        """Whether it is L2 and nothing else."""
        return self.mixture == (("l2", 1.0),)

    def _gower_shares(self, x0: Array) -> Array:
        """What Gower makes of a scaled difference, ``(n, d)``: numbers by their range, a cell once missing in full."""
        return np.where(np.isnan(x0), 1.0, self.unit / self.span)

    @cached_property
    def _per_deviation(self) -> Array:
        """How many median absolute deviations one unit of each difference is, ``(d,)``."""
        return np.ones_like(self.unit) if self.deviations is None else self.unit / self.deviations

    def _mad_shares(self, x0: Array) -> Array:
        """What MAD makes of a scaled difference, ``(n, d)``: a cell once missing counts in full."""
        return np.where(np.isnan(x0), 1.0, self._per_deviation)


def check_deviations(schema: Schema) -> None:
    """An error where the schema does not know the median absolute deviation of a number that may change."""
    unknown = [f.name for f in schema.features if f.is_numeric and f.mad is None and not f.fixed]
    if unknown:
        raise InputError(
            "distance='mad' needs the median absolute deviation of every number",
            f"the schema has none for {unknown[0]!r}",
            "give a reference, or write mad: beside scale: in the schema",
        )
