"""LIME read as advice: a local linear surrogate of the model, Eq. (12), and the least step that turns it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.categories import redraw_categories, switchable_columns
from counterpoise.methods.points import join_points, score_points
from counterpoise.models.goals import RangeGoal
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Mask


def proximity(z: Array, width: float) -> Array:
    """The weight ``pi(x_i) = exp(-|z_i|^2 / width^2)^(1/2)`` of Eq. (12), ``(...)`` for ``z`` ``(..., d)``.

    >>> proximity(np.array([[0.0, 0.0], [3.0, 4.0]]), 5.0).round(4)
    array([1.    , 0.6065])
    """
    return np.asarray(np.exp(-0.5 * np.einsum("...d,...d->...", z, z) / width**2))


def fit_surrogate(z: Array, f: Array, pi: Array, ridge: float = 1.0) -> tuple[Array, Array]:
    """``argmin_g sum_i pi_i (f_i - g(z_i))^2 + Omega(g)``, Eq. (12): g linear, ``Omega = ridge |weights|^2``.

    ``z`` ``(..., m, d)``, ``f`` and ``pi`` ``(..., m)``; gives g at the origin ``(...)`` and its weights ``(..., d)``.
    The value at the origin is not penalised.

    >>> z = np.array([[0.0], [1.0], [2.0]])
    >>> height, weights = fit_surrogate(z, np.array([1.0, 3.0, 5.0]), np.ones(3), ridge=0.0)
    >>> float(height.round(9)), weights.round(9)
    (1.0, array([2.]))
    """
    share = (pi / pi.sum(axis=-1, keepdims=True))[..., None]
    centre, level = (share * z).sum(axis=-2), (share[..., 0] * f).sum(axis=-1)
    spread, rise = z - centre[..., None, :], f - level[..., None]
    heavy = spread * pi[..., None]
    gram = np.swapaxes(heavy, -1, -2) @ spread + ridge * np.eye(z.shape[-1])
    weights = np.linalg.solve(gram, (heavy * rise[..., None]).sum(axis=-2)[..., None])[..., 0]
    return level - np.einsum("...d,...d->...", weights, centre), weights


@dataclass(frozen=True)
class Lime:
    """Fit a linear surrogate around the row, Eq. (12), take the least step that turns it, and repeat from there.

    ``samples`` perturbations of standard deviation ``sigma`` in feature scales are weighed by `proximity`, of
    ``width`` times the root of the number of features, and fitted with the penalty ``ridge``: the defaults of
    Ribeiro, Singh and Guestrin (2016). As there, f is the target's probability, here against its strongest rival; a
    predicted number stays one. A row is finished when it has turned, or after ``rounds``. A step is never longer than
    the perturbations reach. A category is 0 in the surrogate where it is as in the row, else 1, as there; where leaving
    it is part of the least step, it takes the value whose perturbations did best.

    samples: perturbations in a round.
    sigma: their standard deviation, in standard deviations of the reference.
    width: of the weights by nearness, times the root of the number of features.
    ridge: the penalty of the linear fit.
    rounds: how many times a surrogate is fitted at most.

    >>> Lime(samples=200).width
    0.75
    """

    samples: int = 500
    sigma: float = 1.0
    width: float = 0.75
    ridge: float = 1.0
    rounds: int = 10
    redraw_probability: float = 0.5
    """How often a perturbation redraws a category."""
    surrogate_slack: float = 0.01
    """How far past the surrogate's boundary the step aims, in units of its score."""

    def __post_init__(self) -> None:
        if not (self.samples >= 2 and self.rounds >= 1 and min(self.sigma, self.width, self.ridge) > 0):
            raise InputError(
                "samples must be at least 2, rounds at least 1, sigma, width and ridge above 0",
                f"{self!r}",
                "correct them",
            )

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        n = len(problem)
        x = problem.region.nearest_feasible.copy()
        best = score_points(problem, problem.region.project(x[:, None, :]))
        done, number = best.valid[:, 0] | ~problem.region.feasible, 0
        for number in range(1, self.rounds + 1):
            rows = np.flatnonzero(~done)
            if not len(rows) or problem.has_expired:
                break
            part = problem.take(rows)
            x[rows] = self._follow_surrogate(part, streams.take(rows), x[rows])
            found = join_points(best.at(rows), score_points(part, x[rows][:, None, :])).best(1)
            for mine, new in zip(best, found, strict=True):
                mine[rows] = new
            done[rows] = found.valid[:, 0]
            yield Run(*best, done.copy(), number)
        yield Run(*best, np.ones(n, dtype=bool), number)

    def _follow_surrogate(self, problem: Problem, streams: Streams, x: Array) -> Array:
        """Where the surrogate around each of ``x`` ``(n, d)`` says the decision turns, inside the box."""
        d = x.shape[1]
        moves = problem.numeric & problem.region.free & ~np.isnan(x)
        z = self.sigma * streams.normal((self.samples, d)) * moves[:, None, :]
        z[:, 0] = 0.0  # the row itself, as its authors have it
        points = np.where(moves[:, None, :], x[:, None, :] + z * problem.scales, x[:, None, :])
        if switchable_columns(problem):
            draws = streams.uniform((2, self.samples, d))
            draws[:, 1, 0] = 1.0
            points = redraw_categories(problem, points, draws[:, 0], draws[:, 1] < self.redraw_probability)
            z = np.where(problem.numeric, z, (points != x[:, None, :]) & ~np.isnan(x[:, None, :]))
        margin = problem.score(points).margin
        f = margin if isinstance(problem.goal, RangeGoal) else expit(margin) - 0.5
        pi = proximity(z, self.width * np.sqrt(d))
        height, weights = fit_surrogate(z, f, pi, self.ridge)
        leave, lacking = _choose_categories_to_leave(weights, ~problem.numeric, moves, self.surrogate_slack - height)
        weights = np.where(moves, weights, 0.0)
        square = np.maximum(np.einsum("nd,nd->n", weights, weights), 1e-300)
        step = (lacking / square)[:, None] * weights
        length = np.sqrt(np.einsum("nd,nd->n", step, step))
        farthest = self.sigma * np.sqrt(np.maximum(moves.sum(axis=1), 1))
        step *= np.minimum(1.0, farthest / np.maximum(length, 1e-300))[:, None]
        ahead = np.clip(x + step * problem.scales, problem.region.lower, problem.region.upper)
        ahead = np.where(moves, ahead, x)
        for column, values in switchable_columns(problem):
            seen = (points[..., column, None] == values) * pi[..., None]  # (n, samples, v)
            mean = (seen * f[..., None]).sum(axis=1) / np.maximum(seen.sum(axis=1), 1e-300)
            mean[(seen.sum(axis=1) == 0) | (values == x[:, column, None])] = -np.inf
            ahead[:, column] = np.where(leave[:, column], values[mean.argmax(axis=1)], ahead[:, column])
        return ahead


