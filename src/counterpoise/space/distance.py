"""Distance between a row and its counterfactual: the first term of the energy, Eq. (1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from counterpoise.errors import InputError
from counterpoise.space.norms import NORMS, Norm, check_mixture, name_mixture
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Mask, has_no_missing


@dataclass(frozen=True, eq=False)
class Distance:
    """What a change costs: ``d(x, x0)`` of Eq. (1) and Eq. (3), as a function of the scaled differences.

    The difference of a feature is ``|x - x0| / unit`` for a number, the difference of ranks over levels - 1 for an
    ordered category, 0 or 1 for a category, and 1 for a missing cell that is given a value.

    A new distance is a subclass, handed over as ``distance=TheClass``. It must say `norm` and `slopes`. The further
    questions are those that searches ask to find their way; the answers here are those of L2. A wrong answer makes
    a search slower or its result longer, never wrong: answers are measured by `norm`.

    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"a": [0.0, 2.0], "b": ["u", "v"]}))
    >>> float(Distance.of(schema, "l1")(np.array([[[2.0, 1.0]]]), np.array([[0.0, 0.0]]))[0, 0])
    3.0
    """

    unit: Array  # (d,) raw length of one unit of difference
    span: Array  # (d,) raw length of the whole range
    nominal: Mask  # (d,) differences are 0 or 1
    prices: Array | None = None  # (2, d) how many times a difference downwards, and upwards, counts; None: once

    @staticmethod
    def of(
        schema: Schema,
        spec: str | Mapping[str, float] | type[Distance] | Distance = "l2",
        prices: Array | None = None,
    ) -> Distance:
        """The distance that the user asks for.

        ``spec`` is "l2", "l1", "l0", "gower", "mad", weights of these such as {"l2": 1, "l0": 0.1}, "linf", or a
        subclass of `Distance`; ``prices`` ``(2, d)`` are how many times a difference downwards, and upwards, counts.
        """
        if isinstance(spec, Distance):
            if spec.unit.shape != (len(schema),):
                raise InputError(
                    "a distance must have a unit for each feature",
                    f"{spec.name} has {spec.unit.shape[0]} for {len(schema)} features",
                    "make it with its for_schema",
                )
            return spec
        from counterpoise.space.known_distances import LargestDifference, NormMixture, check_deviations

        if spec == "linf":
            return LargestDifference.for_schema(schema, prices)
        if isinstance(spec, type) and issubclass(spec, Distance) and spec not in (Distance, NormMixture):
            return spec.for_schema(schema, prices)
        mixture = check_mixture(spec)
        if any(norm == "mad" for norm, _ in mixture):
            check_deviations(schema)
        return NormMixture(
            schema.units, schema.observed_spans, schema.nominal, prices, mixture, schema.median_deviations
        )

    @classmethod
    def for_schema(cls, schema: Schema, prices: Array | None = None) -> Self:
        """This distance in the units of a schema."""
        return cls(schema.units, schema.observed_spans, schema.nominal, prices)

    def with_norm(self, norm: Norm) -> Distance:
        """One norm in the same units, at the same prices."""
        from counterpoise.space.known_distances import NormMixture

        return NormMixture(self.unit, self.span, self.nominal, self.prices, ((norm, 1.0),))

    # What a distance must say.

    def norm(self, delta: Array, x0: Array) -> Array:
        """The distance ``(n, k)`` that the scaled differences ``(n, k, d)`` from rows ``x0`` ``(n, d)`` amount to."""
        raise NotImplementedError(f"{type(self).__name__} must define norm")

    def slopes(self, delta: Array, x0: Array) -> Array:
        """What `norm` gains per unit of each difference, ``(n, k, d)``, all >= 0; 0 where there is no slope."""
        raise NotImplementedError(f"{type(self).__name__} must define slopes")

    # What searches ask.

    @property
    def name(self) -> str:
        """How people write it."""
        return type(self).__name__

    @property
    def length_weight(self) -> float:
        """What one unit of the Euclidean length of the differences costs: 1 for L2, 0 for L1, L0 and Gower."""
        return 1.0

    @property
    def unit_prices(self) -> Array | None:
        """Cost of one unit of each difference beside the length, ``(d,)``: 1 for L1; None if it is free."""
        return None

    @property
    def change_price(self) -> float:
        """What every changed feature costs beside its difference: 1 for L0."""
        return 0.0

    @property
    def typical_cost(self) -> float:
        """Approximate cost of changing one feature by one unit: 1 for L2 and L1, 1/d for Gower."""
        return 1.0

    @property
    def spreads_changes(self) -> bool:
        """Whether small changes of many features cost less than a large change of one, as in L2."""
        return self.length_weight > 0

    @property
    def averages_features(self) -> bool:
        """Whether a change counts for a share 1/d only, so that many features are cheap to change, as in Gower."""
        return False

    @property
    def is_single_norm(self) -> bool:
        """Whether the distance is exactly one of L2, L1, L0 and Gower, for which special methods exist."""
        return False

    def reach(self, effort: Array) -> Array:
        """The largest difference of one feature that an effort ``(n,)`` can pay for; infinite if unknown."""
        return np.full_like(effort, np.inf)

    # What is the same for every distance.

    @cached_property
    def has_nominal_columns(self) -> bool:
        """Whether some differences are 0 or 1."""
        return bool(self.nominal.any())

    def differences(self, x: Array, x0: Array) -> Array:
        """Scaled differences ``(n, k, d)`` of ``x`` ``(n, k, d)`` from ``x0`` ``(n, d)``, all >= 0."""
        delta = np.abs(x - x0[:, None, :])
        delta /= self.unit
        delta = self._set_discrete_differences(delta, x, x0)
        return delta if self.prices is None else delta * self._cell_prices(x, x0)

    def __call__(self, x: Array, x0: Array) -> Array:
        """The distance ``(n, k)`` of ``x`` ``(n, k, d)`` from ``x0`` ``(n, d)``."""
        return self.norm(self.differences(x, x0), x0)

    def gradient(self, x: Array, x0: Array) -> Array:
        """Gradient ``(n, k, d)`` of the distance in raw units, 0 where it has none: the first term of Eq. (15).

        At ``x0`` itself the paper's quotient is 0/0; the least subgradient, 0, is taken. Categories and missing cells
        have no slope.
        """
        direction = np.nan_to_num(np.sign(x - x0[:, None, :]), nan=0.0)
        direction[..., self.nominal] = 0.0
        unit = self.unit
        if self.prices is not None:
            price = self._cell_prices(x, x0)
            unit = unit / np.where(price > 0, price, 1.0)
            direction[price == 0] = 0.0
        return np.asarray(direction * self.slopes(self.differences(x, x0), x0) / unit)

    def unit_lengths(self, scales: Array, direction: Array, min_price: float = 1e-3) -> Array:
        """The raw length of one unit of distance in a direction ``(n, k, d)``: ``scales`` ``(d,)`` over its price.

        A length is finite: what costs less than ``min_price``, or nothing, is taken to cost that much.
        """
        if self.prices is None:
            return scales
        return np.asarray(scales / np.maximum(np.where(direction > 0, self.prices[1], self.prices[0]), min_price))

    def _cell_prices(self, x: Array, x0: Array) -> Array:
        """How many times each difference counts, ``(n, k, d)``."""
        assert self.prices is not None
        return np.asarray(np.where(x > x0[:, None, :], self.prices[1], self.prices[0]))

    def _set_discrete_differences(self, delta: Array, x: Array, x0: Array) -> Array:
        if self.has_nominal_columns:
            delta[..., self.nominal] = delta[..., self.nominal] != 0  # NaN counts as different; set right below
        if not has_no_missing(x0):
            missing = np.isnan(x0)
            delta = np.where(missing[:, None, :], np.where(np.isnan(x), 0.0, 1.0), delta)
        return delta


def name_of_distance(spec: str | Mapping[str, float] | type[Distance] | Distance) -> str:
    """How people write the distance that a user's word, weights or class name.

    >>> name_of_distance({"l0": 0.5, "l1": 1})
    '1 l1 + 0.5 l0'
    """
    if isinstance(spec, str):
        return spec
    if isinstance(spec, Distance):
        return spec.name
    if not isinstance(spec, Mapping):  # a class, or the record of one in a saved explanation
        return spec.__name__ if isinstance(spec, type) else repr(spec)
    return name_mixture(tuple((norm, float(spec[norm])) for norm in NORMS if spec.get(norm)))
