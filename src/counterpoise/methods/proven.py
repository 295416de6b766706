"""Proven answers: how far below another method's answers the least effort can be, and nearer answers on the way.

What can be proven is a table by what the model offers: each entry takes a problem and the run of a search, and gives a
bound of the effort of all valid answers, or None where it cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from counterpoise.methods.base import Method, Run, last_run
from counterpoise.methods.linear.exact import prove_linear
from counterpoise.methods.networks.certified import prove_network
from counterpoise.methods.points import Points, join_points
from counterpoise.methods.settings.proof import DEFAULT_PROOF, ProofSettings
from counterpoise.methods.trees.exact.sum_of_trees import prove
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


class Bounds(NamedTuple):
    """What is proven of n rows: bounds, rows proven infeasible, and points found during the proof."""

    bound: Array  # (n,) no valid answer costs less; NaN where nothing is known
    is_infeasible: Mask  # (n,)
    points: Points | None = None  # (n, k, d) answers, which may be nearer than those of the search
    further_bound: Array | None = None  # (n,) of answers with other sets of features, as `Run` has it


Prover: TypeAlias = Callable[[Problem, Run, ProofSettings], Bounds | None]
"""Bounds for the rows of a problem, given the run of a search; None where this kind of proof does not apply."""


@dataclass(frozen=True)
class Proven:
    """Another method's answers, with a bound of the least effort; nearer answers that the proof meets come first.

    method: the method whose answers are proven.
    settings: how much work a proof may take.
    solves_first: True: rows that a proof alone answers, as for linear models, are not searched; False by default.

    >>> from counterpoise.methods.baselines.nearest import NearestNeighbour
    >>> Proven(NearestNeighbour()).settings.gap
    0.0
    """

    method: Method
    settings: ProofSettings = DEFAULT_PROOF
    alternatives: int = 1
    """Answers of each row that are proven, with distinct sets of features, none a superset of a better one's."""
    solves_first: bool = False

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        solved = solve_without_search(problem, self.settings) if self.solves_first else None
        if solved is None:
            yield from self._search(problem, streams)
            return
        yield solved
        rows = np.flatnonzero(~solved.done)
        if len(rows):
            run = None
            for run in self.method.iterate(problem.take(rows), streams.take(rows)):
                yield _join(solved, run, rows)._replace(done=solved.done)
            assert run is not None, "a method yields at least one run"
            yield _join(solved, run, rows)._replace(done=np.ones(len(problem), dtype=bool))

    def _search(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        run, none = None, np.zeros(len(problem), dtype=bool)
        for run in self.method.iterate(problem, streams):
            yield run._replace(done=none)
        assert run is not None, "a method yields at least one run"
        yield prove_run(problem, run, self.settings, self.alternatives)._replace(done=~none)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))


def solve_without_search(problem: Problem, settings: ProofSettings) -> Run | None:
    """Answers that a proof finds by itself, and bounds; ``done`` are rows that need no search. None: no such proof."""
    if problem.cloud is not None:
        return None
    proof = prove_linear(problem, np.full(len(problem), np.inf), settings.gap, settings.linear)
    if proof is None:
        return None
    is_found = np.isfinite(proof.effort)
    enough = 1 + max(settings.gap, settings.linear.search_above)
    done = proof.is_infeasible | (is_found & (proof.effort <= proof.bound * enough))
    margin = np.where(is_found, 0.0, -np.inf)
    run = Run(proof.x[:, None, :], margin[:, None], proof.effort[:, None], done, 0)
    return run._replace(bound=proof.bound, is_infeasible=proof.is_infeasible)


def _join(solved: Run, run: Run, rows: Index) -> Run:
    """Solved rows, some of which ``(r,)`` were searched as well."""
    n, a = len(solved.x), run.x.shape[1]
    x, margin, effort = solved.x.repeat(a, axis=1), np.full((n, a), -np.inf), np.full((n, a), np.inf)
    margin[:, :1], effort[:, :1] = solved.margin, solved.effort
    both = join_points(Points(run.x, run.margin, run.effort), Points(*solved.at(rows)[:3])).best(a)
    x[rows], margin[rows], effort[rows] = both.x, both.margin, both.effort
    return solved._replace(x=x, margin=margin, effort=effort, steps=run.steps)