def _choose_categories_to_leave(weights: Array, nominal: Mask, moves: Mask, lacking: Array) -> tuple[Mask, Array]:
    """Which categories ``(n, d)`` the least step of a surrogate leaves, and what is then still lacking ``(n,)``.

    Leaving one costs 1 and gains its weight; numbers gain their slope times their length. The first so many by weight
    are left that the squares add up to least.
    """
    slope = np.maximum(np.sqrt((np.where(moves, weights, 0.0) ** 2).sum(axis=1)), 1e-150)
    gains = np.where(nominal, np.maximum(weights, 0.0), 0.0)
    order = np.argsort(-gains, axis=1, kind="stable")
    ranked = np.take_along_axis(gains, order, axis=1)
    total = np.concatenate([np.zeros((len(gains), 1)), np.cumsum(ranked, axis=1)], axis=1)
    rest = np.maximum(lacking[:, None] - total, np.minimum(lacking, 0.0)[:, None])
    effort = (rest / slope[:, None]) ** 2 + np.arange(total.shape[1])
    effort[:, 1:][ranked <= 0] = np.inf
    count = effort.argmin(axis=1)
    rank = np.argsort(order, axis=1, kind="stable")
    return rank < count[:, None], np.take_along_axis(rest, count[:, None], axis=1)[:, 0]
