"""Gaussian classes of scikit-learn, with their derivatives: naive Bayes and quadratic discriminants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.models.sklearn.formulas.base import FormulaBase
from counterpoise.types import Array, Pullback


@dataclass(frozen=True, eq=False)
class GaussianClasses(FormulaBase):
    """Joint log-likelihoods ``level_c - ½ |(z - mean_c) @ whiten_c|²``, one output per class.

    ``whiten_c`` is ``(q, r)``, or ``(q,)`` where it is diagonal.
    """

    means: Array
    whitening: tuple[Array, ...]
    offsets: Array

    def outputs(self, z: Array) -> Array:
        """``(p, c)`` for rows ``(p, q)``."""
        squares = [
            (_whiten(z - mean, root) ** 2).sum(axis=1) for mean, root in zip(self.means, self.whitening, strict=True)
        ]
        return self.offsets - 0.5 * np.stack(squares, axis=1)

    def gradient(self, z: Array, weights: Array) -> Array:
        """``(p, q)``: gradient of the outputs summed with ``weights`` ``(p, c)``."""
        parts = zip(self.means, self.whitening, weights.T, strict=True)
        return -sum(
            (weight[:, None] * _apply_precision(z - mean, root) for mean, root, weight in parts), np.zeros_like(z)
        )

    def outputs_and_pullback(self, z: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient."""
        return self.outputs(z), lambda weights: self.gradient(z, weights)

    def hvp(self, z: Array, weights: Array, v: Array) -> Array:
        """``(p, q)``: Hessian of the outputs summed with ``weights``, times ``v``; the same everywhere."""
        parts = zip(self.whitening, weights.T, strict=True)
        return -sum((weight[:, None] * _apply_precision(v, root) for root, weight in parts), np.zeros_like(z))


def read_gaussian(model: Any) -> GaussianClasses | None:
    """The classes of a fitted GaussianNB or QuadraticDiscriminantAnalysis, or None."""
    if type(model).__name__ == "GaussianNB":
        levels = np.log(model.class_prior_) - 0.5 * np.log(2.0 * np.pi * model.var_).sum(axis=1)
        return GaussianClasses(np.asarray(model.theta_), tuple(1.0 / np.sqrt(model.var_)), levels)
    if type(model).__name__ == "QuadraticDiscriminantAnalysis":
        roots = tuple(
            rotation * scaling**-0.5 for rotation, scaling in zip(model.rotations_, model.scalings_, strict=True)
        )
        levels = np.log(model.priors_) - 0.5 * np.array([np.log(scaling).sum() for scaling in model.scalings_])
        return GaussianClasses(np.asarray(model.means_), roots, levels)
    return None


def _whiten(z: Array, root: Array) -> Array:
    return z * root if root.ndim == 1 else z @ root


def _apply_precision(z: Array, root: Array) -> Array:
    return z * root**2 if root.ndim == 1 else (z @ root) @ root.T
