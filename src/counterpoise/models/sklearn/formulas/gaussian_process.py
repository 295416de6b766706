"""Gaussian processes of scikit-learn with an RBF kernel, with their derivatives: the mean is a kernel expansion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.models.sklearn.formulas.base import FormulaBase
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
    """Constant and length scales of a kernel that is an RBF, times constants, beside white noise; None: another one."""
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
