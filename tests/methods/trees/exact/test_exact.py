"""Proofs against brute force: no bound above the least effort, nothing called exhausted that is not the least."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.methods.trees.exact.sum_of_trees import Proof, prove
from counterpoise.problem import Problem
from methods.trees.exact.oracle import constraints, drawn, least_efforts, next_best, question_of

ROUNDING = 1e-6  # relative
ENOUGH = 100_000  # nodes for any of these questions
NARROW = (cp.Immutable, cp.Increasing, cp.Decreasing, cp.MaxChanges)  # words that only take away; lists and ranges
# of the user's own take the place of those that the reference shows, and may be wider


@settings(max_examples=150)
@given(seed=st.integers(0, 2**31), start=st.sampled_from((1.0, 1.2, np.inf)), nodes=st.sampled_from((1, 4, 30, ENOUGH)))
def test_bounds_hold_and_what_is_exhausted_is_the_least(seed: int, start: float, nodes: int) -> None:
    problem = question_of(seed)
    assume(problem is not None)
    assert problem is not None
    check(problem, start, ProofSettings(nodes=nodes))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**31), first=st.integers(1, 4), most=st.integers(4, 40))
def test_trees_that_are_joined_say_the_same(seed: int, first: int, most: int) -> None:
    problem = question_of(seed)
    assume(problem is not None)
    assert problem is not None
    joined = ProofSettings(nodes=ENOUGH, joins=(first, 2 * first), joint_leaves=most, worth_joining=0.01)
    check(problem, np.inf, joined)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**31), count=st.integers(2, 4))
def test_alternatives_are_the_next_best_that_change_other_features(seed: int, count: int) -> None:
    problem = question_of(seed)
    assume(problem is not None)
    assert problem is not None
    check_alternatives(problem, count)


def check_alternatives(problem: Problem, count: int) -> None:
    """As many alternatives as brute force finds, at the same efforts, each proven."""
    proof = prove(problem, np.full(len(problem), np.inf), ProofSettings(nodes=ENOUGH), count)
    assert proof is not None
    for row in range(len(problem)):
        efforts = next_best(problem.take([row]), count)
        np.testing.assert_allclose(proof.effort[row], efforts, rtol=ROUNDING, atol=1e-12)
    assert (proof.exact == np.isfinite(proof.effort)).all()
    check_answers(problem, proof)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31))
def test_a_row_alone_is_a_row_in_a_batch(seed: int) -> None:
    problem = question_of(seed)
    assume(problem is not None)
    assert problem is not None
    start, few = np.full(len(problem), np.inf), ProofSettings(nodes=5)
    together = prove(problem, start, few)
    assert together is not None
    for row in range(len(problem)):
        alone = prove(problem.take([row]), start[:1], few)
        assert alone is not None
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], all_of_them[row])


@settings(max_examples=60)
@given(seed=st.integers(0, 2**31))
def test_further_constraints_never_lower_a_proven_least_effort(seed: int) -> None:
    check_constrained(seed)


@pytest.mark.long
@settings(max_examples=1_000)
@given(seed=st.integers(0, 2**31))
def test_further_constraints_never_lower_it_in_a_thousand_draws(seed: int) -> None:
    check_constrained(seed)


def check_constrained(seed: int) -> None:
    """The same question with more words costs as much, or more, or has no answer."""
    question = drawn(seed)
    words = [word for word in constraints(np.random.default_rng(seed + 1), question.table) if isinstance(word, NARROW)]
    free, bound = question.problem(), question.problem(*words)
    assume(words and free is not None and bound is not None)
    assert free is not None
    assert bound is not None
    assume(len(free) == len(bound))  # rows that are there already are not asked about
    before, after = (prove(each, np.full(len(each), np.inf), ProofSettings(nodes=ENOUGH)) for each in (free, bound))
    assert before is not None
    assert after is not None
    assert before.exhausted.all()
    assert after.exhausted.all()
    assert (after.effort[:, 0] >= before.effort[:, 0] * (1 - ROUNDING)).all()


@pytest.mark.long
@settings(max_examples=3_000)
@given(seed=st.integers(0, 2**31), start=st.sampled_from((1.0, 1.2, np.inf)), nodes=st.sampled_from((1, 4, 30, ENOUGH)))
def test_bounds_hold_in_thousands_of_draws(seed: int, start: float, nodes: int) -> None:
    problem = question_of(seed)
    assume(problem is not None)
    assert problem is not None
    check(problem, start, ProofSettings(nodes=nodes))


@pytest.mark.long
@settings(max_examples=500)
@given(seed=st.integers(0, 2**31), count=st.integers(2, 4))
def test_alternatives_are_the_next_best_in_hundreds_of_draws(seed: int, count: int) -> None:
    problem = question_of(seed)
    assume(problem is not None)
    assert problem is not None
    check_alternatives(problem, count)


def check(problem: Problem, start: float, limits: ProofSettings) -> Proof:
    """A proof that begins at so many times the least effort; every law that it must keep."""
    least = least_efforts(problem)
    incumbent = np.where(np.isfinite(least), start * least, np.inf)
    proof = prove(problem, incumbent, limits)
    assert proof is not None
    effort = np.minimum(proof.effort[:, 0], incumbent)
    assert (proof.bound <= least * (1 + ROUNDING) + 1e-12).all()
    assert (effort >= least * (1 - ROUNDING)).all()
    done = proof.exhausted
    assert done.all() or limits.nodes < ENOUGH
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
