"""Noise that differs from feature to feature, and what every noise must return."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.errors import InputError
from counterpoise.objective.noise import Gaussian, Noise
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask, is_number


@dataclass(frozen=True)
class NoiseByFeature:
    """A noise of its own for each feature that has one; the others get none.

    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"latency": [0.5, 2.0], "ports": [1, 9]}))
    >>> NoiseByFeature.of({"latency": Gaussian(0.1)}, schema)
    NoiseByFeature(noises=(('latency', Gaussian(sigma=0.1, flips=0.0)),), columns=(0,))
    """

    noises: tuple[tuple[Hashable, Noise], ...]
    columns: tuple[int, ...]

    @classmethod
    def of(cls, mapping: Mapping[Hashable, object], schema: Schema) -> NoiseByFeature:
        """The noise of a mapping of features to noises, or to numbers (Gaussian, in standard deviations)."""
        if not mapping:
            raise InputError("a mapping of noise must name a feature", "it is empty", "for instance {'latency': 0.1}")
        noises = []
        for name, noise in mapping.items():
            made = Gaussian(float(noise)) if is_number(noise) else noise
            if not isinstance(made, Noise):
                raise InputError(
                    "the noise of a feature must be a number or a Noise", f"{name!r} has {noise!r}", "for instance 0.1"
                )
            noises.append((name, made))
        return cls(tuple(noises), tuple(schema.position(name) for name, _ in noises))

    @property
    def level(self) -> float:
        """NaN: features differ in their levels."""
        return float("nan")

    @property
    def max_level(self) -> float:
        """Infinite: there is no upper limit."""
        return np.inf

    @property
    def is_fitted(self) -> bool:
        """Whether every part is."""
        return all(noise.is_fitted for _, noise in self.noises)

    def copies(self, x: Array, draws: Array, region: Region, scales: Array, numeric: Mask) -> Array:
        n, _, d = x.shape
        y = np.repeat(x[:, :, None, :], draws.shape[1], axis=2)
        for (_, noise), column in zip(self.noises, self.columns, strict=True):
            y[..., column] = noise.copies(x, draws, region, scales, numeric)[..., column]
        return region.system.compute_derived(y.reshape(n, -1, d)).reshape(y.shape)

    def scaled(self, level: float) -> Noise:
        raise InputError("noise by feature has no one level", f"{level!r} was asked for", "give each feature its own")

    def fitted(self, reference: Array) -> NoiseByFeature:
        """The same, with parts that know the reference rows."""
        return replace(self, noises=tuple((name, noise.fitted(reference)) for name, noise in self.noises))


def make_copies_by_row(
    noises: tuple[Noise, ...], owners: Index, x: Array, draws: Array, region: Region, scales: Array, numeric: Mask
) -> Array:
    """Noisy copies ``(n, k, m, d)`` of points ``x`` ``(n, k, d)``, checked; ``owners`` ``(n,)`` is each row's noise."""
    present = np.unique(owners)
    if len(present) == 1:
        noise = noises[present[0]]
        return check_copies(noise.copies(x, draws, region, scales, numeric), x, draws, noise)
    out = np.empty((*x.shape[:2], *draws.shape[1:]))
    for owner in present.tolist():
        rows, noise = np.flatnonzero(owners == owner), noises[owner]
        copies = noise.copies(x[rows], draws[rows], region.take(rows), scales, numeric)
        out[rows] = check_copies(copies, x[rows], draws[rows], noise)
    return out


def check_copies(copies: object, x: Array, draws: Array, noise: object) -> Array:
    """The noisy copies ``(n, k, m, d)`` that a noise made of points ``x``, or an error where they are none."""
    wanted = (*x.shape[:2], draws.shape[1], x.shape[2])
    made = np.asarray(copies)
    if made.shape != wanted or made.dtype.kind not in "fiu":
        raise InputError(
            "a noise must return numbers of the shape (rows, points, copies, features)",
            f"{type(noise).__name__} returned {made.dtype} of {made.shape}, where {wanted} was asked for",
            "see counterpoise.objective.noise.Noise.copies",
        )
    if (np.isnan(made) & ~np.isnan(x)[:, :, None, :]).any():
        raise InputError(
            "noisy copies must have a number wherever the point has one",
            f"{type(noise).__name__} returned NaN",
            "leave missing cells missing, and no others",
        )
    return np.asarray(made, dtype=np.float64)
