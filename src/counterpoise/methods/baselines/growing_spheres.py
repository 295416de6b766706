"""Growing spheres: draw points in ever wider shells around the row until one has the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.categories import redraw_categories, switchable_columns
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array


@dataclass(frozen=True)
class GrowingSpheres:
    """The nearest of points drawn in shells around the row, then with needless changes undone (Laugel et al., 2018).

    The first ball of ``radius``, in feature scales, is halved while it holds a point of the target; then shells of its
    radius are added, up to ``shells``, each with ``samples`` points, until one does. A switched category lies at a
    distance of 1: a point at distance r has up to r^2 of them, drawn at random, and the rest of r in its numbers.

    samples: points in each shell.
    radius: of the first ball, in standard deviations.
    shells: how many shells at most.

    >>> GrowingSpheres(samples=50).radius
    1.0
    """

    samples: int = 100
    radius: float = 1.0
    shells: int = 40

    def __post_init__(self) -> None:
        if not (self.samples >= 1 and self.shells >= 1 and self.radius > 0):
            raise InputError("samples and shells must be at least 1, the radius above 0", f"{self!r}", "correct them")

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        n = len(problem)
        best = score_points(problem, problem.region.project(problem.region.nearest_feasible[:, None, :]))
        inner, width = np.zeros(n), np.full(n, self.radius)
        shrinking, done, number = np.ones(n, dtype=bool), best.valid[:, 0] | ~problem.region.feasible, 0
        for number in range(1, self.shells + 1):
            rows = np.flatnonzero(~done)
            if not len(rows) or problem.has_expired:
                break
            part = problem.take(rows)
            drawn = score_points(part, self._draw_from_shell(part, streams.take(rows), inner[rows], width[rows]))
            for mine, new in zip(best, join_points(best.at(rows), drawn).best(1), strict=True):
                mine[rows] = new
            hit = drawn.valid.any(axis=1)
            halved = hit & shrinking[rows]
            done[rows] = hit & ~shrinking[rows]
            shrinking[rows] = halved
            inner[rows] = np.where(halved, 0.0, inner[rows] + width[rows])
            width[rows] = np.where(halved, width[rows] / 2, width[rows])
            yield Run(*best, np.zeros(n, dtype=bool), number)
        yield Run(*_undo_small_changes(problem, best), np.ones(n, dtype=bool), number + 1)

    def _draw_from_shell(self, problem: Problem, streams: Streams, inner: Array, width: Array) -> Array:
        """Points ``(n, samples, d)`` drawn evenly from the shells ``[inner, inner + width]`` around the rows."""
        d = problem.x0.shape[1]
        home = problem.region.nearest_feasible[:, None, :]
        moves = (problem.numeric & problem.region.free & ~np.isnan(problem.region.nearest_feasible))[:, None, :]
        ways = np.where(moves, streams.normal((self.samples, d)), 0.0)
        ways /= np.maximum(np.sqrt(np.einsum("nkd,nkd->nk", ways, ways)), 1e-300)[..., None]
        power = np.maximum(moves.sum(axis=-1), 1).astype(np.float64)
        # a share of the volume of the outer ball, so that radii are even over the shell and no power overflows
        low = (inner / (inner + width))[:, None] ** power
        share = low + (1 - low) * streams.uniform((self.samples,))
        length = (inner + width)[:, None] * share ** (1 / power)
        start, length = self._switch_categories(problem, streams, length)
        return np.where(moves, home + length[..., None] * ways * problem.scales, start)

    def _switch_categories(self, problem: Problem, streams: Streams, length: Array) -> tuple[Array, Array]:
        """Rows ``(n, samples, d)`` with some categories switched, and what that leaves of their lengths."""
        columns = [column for column, _ in switchable_columns(problem)]
        home = problem.region.nearest_feasible[:, None, :]
        if not columns:
            return home, length
        draws = streams.uniform((3, self.samples, problem.x0.shape[1]))
        may = problem.region.free & np.isin(np.arange(problem.x0.shape[1]), columns)
        order = np.where(may[:, None, :], draws[:, 0], np.inf)
        room = np.floor(draws[:, 1, :, 0] * (np.minimum(np.floor(length**2), may.sum(axis=1)[:, None]) + 1))
        taken = np.argsort(np.argsort(order, axis=-1), axis=-1) < room[..., None]
        start = redraw_categories(problem, home, draws[:, 2], taken)
        far = np.count_nonzero((start != home) & ~problem.numeric, axis=-1)
        return start, np.sqrt(np.maximum(length**2 - far, 0.0))


def _undo_small_changes(problem: Problem, points: Points) -> Points:
    """Answers ``(n, 1, d)``, their changes undone from the smallest on as long as they stay valid."""
    found = points
    order = np.argsort(problem.energy.distance.differences(points.x, problem.x0)[:, 0], axis=1)
    for place in range(order.shape[1]):
        if problem.has_expired or not found.valid.any():
            break
        column = order[:, place][:, None, None]
        trial = found.x.copy()
        np.put_along_axis(
            trial, column, np.take_along_axis(problem.region.nearest_feasible[:, None, :], column, axis=-1), axis=-1
        )
        tried = score_points(problem, trial)
        found = found.replace_where(tried, tried.valid & found.valid & (tried.effort <= found.effort))
    return found
