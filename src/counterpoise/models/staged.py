"""The last step of a pipeline asked directly, behind a front of known arithmetic; decisions stay the pipeline's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from counterpoise.models.front import Front
from counterpoise.models.mixing import Mixed
from counterpoise.types import Array, Differentiable, Link, Model, Pull, TwiceDifferentiable


@dataclass(frozen=True, eq=False)
class Staged:
    """A pipeline as a Model: outputs of the last step behind the front; ``whole`` is the pipeline itself."""

    whole: Model
    front: Front | Mixed
    last: Model

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes in the order of the outputs."""
        return self.last.labels

    @property
    def link(self) -> Link:
        """What the outputs are."""
        return self.last.link

    @property
    def softmax(self) -> bool:
        """Whether the probabilities are the softmax of the outputs."""
        return bool(getattr(self.last, "softmax", False))

    def outputs(self, x: Array) -> Array:
        """Outputs ``(p, c)`` of the last step."""
        return self.last.outputs(self.front(x))

    def predict(self, x: Array) -> NDArray[Any]:
        """What the whole pipeline says."""
        return self.whole.predict(x)

    def probabilities(self, x: Array) -> Array | None:
        """The whole pipeline's probabilities."""
        return self.whole.probabilities(x)


@dataclass(frozen=True, eq=False)
class SlopedStaged(Staged):
    """A pipeline whose last step has a gradient."""

    last: Differentiable

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)``, carried back through the front."""
        return self.front.pull(x, self.last.gradient(self.front(x), weights))

    def expanded(self, x: Array) -> tuple[Array, Pull]:
        """Outputs ``(p, c)``, and what gives their gradient."""
        if not hasattr(self.last, "expanded"):
            return self.outputs(x), lambda weights: self.gradient(x, weights)
        outputs, pull = self.last.expanded(self.front(x))
        return outputs, lambda weights: self.front.pull(x, pull(weights))


@dataclass(frozen=True, eq=False)
class CurvedStaged(SlopedStaged):
    """A pipeline whose last step has curvature."""

    last: TwiceDifferentiable

    def hvp(self, x: Array, weights: Array, v: Array) -> Array:
        """``(p, d)``: the front is piecewise linear, so all curvature is the last step's."""
        return self.front.pull(x, self.last.hvp(self.front(x), weights, self.front.push(x, v)))


def staged(whole: Model, front: Front | Mixed, last: Model) -> Staged:
    """The pipeline with all that its last step can do."""
    if isinstance(last, TwiceDifferentiable) and not front.bent:
        return CurvedStaged(whole, front, last)
    if isinstance(last, Differentiable):
        return SlopedStaged(whole, front, last)
    return Staged(whole, front, last)
