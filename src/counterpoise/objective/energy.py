"""The energy of a counterfactual, Eq. (3) and Eq. (9): distance + lam * regulariser + mu * distance to the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpoise.objective.regularizers import ChangeCount, Regularizer, RegularizerByRow, Sparsity, WeightedL1
from counterpoise.space.distance import Distance
from counterpoise.types import Array, Index, Mask


class EnergyTerms(NamedTuple):
    """The terms of Eq. (3), each ``(n, k)``: lam and mu are already in them."""

    distance: Array
    regularizer: Array
    decision: Array

    @property
    def total(self) -> Array:
        return self.distance + self.regularizer + self.decision


def phi(margin: Array, *, two_sided: bool = False) -> Array:
    """How far the decision is from the one asked for: ``max(0, -margin)``, or the paper's ``|margin|``.

    ``margin`` is ``f - c``. The paper's form is least on the boundary itself, on either side of it; the one-sided form
    is zero wherever the target is reached.

    >>> phi(np.array([-2.0, 3.0])), phi(np.array([-2.0, 3.0]), two_sided=True)
    (array([2., 0.]), array([2., 3.]))
    """
    return np.abs(margin) if two_sided else np.maximum(0.0, -margin)


def phi_slope(margin: Array, *, two_sided: bool = False) -> Array:
    """Derivative of `phi` with respect to the margin, Eq. (17): ``sign(f - c)``; 0 at the kink.

    >>> phi_slope(np.array([-2.0, 3.0])), phi_slope(np.array([-2.0, 3.0]), two_sided=True)
    (array([-1.,  0.]), array([-1.,  1.]))
    """
    return np.sign(margin) if two_sided else np.where(margin < 0, -1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Energy:
    """``E(x) = d(x, x0) + lam R(x, x0) + mu phi(f(x) - c)``, Eq. (3); with a weighted L1 regulariser, Eq. (9).

    ``mu`` is one number per row ``(n,)``: a minimum of E is valid only where mu times the slope of f exceeds 1.
    """

    distance: Distance
    lam: float
    regularizers: tuple[Regularizer, ...]
    mu: Array
    two_sided: bool = False

    def take(self, rows: Index | Sequence[int]) -> Energy:
        """The energy of some of the rows."""
        index = np.asarray(rows, dtype=np.intp)
        parts = tuple(part.take(index) if isinstance(part, RegularizerByRow) else part for part in self.regularizers)
        return replace(self, mu=self.mu[index], regularizers=parts)

    @cached_property
    def l1_weights(self) -> Array | float:
        """What a unit of each feature's difference adds through weighted L1 regularisers, ``(d,)``."""
        return self.lam * sum((part.weights for part in self.regularizers if isinstance(part, WeightedL1)), 0.0)

    @cached_property
    def change_prices(self) -> Array:
        """What each feature's change costs beside its size, ``(d,)``: 1 each for L0, lam w_i where changes count."""
        total = np.full(self.distance.unit.shape, self.distance.change_price)
        for part in self.regularizers if self.lam else ():
            if isinstance(part, ChangeCount):
                total = total + self.lam * part.weights
            elif isinstance(part, Sparsity):
                total = total + self.lam
        return total

    @cached_property
    def counts_changes(self) -> bool:
        """Whether the number of changed features costs something."""
        return bool(self.change_prices.any())

    def without_counts(self) -> Energy:
        """This energy without the terms that count changes: what noise moves a little, it would count in full."""
        parts = tuple(part for part in self.regularizers if not isinstance(part, (ChangeCount, Sparsity)))
        return replace(self, regularizers=parts)

    @property
    def is_norm_plus_prices(self) -> bool:
        """Whether the effort consists of one norm and of prices per feature for its difference and its change."""
        known = (WeightedL1, ChangeCount, Sparsity)
        plain = not self.lam or all(isinstance(part, known) for part in self.regularizers)
        return plain and self.distance.is_single_norm and self.distance.prices is None

    def effort(self, x: Array, x0: Array) -> Array:
        """The part that a valid answer pays, ``d + lam R``: ``(n, k)`` for ``x`` ``(n, k, d)``, ``x0`` ``(n, d)``."""
        delta = self.distance.differences(x, x0)
        total = self.distance.norm(delta, x0)
        return total + self._penalty(x, x0, delta) if self.lam and self.regularizers else total

    def beats_any_two_changes(self, effort: Array, movable: Mask) -> Mask:
        """Which efforts of answers are so low that no point which changes two of the ``movable`` features costs less.

        ``movable`` ``(d,)`` are the features that may change by themselves.
        """
        prices = np.sort(self.change_prices[movable])[:2]
        if self.distance.prices is not None or len(prices) < 2:  # what is free counts for nothing
            return np.zeros(effort.shape, dtype=bool)
        return np.asarray(effort < prices.sum())

    def terms(self, x: Array, x0: Array, margin: Array) -> EnergyTerms:
        """All three terms for points ``x`` ``(n, k, d)`` with margins ``f - c`` ``(n, k)``."""
        delta = self.distance.differences(x, x0)
        decision = self.mu[:, None] * phi(margin, two_sided=self.two_sided)
        return EnergyTerms(self.distance.norm(delta, x0), self._penalty(x, x0, delta), decision)

    def _penalty(self, x: Array, x0: Array, delta: Array) -> Array:
        """``lam R``, ``(n, k)``."""
        total = np.zeros(delta.shape[:-1])
        for regularizer in self.regularizers if self.lam else ():
            total += self.lam * regularizer(x, x0, delta)
        return total

    def __call__(self, x: Array, x0: Array, margin: Array) -> Array:
        """E of Eq. (3), ``(n, k)``."""
        return self.effort(x, x0) + self.mu[:, None] * phi(margin, two_sided=self.two_sided)

    def gradient(self, x: Array, x0: Array, margin: Array, margin_gradient: Array) -> Array:
        """Gradient ``(n, k, d)`` of E, Eq. (15) and Eq. (18), given that of the margin ``(n, k, d)``."""
        total = self.distance.gradient(x, x0)
        if self.lam:
            delta = self.distance.differences(x, x0)
            for regularizer in self.regularizers:
                total = total + self.lam * regularizer.gradient(x, x0, delta)
        slope = self.mu[:, None] * phi_slope(margin, two_sided=self.two_sided)
        return total + slope[..., None] * margin_gradient
