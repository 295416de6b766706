"""Score and target: one number per row, the margin ``f - c``, which is at least 0 where the target is reached.

Every goal reads model outputs ``(n, k, c)`` and answers per point: the margin, whether the decision is the one asked
for, and how the margin changes with the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from counterpoise.types import Array, Index, Link, Mask, is_identity_index

MIN_PROBABILITY = 1e-9  # forests give exact 0 and 1: probabilities are clipped here before their logarithm is taken


class Goal(Protocol):
    """What each row's decision should become."""

    def take(self, rows: Index | Sequence[int]) -> Goal:
        """The goals of some rows."""
        ...

    @property
    def wanted_classes(self) -> Mask | None:
        """The classes that each row may become, ``(n, c)``; None where the goal is a number."""
        ...

    @property
    def key(self) -> bytes:
        """Bytes that are equal for equal goals: a key for caches."""
        ...

    def group_rows(self) -> tuple[Index, ...]:
        """The places of rows, grouped by equal goals."""
        ...

    def margin(self, outputs: Array) -> Array:
        """``f - c``, ``(n, k)``, of outputs ``(n, k, c)``."""
        ...

    def is_reached(self, outputs: Array) -> Mask:
        """Whether the decision is the one asked for, ``(n, k)``."""
        ...

    def slopes(self, outputs: Array) -> Array:
        """Derivative of the margin with respect to the outputs, ``(n, k, c)``."""
        ...


def apply_link(outputs: Array, link: Link) -> Array:
    """Outputs on the scale where margins are differences: decision values as they are, probabilities as logarithms."""
    return np.log(np.maximum(outputs, MIN_PROBABILITY)) if link == "log" else outputs


def _group_equal_lines(lines: Array | Mask) -> tuple[Index, ...]:
    """Positions of equal lines of ``(n, w)``, together."""
    if len(lines) and (lines == lines[0]).all():
        return (np.arange(len(lines)),)
    _, group = np.unique(lines, axis=0, return_inverse=True)
    return tuple(np.flatnonzero(group.reshape(-1) == number) for number in range(int(group.max(initial=-1)) + 1))


@dataclass(frozen=True, eq=False)
class ClassGoal:
    """One of the wanted classes: the margin of the best wanted over its strongest rival; reached where it wins.

    >>> goal = ClassGoal(np.array([[False, True]]), "identity")
    >>> goal.margin(np.array([[[0.0, 2.5]]])), goal.is_reached(np.array([[[0.0, 2.5]]]))
    (array([[2.5]]), array([[ True]]))
    """

    wanted_classes: Mask  # (n, c)
    link: Link

    def take(self, rows: Index | Sequence[int]) -> ClassGoal:
        index = np.asarray(rows, dtype=np.intp)
        return (
            self
            if is_identity_index(index, len(self.wanted_classes))
            else ClassGoal(self.wanted_classes[index], self.link)
        )

    @property
    def key(self) -> bytes:
        return b"".join((self.link.encode(), self.wanted_classes.tobytes()))

    def group_rows(self) -> tuple[Index, ...]:
        return _group_equal_lines(self.wanted_classes)

    def margin(self, outputs: Array) -> Array:
        values = apply_link(outputs, self.link)
        if self.wanted_classes.shape[1] == 2:
            return self._class_signs[..., 1] * (values[..., 1] - values[..., 0])
        wanted = self.wanted_classes[:, None, :]
        return np.asarray(
            np.where(wanted, values, -np.inf).max(axis=-1) - np.where(wanted, -np.inf, values).max(axis=-1)
        )

    def is_reached(self, outputs: Array) -> Mask:
        # The first of equal outputs wins, as in numpy's argmax and so in the models' own predict.
        if self.wanted_classes.shape[1] == 2:
            second = outputs[..., 1] > outputs[..., 0]
            if self._wants_one_class:
                return np.asarray(second == self.wanted_classes[:, 1:])
            return (second & self.wanted_classes[:, 1:]) | (~second & self.wanted_classes[:, :1])
        winner = outputs.argmax(axis=-1)
        return np.take_along_axis(self.wanted_classes, winner, axis=1)

    @cached_property
    def _wants_one_class(self) -> bool:
        """Whether each row wants one class."""
        return bool((self.wanted_classes.sum(axis=1) == 1).all())

    @cached_property
    def wanted_signs(self) -> Array | None:
        """1 where the second of two classes is wanted, -1 for the first, ``(n,)``; None unless by decision values."""
        if self.link != "identity" or self.wanted_classes.shape[1] != 2 or not self._wants_one_class:
            return None
        return np.where(self.wanted_classes[:, 1], 1.0, -1.0)

    @cached_property
    def _class_signs(self) -> Array:
        """1 for a wanted class, -1 for another, ``(n, 1, c)``."""
        return np.where(self.wanted_classes, 1.0, -1.0)[:, None, :]

    def slopes(self, outputs: Array) -> Array:
        if self.wanted_classes.shape[1] == 2:
            slopes = self._class_signs.repeat(outputs.shape[1], axis=1)
            return slopes / np.maximum(outputs, MIN_PROBABILITY) if self.link == "log" else slopes
        values = apply_link(outputs, self.link)
        wanted = np.broadcast_to(self.wanted_classes[:, None, :], outputs.shape)
        slopes = np.zeros_like(outputs)
        best = np.where(wanted, values, -np.inf).argmax(axis=-1)[..., None]
        rival = np.where(wanted, -np.inf, values).argmax(axis=-1)[..., None]
        np.put_along_axis(slopes, best, 1.0, axis=-1)
        np.put_along_axis(slopes, rival, -1.0, axis=-1)
        return slopes / np.maximum(outputs, MIN_PROBABILITY) if self.link == "log" else slopes


