"""Proven answers: how far below another method's answers the least effort can be, and nearer answers on the way.

What can be proven is a table by what the model offers: each entry takes a problem and the run of a search, and gives a
bound of the effort of all valid answers, or None where it cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from counterpoise.methods.base import Method, Run, last_run
from counterpoise.methods.points import Points, join_points
from counterpoise.methods.settings.proof import DEFAULT_PROOF, ProofSettings
from counterpoise.methods.trees.exact.sum_of_trees import prove
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Mask


class Bounds(NamedTuple):
    """What is proven of n rows: bounds, rows that nothing legal turns, and points that were met on the way."""

    bound: Array  # (n,) no valid answer costs less; NaN where nothing is known
    is_infeasible: Mask  # (n,)
    further_bound: Array | None = None  # (n,) of answers with other sets of features, as `Run` has it
    points: Points | None = None  # (n, k, d) answers, which may be nearer than those of the search


Prover: TypeAlias = Callable[[Problem, Run, ProofSettings, int], Bounds | None]
"""Bounds for the rows of a problem, given the run of a search, the limits of the proof, and how many answers of each
row are wanted; None where this kind of proof does not apply."""


@dataclass(frozen=True)
class Proven:
    """Another method's answers, with a bound of the least effort; nearer answers that the proof meets come first."""

    method: Method
    settings: ProofSettings = DEFAULT_PROOF
    alternatives: int = 1
    """Answers of each row that are proven, with distinct sets of features, none a superset of a better one's."""

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        run, none = None, np.zeros(len(problem), dtype=bool)
        for run in self.method.iterate(problem, streams):
            yield run._replace(done=none)
        assert run is not None, "a method yields at least one run"
        yield prove_run(problem, run, self.settings, self.alternatives)._replace(done=~none)

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))


def prove_run(problem: Problem, run: Run, settings: ProofSettings, alternatives: int = 1) -> Run:
    """A run with what can be proven of it."""
    if problem.cloud is not None:  # noisy copies decide there, of which nothing is proven
        return run
    for prover in PROVERS:
        found = prover(problem, run, settings, alternatives)
        if found is not None:
            points = Points(run.x, run.margin, run.effort)
            if found.points is not None:
                points = join_points(found.points, points)
            return Run(*points.best(points.effort.shape[1]), run.done, run.steps)._replace(
                bound=found.bound, is_infeasible=found.is_infeasible, further_bound=found.further_bound
            )
    return run


def prove_by_leaves(problem: Problem, run: Run, settings: ProofSettings, alternatives: int = 1) -> Bounds | None:
    """Models whose leaves are known: best-first branch and bound over boxes of leaves."""
    effort = run.effort.min(axis=1)
    proof = prove(problem, _efforts_of_last(problem, run, alternatives), settings, alternatives)
    if proof is None:
        return None
    met = np.isfinite(proof.effort)
    x = np.where(met[..., None], proof.x, problem.region.nearest_feasible[:, None, :])
    points = Points(x, np.where(met, 0.0, -np.inf), proof.effort)
    lost = np.isinf(effort) & ~met.any(axis=1)
    bound = np.minimum(proof.bound, np.minimum(effort, proof.effort.min(axis=1)))
    return Bounds(np.where(lost, proof.bound, bound), lost & proof.exhausted, proof.bound, points)


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


PROVERS: tuple[Prover, ...] = (prove_by_leaves,)
"""Tried in turn; the first that applies counts."""
