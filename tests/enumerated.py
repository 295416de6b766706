"""Ensembles of few points, summed up one by one: what the sampler is held against."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np


class Exact(NamedTuple):
    """All valid points ``(m, d)`` of a row, their efforts ``(m,)`` and base weights ``(m,)``."""

    x: np.ndarray
    effort: np.ndarray
    weight: np.ndarray

    def law(self, T: float) -> np.ndarray:
        """The Boltzmann law ``(m,)``."""
        p = self.weight * np.exp(-(self.effort - self.effort.min()) / T)
        return p / p.sum()

    def change_shares(self, row: Sequence[float], T: float) -> np.ndarray:
        """The probability that each column is changed, ``(d,)``."""
        changed = np.nan_to_num(self.x, nan=-1.0) != np.nan_to_num(np.asarray(row, dtype=float), nan=-1.0)
        return self.law(T) @ changed

    def mean_effort(self, T: float) -> float:
        return float(self.law(T) @ self.effort)


def enumerate_points(
    row: Sequence[float],
    values: Sequence[dict[float, float]],
    effort: Callable[[np.ndarray], float],
    valid: Callable[[np.ndarray], np.ndarray],
    complete: Callable[[tuple[float, ...]], tuple[float, ...]] = tuple,
) -> Exact:
    """All valid points; ``values`` has for each free column its other values and their base weights, adding up to 1.

    ``complete`` makes a whole point of the free columns; ``valid`` judges points ``(m, d)``.
    """
    menus = [{own: 1.0, **others} for own, others in zip(row, values, strict=False)]
    points, weights = [], []
    for cells in product(*menus):
        points.append(complete(cells))
        weights.append(np.prod([menu[cell] for menu, cell in zip(menus, cells, strict=True)]))
    x = np.array(points, dtype=float)
    keep = valid(x)
    x, weight = x[keep], np.array(weights)[keep]
    return Exact(x, np.array([effort(point) for point in x]), weight)


def count_weights(values: Sequence[float], own: float, reference: Sequence[float]) -> dict[float, float]:
    """Other values than the row's own with their shares in the reference, half a row more for each."""
    counts = {v: np.count_nonzero(np.asarray(reference) == v) + 0.5 for v in values if v != own}
    return {v: count / sum(counts.values()) for v, count in counts.items()}
