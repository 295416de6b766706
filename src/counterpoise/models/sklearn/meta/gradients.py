"""Models made of models with slopes: the chain rule from the combined outputs back to the row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterpoise.models.sklearn.meta.combine import MemberOutputs
from counterpoise.models.trees.opened import ShortcutModel
from counterpoise.types import Array, Model, Pullback


@dataclass(frozen=True, eq=False)
class CombinedMembers:
    """The outputs of ``members``, combined."""

    members: tuple[Model, ...]  # each with a gradient
    combine: Callable[[MemberOutputs], Array]
    relative_step: float = 1e-5  # of a member's output, or of 1: half the difference that gives a slope

    def __call__(self, x: Array) -> Array:
        return self._combine_outputs([member.outputs(x) for member in self.members])

    def outputs_and_pullback(self, x: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)`` and a function of weights that gives their gradient."""
        pairs = [_outputs_and_pullback(member, x) for member in self.members]
        member_outputs = [outputs for outputs, _ in pairs]

        def pull(weights: Array) -> Array:
            slopes = self._slopes_by_differences(member_outputs, weights)
            return np.asarray(
                sum(member_pullback(slope) for (_, member_pullback), slope in zip(pairs, slopes, strict=True))
            )

        return self._combine_outputs(member_outputs), pull

    def _combine_outputs(self, member_outputs: list[Array]) -> Array:
        return self.combine([(part, member.link) for part, member in zip(member_outputs, self.members, strict=True)])

    def _slopes_by_differences(self, member_outputs: list[Array], weights: Array) -> list[Array]:
        """How the outputs, summed with ``weights``, change with each output of each member: ``(p, c)`` for each.

        By differences, all in one call: outputs are numbered through, and each has a copy with it up and one down.
        """
        p, sizes = len(weights), [part.shape[1] for part in member_outputs]
        every = np.hstack(member_outputs)
        count = every.shape[1]
        step = self.relative_step * np.maximum(np.abs(every), 1.0)
        moved = np.repeat(every[None], 2 * count, axis=0)
        number = np.arange(count)
        moved[number, :, number] += step.T
        moved[count + number, :, number] -= step.T
        parts = np.split(moved.reshape(2 * count * p, count), np.cumsum(sizes)[:-1], axis=1)
        sums = (self._combine_outputs(parts).reshape(2 * count, p, -1) * weights).sum(axis=2)
        slopes = (sums[:count] - sums[count:]).T / (2 * step)
        return np.split(slopes, np.cumsum(sizes)[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class DifferentiableMetaModel(ShortcutModel):
    """A model asked through its members, all of which have slopes."""

    fast_outputs: CombinedMembers

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)`` of the outputs summed with ``weights`` ``(p, c)``."""
        return self.fast_outputs.outputs_and_pullback(x)[1](weights)

    def outputs_and_pullback(self, x: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)`` and a function of weights that gives their gradient."""
        return self.fast_outputs.outputs_and_pullback(x)


def _outputs_and_pullback(member: Model, x: Array) -> tuple[Array, Pullback]:
    if member.outputs_and_pullback is not None:
        return member.outputs_and_pullback(x)
    gradient = member.gradient
    assert gradient is not None
    return member.outputs(x), lambda weights: gradient(x, weights)
