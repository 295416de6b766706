"""A pipeline asked through its last step, after known arithmetic; decisions stay the pipeline's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from counterpoise.models.layers import LayerOutputs
from counterpoise.models.sklearn.pipeline.affine_steps import read_affine_steps
from counterpoise.models.sklearn.pipeline.columnwise import ColumnwiseSteps
from counterpoise.models.sklearn.pipeline.projections import ColumnwiseThenMixing
from counterpoise.types import Array, Link, Model, ModelBase, OwnModel, Points, Pullback


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
