"""Counterfactuals by gradient descent on the decision and the distance, the method that Eq. (11) describes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.categories import switch_single_categories
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.methods.slopes import score_and_gradient
from counterpoise.physics.estimators.monte_carlo import cloud_free_energy
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index


class DescentState(NamedTuple):
    """Where the chains are: points ``(n, k, d)``, two memories of the gradient ``(n, k, d)``, weights ``(n, k)``."""

    x: Array
    first_moment: Array
    second_moment: Array
    weight: Array

    def at(self, rows: Index) -> DescentState:
        """The state of some rows."""
        return DescentState(*(part[rows] for part in self))


@dataclass(frozen=True)
class GradientDescent:
    """``delta <- delta - alpha grad L(f(x0 + delta), target)``, Eq. (11), with ``L = weight phi(f) + d(x, x0)``.

    ``phi`` is "squared", as Wachter, Mittelstadt and Russell (2017) have it, or "hinge"; f is the margin in units of
    the row's own. The weight doubles while no answer is found, as they propose. ``alpha`` is the learning rate in
    feature scales; ``rule`` is "adam" or "momentum". Of ``restarts`` chains the first starts at the row, the others
    around it; ``noise`` is the size, in feature scales, of that and, times alpha, of the noise on every step. A row is
    finished ``patience`` iterations after its last gain; one without an answer after ``iterations`` starts over, twice
    as far around, up to ``rounds`` times. A model without gradients is followed by the Boltzmann-weighted cloud of
    ``samples`` points around each chain. Categories have no slope: as in Wachter et al., a chain keeps those that it
    starts with. The first has the row's, the others those of the single switches that bring the row nearest to its
    target, where these bring it nearer at all.

    alpha: the learning rate, in standard deviations.
    iterations: steps of a round at most.
    phi: the loss of the decision: "squared" or "hinge".
    rule: how steps are taken: "adam" or "momentum".
    restarts: chains; the first starts at the row.
    noise: the size of the noise around the row, in standard deviations.
    patience: iterations without a gain after which a row is finished.
    samples: points of the cloud that stands in for a gradient.
    rounds: how often a row without an answer starts over.

    >>> GradientDescent(phi="hinge").alpha
    0.05
    """

    alpha: float = 0.05
    iterations: int = 200
    phi: Literal["squared", "hinge"] = "squared"
    rule: Literal["adam", "momentum"] = "adam"
    restarts: int = 2
    noise: float = 0.1
    patience: int = 40
    samples: int = 16
    rounds: int = 1
    aim_slack: float = 0.05
    """How far past the boundary a descent aims, a share of the row's own margin."""
    doubling_iterations: int = 10
    """Iterations after which a chain without an answer weighs the decision twice as much."""
    report_every: int = 20
    """Iterations between two reports of a run."""
    min_gain_share: float = 1e-3
    """A fall of the effort by less than this share is no gain."""
    beta1: float = 0.9
    """Adam's memory of the gradient, and momentum's."""
    beta2: float = 0.999
    """Adam's memory of the squared gradient."""
    cloud_sigma: float = 0.5
    """Width of the cloud that stands in for a gradient, in feature scales."""
    cloud_temperature: float = 0.3
    """Temperature of that cloud."""

    def __post_init__(self) -> None:
        if self.phi not in ("squared", "hinge"):
            raise InputError("phi must be 'squared' or 'hinge'", f"{self.phi!r}", "choose one")
        if self.rule not in ("adam", "momentum"):
            raise InputError("rule must be 'adam' or 'momentum'", f"{self.rule!r}", "choose one")
        if not (
            self.alpha > 0 and self.noise >= 0 and min(self.iterations, self.restarts, self.patience, self.rounds) >= 1
        ):
            raise InputError(
                "alpha must be above 0, noise at least 0, iterations, restarts, patience and rounds at least 1",
                f"{self!r}",
                "correct them",
            )
        if self.samples < 2 or self.samples % 2:
            raise InputError("samples come in pairs", f"{self.samples}", "give an even number")

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        home = problem.region.nearest_feasible[:, None, :]
        best, total = score_points(problem, problem.region.project(home)), 0
        rows = np.flatnonzero(problem.region.feasible)
        for number in range(self.rounds):
            if not len(rows) or problem.has_expired:
                break
            step = 0
            for step, found in self._descend_chains(problem.take(rows), streams.take(rows), self.noise * 2.0**number):
                for mine, new in zip(best, join_points(best.at(rows), found).best(1), strict=True):
                    mine[rows] = new
                yield Run(*best, np.zeros(len(problem), dtype=bool), total + step)
            total, rows = total + step, rows[~best.valid[rows, 0]]
        yield Run(*best, np.ones(len(problem), dtype=bool), total)

    def _descend_chains(self, problem: Problem, streams: Streams, width: float) -> Iterator[tuple[int, Points]]:
        """Iterations done and the best points so far, now and then, of chains started within ``width`` of the rows."""
        (n, d), k = problem.x0.shape, self.restarts
        home = problem.region.nearest_feasible[:, None, :]
        margin = problem.score(home).margin
        margin_unit = np.maximum(np.abs(margin), 1e-9)  # (n, 1)
        start = width * problem.scales * streams.normal((k, d))
        start[:, 0] = 0.0
        clamped = self._make_starts(problem, margin)
        x = self._clip_to_box(problem, clamped + start, clamped)
        best = Points(x[:, :1].copy(), np.full((n, 1), -np.inf), np.full((n, 1), np.inf))
        state = DescentState(x, np.zeros_like(x), np.zeros_like(x), np.ones((n, k)))
        done, stale, step = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.intp), 0
        for step in range(1, self.iterations + 1):
            active = np.flatnonzero(~done)
            if not len(active) or problem.has_expired:
                break
            part = problem.take(active)
            stepped, found = self._step(part, streams.take(active), state.at(active), margin_unit[active], step)
            for mine, new in zip(state, stepped, strict=True):
                mine[active] = new
            before = best.lowest_effort[active]
            for mine, new in zip(best, join_points(best.at(active), found).best(1), strict=True):
                mine[active] = new
            with np.errstate(invalid="ignore"):
                gained = best.lowest_effort[active] < before * (1 - self.min_gain_share)
            stale[active] = np.where(gained | np.isinf(best.lowest_effort[active]), 0, stale[active] + 1)
            done |= stale >= self.patience
            if step % self.report_every == 0:
                yield step, best
        yield step, best

    def _make_starts(self, problem: Problem, margin: Array) -> Array:
        """Where the chains start ``(n, k, d)``: the row, and the best of its single switches of a category."""
        home = problem.region.nearest_feasible
        out = np.repeat(home[:, None, :], self.restarts, axis=1)
        tried = switch_single_categories(problem, home)
        if tried.shape[1] and self.restarts > 1:
            gain = problem.score(tried).margin
            order = np.argsort(-gain, axis=1)[:, : self.restarts - 1, None]
            picked = np.take_along_axis(tried, order, axis=1)
            nearer = np.take_along_axis(gain[..., None], order, axis=1) > margin[..., None]
            out[:, 1 : 1 + order.shape[1]] = np.where(nearer, picked, home[:, None, :])
        return out

    def _step(
        self, problem: Problem, streams: Streams, state: DescentState, margin_unit: Array, number: int
    ) -> tuple[DescentState, Points]:
        """One iteration of every chain, and the points where the chains stand now."""
        shape = state.x.shape[1:]
        margin, gradient = self._margin_and_gradient(problem, streams, state, margin_unit)
        found = score_points(problem, state.x)
        first, second = state.first_moment, state.second_moment
        if self.rule == "adam":
            first = self.beta1 * first + (1 - self.beta1) * gradient
            second = self.beta2 * second + (1 - self.beta2) * gradient**2
            move = first / (1 - self.beta1**number) / (np.sqrt(second / (1 - self.beta2**number)) + 1e-12)
        else:
            first = self.beta1 * first + gradient
            move = (1 - self.beta1) * first
        move = move + self.noise * streams.normal(shape) * (gradient != 0)
        x = self._clip_to_box(problem, state.x - self.alpha * problem.scales * move, state.x)
        late = (number % self.doubling_iterations == 0) & (margin < 0) & ~found.valid.any(axis=1, keepdims=True)
        return DescentState(x, first, second, np.where(late, 2 * state.weight, state.weight)), found

    def _margin_and_gradient(
        self, problem: Problem, streams: Streams, state: DescentState, margin_unit: Array
    ) -> tuple[Array, Array]:
        """Margins ``(n, k)`` in units of the row's own, and the gradient ``(n, k, d)`` of L in feature scales."""
        if problem.has_gradient:
            score, steep = score_and_gradient(problem, state.x)
            margin = score.margin / margin_unit
            lean = (state.weight * self._phi_slope(margin))[..., None] * steep / margin_unit[..., None]
        else:
            margin, lean = self._cloud_margin_and_gradient(problem, streams, state, margin_unit)
        total = np.nan_to_num(lean + problem.energy.distance.gradient(state.x, problem.x0))
        return margin, np.where(problem.numeric & problem.region.free[:, None, :], total * problem.scales, 0.0)

    def _cloud_margin_and_gradient(
        self, problem: Problem, streams: Streams, state: DescentState, margin_unit: Array
    ) -> tuple[Array, Array]:
        """Margins at the chains and the gradient of ``weight phi`` in raw units, by Boltzmann weights of a cloud."""
        n, k, d = state.x.shape
        half = streams.normal((k, self.samples // 2, d))
        noise = np.concatenate([half, -half], axis=2)
        around = self.cloud_sigma * problem.scales * noise * problem.numeric
        start = np.concatenate([state.x, np.repeat(state.x, self.samples, axis=1)], axis=1)
        shift = np.concatenate([np.zeros_like(state.x), around.reshape(n, -1, d)], axis=1)
        cloud = self._clip_to_box(problem, start + shift, start)
        margin = problem.score(cloud).margin / margin_unit
        F = cloud_free_energy(
            self._phi(margin[:, k:].reshape(n, k, -1)) / self.cloud_temperature,
            noise,
            self.cloud_sigma,
            self.cloud_temperature,
        )
        lean = state.weight[..., None] * F.gradient / problem.scales
        return margin[:, :k], problem.region.project_gradient(state.x, lean)

    def _phi(self, margin: Array) -> Array:
        short = np.maximum(0.0, self.aim_slack - margin)
        return short**2 if self.phi == "squared" else short

    def _phi_slope(self, margin: Array) -> Array:
        short = np.maximum(0.0, self.aim_slack - margin)
        return -2 * short if self.phi == "squared" else np.where(short > 0, -1.0, 0.0)

    def _clip_to_box(self, problem: Problem, x: Array, start: Array) -> Array:
        """Points ``(n, k, d)`` clipped to the box, off the lattice; cells that may not move keep what they have."""
        low, high = problem.region.lower[:, None, :], problem.region.upper[:, None, :]
        moves = problem.numeric & problem.region.free[:, None, :]
        return np.where(moves, np.clip(x, low, high), start)
