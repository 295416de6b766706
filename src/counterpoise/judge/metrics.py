"""What can be measured of counterfactuals, one function each, on arrays, whoever found them.

Names are those of CARLA (Pawelczyk et al., 2021) and CEval (Bayrak and Bach, 2024). Rows are ``x0`` ``(n, d)``, answers
``x`` ``(n, d)``; differences ``delta`` ``(n, d)`` are at least 0 and in standard deviations, categories 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from counterpoise.space.region.region import Region
from counterpoise.types import Array, Mask

ReachesTarget = Callable[[Array], Mask]
"""Whether points ``(n, k, d)``, k of each row, reach that row's target: ``(n, k)``."""


def validity(reached: Mask) -> float:
    """Share of answers that reach their target, CARLA's success rate: ``mean(reached)``.

    >>> validity(np.array([True, False]))
    0.5
    """
    return float(np.mean(reached)) if len(reached) else float("nan")


def l0_distance(delta: Array) -> Array:
    """Number of changed features, ``(n,)``: ``|{i: delta_i > 0}|``.

    >>> l0_distance(np.array([[0.0, 3.0, 4.0]]))
    array([2.])
    """
    return np.asarray(np.count_nonzero(delta, axis=-1), dtype=np.float64)


def l1_distance(delta: Array) -> Array:
    """``sum_i delta_i``, ``(n,)``.

    >>> l1_distance(np.array([[0.0, 3.0, 4.0]]))
    array([7.])
    """
    return np.asarray(delta.sum(axis=-1))


def l2_distance(delta: Array) -> Array:
    """``(sum_i delta_i^2)^(1/2)``, ``(n,)``; CARLA's own is its square.

    >>> l2_distance(np.array([[0.0, 3.0, 4.0]]))
    array([5.])
    """
    return np.asarray(np.sqrt(np.einsum("...d,...d->...", delta, delta)))


def linf_distance(delta: Array) -> Array:
    """``max_i delta_i``, ``(n,)``.

    >>> linf_distance(np.array([[0.0, 3.0, 4.0]]))
    array([4.])
    """
    return np.asarray(delta.max(axis=-1))


def gower_distance(delta: Array, unit: Array, span: Array) -> Array:
    """``(1/d) sum_i |x_i - x0_i| / range_i``, categories 0 or 1, ``(n,)``; ``unit`` and ``span`` ``(d,)``.

    >>> gower_distance(np.array([[1.0, 1.0]]), np.array([2.0, 1.0]), np.array([4.0, 1.0]))
    array([0.75])
    """
    return np.asarray((delta * (unit / span)).mean(axis=-1))


def mad_distance(delta: Array, unit: Array, mad: Array) -> Array:
    """``sum_i |x_i - x0_i| / MAD_i``, ``(n,)``: L1 in median absolute deviations (Wachter et al., 2017).

    >>> mad_distance(np.array([[1.0, 1.0]]), np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    array([3.])
    """
    return np.asarray((delta * (unit / mad)).sum(axis=-1))


def cost(x: Array, x0: Array, delta: Array, reference: Array, numeric: Mask) -> Array:
    """Share of the reference that each change passes by, summed, ``(n,)``: percentile shifts (Ustun et al., 2019).

    ``sum_i |Q_i(x_i) - Q_i(x0_i)|`` with ``Q_i`` the distribution of feature i over ``reference`` ``(r, d)``, so that a
    change through a crowd costs more than one of the same size through a void; a category or a missing cell counts by
    its difference ``delta`` ``(n, d)``. Theirs is the largest of them, or the sum of their logarithms.

    >>> reference = np.array([[1.0], [2.0], [3.0], [9.0]])
    >>> cost(np.array([[3.0]]), np.array([[1.0]]), np.array([[2.0]]), reference, np.array([True]))
    array([0.5])
    """
    shift = np.array(delta, dtype=np.float64)
    for column in np.flatnonzero(numeric):
        seen = np.sort(reference[~np.isnan(reference[:, column]), column])
        known = ~np.isnan(x[:, column]) & ~np.isnan(x0[:, column])
        if len(seen):
            after, before = (np.searchsorted(seen, part[known, column], "right") for part in (x, x0))
            shift[known, column] = np.abs(after - before) / len(seen)
    return np.asarray(shift.sum(axis=1))


def sparsity(delta: Array) -> Array:
    """Share of features left as they are, ``1 - |{i: delta_i > 0}| / d``, ``(n,)``.

    >>> sparsity(np.array([[0.0, 3.0, 4.0, 0.0]]))
    array([0.5])
    """
    return np.asarray(1.0 - l0_distance(delta) / delta.shape[-1])


def diversity(distances: Array) -> Array:
    """``det K, K_ab = 1 / (1 + distance_ab)``, over the answers of each row, ``(n,)``: 0 alike, 1 far apart (DiCE).

    ``distances`` ``(n, a, a)`` between a row's alternatives; a lone answer has no diversity, NaN.

    >>> diversity(np.array([[[0.0, 1.0], [1.0, 0.0]]]))
    array([0.75])
    """
    if distances.shape[-1] < 2:
        return np.full(len(distances), np.nan)
    return np.asarray(np.linalg.det(1.0 / (1.0 + distances)))


