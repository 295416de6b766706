"""Proofs of answers: bounds that hold, answers that are the least, and rows that nothing turns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.errors import CapabilityError, InputError

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(200, 4)).round(2), columns=list("abcd"))
LABELS = np.where(TABLE["a"] + TABLE["b"] * TABLE["c"] > 0.2, "alert", "benign")
BOOSTED = GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0).fit(TABLE, LABELS)
FOREST = RandomForestClassifier(8, max_depth=3, random_state=0).fit(TABLE, LABELS)


@pytest.mark.parametrize("model", [BOOSTED, FOREST], ids=["boosted", "forest"])
@pytest.mark.parametrize("distance", ["l2", "l1", "l0", "gower"])
def test_no_answer_costs_less_than_the_bound(model: object, distance: str) -> None:
    explanation = cp.explain(model, TABLE[:12], reference=TABLE, distance=distance)
    found = cp.prove(explanation, model)
    assert (found.table["status"] == "optimal").all()
    assert (found.table["bound"] <= found.table["effort"] + 1e-12).all()
    other = cp.explain(model, TABLE[:12], reference=TABLE, distance=distance, method=cp.NearestNeighbour())
    effort = other.energy["distance"] + other.energy["lam"] * other.energy["regularizer"]
    assert (effort.to_numpy() >= found.table["bound"].to_numpy() * (1 - 1e-9)).all()


def test_a_nearer_answer_that_a_proof_meets_is_valid_and_costs_less() -> None:
    far = cp.explain(BOOSTED, TABLE[:20], reference=TABLE, method=cp.NearestNeighbour())
    found = cp.prove(far, BOOSTED)
    assert found.table["nearer"].any()
    assert list(found.answers.columns) == list(TABLE.columns)
    wanted = far.target[found.table["nearer"].to_numpy()]
    said = BOOSTED.predict(found.answers)
    assert all(
        str(target) in (str(label), f"anything but {set(BOOSTED.classes_).difference({label}).pop()}")
        for target, label in zip(wanted, said, strict=True)
    )


def test_that_nothing_legal_turns_a_row_is_proven() -> None:
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE, LABELS)
    held = [cp.Immutable("a", "b", "c")]
    used = [name for name, share in zip(TABLE, tree.feature_importances_, strict=True) if share > 0]
    assert set(used) <= {"a", "b", "c"}
    found = cp.prove(cp.explain(tree, TABLE[:5], reference=TABLE, constraints=held), tree)
    assert (found.table["status"] == "infeasible").all()


@settings(max_examples=15)
@given(st.integers(0, 2**16), st.sampled_from(["Immutable", "Increasing", "MaxChanges"]))
def test_adding_a_constraint_never_lowers_a_proven_effort(seed: int, word: str) -> None:
    rng = np.random.default_rng(seed)
    rows = TABLE.iloc[rng.choice(len(TABLE), 4, replace=False)]
    more = {"Immutable": cp.Immutable("a"), "Increasing": cp.Increasing("b"), "MaxChanges": cp.MaxChanges(1)}[word]
    free, bound = (
        cp.prove(cp.explain(BOOSTED, rows, reference=TABLE, constraints=words), BOOSTED).table for words in ([], [more])
    )
    assert (bound["effort"] >= free["effort"] - 1e-9).all()


def test_what_cannot_be_proven_is_said() -> None:
    smooth = KNeighborsClassifier().fit(TABLE, LABELS)
    with pytest.raises(CapabilityError, match="what the model computes"):
        cp.prove(cp.explain(smooth, TABLE[:2], reference=TABLE), smooth)
    explanation = cp.explain(BOOSTED, TABLE[:2], reference=TABLE)
    with pytest.raises(InputError, match="budget"):
        cp.prove(explanation, BOOSTED, budget=0)
    firm = cp.explain(BOOSTED, TABLE[:2], reference=TABLE, keep=0.8, noise=0.05)
    with pytest.raises(InputError, match="tipping"):
        cp.prove(firm, BOOSTED)
    assert len(cp.prove(firm.tipping, BOOSTED).table) == 2


def test_limits_are_boxes_and_leave_a_bound() -> None:
    explanation = cp.explain(BOOSTED, TABLE[:12], reference=TABLE)
    few = cp.prove(explanation, BOOSTED, settings=cp.ProofSettings(nodes=3))
    whole = cp.prove(explanation, BOOSTED)
    assert (few.table["bound"] <= whole.table["bound"] + 1e-12).all()
    assert set(few.table["status"]) <= {"optimal", "bounded", "valid"}
    assert repr(few.settings).startswith("ProofSettings(nodes=3")
