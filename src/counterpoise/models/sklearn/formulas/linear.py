"""Linear scores of scikit-learn, with their derivatives: logistic, ridge, support vectors, discriminants, and links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from counterpoise.models.affine import AffineOutputs
from counterpoise.models.inputs import to_dense
from counterpoise.models.layers import FormulaBase, LayerOutputs
from counterpoise.types import Array, Pullback


@dataclass(frozen=True, eq=False)
class LinearScores(FormulaBase):
    """Outputs ``g(z @ coef.T + intercept)``, with ``coef`` ``(c, q)``, ``intercept`` ``(c,)`` and ``g`` 1 or exp.

    >>> LinearScores(np.array([[0.0, 0.0], [1.0, -2.0]]), np.array([0.0, 0.5])).outputs(np.array([[1.0, 1.0]]))
    array([[ 0. , -0.5]])
    """

    coef: Array
    intercept: Array
    inverse_link: Literal["identity", "exp"] = "identity"

    def outputs(self, z: Array) -> Array:
        """``(p, c)`` for rows ``(p, q)``."""
        values = z @ self.coef.T + self.intercept
        return values if self.inverse_link == "identity" else np.exp(values)

    def gradient(self, z: Array, weights: Array) -> Array:
        """``(p, q)``: gradient of the outputs summed with ``weights`` ``(p, c)``."""
        inner = weights if self.inverse_link == "identity" else weights * self.outputs(z)
        return inner @ self.coef

    def outputs_and_pullback(self, z: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient."""
        return self.outputs(z), lambda weights: self.gradient(z, weights)

    def hvp(self, z: Array, weights: Array, v: Array) -> Array:
        """``(p, q)``: Hessian of the outputs summed with ``weights``, times ``v``."""
        if self.inverse_link == "identity":
            return np.zeros_like(v)
        return (weights * self.outputs(z) * (v @ self.coef.T)) @ self.coef

    @property
    def layers(self) -> LayerOutputs:
        """The one layer."""
        return LayerOutputs(AffineOutputs.of(self.coef, self.intercept, link=self.inverse_link))


def read_linear(model: Any) -> LinearScores | None:
    """The linear score of an estimator that has ``coef_`` and ``intercept_``, or None."""
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        return None
    coef = np.atleast_2d(to_dense(model.coef_))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), (len(coef),))
    if hasattr(model, "classes_") and len(model.classes_) == 2 and len(coef) == 1:
        coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    generalized = type(model).__name__ in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
    logarithmic = generalized and not (getattr(model, "link", "log") == "auto" and model.power <= 0)
    return LinearScores(
        coef, intercept, "exp" if logarithmic and getattr(model, "link", "log") != "identity" else "identity"
    )