def ynn(x: Array, reference: Array, agrees: Mask, k: int = 5) -> Array:
    """Share of the k nearest reference rows that the model gives the answer's target, ``(n,)``: CARLA's yNN.

    ``x`` ``(n, e)`` and ``reference`` ``(r, e)`` in Euclidean coordinates; ``agrees`` ``(n, r)``.

    >>> ynn(np.array([[0.0]]), np.array([[0.1], [0.2], [9.0]]), np.array([[True, False, True]]), k=2)
    array([0.5])
    """
    near = NearestNeighbors(n_neighbors=min(k, len(reference))).fit(reference).kneighbors(x, return_distance=False)
    return np.asarray(np.take_along_axis(agrees, near, axis=1).mean(axis=1))


def knln_distance(x: Array, target_rows: Array, k: int = 5) -> Array:
    """Mean distance to the k nearest reference rows of the target, ``(n,)``: CEval's kNLN_dist.

    >>> knln_distance(np.array([[0.0]]), np.array([[1.0], [3.0], [9.0]]), k=2)
    array([2.])
    """
    far, _ = NearestNeighbors(n_neighbors=min(k, len(target_rows))).fit(target_rows).kneighbors(x)
    return np.asarray(far.mean(axis=1))


def local_outlier(x: Array, target_rows: Array, k: int = 20) -> Array:
    """Local outlier factor among the target's rows, ``(n,)``: about 1 inside, more outside (Breunig et al., 2000).

    The mean density of the k nearest rows over the density at the answer: CEval's plausibility.

    >>> rows = np.linspace(0.0, 1.0, 50)[:, None]
    >>> bool(local_outlier(np.array([[9.0]]), rows)[0] > 5 > local_outlier(np.array([[0.51]]), rows)[0])
    True
    """
    fitted = LocalOutlierFactor(n_neighbors=min(k, len(target_rows) - 1), novelty=True).fit(target_rows)
    return np.asarray(-fitted.score_samples(x))


def constraint_violation(region: Region, x: Array) -> Array:
    """Number of constraints that each answer breaks, ``(n,)``, bounds and kinds of values included.

    >>> import pandas as pd
    >>> from counterpoise.space.schema.schema import Schema
    >>> region = Region.build(Schema.infer(pd.DataFrame({"a": [0, 4]})), np.array([[1.0]]))
    >>> constraint_violation(region, np.array([[9.0]]))
    array([1.])
    """
    cells = region.is_broken(x[:, None, :]).sum(axis=(1, 2))
    rest = np.array([len(words) for words in region.system.violations(x)], dtype=np.float64)
    return np.asarray(cells + ~region.has_few_changes(x[:, None, :])[:, 0] + rest, dtype=np.float64)


def feasibility(region: Region, x: Array) -> Mask:
    """Whether every constraint holds, ``(n,)``.

    >>> import pandas as pd
    >>> from counterpoise.space.schema.schema import Schema
    >>> region = Region.build(Schema.infer(pd.DataFrame({"a": [0, 4]})), np.array([[1.0]]))
    >>> feasibility(region, np.array([[9.0]]))
    array([False])
    """
    return np.asarray(region.contains(x[:, None, :])[:, 0])


def redundancy(x: Array, x0: Array, reached: ReachesTarget) -> Array:
    """Changes of each answer that can be undone, one at a time, without losing the target, ``(n,)``: CARLA's.

    ``|{i: x_i != x0_i and the target is reached with x_i = x0_i}|``

    >>> redundancy(np.array([[3.0, 1.0]]), np.zeros((1, 2)), lambda points: points[..., 0] > 2)
    array([1.])
    """
    d = x.shape[1]
    changed = (x != x0) & ~(np.isnan(x) & np.isnan(x0))
    points = np.repeat(x[:, None, :], d, axis=1)
    columns = np.arange(d)
    points[:, columns, columns] = x0
    return np.asarray((reached(points) & changed).sum(axis=1), dtype=np.float64)


def instability(x: Array, unit: Array) -> Array:
    """How far answers of several seeds lie apart, in standard deviations, ``(n,)``: 0 where every seed says the same.

    ``((1/s) sum_s |x_s - mean|^2)^(1/2)``, over answers ``(s, n, d)``; NaN where fewer than two seeds have one. A cell
    that every answer leaves missing does not count.

    >>> instability(np.array([[[0.0]], [[2.0]]]), np.ones(1))
    array([1.])
    """
    z = np.where(np.isnan(x) & ~np.isnan(x).all(axis=-1, keepdims=True), 0.0, x / unit)
    there = np.asarray(~np.isnan(z).any(axis=-1))
    count = np.maximum(there.sum(axis=0), 1)
    z = np.where(there[..., None], z, 0.0)
    mean = z.sum(axis=0) / count[:, None]
    square = (np.where(there[..., None], z - mean, 0.0) ** 2).sum(axis=(0, 2)) / count
    return np.where(there.sum(axis=0) > 1, np.sqrt(square), np.nan)


def robustness(copies: Array, reached: ReachesTarget) -> Array:
    """Share of noisy copies ``(n, m, d)`` of each answer that keep the target, ``(n,)``.

    >>> robustness(np.array([[[1.0], [3.0]]]), lambda points: points[..., 0] > 2)
    array([0.5])
    """
    return np.asarray(reached(copies).mean(axis=1))


def average_time(seconds: float, rows: int) -> float:
    """Seconds for one row: CARLA's average time.

    >>> average_time(3.0, 2)
    1.5
    """
    return seconds / rows if rows else float("nan")