def prove_run(problem: Problem, run: Run, settings: ProofSettings, alternatives: int = 1) -> Run:
    """A run with what can be proven of it."""
    if problem.cloud is not None:  # noisy copies decide there, of which nothing is proven
        return run
    provers: tuple[Prover, ...] = (partial(prove_by_leaves, alternatives=alternatives), *PROVERS_OF_THE_BEST)
    for prover in provers:
        found = prover(problem, run, settings)
        if found is not None:
            points = Points(run.x, run.margin, run.effort)
            if found.points is not None:
                points = join_points(found.points, points)
            return Run(*points.best(points.effort.shape[1]), run.done, run.steps)._replace(
                bound=found.bound, is_infeasible=found.is_infeasible, further_bound=found.further_bound
            )
    return run


def prove_by_leaves(problem: Problem, run: Run, settings: ProofSettings, alternatives: int = 1) -> Bounds | None:
    """Models whose leaves are known: best-first branch and bound over boxes of leaves.

    The best answer is proven first, by itself: whoever asks for alternatives gets the best answer and the bound that
    they would get without. The alternatives then have limits of their own.
    """
    best = prove(problem, np.asarray(run.effort.min(axis=1)), settings)
    if best is None:
        return None
    found = [best]
    if alternatives > 1:
        further = prove(problem, _efforts_of_last(problem, run, alternatives), settings, alternatives)
        assert further is not None, "what can be proven of the best can be proven of others"
        found.append(further)
    effort = np.concatenate([proof.effort for proof in found], axis=1)
    x, is_found = np.concatenate([proof.x for proof in found], axis=1), np.isfinite(effort)
    points = Points(
        np.where(is_found[..., None], x, problem.region.nearest_feasible[:, None, :]),
        np.where(is_found, 0.0, -np.inf),
        effort,
    )
    least = np.minimum(run.effort.min(axis=1), effort.min(axis=1))
    bound = np.max([proof.bound for proof in found], axis=0)
    lost = np.isinf(least)
    exhausted = np.any([proof.exhausted for proof in found], axis=0)
    return Bounds(np.where(lost, bound, np.minimum(bound, least)), lost & exhausted, points, found[-1].bound)


def _efforts_of_last(problem: Problem, run: Run, alternatives: int) -> Array:
    """What the last of the wanted answers costs, as far as the run knows it, ``(n,)``; infinite where it lacks some."""
    if alternatives == 1:
        return np.asarray(run.effort.min(axis=1))
    order = run.effort.argsort(axis=1, kind="stable")
    changed, out = problem.region.is_changed(run.x), np.full(len(run.x), np.inf)
    for row in range(len(out)):
        listed: list[Mask] = []
        for place in order[row].tolist():
            if not np.isfinite(run.effort[row, place]) or len(listed) == alternatives:
                break
            mine = changed[row, place]
            if not any((mine | ~better).all() for better in listed):
                listed.append(mine)
                out[row] = run.effort[row, place]
        out[row] = out[row] if len(listed) == alternatives else np.inf
    return out


def prove_by_weights(problem: Problem, run: Run, settings: ProofSettings) -> Bounds | None:
    """Models whose outputs are affine in the row: branch and bound over what columns may become."""
    effort = run.effort.min(axis=1)
    proof = prove_linear(problem, effort, settings.gap, settings.linear)
    if proof is None:
        return None
    is_found = np.isfinite(proof.effort)
    points = Points(proof.x[:, None, :], np.where(is_found, 0.0, -np.inf)[:, None], proof.effort[:, None])
    return Bounds(proof.bound, proof.is_infeasible, points)


def prove_by_layers(problem: Problem, run: Run, settings: ProofSettings) -> Bounds | None:
    """Networks whose layers are known: the largest effort below which linear ceilings keep all points from the goal."""
    proof = prove_network(problem, run.effort.min(axis=1), settings.networks)
    return None if proof is None else Bounds(proof.bound, proof.is_infeasible)


PROVERS_OF_THE_BEST: tuple[Prover, ...] = (prove_by_weights, prove_by_layers)
"""Proofs of the best answer alone, tried in turn where leaves are not known; the first that applies counts."""
