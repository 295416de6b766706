"""Points of a search: where they are, what the model makes of them, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from counterpoise.problem import Problem, Score
from counterpoise.types import Array, Index, Mask


class Points(NamedTuple):
    """Points ``(n, k, d)``, their margins ``(n, k)`` and what each costs ``(n, k)``: infinity where it is not valid."""

    x: Array
    margin: Array
    effort: Array

    @property
    def valid(self) -> Mask:
        """Which points reach the target inside the region."""
        return np.isfinite(self.effort)

    @property
    def lowest_effort(self) -> Array:
        """The least effort of each row, ``(n,)``."""
        return np.asarray(self.effort.min(axis=1))

    @property
    def has_been_scored(self) -> bool:
        """Whether the model has been asked about any of them."""
        return bool((self.margin > -np.inf).any())

    def at(self, rows: Index) -> Points:
        """The points of some rows."""
        return Points(self.x[rows], self.margin[rows], self.effort[rows])

    def best(self, count: int) -> Points:
        """The ``count`` best of each row: valid ones by effort, then the nearest misses by margin."""
        return self.pick(self.rank()[:, :count])

    def pick(self, order: Index) -> Points:
        """The points with these numbers ``(n, k)`` of each row."""
        rows = np.arange(len(order))[:, None]
        return Points(self.x[rows, order], self.margin[rows, order], self.effort[rows, order])

    def rank(self) -> Index:
        """The numbers ``(n, k)`` of the points of each row: valid ones by effort, then nearest misses by margin."""
        return np.asarray(np.lexsort((-self.margin, self.effort), axis=-1))

    def list_distinct(self) -> Index:
        """The numbers ``(n, k)`` of the points of each row as they are, those that repeat an earlier one last."""
        one, other = self.x[:, :, None, :], self.x[:, None, :, :]
        same = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=-1)
        return np.asarray(np.argsort(np.tril(same, -1).any(axis=-1), axis=1, kind="stable"))

    def masked(self, real: Mask) -> Points:
        """A copy with all points outside ``real`` ``(n, k)`` marked invalid."""
        return Points(self.x, np.where(real, self.margin, -np.inf), np.where(real, self.effort, np.inf))

    def first(self, count: int) -> Points:
        """The first ``count`` points of each row."""
        return Points(self.x[:, :count], self.margin[:, :count], self.effort[:, :count])

    def replace_where(self, other: Points, taken: Mask) -> Points:
        """These points, with those of another set where they are ``taken`` ``(n, k)``."""
        return Points(
            np.where(taken[..., None], other.x, self.x),
            np.where(taken, other.margin, self.margin),
            np.where(taken, other.effort, self.effort),
        )


def stack_rows(parts: Iterable[Points]) -> Points:
    """The points of chunks of rows as those of all rows."""
    return Points(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def join_points(*parts: Points) -> Points:
    """Several sets of points as one."""
    return Points(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))


def make_points(problem: Problem, x: Array, score: Score, inside: Mask) -> Points:
    """Points of the region with what the model says of them."""
    effort = problem.energy.effort(x, problem.x0)
    return Points(x, score.margin, np.where(score.reached & inside, effort, np.inf))


def score_points(problem: Problem, x: Array) -> Points:
    """Proposals settled in the region and scored; what the region refuses is not valid."""
    y, inside = problem.region.bring_inside(x)
    return make_points(problem, y, problem.score(y), inside)
