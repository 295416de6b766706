"""Naive Bayes, quadratic discriminants and Gaussian processes as formulas with derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.models.layers import FormulaBase
from counterpoise.models.sklearn.formulas.svm import KernelExpansion
from counterpoise.types import Array, Pullback


@dataclass(frozen=True, eq=False)
class GaussianProcessMean(FormulaBase):
    """A kernel expansion of columns in units of their length scales ``length`` ``(q,)``."""

    expansion: KernelExpansion
    length_scales: Array

    def outputs(self, z: Array) -> Array:
        """``(p, c)`` for rows ``(p, q)``."""
        return self.expansion.outputs(z / self.length_scales)

    def gradient(self, z: Array, weights: Array) -> Array:
        """``(p, q)``: gradient of the outputs summed with ``weights`` ``(p, c)``."""
        return self.expansion.gradient(z / self.length_scales, weights) / self.length_scales

    def outputs_and_pullback(self, z: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient."""
        outputs, pull = self.expansion.outputs_and_pullback(z / self.length_scales)
        return outputs, lambda weights: pull(weights) / self.length_scales

    def hvp(self, z: Array, weights: Array, v: Array) -> Array:
        """``(p, q)``: Hessian of the outputs summed with ``weights``, times ``v``."""
        return self.expansion.hvp(z / self.length_scales, weights, v / self.length_scales) / self.length_scales


def read_gaussian_process(model: Any) -> GaussianProcessMean | None:
    """The mean of a fitted GaussianProcessRegressor, or the latent mean of a classifier of two classes; else None."""
    fitted = getattr(model, "base_estimator_", model) if type(model).__name__ == "GaussianProcessClassifier" else model
    kernel = _read_scaled_rbf(getattr(fitted, "kernel_", None))
    if kernel is None or not hasattr(fitted, "X_train_"):
        return None
    if hasattr(fitted, "pi_"):
        coef, intercept, classes = fitted.y_train_ - fitted.pi_, np.zeros(1), 2
    elif getattr(fitted, "alpha_", np.empty((0, 0))).ndim == 1:
        coef, intercept, classes = fitted.alpha_ * fitted._y_train_std, np.atleast_1d(fitted._y_train_mean), None
    else:
        return None
    constant, length = kernel
    vectors = np.asarray(fitted.X_train_, dtype=np.float64) / length
    coefs = constant * np.asarray(coef, dtype=np.float64)[None]
    return GaussianProcessMean(
        KernelExpansion(vectors, coefs, intercept, "rbf", 0.5, class_count=classes), np.full(vectors.shape[1], length)
    )


def _read_scaled_rbf(kernel: Any) -> tuple[float, Array] | None:
    """Constant and length scales of an RBF kernel with constant factors and white noise; None for other kernels."""
    name = type(kernel).__name__
    if name == "RBF":
        return 1.0, np.asarray(kernel.length_scale, dtype=np.float64)
    if name not in ("Product", "Sum"):
        return None
    idle = "ConstantKernel" if name == "Product" else "WhiteKernel"  # noise tells nothing of rows not yet seen
    for one, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
        found = _read_scaled_rbf(other) if type(one).__name__ == idle else None
        if found is not None:
            return found[0] * (float(one.constant_value) if name == "Product" else 1.0), found[1]
    return None


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
