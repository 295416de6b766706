"""Algorithm 1 of the paper, "Iterative Refinement via Simulated Annealing", line by line, all rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.bisection import bisect
from counterpoise.errors import CapabilityError, InputError
from counterpoise.methods.base import Run, last_run
from counterpoise.methods.baselines.algorithm1_state import Info, State, scatter_flags, select_rows
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.methods.baselines.langevin import log_hastings, propose
from counterpoise.methods.points import Points, join_points, score_points
from counterpoise.physics import cloud
from counterpoise.physics.estimators.monte_carlo import cloud_free_energy
from counterpoise.physics.metropolis import accept
from counterpoise.physics.robustness import worst_case
from counterpoise.physics.stability import gradient_norm, is_smooth_enough, largest_eigenvalue
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True)
class Algorithm1:
    """Descent on the free energy with Metropolis acceptance, from the row to the boundary.

    lam and mu are those of the call. The free energy is that of a cloud; ``sigma=0`` is the paper's own, whose entropy
    over all of space is one constant, so that F falls with E alone.

    Corrected by default; `literal` gives the printed form. The corrections: f in log-odds, where its gradient does not
    vanish, not a probability (``probability``); a one-sided phi, not ``|f - c|`` (``two_sided``); and in the flow
    (``printed``): the free energy difference is that of the candidate after alpha was halved; alpha recovers when a
    step is taken; the C2 check looks at the candidate and halves alpha, since a refused update leaves x where it is and
    the same check would refuse it for ever; a step that crosses the boundary is shortened until it just does, and one
    that ends on the wrong side is no answer. There is a cap of ``iterations`` in both.

    "Repeat optimization with updated constraints" is read as: the threshold c is raised by what the worst perturbation
    of size xi takes from the score, so that the next answer lies that much deeper; at most ``repeats`` times. The
    printed check, F(x + eta) close to F(x), is taken as a rise of F by no more than epsilon.

    ``langevin`` is the faithful form of the annealing: normal noise in every step, Hastings' ratio in the acceptance,
    and beta rising over the iterations to ``final_beta_factor`` times where it began (`baselines.langevin`).

    alpha, iterations: the learning rate, in standard deviations; the cap of iterations.
    beta: the inverse temperature, above 0.
    epsilon: the tolerance around the boundary, in units of the score.
    c1, c2: the greatest norm of the gradient at a candidate, and the greatest curvature.
    xi: the size of the perturbations that an answer must survive, in standard deviations; 0: none are tried.
    sigma, samples: the width of the cloud, in standard deviations (0: the paper's own free energy), and its points.
    repeats: how often the threshold is raised at most.
    probability, two_sided, printed: True for f, phi and the flow as printed; False by default.
    directions, lanczos_steps: directions in which the worst perturbation is looked for, steps to find the curvature.
    halvings, report_every: of a step that crosses the boundary, at most; iterations between two reports.
    langevin, final_beta_factor: True: noise in every step, and beta rising to so many times its start.

    >>> Algorithm1.literal(alpha=0.5)
    Algorithm1(alpha=0.5, ... sigma=0.0, ... probability=True, two_sided=True, printed=True, ...)
    """

    alpha: float = 0.05
    beta: float = 10.0
    epsilon: float = 0.01
    c1: float = 10.0
    c2: float = 100.0
    xi: float = 0.0
    iterations: int = 500
    sigma: float = 0.05
    samples: int = 32
    repeats: int = 5
    probability: bool = False
    two_sided: bool = False
    printed: bool = False
    directions: int = 8
    lanczos_steps: int = 8
    halvings: int = 40
    report_every: int = 25
    langevin: bool = False
    final_beta_factor: float = 100.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "epsilon", "c1", "c2"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0", f"{getattr(self, name)!r}", "for instance the default")
        if not (self.xi >= 0 and self.sigma >= 0 and self.iterations >= 1 and self.repeats >= 0):
            raise InputError(
                "xi, sigma and repeats must be at least 0, iterations at least 1", f"{self!r}", "correct them"
            )
        if self.langevin and (self.printed or not self.final_beta_factor >= 1):
            raise InputError(
                "langevin goes with the corrected flow, and final_beta_factor must be at least 1",
                f"printed is {self.printed}, final_beta_factor {self.final_beta_factor!r}",
                "for instance Algorithm1(langevin=True)",
            )
        if self.samples < 2 or self.samples % 2:
            raise InputError("samples come in pairs", f"{self.samples}", "give an even number")

    @classmethod
    def literal(cls, **settings: Any) -> Algorithm1:
        """Algorithm 1 as printed: f a probability, ``|f - c|``, the entropy a constant, the flow of the listing."""
        form = {"sigma": 0.0, "probability": True, "two_sided": True, "printed": True}
        return cls(**(form | settings))

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        done, calls = np.zeros(len(problem), dtype=bool), 0
        state = None
        for calls, (state, _, done) in enumerate(self.trace(problem, streams), 1):
            if calls % self.report_every == 0:
                yield Run(*self._make_answers(problem, state), done, calls)
        assert state is not None, "a trace has at least its start"
        yield Run(*self._make_answers(problem, state), np.ones_like(done), calls)

    def trace(self, problem: Problem, streams: Streams) -> Iterator[tuple[State, Info, Mask]]:
        """The state of every row after each iteration, what it did, and which rows have converged."""
        n, d = problem.x0.shape
        problem = replace(problem, energy=replace(problem.energy, two_sided=self.two_sided), cloud=None, hints=None)
        chart = CoordinateChart.of(problem, problem.region.nearest_feasible, probability=self.probability)
        half = streams.normal((self.samples // 2, d))
        noise = np.concatenate([half, -half], axis=1) * chart.is_movable[:, None, :]
        directions = streams.normal((self.directions, d)) * chart.is_movable[:, None, :]
        state = self.start(chart, noise, chart.origin_coordinates)
        done, none = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        yield state, Info(none, none, none), done.copy()
        rounds, rows, part = np.zeros(n, dtype=np.intp), np.arange(n), chart
        for number in range(self.iterations):
            if not len(rows) or problem.has_expired:
                return
            u = streams.take(rows).uniform((1,))[:, 0]
            if self.langevin:
                warm = replace(self, beta=self.beta * self.final_beta_factor ** (number / self.iterations))
                after, info = warm.langevin_step(part, noise[rows], state.at(rows), streams.take(rows).normal((d,)), u)
            else:
                after, info = self.step(part, noise[rows], state.at(rows), u)
            ended = np.abs(after.margin) < self.epsilon
            if not self.printed:
                ended &= after.margin >= 0
            tried = np.flatnonzero(ended & (rounds[rows] < self.repeats)) if self.xi else rows[:0]
            if len(tried):  # lines 22 to 24
                who = rows[tried]
                raised = self._shortfall(part.take(tried), noise[who], after.at(tried), directions[who])
                failed = raised > 0
                ended[tried[failed]] = False
                rounds[who[failed]] += 1
                chart.threshold_shift[who] += raised
                after = after.replace_rows(tried, self.start(chart.take(who), noise[who], after.z[tried]))
            state = state.replace_rows(rows, after)
            done[rows[ended]] = True
            full_info = Info(*(scatter_flags(flags, rows, n) for flags in info))
            if ended.any() or len(tried):
                rows = np.flatnonzero(~done)
                part = chart.take(rows)
            yield state, full_info, done.copy()

    def start(self, chart: CoordinateChart, noise: Array, z: Array) -> State:
        """Lines 2 and 3: the free energy of every row where it starts, ``z`` ``(n, d)``."""
        return self._evaluate_state(chart, noise, z, np.full(len(z), self.alpha))

    def step(self, chart: CoordinateChart, noise: Array, state: State, u: Array) -> tuple[State, Info]:
        """Lines 5 to 20, one iteration for all rows of a chart; ``u`` ``(n,)`` uniform numbers."""
        alpha = state.alpha.copy()
        trial = self._take_gradient_step(chart, noise, state, alpha)  # lines 5 to 7
        change = trial.value - state.value  # line 8
        steep = gradient_norm(trial.gradient) > self.c1  # lines 9 to 12
        if steep.any():
            alpha = np.where(steep, alpha / 2, alpha)
            places = np.flatnonzero(steep)
            again = self._take_gradient_step(chart.take(places), noise[places], state.at(places), alpha[places])
            trial = trial.replace_rows(places, again)
            if not self.printed:
                change = trial.value - state.value
        refused = self._is_too_curved(chart, noise, state if self.printed else trial)  # lines 13 to 15
        accepted = accept(change, 1 / self.beta, u) & ~refused  # lines 16 to 20
        if not self.printed:
            alpha = np.where(accepted & ~steep, np.minimum(2 * alpha, self.alpha), alpha)
            alpha = np.where(accepted, alpha, alpha / 2)
            crossing = np.flatnonzero(accepted & (state.margin < 0) & (trial.margin >= self.epsilon))
            if len(crossing):
                trial = self._shorten_crossing_steps(chart, noise, state, trial, crossing)
        after = State(*(select_rows(accepted, new, old) for new, old in zip(trial, state, strict=True)))
        return after._replace(alpha=alpha), Info(accepted, steep, refused)

    def langevin_step(
        self, chart: CoordinateChart, noise: Array, state: State, normals: Array, u: Array
    ) -> tuple[State, Info]:
        """One Langevin step of all rows at this beta: ``z - alpha grad F + sqrt(2 alpha T) xi``, Hastings' ratio.

        ``normals`` ``(n, d)``. What leaves the box is refused: a mirrored step would have another density.
        """
        T = 1 / self.beta
        if self.sigma:  # F itself depends on beta, which has risen
            state = self._evaluate_state(chart, noise, state.z, state.alpha)
        proposed = propose(state.z, state.gradient, state.alpha, T, normals, chart.is_movable)
        x, region = chart.to_rows(proposed.z), chart.problem.region
        inside = np.asarray(~((x < region.lower) | (x > region.upper)).any(axis=1))
        trial = self._evaluate_state(chart, noise, np.where(inside[:, None], proposed.z, state.z), state.alpha)
        ratio = log_hastings(state.z, state.gradient, trial.z, trial.gradient, state.alpha, T)
        accepted = inside & accept(trial.value - state.value - T * ratio, T, u)
        refused = self._is_too_curved(chart, noise, trial) & accepted
        accepted &= ~refused
        crossing = np.flatnonzero(accepted & (state.margin < 0) & (trial.margin >= self.epsilon))
        if len(crossing):
            trial = self._shorten_crossing_steps(chart, noise, state, trial, crossing)
        after = State(*(select_rows(accepted, new, old) for new, old in zip(trial, state, strict=True)))
        return after, Info(accepted, np.zeros_like(accepted), refused)

    def _take_gradient_step(self, chart: CoordinateChart, noise: Array, state: State, alpha: Array) -> State:
        z = chart.reflect_into_box(state.z - alpha[:, None] * state.gradient)
        return self._evaluate_state(chart, noise, z, alpha)

    def _evaluate_state(self, chart: CoordinateChart, noise: Array, z: Array, alpha: Array) -> State:
        """The state at coordinates ``z`` ``(n, d)``: F and its gradient over the cloud, or E and its own."""
        has_gradient = chart.problem.has_gradient
        if not self.sigma:
            if not has_gradient:
                raise CapabilityError(
                    "Algorithm1 with sigma=0 needs a model with gradients",
                    f"{type(chart.problem.model).__name__} has none",
                    "give sigma, for instance 0.1: the cloud then shows the way",
                )
            value, margin, gradient = chart.energy_margin_and_gradient(z)
            return State(z, value, gradient, margin, alpha)
        points = np.concatenate([z[:, None, :], cloud.points(z, self.sigma, noise)], axis=1)
        slopes = None
        if has_gradient:
            energy, margin, slope = chart.energy_margin_and_gradient(points)
            slopes = self.beta * slope[:, 1:]
        else:
            energy, margin = chart.energy_and_margin(points)
        F = cloud_free_energy(self.beta * energy[:, 1:], noise, self.sigma, 1 / self.beta, slopes)
        return State(z, F.value, F.gradient, margin[:, 0], alpha)

    def _is_too_curved(self, chart: CoordinateChart, noise: Array, state: State) -> Mask:
        """Which rows have a largest curvature above C2; a cloud's is at most T / sigma**2, often reason enough."""
        none = np.zeros(len(state.z), dtype=bool)
        if np.isinf(self.c2) or (self.sigma and 1 / (self.beta * self.sigma**2) <= self.c2):
            return none
        step = 1e-4

        def product(z: Array, v: Array) -> Array:
            ahead, behind = (
                self._evaluate_state(chart, noise, z + sign * step * v, state.alpha).gradient for sign in (1, -1)
            )
            return np.asarray((ahead - behind) / (2 * step))

        start = np.where(chart.is_movable, np.random.default_rng(0).standard_normal(state.z.shape[1]), 0.0)
        there = chart.is_movable.any(axis=1)
        start[~there] = 1.0
        return np.asarray(
            ~is_smooth_enough(largest_eigenvalue(product, state.z, self.lanczos_steps, start), self.c2) & there
        )

    def _shorten_crossing_steps(
        self, chart: CoordinateChart, noise: Array, state: State, trial: State, rows: Index
    ) -> State:
        """Candidates that crossed the boundary, brought back to within epsilon of it on the target's side."""
        part = chart.take(rows)
        outside, inside, left = state.z[rows], trial.z[rows], trial.margin[rows]

        def is_inside(middle: Array) -> Mask | None:
            nonlocal left
            if (left < self.epsilon).all():
                return None
            margin = part.margin(middle)
            left = np.where(margin >= 0, margin, left)
            return np.asarray(margin >= 0)[:, None]

        _, inside = bisect(outside, inside, is_inside, self.halvings)
        return trial.replace_rows(rows, self._evaluate_state(part, noise[rows], inside, trial.alpha[rows]))

    def _shortfall(self, chart: CoordinateChart, noise: Array, state: State, draws: Array) -> Array:
        """By how much the threshold must rise ``(n,)`` for the worst perturbation found to be survived; 0: it is."""

        def seen(z: Array, name: str) -> Array:
            flat = z.reshape(len(z), -1, z.shape[-1])
            each = [
                getattr(self._evaluate_state(chart, noise, flat[:, k], state.alpha), name) for k in range(flat.shape[1])
            ]
            return np.stack(each, axis=1).reshape(*z.shape[:-1], *each[0].shape[1:])

        if self.printed:
            found = worst_case(
                lambda z: seen(z, "value"), state.z, self.xi, draws, gradient=lambda z: seen(z, "gradient")
            )
            fails = found.rise > self.epsilon
        else:
            has_gradient = chart.problem.has_gradient
            found = worst_case(
                lambda z: -chart.margin(z),
                state.z,
                self.xi,
                draws,
                gradient=(lambda z: -chart.margin_and_gradient(z)[1]) if has_gradient else None,
                noise=None if has_gradient else noise[:, None],
            )
            fails = state.margin + chart.threshold_shift < found.rise
        taken = state.margin - chart.margin(state.z + found.eta)  # as the score sees it
        short = np.maximum(taken - state.margin - chart.threshold_shift, 0.0)
        return np.where(fails, short + self.epsilon, 0.0)

    def _make_answers(self, problem: Problem, state: State) -> Points:
        """The rows as they stand, settled in the region; corrected, a hair farther where rounding falls short."""
        chart = CoordinateChart.of(problem, problem.region.nearest_feasible)
        x = chart.to_rows(state.z)[:, None, :]
        if self.printed:
            return score_points(problem, x)
        home = problem.region.nearest_feasible[:, None, :]
        # of the way, a share beyond its end
        factors = 1.0 + np.array([0.0, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2])
        line = np.where(chart.is_movable[:, None, :], home + factors[None, :, None] * (x - home), home)
        return join_points(score_points(problem, x), score_points(problem, line)).best(1)
