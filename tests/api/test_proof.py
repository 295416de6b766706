"""What a call says of the least effort: bound, gap and status, held against the answers that are returned."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from methods.trees.exact.oracle import next_best
from problems import problem_of

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(200, 4)).round(2), columns=list("abcd"))
LABELS = np.where(TABLE["a"] + TABLE["b"] * TABLE["c"] > 0.2, "alert", "benign")
BOOSTED = GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0).fit(TABLE, LABELS)
FOREST = RandomForestClassifier(30, max_depth=6, random_state=0).fit(TABLE, LABELS)
ASK = cp.Explainer(BOOSTED, reference=TABLE)


@pytest.mark.parametrize("distance", ["l2", "l1", "l0", "gower", "mad"])
def test_a_proof_bounds_every_answer_and_says_which_are_the_least(distance):
    found = ASK(TABLE[:12], distance=distance)
    assert set(found.status) == {"optimal"}
    np.testing.assert_array_equal(found.gap, 0.0)
    np.testing.assert_allclose(found.bound, found.effort, rtol=1e-6)
    for method in (cp.NearestNeighbour(), cp.Search()):
        other = ASK(TABLE[:12], distance=distance, method=method)
        assert (other.effort[other.valid] >= found.bound[other.valid] * (1 - 1e-6)).all()
        assert set(other.status) <= {"valid", "not_found"}
        assert np.isnan(other.bound).all()


def test_without_a_proof_there_is_no_bound():
    found = ASK(TABLE[:6], proof=False)
    assert set(found.status) == {"valid"}
    assert np.isnan(found.bound).all()
    assert np.isnan(found.gap).all()
    smooth = KNeighborsClassifier().fit(TABLE, LABELS)
    found = cp.explain(smooth, TABLE[:3], reference=TABLE)
    assert set(found.status) == {"valid"}
    assert np.isnan(found.bound).all()


def test_a_proof_never_makes_an_answer_dearer():
    ask = cp.Explainer(FOREST, reference=TABLE)
    without, auto, whole = (ask(TABLE[:10], proof=proof) for proof in (False, "auto", True))
    assert (auto.effort <= without.effort * (1 + 1e-9)).all()
    assert (whole.effort <= auto.effort * (1 + 1e-9)).all()
    assert set(whole.status) == {"optimal"}
    assert (auto.bound <= whole.bound * (1 + 1e-9)).all()


def test_a_proof_stops_at_the_gap_that_is_asked_for():
    ask = cp.Explainer(FOREST, reference=TABLE)
    near, whole = ask(TABLE[:10], proof=True, gap=0.2), ask(TABLE[:10], proof=True)
    assert (near.gap <= 0.2 + 1e-6).all()
    assert (near.effort <= whole.effort * 1.2 + 1e-9).all()
    assert set(near.status) <= {"optimal", "bounded"}


def test_a_method_of_your_own_is_proven_when_asked():
    found = ASK(TABLE[:5], method=cp.NearestNeighbour(), proof=True)
    np.testing.assert_allclose(found.effort, ASK(TABLE[:5]).effort, rtol=1e-6)
    assert set(found.status) == {"optimal"}


def test_a_row_that_nothing_turns_is_infeasible_and_comes_back_as_it_was():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE, LABELS)
    found = cp.explain(tree, TABLE[:4], reference=TABLE, constraints=[cp.Immutable("a", "b", "c")])
    assert set(found.status) == {"infeasible"}
    assert np.isposinf(found.bound).all()
    assert np.isnan(found.gap).all()
    pd.testing.assert_frame_equal(found.frame, TABLE[:4])
    assert found.count.tolist() == [0] * 4
    assert "It is proven that there is no answer." in found[0].text()
    for row in range(4):
        reason = found.reason[row]
        assert "bounds=None would not help" in reason
        assert "values='any' would not help" in reason
        assert "held fixed: 'a', 'b', 'c'" in reason
        # what is said to allow an answer does, and nothing is left out
        for name in "abc":
            free = [cp.Immutable(*set("abc") - {name})]
            alone = cp.explain(tree, TABLE[row : row + 1], reference=TABLE, constraints=free).valid[0]
            assert alone == (f"'{name}'" in reason.partition("releasing")[2])


def test_what_lifting_a_default_would_do_is_said():
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0, 1.0]})
    tree = DecisionTreeClassifier().fit(table, [0, 0, 1, 1])
    near = table[2:].assign(a=[2.0, 2.25])
    found = cp.explain(tree, table[:1], reference=near, target=1, constraints=[cp.Immutable("b"), cp.Range("a", 0, 1)])
    assert "bounds=None would not help" in found.reason[0]
    assert "releasing one or two of them would not help" in found.reason[0]
    found = cp.explain(tree, near[1:], reference=near, target=0)
    assert found.status.tolist() == ["infeasible"]
    assert "bounds=None would allow an answer" in found.reason[0]


def test_a_row_that_is_there_already_costs_nothing():
    found = ASK(TABLE[:20], target="alert")
    there = found.changed == 0
    assert there.any()
    assert not there.all()
    assert (found.status == "optimal").all()
    np.testing.assert_array_equal(found.bound[there], 0.0)


def test_a_row_alone_is_proven_as_in_a_batch():
    ask = cp.Explainer(FOREST, reference=TABLE)
    together = ask(TABLE[:8])
    for row in range(8):
        alone = ask(TABLE[row : row + 1])
        np.testing.assert_array_equal(alone.bound, together.bound[row : row + 1])
        np.testing.assert_array_equal(alone.x, together.x[row : row + 1])


def test_bounds_are_saved_and_taken_with_their_rows(tmp_path):
    found = ASK(TABLE[:5], gap=0.1)
    found.save(tmp_path / "e.json")
    again = cp.Explanation.load(tmp_path / "e.json")
    np.testing.assert_array_equal(again.bound, found.bound)
    assert (again.question.proof, again.question.gap) == ("auto", 0.1)
    np.testing.assert_array_equal(again[2:4].gap, found.gap[2:4])


@pytest.mark.parametrize("wrong", [{"proof": "yes"}, {"proof": 1}, {"gap": -0.1}, {"gap": float("nan")}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(cp.InputError, match=next(iter(wrong))):
        ASK(TABLE[:1], **wrong)


@pytest.mark.parametrize("question", [{}, {"distance": "l1", "lam": 0}, {"constraints": [cp.MaxChanges(2)]}])
def test_alternatives_are_the_next_best_of_all(question):
    table = TABLE.round(1)  # brute force tries all tenths
    tree = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(table, LABELS)
    found = cp.explain(tree, table[:4], reference=table, alternatives=3, proof=True, **question)
    problem = problem_of(tree, table, table[:4], **question)
    for row in range(4):
        efforts = next_best(problem.take([row]), 3)
        efforts = efforts[np.isfinite(efforts)]
        np.testing.assert_allclose(found.measures.effort[row, : len(efforts)], efforts, rtol=1e-6)
        assert found.count[row] == len(efforts)
        # each is proven to be the next best
        np.testing.assert_allclose(found.measures.bound[row, : len(efforts)], efforts, rtol=1e-6)


def test_bounds_of_alternatives_hold_where_the_proof_does_not_end():
    few = cp.Proven(cp.Polished(cp.Search(), answers=5), cp.ProofSettings(nodes=8), alternatives=3)
    ask = cp.Explainer(FOREST, reference=TABLE)
    found, whole = ask(TABLE[:6], method=few, alternatives=3), ask(TABLE[:6], alternatives=3, proof=True)
    listed = ~np.isnan(found.measures.effort) & ~np.isnan(whole.measures.effort)
    assert (found.measures.bound[listed] <= whole.measures.effort[listed] * (1 + 1e-6)).all()
    assert (found.measures.effort[listed] >= whole.measures.effort[listed] * (1 - 1e-6)).all()
    assert (np.diff(whole.measures.effort, axis=1)[~np.isnan(np.diff(whole.measures.effort, axis=1))] >= -1e-12).all()


def test_a_reference_of_one_row_is_said_to_hold_everything_fixed():
    found = cp.explain(BOOSTED, TABLE[:2], reference=TABLE[5:6])
    assert set(found.status) <= {"infeasible", "unchanged"}
    assert found.reason[0].startswith("no feature may change: each is held fixed because it is constant")
