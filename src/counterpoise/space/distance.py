"""Distance between a row and its counterfactual: the first term of the energy, Eq. (1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from counterpoise.errors import InputError
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Mask, has_no_missing, is_number

Norm = Literal["l2", "l1", "l0", "gower"]
MIN_PRICE = 1e-3  # what costs nothing is taken to cost so much where a length is asked for
NORMS: tuple[Norm, ...] = get_args(Norm)


@dataclass(frozen=True, eq=False)
class Distance:
    """A norm, or a weighted mixture of norms, of the scaled differences: ``d(x, x0)`` of Eq. (1) and Eq. (3).

    The difference of a feature is ``|x - x0| / scale`` for a number, the difference of ranks over levels - 1 for an
    ordered category, 0 or 1 for a category, and 1 for a missing cell that is given a value. L2, L1 and L0 are the
    usual norms of these differences; Gower is their mean, with numbers divided by their range instead.

    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"a": [0.0, 2.0], "b": ["u", "v"]}))
    >>> float(Distance.of(schema, "l1")(np.array([[[2.0, 1.0]]]), np.array([[0.0, 0.0]]))[0, 0])
    3.0
    """

    mixture: tuple[tuple[Norm, float], ...]
    unit: Array  # (d,) raw length of one unit
    span: Array  # (d,) raw length of the whole range, for Gower
    nominal: Mask  # (d,) differences are 0 or 1
    prices: Array | None = None  # (2, d) how many times a difference downwards, and upwards, counts; None: once

    @classmethod
    def of(cls, schema: Schema, spec: str | Mapping[str, float] = "l2", prices: Array | None = None) -> Distance:
        """The distance that a user's word names: "l2", "l1", "l0", "gower", or weights such as {"l2": 1, "l0": 0.1}.

        ``prices`` ``(2, d)`` are how many times a difference downwards, and upwards, counts.
        """
        weights = dict(spec) if isinstance(spec, Mapping) else {spec: 1.0} if isinstance(spec, str) else {}
        wrong = [name for name, weight in weights.items() if name not in NORMS or not is_number(weight)]
        if (
            wrong
            or not weights
            or not all(0 <= weight < np.inf for weight in weights.values())
            or not any(weights.values())
        ):
            raise InputError(
                f"distance must be one of {', '.join(NORMS)}, or weights >= 0 of them",
                f"{spec!r}",
                "for instance 'l1' or {'l2': 1.0, 'l0': 0.1}",
            )
        mixture = tuple((name, float(weights[name])) for name in NORMS if weights.get(name))
        return cls(mixture, schema.units, schema.observed_spans, schema.nominal, prices)

    @cached_property
    def has_nominal_columns(self) -> bool:
        """Whether some differences are 0 or 1."""
        return bool(self.nominal.any())

    @property
    def name(self) -> str:
        """How people write it: the norm's name, or the mixture."""
        return _name_mixture(self.mixture)

    def weight(self, norm: Norm) -> float:
        """The share of one norm in the mixture."""
        return self._weight_by_norm.get(norm, 0.0)

    @cached_property
    def _is_plain_l2(self) -> bool:
        """Whether it is L2 and nothing else."""
        return self.mixture == (("l2", 1.0),)

    @cached_property
    def _weight_by_norm(self) -> dict[Norm, float]:
        return dict(self.mixture)

    def differences(self, x: Array, x0: Array) -> Array:
        """Scaled differences ``(n, k, d)`` of ``x`` ``(n, k, d)`` from ``x0`` ``(n, d)``, all >= 0."""
        delta = np.abs(x - x0[:, None, :])
        delta /= self.unit
        delta = self._set_discrete_differences(delta, x, x0)
        return delta if self.prices is None else delta * self._cell_prices(x, x0)

    def __call__(self, x: Array, x0: Array) -> Array:
        """The distance ``(n, k)`` of ``x`` ``(n, k, d)`` from ``x0`` ``(n, d)``."""
        return self.norm(self.differences(x, x0), x0)

    def norm(self, delta: Array, x0: Array) -> Array:
        """The distance ``(n, k)`` that the scaled differences ``(n, k, d)`` from rows ``x0`` ``(n, d)`` amount to."""
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
            else:
                total += weight * np.einsum("nkd,nd->nk", delta, self._gower_shares(x0)) / delta.shape[-1]
        return total

    def gradient(self, x: Array, x0: Array) -> Array:
        """Gradient ``(n, k, d)`` of the distance in raw units, 0 where it has none: the first term of Eq. (15).

        At ``x0`` itself the paper's quotient is 0/0; the least subgradient, 0, is taken. Categories, missing cells
        and L0 have no slope.
        """
        step = (x - x0[:, None, :]) / self.unit
        step[..., self.nominal] = 0.0
        unit = self.unit
        if self.prices is not None:
            price = self._cell_prices(x, x0)
            step, unit = step * price, unit / np.where(price > 0, price, np.inf)
        step = np.nan_to_num(step, nan=0.0)
        delta = self.differences(x, x0)
        length = np.sqrt(np.vecdot(delta, delta))[..., None]
        total = np.zeros_like(step)
        for name, weight in self.mixture:
            if name == "l2":
                total += weight * np.divide(step, length, out=np.zeros_like(step), where=length > 0)
            elif name == "l1":
                total += weight * np.sign(step)
            elif name == "gower":
                total += weight * np.sign(step) * (self.unit / self.span) / step.shape[-1]
        return np.asarray(total / unit)

    def unit_lengths(self, scales: Array, direction: Array) -> Array:
        """The raw length of one unit of distance in a direction ``(n, k, d)``: ``scales`` ``(d,)`` over its price."""
        if self.prices is None:
            return scales
        return np.asarray(scales / np.maximum(np.where(direction > 0, self.prices[1], self.prices[0]), MIN_PRICE))

    def _cell_prices(self, x: Array, x0: Array) -> Array:
        """How many times each difference counts, ``(n, k, d)``."""
        assert self.prices is not None
        return np.asarray(np.where(x > x0[:, None, :], self.prices[1], self.prices[0]))

    def _gower_shares(self, x0: Array) -> Array:
        """What Gower makes of a scaled difference, ``(n, d)``: numbers by their range, a cell once missing in full."""
        return np.where(np.isnan(x0), 1.0, self.unit / self.span)

    def _set_discrete_differences(self, delta: Array, x: Array, x0: Array) -> Array:
        if self.has_nominal_columns:
            delta[..., self.nominal] = delta[..., self.nominal] != 0  # NaN counts as different; mended below
        if not has_no_missing(x0):
            gone = np.isnan(x0)
            delta = np.where(gone[:, None, :], np.where(np.isnan(x), 0.0, 1.0), delta)
        return delta


def name_of_distance(spec: str | Mapping[str, float]) -> str:
    """How people write the distance that a user's word or weights name.

    >>> name_of_distance({"l0": 0.5, "l1": 1})
    '1 l1 + 0.5 l0'
    """
    if isinstance(spec, str):
        return spec
    return _name_mixture(tuple((norm, float(spec[norm])) for norm in NORMS if spec.get(norm)))


def _name_mixture(mixture: tuple[tuple[Norm, float], ...]) -> str:
    if len(mixture) == 1 and mixture[0][1] == 1.0:
        return mixture[0][0]
    return " + ".join(f"{weight:g} {norm}" for norm, weight in mixture)
