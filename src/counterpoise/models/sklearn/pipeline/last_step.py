"""A pipeline asked through its last step, after known arithmetic; decisions stay the pipeline's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.affine import AffineOutputs
from counterpoise.models.layers import LayerOutputs
from counterpoise.models.sklearn.pipeline.columnwise import SHIFT_AND_SCALE_KINDS, CategoryColumns, ColumnwiseSteps
from counterpoise.models.sklearn.pipeline.projections import ColumnwiseThenMixing, Projection
from counterpoise.types import Array, Link, Model, ModelBase, OwnModel, Points, Pullback


def read_affine_steps(steps: ColumnwiseSteps | ColumnwiseThenMixing) -> AffineOutputs | None:
    """The columns ``(p, q)`` that the last step sees as affine outputs of the row; None where they are more."""
    if isinstance(steps, ColumnwiseThenMixing):
        first, mix = read_affine_steps(steps.columnwise_steps), steps.mixing_step
        if first is None or not isinstance(mix, Projection):
            return None
        known = AffineOutputs.of(mix.matrix.T, mix.offset - mix.centre @ mix.matrix)
        return known.behind(first)
    operations = [op for part in steps.parts if not isinstance(part, CategoryColumns) for op in part.operations]
    if not all(op.kind in (*SHIFT_AND_SCALE_KINDS, "fill") for op in (*operations, *steps.operations)):
        return None
    return _of_columns(steps)


def _of_columns(steps: ColumnwiseSteps) -> AffineOutputs:
    d, source = len(steps.numeric), steps.source_columns
    home = np.zeros((1, d))
    base = steps(home)[0]
    weights = np.zeros((len(source), d))
    numbers = steps.numeric[source]
    rates = (steps(np.ones((1, d)) * np.where(steps.numeric, 1.0, 0.0)) - base)[0]
    weights[np.flatnonzero(numbers), source[numbers]] = rates[numbers]
    tables = []
    sizes = {part.source_columns[0]: len(part.table) - 1 for part in steps.parts if isinstance(part, CategoryColumns)}
    for column in np.unique(source[~numbers]).tolist():
        count = sizes.get(column, 2)  # else a boolean, read as a number
        x = np.repeat(home, count + 1, axis=0)
        x[:, column] = [*range(count), np.nan]
        tables.append((column, np.where(source == column, steps(x) - base, 0.0)))
    x = np.repeat(home, d, axis=0)
    np.fill_diagonal(x, np.where(steps.numeric, np.nan, 0.0))
    gone = np.where(source == np.arange(d)[:, None], steps(x) - base, 0.0).T
    missing = gone if np.isfinite(gone).all() else None
    return AffineOutputs(weights, base, np.abs(weights), np.abs(base), tuple(tables), missing)


@dataclass(frozen=True, eq=False)
class LastStepModel(ModelBase):
    """A pipeline as a Model: outputs come from ``last_step`` after ``first_steps``; ``pipeline`` decides."""

    pipeline: Model
    first_steps: ColumnwiseSteps | ColumnwiseThenMixing
    last_step: Model

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes in the order of the outputs."""
        return self.last_step.labels

    @property
    def link(self) -> Link:
        """What the outputs are."""
        return self.last_step.link

    @property
    def has_softmax_probabilities(self) -> bool:
        """Whether the probabilities are the softmax of the outputs."""
        return self.last_step.has_softmax_probabilities

    @property
    def own(self) -> OwnModel:
        """The model without the quicker outputs."""
        return self.pipeline.own

    @cached_property
    def layers(self) -> LayerOutputs | None:
        """The last step's layers, the first carried back to the row."""
        known: LayerOutputs | None = self.last_step.layers
        first = None if known is None else read_affine_steps(self.first_steps)
        return None if known is None or first is None else known.behind(first)

    def outputs(self, x: Array) -> Array:
        """Outputs ``(p, c)`` of the last step."""
        return self.last_step.outputs(self.first_steps(x))

    def predict(self, x: Points) -> NDArray[Any]:
        """What the whole pipeline says."""
        return self.pipeline.predict(x)

    def probabilities(self, x: Points) -> Array | None:
        """The whole pipeline's probabilities."""
        return self.pipeline.probabilities(x)


@dataclass(frozen=True, eq=False)
class DifferentiableLastStepModel(LastStepModel):
    """A pipeline whose last step has a gradient."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)``, carried back through the first steps."""
        assert self.last_step.gradient is not None
        return self.first_steps.pull_gradient(x, self.last_step.gradient(self.first_steps(x), weights))

    def outputs_and_pullback(self, x: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient."""
        if self.last_step.outputs_and_pullback is None:
            return self.outputs(x), lambda weights: self.gradient(x, weights)
        outputs, pull = self.last_step.outputs_and_pullback(self.first_steps(x))
        return outputs, lambda weights: self.first_steps.pull_gradient(x, pull(weights))


@dataclass(frozen=True, eq=False)
class TwiceDifferentiableLastStepModel(DifferentiableLastStepModel):
    """A pipeline whose last step has curvature."""

    def hvp(self, x: Array, weights: Array, v: Array) -> Array:
        """``(p, d)``: the first steps are piecewise linear, so all curvature is the last step's."""
        assert self.last_step.hvp is not None
        return self.first_steps.pull_gradient(
            x, self.last_step.hvp(self.first_steps(x), weights, self.first_steps.push_direction(x, v))
        )


def make_last_step_model(whole: Model, front: ColumnwiseSteps | ColumnwiseThenMixing, last: Model) -> LastStepModel:
    """The pipeline with all that its last step can do."""
    if last.hvp is not None and not front.is_curved:
        return TwiceDifferentiableLastStepModel(whole, front, last)
    if last.gradient is not None:
        return DifferentiableLastStepModel(whole, front, last)
    return LastStepModel(whole, front, last)
