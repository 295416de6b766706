"""scikit-learn models with a formula: the same scores computed directly, with gradient and curvature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from counterpoise.models.layers import LayerOutputs
from counterpoise.models.sklearn.formulas.gaussian import read_gaussian, read_gaussian_process
from counterpoise.models.sklearn.formulas.linear import read_linear
from counterpoise.models.sklearn.formulas.mlp import read_network
from counterpoise.models.sklearn.formulas.svm import read_svm
from counterpoise.types import Array, Index, Link, Mask, Model, ModelBase, OwnModel, Points, Pullback

MAX_DIFFERENCE_TO_REPLACE = 1e-10  # relative: a formula that repeats the model so closely is asked in its place
MAX_DIFFERENCE_FOR_SLOPES = 1e-4  # relative: so close, a formula gives slopes; a model may compute in single precision


class ScoreFormula(Protocol):
    """Scores ``(p, c)`` of columns ``(p, q)`` with their derivatives."""

    def outputs(self, z: Array) -> Array:
        """Scores."""
        ...

    def gradient(self, z: Array, weights: Array) -> Array:
        """Gradient of the scores summed with ``weights``."""
        ...

    def outputs_and_pullback(self, z: Array) -> tuple[Array, Pullback]:
        """Scores, and what gives their gradient."""
        ...

    def hvp(self, z: Array, weights: Array, v: Array) -> Array:
        """Hessian of the scores summed with ``weights``, times ``v``."""
        ...

    @property
    def layers(self) -> LayerOutputs | None:
        """The layers, where the scores are linear or those of a network."""
        ...


FORMULA_READERS = (read_linear, read_svm, read_network, read_gaussian, read_gaussian_process)


@dataclass(frozen=True, eq=False)
class FormulaModel(ModelBase):
    """A model with a formula of the row's ``columns``, which gives the derivatives.

    Outputs come from the formula if it ``is_exact``, else from ``own_model``, which also decides.
    """

    own_model: Model
    formula: ScoreFormula
    columns: Index
    numeric: Mask  # (d,): the row's columns that have derivatives
    is_exact: bool
    has_softmax_probabilities: bool = False
    link: Link = "identity"

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes in the order of the outputs, or None."""
        return self.own_model.labels

    @property
    def own(self) -> OwnModel:
        """The model without the quicker outputs."""
        return self.own_model.own

    def outputs(self, x: Array) -> Array:
        """Decision values ``(p, c)``."""
        if not self.is_exact:
            return self.own_model.outputs(x)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.formula.outputs(self._pick_columns(x))

    def predict(self, x: Points) -> NDArray[Any]:
        """What the model itself says."""
        return self.own_model.predict(x)

    def probabilities(self, x: Points) -> Array | None:
        """The model's own probabilities."""
        return self.own_model.probabilities(x)

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)`` of the outputs summed with ``weights`` ``(p, c)``."""
        return self._spread_to_row(self.formula.gradient(self._pick_columns(x), weights))

    def outputs_and_pullback(self, x: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient."""
        if not self.is_exact:
            return self.outputs(x), lambda weights: self.gradient(x, weights)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs, pull = self.formula.outputs_and_pullback(self._pick_columns(x))
        return outputs, lambda weights: self._spread_to_row(pull(weights))

    def hvp(self, x: Array, weights: Array, v: Array) -> Array:
        """``(p, d)``: Hessian of the outputs summed with ``weights``, times ``v``."""
        return self._spread_to_row(self.formula.hvp(self._pick_columns(x), weights, self._pick_columns(v)))

    @cached_property
    def layers(self) -> LayerOutputs | None:
        """The layers, where the formula has some and repeats the model."""
        known = self.formula.layers if self.is_exact else None
        return None if known is None else known.spread(self.columns, len(self.numeric), self.numeric)

    @cached_property
    def _reads_whole_row(self) -> bool:
        """Whether the formula reads the row as it is."""
        return np.array_equal(self.columns, np.arange(len(self.numeric))) and bool(self.numeric.all())

    def _pick_columns(self, x: Array) -> Array:
        return x if self._reads_whole_row else x[:, self.columns]

    def _spread_to_row(self, slopes: Array) -> Array:
        if self._reads_whole_row:
            return slopes
        out = np.zeros((len(slopes), len(self.numeric)))
        out[:, self.columns] = slopes
        return out * self.numeric


def adapt_formula(model: Any, plain: Model, columns: Index, numeric: Mask, probe: Array) -> FormulaModel | None:
    """The model with its formula, if it has one that repeats its answers on the probing rows."""
    for read in FORMULA_READERS:
        formula = read(model)
        if formula is None:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            scores = formula.outputs(probe[:, columns])
        gap = score_difference(scores, "identity", plain, probe)
        if gap <= MAX_DIFFERENCE_FOR_SLOPES:
            likely = plain.probabilities(probe)
            same = likely is not None and bool(np.abs(softmax(scores, axis=1) - likely).max() <= 1e-9)
            exact = gap <= MAX_DIFFERENCE_TO_REPLACE or plain.link == "log"
            return FormulaModel(plain, formula, columns, numeric, exact, same)
    return None


def score_difference(scores: Array, link: Link, plain: Model, probe: Array) -> float:
    """How far other scores of the probing rows are from the model's, in units of their size.

    Infinite where they decide otherwise. Scores of classes count up to a number added to all; decision values may
    stand for the logarithms of probabilities.
    """
    plain_outputs = plain.outputs(probe)
    if plain_outputs.shape != scores.shape or not np.isfinite(scores).all():
        return np.inf
    if plain.labels is None:
        return float(np.abs(scores - plain_outputs).max() / max(np.abs(plain_outputs).max(), np.finfo(float).tiny))
    if not np.array_equal(scores.argmax(axis=1), plain_outputs.argmax(axis=1)):
        return np.inf
    if link == "identity" and plain.link == "log":
        return float(np.abs(softmax(scores, axis=1) - plain_outputs).max())
    if link == "identity":
        scores, plain_outputs = scores - scores[:, :1], plain_outputs - plain_outputs[:, :1]
    return float(np.abs(scores - plain_outputs).max() / max(np.abs(plain_outputs).max(), np.finfo(float).tiny))
