"""Proofs against brute force: no bound above the least effort, nothing called exhausted that is not the least."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from counterpoise.methods.trees.settings import ProofSettings
from counterpoise.methods.trees.sum_of_trees import Proof, prove
from counterpoise.problem import Problem
from methods.trees.oracle import least_efforts, question_of

ROUNDING = 1e-6  # relative
ENOUGH = 100_000  # nodes for any of these questions


@settings(max_examples=150)
@given(seed=st.integers(0, 2**31), start=st.sampled_from((1.0, 1.2, np.inf)), nodes=st.sampled_from((1, 4, 30, ENOUGH)))
def test_bounds_hold_and_what_is_exhausted_is_the_least(seed: int, start: float, nodes: int) -> None:
    problem = question_of(seed)
    assume(problem is not None)
    assert problem is not None
    check(problem, start, nodes)


def check(problem: Problem, start: float, nodes: int) -> Proof:
    """A proof that begins at so many times the least effort; every law that it must keep."""
    least = least_efforts(problem)
    incumbent = np.where(np.isfinite(least), start * least, np.inf)
    proof = prove(problem, incumbent, ProofSettings(nodes=nodes))
    assert proof is not None
    effort = np.minimum(proof.effort[:, 0], incumbent)
    assert (proof.bound <= least * (1 + ROUNDING) + 1e-12).all()
    assert (effort >= least * (1 - ROUNDING)).all()
    done = proof.exhausted
    assert done.all() or nodes < ENOUGH
    np.testing.assert_allclose(effort[done], least[done], rtol=ROUNDING, atol=1e-12)
    np.testing.assert_allclose(proof.bound[done], least[done], rtol=ROUNDING, atol=1e-12)
    check_answers(problem, proof)
    return proof


def check_answers(problem: Problem, proof: Proof) -> None:
    """Every answer is legal, reaches the goal and costs what is said."""
    for row, place in zip(*np.nonzero(np.isfinite(proof.effort)), strict=True):
        part, x = problem.take([row]), proof.x[row, place][None, None]
        assert part.score(x).reached.all()
        assert part.region.contains(x).all()
        np.testing.assert_allclose(part.energy.effort(x, part.x0)[0, 0], proof.effort[row, place])
