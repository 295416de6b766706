"""Several models that must agree: the class is what enough of them say, and the margin the weakest that counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import counterpoise as cp
from counterpoise.api.inputs.targets import current_decisions, resolve_target
from counterpoise.errors import InputError
from counterpoise.explanation.question import AnythingBut
from counterpoise.models.callables.agreement import UNDECIDED_LABEL, Agreement, ClassAgreement
from counterpoise.models.callables.function import Function
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Schema

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
WORDS = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.4, 0.4])]
ROWS = RNG.normal(size=(400, 3)) * 1.5
SCHEMA = Schema.infer(X)
OWN = [
    LogisticRegression().fit(X, WORDS),
    GaussianNB().fit(X, WORDS),
    DecisionTreeClassifier(random_state=0).fit(X, WORDS),
]


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_a_class_is_decided_where_enough_members_say_it(share: float) -> None:
    model = as_model(Agreement(OWN, share=share), SCHEMA, X)
    needed = Agreement(OWN, share=share).members_needed
    assert model.labels == ("low", "mid", "top", UNDECIDED_LABEL)
    said = np.stack([own.predict(ROWS) for own in OWN])
    expected = [
        next((label for label in ("low", "mid", "top") if (column == label).sum() >= needed), UNDECIDED_LABEL)
        for column in said.T
    ]
    assert model.predict(ROWS).tolist() == expected
    assert np.array(model.labels, dtype=object)[model.outputs(ROWS).argmax(1)].tolist() == expected
    assert UNDECIDED_LABEL in expected


def test_the_margin_is_that_of_the_weakest_member_that_counts() -> None:
    values = [3.0, 1.0, -2.0]
    members = [
        Function(lambda x, value=value: np.full(len(x), value), labels=["no", "yes"], link="identity")
        for value in values
    ]
    for share, weakest in ((1.0, -2.0), (0.6, 1.0)):
        model = as_model(Agreement(members, share=share), SCHEMA, X)
        assert model.outputs(X[:1])[0, 1:].tolist() == [weakest, 0.0]


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=2, max_size=5), st.sampled_from([0.51, 0.75, 1.0]))
def test_ties_go_where_the_members_own_ties_go(values: list[float], share: float) -> None:
    members = [
        Function(lambda x, value=value: np.full(len(x), value), labels=["no", "yes"], link="identity")
        for value in values
    ]
    model = as_model(Agreement(members, share=share), SCHEMA, X[:1])
    assert model.labels is not None
    assert model.labels[model.outputs(X[:1]).argmax()] == model.predict(X[:1])[0]


def test_a_list_means_all_of_them_and_one_model_is_itself() -> None:
    model = as_model(OWN, SCHEMA, X)
    assert isinstance(model, ClassAgreement)
    assert model.members_needed == 3
    assert model.abstention == UNDECIDED_LABEL
    assert as_model([OWN[0]], SCHEMA, X).labels == ("low", "mid", "top")


def test_probabilities_are_those_that_enough_members_give() -> None:
    found = as_model(OWN, SCHEMA, X).probabilities(ROWS)
    assert found is not None
    assert np.array_equal(found[:, :3], np.min([own.predict_proba(ROWS) for own in OWN], axis=0))
    assert np.allclose(found.sum(1), 1)
    assert as_model([OWN[0], SVC().fit(X, WORDS)], SCHEMA, X).probabilities(ROWS) is None


def test_members_may_order_their_labels_differently() -> None:
    turned = Function(lambda x: OWN[0].decision_function(x)[:, ::-1], labels=["top", "mid", "low"])
    model = as_model([OWN[0], turned], SCHEMA, X)
    assert np.array_equal(model.predict(ROWS), OWN[0].predict(ROWS))


def test_gradients_are_those_of_the_deciding_members() -> None:
    likely = Function(
        lambda x: OWN[0].predict_proba(x),
        gradient=lambda x: np.stack(
            [
                [np.outer(np.diag(p)[c] - p * p[c], np.ones(1)).T @ OWN[0].coef_ for c in range(3)]
                for p in OWN[0].predict_proba(x)
            ]
        ).reshape(len(x), 3, 3),
    )
    model = as_model(
        Agreement([OWN[0], OWN[1], Function(likely.scores, likely.gradient, labels=["low", "mid", "top"])], share=0.6),
        SCHEMA,
        X,
    )
    assert model.gradient is not None
    weights, step = np.random.default_rng(3).normal(size=(400, 4)), 1e-6
    for j, move in enumerate(step * np.eye(3)):
        slope = (weights * (model.outputs(ROWS + move) - model.outputs(ROWS - move))).sum(1) / (2 * step)
        close = np.isclose(model.gradient(ROWS, weights)[:, j], slope, atol=1e-5)
        assert close.mean() > 0.98  # all but the rows where the deciding member changes inside the step


def test_trees_keep_all_their_split_points() -> None:
    own = [RandomForestClassifier(3, random_state=seed).fit(X, WORDS) for seed in range(2)]
    model = as_model(own, SCHEMA, X)
    assert model.thresholds is not None
    each = [as_model(member, SCHEMA, X).thresholds for member in own]
    for column in range(3):
        assert set(model.thresholds[column]) == set(each[0][column]) | set(each[1][column])


def test_numbers_stay_side_by_side() -> None:
    own = [LinearRegression().fit(X, X[:, 0] + shift) for shift in (0.0, 1.0, 5.0)]
    model = as_model(Agreement(own, share=0.6), SCHEMA, X)
    assert model.labels is None
    assert model.members_needed == 2
    assert np.allclose(model.outputs(ROWS), np.stack([member.predict(ROWS) for member in own], 1))
    assert np.allclose(model.predict(ROWS), own[1].predict(ROWS))
    weights, step = RNG.normal(size=(400, 3)), 1e-5
    for j, move in enumerate(step * np.eye(3)):
        slope = (weights * (model.outputs(ROWS + move) - model.outputs(ROWS - move))).sum(1) / (2 * step)
        assert np.allclose(model.gradient(ROWS, weights)[:, j], slope, atol=1e-6)
    trees = as_model([DecisionTreeRegressor(max_depth=2).fit(X, X[:, j]) for j in (0, 1)], SCHEMA, X)
    assert [len(points) > 0 for points in trees.thresholds] == [True, True, False]


@pytest.mark.parametrize("share", [0.5, 0.0, 1.1])
def test_a_share_must_be_a_majority(share: float) -> None:
    with pytest.raises(InputError, match="more than a half"):
        Agreement(OWN, share=share)


def test_members_must_answer_the_same_question() -> None:
    with pytest.raises(InputError, match="at least one model"):
        Agreement([])
    with pytest.raises(InputError, match="the same question"):
        as_model([OWN[0], GaussianNB().fit(X, WORDS == "low")], SCHEMA, X)
    with pytest.raises(InputError, match="a number"):
        as_model([OWN[0], LinearRegression().fit(X, X[:, 0])], SCHEMA, X)


def test_nobody_aims_at_disagreement() -> None:
    model = as_model(OWN, SCHEMA, X)
    said = np.array(["low", "mid", UNDECIDED_LABEL, UNDECIDED_LABEL], dtype=object)
    stands = current_decisions(model, ROWS[:4], said)
    assert stands[:2].tolist() == ["low", "mid"]
    assert stands[2:].tolist() == model.majority(ROWS[2:4]).tolist()
    opposite = resolve_target(model, "opposite", None, stands)
    assert not opposite.goal.wanted_classes[:, -1].any()
    assert opposite.target[0] == "anything but low"
    others = resolve_target(model, AnythingBut("low", "mid"), None, stands)
    assert set(others.target) == {"top"}
    for target in (UNDECIDED_LABEL, [UNDECIDED_LABEL], AnythingBut("low", "mid", "top")):
        with pytest.raises(InputError):
            resolve_target(model, target, None, stands)


def test_the_majority_is_what_most_say_and_a_tie_what_the_earlier_model_says() -> None:
    model = as_model(OWN, SCHEMA, X)
    said = np.stack([own.predict(ROWS) for own in OWN]).T
    for line, found in zip(said.tolist(), model.majority(ROWS).tolist(), strict=True):
        assert line.count(found) == max(map(line.count, line))
        assert found == line[0] or line.count(found) > 1
    turned = as_model(OWN[1::-1], SCHEMA, X)
    assert np.array_equal(turned.majority(ROWS), OWN[1].predict(ROWS))


def test_a_class_may_be_called_undecided() -> None:
    words = np.where(X[:, 0] > 0, "undecided", "decided")
    model = as_model([LogisticRegression().fit(X, words), GaussianNB().fit(X, words)], SCHEMA, X)
    assert len(set(model.labels)) == 3
    assert UNDECIDED_LABEL in set(model.predict(ROWS))


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("target", ["opposite", "mid", ["low", "top"], AnythingBut("top")], ids=str)
def test_answers_hold_for_enough_models(share: float, target) -> None:
    agreement = Agreement(OWN, share=share)
    e = cp.explain(agreement, ROWS[:12], reference=X, target=target)
    assert e.valid.all(), e.reason[~e.valid]
    after = np.stack([own.predict(np.asarray(e.frame)) for own in OWN])
    for column, said, before in zip(after.T, e.scores["after"], e.scores["before"], strict=True):
        assert said != UNDECIDED_LABEL
        assert (column == said).sum() >= agreement.members_needed
        if target == "opposite":
            assert said != before


def test_answers_hold_for_models_of_every_kind_and_a_threshold_for_each_of_them() -> None:
    forest = RandomForestClassifier(10, random_state=0).fit(X, WORDS)
    e = cp.explain([*OWN[:2], forest], ROWS[:6], reference=X, target="top", threshold=0.7)
    assert e.valid.all()
    for own in (*OWN[:2], forest):
        assert (own.predict_proba(np.asarray(e.frame))[:, 2] >= 0.7).all()
    with pytest.raises(InputError, match="needs one class for each row"):
        cp.explain(Agreement(OWN, share=0.6), ROWS[:2], reference=X, target=["low", "top"], threshold=0.7)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_numbers_lie_in_the_range_for_enough_models(share: float) -> None:
    own = [
        LinearRegression().fit(X, X[:, 0] + X[:, 1]),
        DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0] + X[:, 1]),
        LinearRegression().fit(X, X[:, 0] + X[:, 1] - 0.5),
    ]
    agreement = Agreement(own, share=share)
    e = cp.explain(agreement, X[:8], reference=X, target=(1.0, 2.5))
    assert e.valid.all(), e.reason[~e.valid]
    after = np.stack([member.predict(np.asarray(e.frame)) for member in own])
    assert (((after >= 1.0) & (after <= 2.5)).sum(0) >= agreement.members_needed).all()
    assert np.allclose(e.scores["after"].astype(float), np.median(after, axis=0))
    if share < 1:
        assert not ((after >= 1.0) & (after <= 2.5)).all()


def test_one_model_after_another_may_know_nothing_of_the_reference() -> None:
    own = [LinearRegression().fit(X, X[:, 0] + shift) for shift in (0.0, 0.2)]
    e = cp.explain(own, X[:2], schema=SCHEMA, target=(1.0, None))
    assert e.valid.all()