@dataclass(frozen=True, eq=False)
class ThresholdGoal:
    """Probability of the wanted classes at least ``p``: ``f = ln p_t - ln(1 - p_t)``, ``c = logit(p)``.

    Outputs must be probabilities.

    >>> goal = ThresholdGoal(np.array([[False, True]]), np.array([0.8]))
    >>> goal.is_reached(np.array([[[0.25, 0.75], [0.2, 0.8]]]))
    array([[False,  True]])
    """

    wanted_classes: Mask  # (n, c)
    min_probability: Array  # (n,)

    def take(self, rows: Index | Sequence[int]) -> ThresholdGoal:
        index = np.asarray(rows, dtype=np.intp)
        return ThresholdGoal(self.wanted_classes[index], self.min_probability[index])

    @property
    def key(self) -> bytes:
        return b"".join((b"threshold", self.wanted_classes.tobytes(), self.min_probability.tobytes()))

    def group_rows(self) -> tuple[Index, ...]:
        return _group_equal_lines(np.column_stack([self.wanted_classes, self.min_probability]))

    def _wanted_probability(self, outputs: Array) -> Array:
        return np.asarray(np.where(self.wanted_classes[:, None, :], outputs, 0.0).sum(axis=-1))

    def margin(self, outputs: Array) -> Array:
        p = np.clip(self._wanted_probability(outputs), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        level = np.clip(self.min_probability, MIN_PROBABILITY, 1 - MIN_PROBABILITY)[:, None]
        return np.asarray(np.log(p) - np.log1p(-p) - (np.log(level) - np.log1p(-level)))

    def is_reached(self, outputs: Array) -> Mask:
        return self._wanted_probability(outputs) >= self.min_probability[:, None]

    def slopes(self, outputs: Array) -> Array:
        p = np.clip(self._wanted_probability(outputs), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        return np.where(self.wanted_classes[:, None, :], (1.0 / (p * (1.0 - p)))[..., None], 0.0)


@dataclass(frozen=True, eq=False)
class RangeGoal:
    """A number inside ``[low, high]``, either end open at infinity: the margin is the distance to the nearer end.

    Where several models give a number each, ``members_needed`` of them must lie inside: the margin is the one that
    as many reach.

    >>> goal = RangeGoal(np.array([10.0]), np.array([20.0]))
    >>> goal.margin(np.array([[[12.0], [25.0]]]))
    array([[ 2., -5.]])
    """

    low: Array  # (n,)
    high: Array  # (n,)
    members_needed: int = 1

    def take(self, rows: Index | Sequence[int]) -> RangeGoal:
        index = np.asarray(rows, dtype=np.intp)
        return RangeGoal(self.low[index], self.high[index], self.members_needed)

    @property
    def wanted_classes(self) -> None:
        """None: a number has no classes."""

    @property
    def key(self) -> bytes:
        return b"".join((b"range", bytes([self.members_needed % 256]), self.low.tobytes(), self.high.tobytes()))

    def group_rows(self) -> tuple[Index, ...]:
        return _group_equal_lines(np.column_stack([self.low, self.high]))

    def margin(self, outputs: Array) -> Array:
        margins = self._margins(outputs)
        if outputs.shape[-1] == 1:
            return margins[..., 0]
        return np.asarray(np.take_along_axis(margins, self._deciding_member(margins), axis=-1)[..., 0])

    def is_reached(self, outputs: Array) -> Mask:
        inside = (outputs >= self.low[:, None, None]) & (outputs <= self.high[:, None, None])
        return np.asarray(np.count_nonzero(inside, axis=-1) >= self.members_needed)

    def slopes(self, outputs: Array) -> Array:
        rising = outputs - self.low[:, None, None] <= self.high[:, None, None] - outputs
        sign = np.where(rising, 1.0, -1.0)
        if outputs.shape[-1] == 1:
            return sign
        deciding = self._deciding_member(self._margins(outputs))
        slopes = np.zeros_like(outputs)
        np.put_along_axis(slopes, deciding, np.take_along_axis(sign, deciding, axis=-1), axis=-1)
        return slopes

    def _margins(self, outputs: Array) -> Array:
        return np.minimum(outputs - self.low[:, None, None], self.high[:, None, None] - outputs)

    def _deciding_member(self, margins: Array) -> Index:
        """The place, ``(n, k, 1)``, of the weakest member that counts: the ``members_needed``-th best."""
        order = np.argsort(margins, axis=-1, kind="stable")
        return order[..., -self.members_needed, None]
