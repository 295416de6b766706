"""Trees in one form: all nodes of a model's trees in flat arrays, in the columns and values of the schema.

Every split is normalised to "a value goes left where ``value <= threshold``" in float64, whatever the library compares
(``<`` or ``<=``, in single or double precision): the threshold is the largest float64 that still goes left, and the
next float64 above it goes right. A search can hop to exactly either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.links import ToOutputs, keep_sums
from counterpoise.types import Array, Index, Mask


class TreeBoxes(NamedTuple):
    """The leaves of one tree: the box in which each holds (``lower < x <= upper``) and its value.

    ``allows_missing`` says for each column whether a missing cell is in the box; ``levels`` which codes of a category
    are, ``(leaves, codes + 1)``, the missing cell last.
    """

    lower: Array
    upper: Array
    allows_missing: Mask
    levels: dict[int, Mask]
    value: Array


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The nodes of all trees of a model, over encoded rows, and how leaves add up to the model's outputs.

    ``feature`` is -1 in a leaf. A node splits a number at ``threshold``, or a category by
    ``category_sets[category]``: the mask of its codes that go left, the missing cell last (``category`` is -1 where
    the split is of a number). ``first_sum`` is the first of the sums that each tree adds to; ``compares_in_single``
    marks columns whose values are compared in single precision. ``to_outputs`` turns ``base + scale * sum``, or the
    mean of the leaves, into the model's outputs.
    """

    feature: Index
    threshold: Array
    left: Index
    right: Index
    missing_left: Mask
    category: Index
    category_sets: tuple[Mask, ...]
    value: Array
    roots: Index
    first_sum: Index
    base: Array
    compares_in_single: Mask
    width: int
    scale: float = 1.0
    averages_leaves: bool = False
    sums_in_single_precision: bool = False
    to_outputs: ToOutputs = keep_sums

    @cached_property
    def thresholds(self) -> tuple[Array, ...]:
        """Split points of each column, sorted, without doubles; none for categories."""
        of_numbers = (self.feature >= 0) & (self.category < 0) & np.isfinite(self.threshold)
        feature, threshold = self.feature[of_numbers], self.threshold[of_numbers]
        order = np.lexsort((threshold, feature))
        cuts = np.searchsorted(feature[order], np.arange(self.width + 1))
        return tuple(np.unique(threshold[order[a:b]]) for a, b in pairwise(cuts))

    def boxes(self, tree: int) -> TreeBoxes:
        """The leaves of one tree as boxes of encoded rows; together they tile the space."""
        found: list[tuple[int, Array, Array, Mask, dict[int, Mask]]] = []
        everywhere = np.full(self.width, np.inf)
        todo = [(int(self.roots[tree]), -everywhere, everywhere, np.ones(self.width, dtype=bool), dict[int, Mask]())]
        while todo:
            node, lower, upper, missing, levels = todo.pop()
            j = int(self.feature[node])
            if j < 0:
                found.append((node, lower, upper, missing, levels))
                continue
            for child, goes_left in ((int(self.right[node]), False), (int(self.left[node]), True)):
                low, high, allows_missing, codes = lower.copy(), upper.copy(), missing.copy(), dict(levels)
                if self.category[node] >= 0:
                    chosen = self.category_sets[self.category[node]] == goes_left
                    codes[j] = codes[j] & chosen if j in codes else chosen
                    allows_missing[j] &= chosen[-1]
                else:
                    if goes_left:
                        high[j] = min(high[j], self.threshold[node])
                    else:
                        low[j] = max(low[j], self.threshold[node])
                    allows_missing[j] &= bool(self.missing_left[node]) == goes_left
                todo.append((child, low, high, allows_missing, codes))
        split_by = {j: len(mask) for leaf in found for j, mask in leaf[4].items()}
        return TreeBoxes(
            lower=np.array([leaf[1] for leaf in found]),
            upper=np.array([leaf[2] for leaf in found]),
            allows_missing=np.array([leaf[3] for leaf in found]),
            levels={
                j: np.array([leaf[4].get(j, np.ones(size, dtype=bool)) for leaf in found])
                for j, size in sorted(split_by.items())
            },
            value=self.value[[leaf[0] for leaf in found]],
        )


def code_places(codes: Array, size: int) -> Index:
    """Positions of codes in a table of ``size`` entries; missing and unknown codes share the last."""
    return np.where((codes >= 0) & (codes < size - 1), codes, size - 1).astype(np.intp)


def largest_rounded_at_most(limit: Array, dtype: np.dtype[Any]) -> Array:
    """The largest float64 that is at most ``limit`` once rounded to ``dtype``.

    >>> largest_rounded_at_most(np.array([1.0]), np.dtype(np.float32)) - 1.0
    array([5.96046448e-08])
    """
    limit = np.asarray(limit, dtype=np.float64)
    if dtype.itemsize >= 8 or dtype.kind != "f":
        return limit
    kind, most = dtype.type, np.finfo(dtype).max
    far = 2.0 * float(most) - float(np.nextafter(most, dtype.type(0)))  # where the next number of the dtype would be
    with np.errstate(over="ignore"):
        near = limit.astype(kind)
        under = np.where(near > limit, np.nextafter(near, kind(-np.inf)), near)
        low, high = (np.clip(v.astype(np.float64), -far, far) for v in (under, np.nextafter(under, kind(np.inf))))
        # Rounding is to the nearest, and to the even one in the middle.
        middle = low + (high - low) / 2
        found = np.where(middle.astype(kind) <= under, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isfinite(limit), found, limit)


def largest_left(threshold: NDArray[Any], *, strict: bool, single: bool) -> Array:
    """The largest float64 that goes left of each threshold, as the library compares.

    >>> largest_left(np.array([1.0]), strict=True, single=False)
    array([1.])
    """
    limit = np.asarray(threshold, dtype=np.float64)
    limit = np.nextafter(limit, -np.inf) if strict else limit
    return largest_rounded_at_most(limit, np.dtype(np.float32)) if single else limit
