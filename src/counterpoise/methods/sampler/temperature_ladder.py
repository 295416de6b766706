"""The ladder of temperatures, set by the rates at which neighbours swap."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.types import Array


def first_ladder(T: Array, settings: SamplerSettings) -> Array:
    """Temperatures ``(n, s)`` in equal ratios from ``T`` ``(n,)`` to the hottest.

    >>> first_ladder(np.array([0.1]), SamplerSettings(temperatures=3, hottest=4.0))
    array([[0.1, 0.2, 0.4]])
    """
    steps = np.linspace(0, 1, settings.temperatures)
    return np.asarray(T[:, None] * settings.hottest**steps)


def adapt_ladder(T: Array, rates: Array, settings: SamplerSettings) -> Array:
    """The ladder ``(n, s)`` with its gaps made more alike in swap rate ``(n, s - 1)``; the lowest stays.

    A gap over which few swaps are taken is narrowed, one over which many are is widened. Where the mean rate is below
    the least one wanted, the whole ladder is drawn together.

    >>> settings = SamplerSettings(temperatures=3, hottest=4.0)
    >>> T = adapt_ladder(np.array([[1.0, 2.0, 4.0]]), np.array([[0.1, 0.5]]), settings)
    >>> bool(T[0, 1] < 2 < T[0, 2] / T[0, 1])
    True
    """
    if T.shape[1] < 2:
        return T
    gaps = np.diff(np.log(T), axis=1)
    wanted = np.maximum(rates.mean(axis=1, keepdims=True), settings.min_swap_rate)
    gaps = gaps * np.clip((rates + 0.05) / (wanted + 0.05), 0.5, 1.5)
    total = gaps.sum(axis=1, keepdims=True)
    gaps = gaps * np.minimum(1.0, np.log(settings.hottest) / total)
    return np.asarray(
        np.exp(np.log(T[:, :1]) + np.concatenate([np.zeros((len(T), 1)), np.cumsum(gaps, axis=1)], axis=1))
    )
