"""Relations between features: the bound leaves them out and stays one, the answers keep them."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier

import counterpoise as cp
from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.methods.trees.exact.sum_of_trees import prove
from counterpoise.problem import Problem
from problems import problem_of

MOST = 5  # of a count


def counted(seed: int, word: cp.Rule | cp.Derived) -> Problem | None:
    """A question about counts of which one is the sum of two others."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, MOST + 1, (150, 2)), columns=["sent", "received"])
    table["total"] = table["sent"] + table["received"]
    score = np.sin(table["sent"] * rng.normal()) + np.cos(table["total"] * rng.normal()) + rng.normal(0, 0.3, 150)
    model = GradientBoostingClassifier(n_estimators=6, max_depth=3, random_state=0).fit(table, score > score.median())
    try:
        problem = problem_of(model, table, table.iloc[:2], constraints=[word], distance=["l2", "l1"][seed % 2], lam=0)
    except AttributeError:  # every row is there already
        return None
    return problem if getattr(problem.model, "leaves", None) is not None else None


def least_effort(problem: Problem) -> float:
    """The least effort of one row by trying every pair of counts."""
    every = np.array([[a, b, a + b] for a, b in product(range(2 * MOST + 1), repeat=2)], dtype=np.float64)[None]
    answers = problem.score(every).reached & problem.region.contains(every)
    return float(np.where(answers, problem.energy.effort(every, problem.x0), np.inf).min())


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    word=st.sampled_from([cp.Rule("sent + received == total"), cp.Derived("total", "sent + received")]),
)
def test_bounds_hold_and_answers_keep_the_relation(seed: int, word: cp.Rule | cp.Derived) -> None:
    problem = counted(seed, word)
    assume(problem is not None)
    assert problem is not None
    proof = prove(problem, np.full(len(problem), np.inf), ProofSettings(nodes=500))
    assert proof is not None
    for row in range(len(problem)):
        part = problem.take([row])
        least = least_effort(part)
        assert proof.bound[row] <= least * (1 + 1e-6) + 1e-12
        assert proof.effort[row, 0] >= least * (1 - 1e-6)
        if proof.exhausted[row]:
            np.testing.assert_allclose(proof.effort[row, 0], least, rtol=1e-6)
        if np.isfinite(proof.effort[row, 0]):
            assert part.region.contains(proof.x[row, 0][None, None]).all()


def test_where_nothing_legal_flips_a_row_that_is_proven() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["rate", "load", "noise"])
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(table, table["rate"] > 0)
    problem = problem_of(model, table, table.iloc[:4], constraints=[cp.Immutable("rate")])
    proof = prove(problem, np.full(len(problem), np.inf))
    assert proof is not None
    assert proof.exhausted.all()
    assert np.isinf(proof.bound).all()
    assert np.isinf(proof.effort).all()


def test_adding_a_constraint_never_lowers_a_proven_least_effort() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(table, (table**2).sum(axis=1) > 4)
    efforts = []
    words: list[cp.Increasing | cp.Immutable | cp.MaxChanges] = []
    for word in (None, cp.Increasing("a"), cp.Immutable("b"), cp.MaxChanges(2), cp.MaxChanges(1)):
        words += [] if word is None else [word]
        problem = problem_of(model, table, table.iloc[:5], constraints=list(words))
        proof = prove(problem, np.full(len(problem), np.inf), ProofSettings(nodes=100_000))
        assert proof is not None
        assert proof.exhausted.all()
        efforts.append(proof.effort[:, 0])
    assert all((after >= before - 1e-9).all() for before, after in pairwise(efforts))


def test_ends_of_a_range_between_whole_numbers_are_no_values() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"packets": rng.integers(-3, 4, 120), "load": rng.normal(size=120)})
    model = GradientBoostingClassifier(n_estimators=8, random_state=0).fit(table, table["packets"] > 0)
    rows = table[table["packets"] == 1][:3]
    for word in (cp.Range("packets", 0.05, 3.5), cp.Within("packets", percent=60.0)):
        found = cp.explain(model, rows, reference=table, constraints=[word], values="any")
        assert (found.status == "infeasible").all()
